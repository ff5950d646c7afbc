package capture_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/capture"
)

// TestFrames: another reader finds the frames of each link type, at their times. The
// reader of this package skips them.
func TestFrames(t *testing.T) {
	var file bytes.Buffer
	w, err := capture.NewWriter(&file, capture.Options{})
	require.NoError(t, err)
	start := time.Unix(1_700_000_000, 123)
	tlp := append([]byte{0, 0, 0, 1}, make([]byte, 8)...)
	w.BeginAt(start)
	require.NoError(t, w.WriteFrame(capture.Ethernet, capture.Down, start, []byte("an Ethernet frame")))
	require.NoError(t, w.Write(capture.Record{At: time.Second, Packet: tlp}))
	require.NoError(t, w.WriteFrame(capture.IP, capture.Up, start.Add(2*time.Second), []byte("an IP packet")))
	require.NoError(t, w.WriteFrame(capture.Ethernet, capture.Up, start.Add(3*time.Second), nil))
	for _, bad := range []error{
		w.WriteFrame(7, capture.Up, start, nil), w.WriteFrame(capture.IP, 2, start, nil), w.WriteFrame(capture.IP, capture.Up, time.Unix(-1, 0), nil),
		w.WriteFrame(capture.IP, capture.Up, start, make([]byte, 1<<16+1)),
	} {
		assert.ErrorIs(t, bad, capture.ErrPacket)
	}

	type seen struct {
		link layers.LinkType
		at   time.Duration
		data string
	}
	var got []seen
	other, err := pcapgo.NewNgReader(bytes.NewReader(file.Bytes()), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	require.NoError(t, err)
	for {
		data, info, err := other.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		got = append(got, seen{info.AncillaryData[0].(layers.LinkType), info.Timestamp.Sub(start), string(data)})
	}
	assert.Equal(t, []seen{
		{layers.LinkTypeEthernet, 0, "an Ethernet frame"}, {147, time.Second, string(tlp)},
		{layers.LinkTypeRaw, 2 * time.Second, "an IP packet"}, {layers.LinkTypeEthernet, 3 * time.Second, ""},
	}, got)

	r, err := capture.NewReader(&file)
	require.NoError(t, err)
	rec, err := r.Next()
	require.NoError(t, err)
	assert.Equal(t, tlp, rec.Packet)
	_, err = r.Next()
	assert.ErrorIs(t, err, io.EOF)
}
