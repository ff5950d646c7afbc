package pins

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// TestReadClocks bounds the clocks of a register read at the byte port, from its first byte
// to the last byte of the answer.
func TestReadClocks(t *testing.T) {
	dev := bustest.NewDevice(bustest.DeviceOptions{})
	s := both[0].newDevice(t, dev)
	w, err := New(s, Options{Clocks: 16})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(64<<10), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	p := make([]byte, 4)
	for range 3 {
		w.Run(200_000)
		down, up := w.BytesDown, w.BytesUp
		at := w.clock
		require.NoError(t, link.Read(0, bustest.RegMagic, p))
		require.Less(t, w.clock-at, uint64(1500))
		t.Log(w.clock-at, "clocks,", w.BytesDown-down, "bytes down,", w.BytesUp-up, "bytes up")
	}
}

// TestShare bounds the payload of bulk transfers as a fraction of the line, at 8 clocks a bit.
func TestShare(t *testing.T) {
	least := map[string][4]float64{"sequencer": {0.75, 0.55, 0.75, 0.6}, "hardwired": {0.83, 0.83, 0.83, 0.83}}
	forBoth(t, func(t *testing.T, m made) {
		dev := bustest.NewDevice(bustest.DeviceOptions{})
		w, err := New(m.newDevice(t, dev), Options{})
		require.NoError(t, err)
		link, err := rootport.New(w.Dial, bustest.NewHost(64<<10), rootport.Options{})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		data := make([]byte, 8<<10)
		for i, tt := range []struct {
			what string
			do   func() error
		}{
			{"BAR writes", func() error {
				if err := link.Write(2, 0, data); err != nil {
					return err
				}
				return link.Read(2, 0, data[:4])
			}},
			{"BAR reads", func() error { return link.Read(2, 0, data) }},
			{"device writes", func() error { return w.jobOf(link, bustest.JobWrite, len(data)) }},
			{"device reads", func() error { return w.jobOf(link, bustest.JobRead, len(data)) }},
		} {
			at := w.clock
			require.NoError(t, tt.do())
			got := float64(len(data)*80) / float64(w.clock-at)
			t.Logf("%s: %.3f", tt.what, got)
			require.GreaterOrEqual(t, got, least[m.name][i], tt.what)
		}
	})
}

func (w *Wire) jobOf(link *rootport.RootPort, kind uint32, n int) error {
	if err := bustest.StartJob(link, kind, 1<<20, 0, uint32(n)); err != nil {
		return err
	}
	_, err := link.Wait(link.Now() + 5e9)
	return err
}
