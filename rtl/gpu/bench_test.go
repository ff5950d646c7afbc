package gpu_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// benchTurn is how many clocks are timed at a time, between two looks at the
// other device of a comparison.
const benchTurn = 20_000

// loads are what a device does in a turn: it works for so many of its clocks,
// both nodes copying inside VRAM, and rests for the others.
var loads = []struct {
	name string
	work uint64
}{
	{"busy", benchTurn}, {"mixed", benchTurn / 10}, {"idle", 0},
}

// attach records a machine to w, or in a ring if w is nil.
func attach(m *machine, w io.Writer) {
	r, err := wave.New(w, wave.Options{})
	require.NoError(m.t, err)
	m.dev = r.Attach(m.g)
}

// fill gives both nodes copies for more than benchTurn clocks.
func (m *machine) fill() {
	for n := range uint64(2) {
		c := pkt.Copy{Src: 0x20000 * n, Dst: 0x20000*n + 0x10000, Bytes: 0x10000}
		m.submit(int(n), c, c)
	}
	end := m.clock + 500
	m.run(1000, func() bool { return m.clock >= end })
}

// turn clocks the device alone, as its link does, and returns how long it took.
func (m *machine) turn(clocks uint64, skip bool) time.Duration {
	start := time.Now()
	for end := m.clock + clocks; m.clock < end; {
		if n := min(m.dev.IdleFor(), end-m.clock); n > 0 && skip {
			m.dev.Skip(n)
			m.clock += n
			continue
		}
		m.dev.Target()
		m.dev.Initiator()
		m.dev.Tick(port.Request{}, port.Beat{}, true, port.Completion{}, false, false)
		m.clock++
	}
	return time.Since(start)
}

// pass is one turn of a load.
func (m *machine) pass(work uint64, skip bool) time.Duration {
	var d time.Duration
	if work > 0 {
		m.fill()
		d = m.turn(work, skip)
		m.idle()
	}
	return d + m.turn(benchTurn-work, skip)
}

// BenchmarkGPU measures the emulation in clocks a second: with the sleep of
// idle clocks, without it, with every clock written as a wave, and with the ring
// of a flight recorder. times is how much longer it takes than with sleep alone,
// the median of turns that alternate. Targets: idle/noskip at least 100 times,
// busy/wave at most 6, busy/flight at most 1.7, and no allocation in any clock.
func BenchmarkGPU(b *testing.B) {
	for _, l := range loads {
		for _, way := range []string{"skip", "noskip", "wave", "flight"} {
			b.Run(l.name+"/"+way, func(b *testing.B) {
				base, m := boot(&testing.T{}, small(), 1), boot(&testing.T{}, small(), 1)
				switch way {
				case "wave":
					attach(m, io.Discard)
				case "flight":
					attach(m, nil)
				}
				m.pass(l.work, true)
				var spent time.Duration
				var ratios []float64
				for b.Loop() {
					for range 9 {
						want := base.pass(l.work, true)
						got := m.pass(l.work, way != "noskip")
						spent += got
						ratios = append(ratios, float64(got)/float64(want))
					}
				}
				slices.Sort(ratios)
				b.ReportMetric(float64(len(ratios))*benchTurn/spent.Seconds(), "clocks/s")
				b.ReportMetric(ratios[len(ratios)/2], "times")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// No clock allocates, recorded or not.
func TestClocksAllocateNothing(t *testing.T) {
	for name, w := range map[string]io.Writer{"wave": io.Discard, "flight": nil, "alone": nil} {
		m := boot(t, small(), 1)
		if name != "alone" {
			attach(m, w)
		}
		m.fill()
		m.turn(5000, true)
		require.Zero(t, testing.AllocsPerRun(5, func() { m.turn(500, true) }), name)
		require.Zero(t, m.dev.IdleFor(), "it still works")
	}
}
