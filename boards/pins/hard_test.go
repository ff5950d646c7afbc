package pins

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// newFast returns a hardwired link with a byte in every clock, the root port and a device.
func newFast(t testing.TB) (*Wire, *rootport.RootPort) {
	w, err := New(both[1].newDevice(t, bustest.NewDevice(bustest.DeviceOptions{})), Options{Clocks: 1})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(64<<10), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	return w, link
}

// TestHardRead has the clocks of a register read at the byte port, from its first byte to
// the last byte of the answer.
func TestHardRead(t *testing.T) {
	w, link := newFast(t)
	p := make([]byte, 4)
	for range 3 {
		w.Run(200_000)
		down, up, at := w.BytesDown, w.BytesUp, w.clock
		require.NoError(t, link.Read(0, bustest.RegMagic, p))
		t.Log(w.clock-at, "clocks,", w.BytesDown-down, "bytes down,", w.BytesUp-up, "bytes up")
		require.Equal(t, uint64(83), w.clock-at)
		require.Equal(t, uint64(11+17), w.BytesDown-down+w.BytesUp-up, "with the acknowledgement of the read")
	}
}

// TestHardBulk bounds the clocks of 128 bytes of payload, each direction alone.
func TestHardBulk(t *testing.T) {
	w, link := newFast(t)
	data := make([]byte, 8<<10)
	bulk := func(what string, most float64, f func() error) {
		at := w.clock
		require.NoError(t, f())
		got := float64(w.clock-at) / float64(len(data)/128)
		t.Logf("%s: %.1f clocks", what, got)
		require.LessOrEqual(t, got, most, what)
	}
	bulk("BAR writes", 160, func() error {
		if err := link.Write(2, 0, data); err != nil {
			return err
		}
		return link.Read(2, 0, data[:4])
	})
	bulk("BAR reads", 150, func() error { return link.Read(2, 0, data) })
	bulk("device writes", 155, func() error { return w.jobOf(link, bustest.JobWrite, len(data)) })
	bulk("device reads", 155, func() error { return w.jobOf(link, bustest.JobRead, len(data)) })
}

// TestHardGPU: a host opens a GPU with the hardwired link, reads its identity, and reads
// back what it wrote to VRAM, also on a bad line.
func TestHardGPU(t *testing.T) {
	for _, o := range []Options{{Clocks: 1}, {Clocks: 4, Faults: bad(6)}} {
		g, err := gpu.New(gpu.Default())
		require.NoError(t, err)
		w, err := New(&device{link: newHard(t), dev: g}, o)
		require.NoError(t, err)
		link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		p := make([]byte, 4)
		require.NoError(t, link.Read(0, idreg.Base+idreg.Magic, p))
		require.Equal(t, uint32(idreg.MagicValue), binary.LittleEndian.Uint32(p))
		r := rand.New(rand.NewPCG(8, 8))
		want, got := make([]byte, 1000), make([]byte, 1000)
		for range 8 {
			at := uint64(4 * r.IntN(10_000))
			for j := range want {
				want[j] = byte(r.Uint32())
			}
			require.NoError(t, link.Write(2, at, want))
			require.NoError(t, link.Read(2, at, got))
			require.Equal(t, want, got)
		}
	}
}
