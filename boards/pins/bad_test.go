package pins

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// watch notes what reaches a device.
type watch struct {
	port.Device
	headers []port.Request
	beats   int
	answers int // beats of completions with data
}

func (w *watch) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	_, takes, takesBeat := w.Target()
	if req.Kind != port.None && takes {
		w.headers = append(w.headers, req)
	}
	if beat.Valid && takesBeat {
		w.beats++
	}
	if cpl.Status == port.CplSuccess {
		w.answers++
	}
	w.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// readID sends a configuration read, and requires its answer after others.
func readID(t *testing.T, p interface {
	Send([]byte) error
	Receive(time.Duration) ([]byte, error)
}, tag byte) {
	ask := unhex("04000001 7e7e000f 01000000")
	ask[6] = tag
	for {
		err := p.Send(ask)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, datalink.ErrFull)
		_, err = p.Receive(time.Millisecond)
		require.NoError(t, err)
	}
	for range 4000 {
		got, err := p.Receive(10 * time.Millisecond)
		require.NoError(t, err)
		if len(got) == 16 && got[8] == 0x7e && got[9] == 0x7e && got[10] == tag && got[0] == 0x4a {
			require.Equal(t, unhex("34124748"), got[12:])
			return
		}
	}
	t.Fatal("no answer")
}

// packets returns a packet of each kind that a host sends.
func packets() [][]byte {
	var all [][]byte
	for _, s := range []string{
		"00000001 0000000f e0000000", "00000020 000000ff d0000000", "20000002 000001ff 00000000d0000010",
		"40000001 0000000f e000000411223344", "40000003 000000fc d00000081122334455667788aabbccdd", "60000002 00000021 00000000d00000101122334455667788",
		"04000001 0000000f 01000010", "44000001 0000000f 0100003c11000000",
		"4a000001 00000004 0100000044556677", "0a000000 00002004 01000000",
		"02000001 0000000f 00000100", "42000001 0000000f 0000010001020304", "05000001 0000000f 02000000", "30000000 00000014 0000000000000000",
	} {
		all = append(all, unhex(s))
	}
	return all
}

// TestBadPackets: packets in good frames with any bytes do not stop the board, which
// answers afterwards.
func TestBadPackets(t *testing.T) { forBoth(t, badPackets) }

func badPackets(t *testing.T, m made) {
	w, err := New(m.newDevice(t, bustest.NewDevice(bustest.DeviceOptions{})), Options{Clocks: 16})
	require.NoError(t, err)
	p, err := w.Dial()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 7))
	all := packets()
	for i := range 1000 {
		b := bytes.Clone(all[r.IntN(len(all))])
		for range r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		switch r.IntN(8) {
		case 0:
			b = b[:1+r.IntN(len(b))]
		case 1:
			b = append(b, make([]byte, r.IntN(144-len(b)))...)
		}
		err := p.Send(b)
		if errors.Is(err, datalink.ErrFull) {
			_, err = p.Receive(time.Millisecond)
		}
		require.NoError(t, err)
		if i%20 == 19 {
			readID(t, p, byte(i/20))
		}
	}
}

// TestRandomBytes: any bytes between frames, and frames that are mutated, leave the board
// able to begin a session, and nothing of them reaches the device.
func TestRandomBytes(t *testing.T) { forBoth(t, randomBytes) }

func randomBytes(t *testing.T, m made) {
	dev := &watch{Device: bustest.NewDevice(bustest.DeviceOptions{})}
	w, err := New(m.newDevice(t, dev), Options{Clocks: 16})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(2, 7))
	for range 10 {
		at := len(dev.headers)
		for range 3000 {
			v := byte(r.Uint32()) // many zeros
			w.bytes().queue = append(w.bytes().queue, v&byte(r.Uint32()))
		}
		w.Run(49_000)
		require.Len(t, dev.headers, at)
		p, err := w.Dial()
		require.NoError(t, err)
		readID(t, p, 7)
		require.NoError(t, p.Close())
	}
}
