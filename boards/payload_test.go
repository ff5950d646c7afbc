package boards

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// TestPayload: packets over TCP carry 1,024 bytes, and over UDP as much as the MTU allows.
// So do reads. Many of them are in flight.
func TestPayload(t *testing.T) {
	for _, tt := range []struct {
		name, listen, options string
		want                  packetSizes
	}{
		{"tcp", "tcp:127.0.0.1:0", patient, packetSizes{write: 1024, read: 1024, completion: 1024, inFlight: 32}},
		{"udp", "udp:127.0.0.1:0", patient, packetSizes{write: 1024, read: 1024, completion: 1024, inFlight: 32}},
		{"udp with jumbo frames", "udp:127.0.0.1:0", patient + "&mtu=9000", packetSizes{write: 4096, read: 4096, completion: 4096, inFlight: 32}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := serve.Listen(tt.listen)
			require.NoError(t, err)
			assert.Equal(t, tt.want, packetsOf(t, l, l.Selector()+tt.options))
		})
	}
}

// patient are options of a selector for a busy machine.
const patient = "?timeout=20000&silence=10000"

// packetSizes are the largest packets of a session, and the most reads of the host that
// are in flight at once.
type packetSizes struct {
	write, read, completion int // bytes that a packet carries or asks for
	inFlight                int
}

// packetsOf serves an emulator that takes any payload, opens it by a selector, and moves
// data in both directions.
func packetsOf(t *testing.T, l serve.Listener, selector string) packetSizes {
	t.Helper()
	const size = 256 << 10
	dev, err := Device("emu?config=small&payload=4096&vram=256KiB")
	require.NoError(t, err)
	opt := serve.Options{Hz: dev.Hz(), MapHash: regmap.Hash(), Silence: 10 * time.Second}
	opt.Endpoint.MaxPayload = dev.MaxPayload()
	board, err := serve.New(dev, opt)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(ctx, board) // ends with ctx
	}()
	defer func() { cancel(); <-ended }()

	var recorded bytes.Buffer
	w, err := capture.NewWriter(&recorded, capture.Options{})
	require.NoError(t, err)
	link, _, err := OpenWith(selector, new(pc), Options{Capture: w})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	payload := link.(bus.PayloadLink).MaxPayload()
	require.NoError(t, link.WriteConfig(pcicfg.DevCtl, uint32(bits.Len(uint(payload/128))-1)<<5))
	want, got := make([]byte, size), make([]byte, size)
	for i := range want {
		want[i] = byte(i*i>>3 + i)
	}
	require.NoError(t, link.Write(2, 0, want))
	for range 3 {
		require.NoError(t, link.Read(2, 0, got))
		require.True(t, bytes.Equal(want, got), "the data")
	}
	require.NoError(t, link.Close())
	require.NoError(t, w.Close())
	return measured(t, &recorded)
}

// measured returns the sizes of the packets of a capture.
func measured(t *testing.T, from io.Reader) (s packetSizes) {
	t.Helper()
	r, err := capture.NewReader(from)
	require.NoError(t, err)
	left := map[uint16]int{} // bytes that reads in flight wait for, by tag
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s
		}
		require.NoError(t, err)
		var p tlp.Packet
		require.NoError(t, p.Decode(record.Packet))
		memory := p.Kind == tlp.MRd32 || p.Kind == tlp.MRd64
		switch {
		case record.Dir == capture.Down && memory:
			s.read = max(s.read, 4*p.Len)
			left[p.Tag] = 4 * p.Len
			s.inFlight = max(s.inFlight, len(left))
		case record.Dir == capture.Down:
			s.write = max(s.write, len(p.Data))
		case p.Kind == tlp.CplD:
			s.completion = max(s.completion, len(p.Data))
			if left[p.Tag] -= len(p.Data); left[p.Tag] <= 0 {
				delete(left, p.Tag)
			}
		}
	}
}
