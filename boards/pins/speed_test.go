package pins

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// TestReadClocks bounds the clocks of a register read with the sequencer, from its first byte
// to the last byte of the answer: at the byte port, and with 16 clocks a byte. The read arrives in
// each clock of the loop of the program. Its bytes on the line are bounded too, with the
// acknowledgements.
func TestReadClocks(t *testing.T) {
	for clocks, most := range map[uint64]uint64{portClocks: mostRead, 16: 660} {
		require.LessOrEqual(t, readClocks(t, clocks), most, "%d clocks a byte", clocks)
	}
}

// At the byte port, a byte takes portClocks clocks, and the read of a register at most mostRead.
const (
	portClocks = 2
	mostRead   = 300
)

// readClocks returns the most clocks of a register read with the sequencer, at a number of clocks a byte.
func readClocks(t testing.TB, clocks uint64) (most uint64) {
	w, err := New(both[0].newDevice(t, bustest.NewDevice(bustest.DeviceOptions{})), Options{Clocks: clocks})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(64<<10), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	w.Run(200_000)
	for _, reg := range []uint64{bustest.RegMagic, bustest.RegTime} {
		least, last := uint64(1000), uint64(0)
		for phase := range uint64(32) {
			w.Run(5_000 + phase)
			down, up, at := w.BytesDown, w.BytesUp, w.clock
			require.NoError(t, link.Read(0, reg, make([]byte, 4)))
			least, last = min(least, w.clock-at), max(last, w.clock-at)
			w.Run(15_000)
			require.LessOrEqual(t, w.BytesDown-down+w.BytesUp-up, uint64(40), "bytes with all acknowledgements")
		}
		t.Logf("%d clocks a byte, register %#x: %d to %d clocks", clocks, reg, least, last)
		most = max(most, last)
	}
	return most
}

// A transfer moves data in one direction over a line.
type transfer struct {
	name string
	do   func(w *Wire, link *rootport.RootPort, data []byte) error
}

// transfers are the four kinds.
var transfers = [4]transfer{
	{"BAR writes", func(_ *Wire, link *rootport.RootPort, data []byte) error {
		if err := link.Write(2, 0, data); err != nil {
			return err
		}
		return link.Read(2, 0, data[:4])
	}},
	{"BAR reads", func(_ *Wire, link *rootport.RootPort, data []byte) error { return link.Read(2, 0, data) }},
	{"device writes", func(w *Wire, link *rootport.RootPort, data []byte) error {
		return w.jobOf(link, bustest.JobWrite, len(data))
	}},
	{"device reads", func(w *Wire, link *rootport.RootPort, data []byte) error {
		return w.jobOf(link, bustest.JobRead, len(data))
	}},
}

// shares returns the payload of each transfer as a fraction of the line, at 8 clocks a bit.
func (m made) shares(t testing.TB) (all [4]float64) {
	w, err := New(m.newDevice(t, bustest.NewDevice(bustest.DeviceOptions{})), Options{})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(64<<10), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	data := make([]byte, 8<<10)
	for i, kind := range transfers {
		at := w.clock
		require.NoError(t, kind.do(w, link, data))
		all[i] = float64(len(data)*80) / float64(w.clock-at)
	}
	return all
}

// TestShare bounds the payload of bulk transfers.
func TestShare(t *testing.T) {
	least := map[string][4]float64{"sequencer": {0.8, 0.8, 0.8, 0.8}, "hardwired": {0.83, 0.83, 0.83, 0.83}}
	forBoth(t, func(t *testing.T, m made) {
		for i, got := range m.shares(t) {
			t.Logf("%s: %.3f", transfers[i].name, got)
			require.GreaterOrEqual(t, got, least[m.name][i], transfers[i].name)
		}
	})
}

// BenchmarkUART prints what bulk transfers get of a line of 8 clocks a bit, and the clocks of a register read at the
// byte port of the sequencer. The figures are counts of clocks, the same in each run.
func BenchmarkUART(b *testing.B) {
	least := map[string]float64{"sequencer": 0.7, "hardwired": 0.83}
	for _, m := range both {
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				for i, got := range m.shares(b) {
					want := least[m.name]
					bustest.Figure(b, transfers[i].name+", "+m.name, got, "of baud/10", got >= want, fmt.Sprintf("at least %.2f", want))
				}
			}
		})
	}
	b.Run("register", func(b *testing.B) {
		for b.Loop() {
			n := readClocks(b, portClocks)
			bustest.Figure(b, "register read, sequencer", float64(n), "clocks", n <= mostRead, fmt.Sprintf("at most %d", mostRead))
		}
	})
}

// BenchmarkHardwired prints the clocks of the hardwired link at its byte port.
func BenchmarkHardwired(b *testing.B) {
	for b.Loop() {
		w, link := newFast(b)
		w.Run(200_000)
		at := w.clock
		require.NoError(b, link.Read(0, bustest.RegMagic, make([]byte, 4)))
		n := w.clock - at
		bustest.Figure(b, "register read, hardwired", float64(n), "clocks", n <= 300, "at most 300")
		data := make([]byte, 8<<10)
		for _, kind := range transfers {
			at := w.clock
			require.NoError(b, kind.do(w, link, data))
			got := float64(w.clock-at) / float64(len(data)/128)
			bustest.Figure(b, kind.name+" of 128 bytes, hardwired", got, "clocks", got <= 160, "at most 160")
		}
	}
}

func (w *Wire) jobOf(link *rootport.RootPort, kind uint32, n int) error {
	if err := bustest.StartJob(link, kind, 1<<20, 0, uint32(n)); err != nil {
		return err
	}
	_, err := link.Wait(link.Now() + 5e9)
	return err
}
