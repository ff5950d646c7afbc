package testbench_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/lists"
)

// The benchmarks of command lists compare times within one run, because machines
// differ in speed. Each figure is the median of rounds of listsRound lists, with
// verifier and trace off and without the kernel's time.
const (
	listRounds = 9
	listsRound = 4000
)

// listBench is a device with two buffers and a clock around the kernel's calls.
type listBench struct {
	b        *testing.B
	kernel   lists.KernelClock
	sys      *testbench.System
	dev      *d3d11.Device
	ctx      *d3d11.Context
	dst, src *d3d11.Buffer
	alive    []*d3d11.CommandList
}

func newListBench(b *testing.B, o umd.Options) *listBench {
	l := &listBench{b: b, alive: make([]*d3d11.CommandList, 0, listsRound)}
	drivers := testbench.HostDrivers()
	drivers.UserMode = l.kernel.Wrap(umd.New(o))
	var err error
	l.sys, err = testbench.Open("emu", drivers, testbench.Options{NoVerify: true})
	require.NoError(b, err)
	l.dev, l.ctx, err = l.sys.CreateDevice()
	require.NoError(b, err)
	l.dst, l.src = l.buffer(), l.buffer()
	b.Cleanup(func() {
		l.dev.Close()
		require.NoError(b, l.sys.Close())
	})
	return l
}

func (l *listBench) buffer() *d3d11.Buffer {
	buf, err := l.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer}, nil)
	require.NoError(l.b, err)
	return buf
}

func (l *listBench) deferred() *d3d11.Context {
	c, err := l.dev.CreateDeferredContext(0)
	require.NoError(l.b, err)
	return c
}

// ns returns the time of f per list of a round, in ns, without the kernel's.
func (l *listBench) ns(f func()) float64 {
	kernel, start := l.kernel.Time(), time.Now()
	f()
	return float64((time.Since(start) - (l.kernel.Time() - kernel)).Nanoseconds()) / listsRound
}

// immediate is the cost of CopyResource.
func (l *listBench) immediate() float64 {
	ns := l.ns(func() {
		for range listsRound {
			l.ctx.CopyResource(l.dst, l.src)
		}
	})
	l.ctx.Flush()
	return ns
}

// list records and finishes one list.
func (l *listBench) list(c *d3d11.Context) *d3d11.CommandList {
	c.CopyResource(l.dst, l.src)
	list, err := c.FinishCommandList(false)
	if err != nil {
		l.b.Error(err)
	}
	return list
}

// recycled is the cost of a list that is released at once.
func (l *listBench) recycled(c *d3d11.Context) float64 {
	return l.ns(func() {
		for range listsRound {
			l.list(c).Release()
		}
	})
}

// created is the cost of a list with a new handle, which is destroyed afterwards.
func (l *listBench) created() float64 {
	c := l.deferred()
	ns := l.ns(func() {
		for range listsRound {
			l.alive = append(l.alive, l.list(c))
		}
	})
	c.Release()
	ns += l.ns(func() {
		for _, list := range l.alive {
			list.Release()
		}
	})
	clear(l.alive)
	l.alive = l.alive[:0]
	return ns
}

// executed is the cost of executing lists that all exist at the same time.
func (l *listBench) executed(all []*d3d11.CommandList) float64 {
	ns := l.ns(func() {
		for i := range listsRound {
			l.ctx.ExecuteCommandList(all[i%len(all)], false)
		}
	})
	l.ctx.Flush()
	return ns
}

// median returns the median of an odd number of measurements.
func median(rounds int, measure func() float64) float64 {
	var all []float64
	for range rounds {
		all = append(all, measure())
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// target prints a figure and its target.
func target(b *testing.B, what string, got float64, unit string, holds bool, want string) {
	verdict := "holds"
	if !holds {
		verdict = "MISSED"
	}
	b.Logf("%-34s %10.3f %-12s want %-28s %s", what, got, unit, want, verdict)
}

// report reports the cost of a part of a list and its ratio to an immediate copy of
// the same round.
func (l *listBench) report(what string, measure func() float64, limited bool) {
	var ratios, immediate []float64
	ns := median(listRounds, func() float64 {
		im := l.immediate()
		v := measure()
		ratios, immediate = append(ratios, v/im), append(immediate, im)
		return v
	})
	slices.Sort(ratios)
	slices.Sort(immediate)
	ratio := ratios[len(ratios)/2]
	l.b.ReportMetric(0, "ns/op")
	l.b.ReportMetric(ns, "ns/list")
	l.b.ReportMetric(immediate[len(immediate)/2], "ns/CopyResource")
	l.b.ReportMetric(ratio, "x-immediate")
	if limited {
		target(l.b, what, ratio, "x immediate", ratio <= 4, "at most 4")
		target(l.b, what, ns, "ns", ns <= 500, "of the order of 250")
	}
}

// variants of BenchmarkCommandList.
var variants = []struct {
	name   string
	o      umd.Options
	create bool
}{
	{"recycle", umd.Options{}, false},
	{"create", umd.Options{}, true},
	{"emulated", umd.Options{EmulatedLists: true}, false},
}

// BenchmarkCommandList measures a list of one copy. record covers recording,
// finishing and releasing. Figures with a target are printed with it.
func BenchmarkCommandList(b *testing.B) {
	for _, v := range variants {
		b.Run(v.name+"/record", func(b *testing.B) {
			l := newListBench(b, v.o)
			c := l.deferred()
			measure := func() float64 { return l.recycled(c) }
			if v.create {
				measure = l.created
			}
			measure()
			for b.Loop() {
				l.report("record + finish + release", measure, v.name == "recycle")
			}
			if v.name == "recycle" {
				l.allocations(c)
			}
		})
		b.Run(v.name+"/execute", func(b *testing.B) {
			l := newListBench(b, v.o)
			all := l.many(v.create)
			l.executed(all)
			for b.Loop() {
				l.report("execute", func() float64 { return l.executed(all) }, v.name == "recycle")
			}
		})
	}
	b.Run("together", together)
}

// many returns several lists, with new handles if create is true and recycled ones
// otherwise.
func (l *listBench) many(create bool) []*d3d11.CommandList {
	c := l.deferred()
	var all []*d3d11.CommandList
	for range 2 {
		for _, list := range all {
			list.Release()
		}
		if create {
			c = l.deferred()
		}
		all = nil
		for range 64 {
			all = append(all, l.list(c))
		}
	}
	return all
}

// allocations reports the Go heap allocations per list.
func (l *listBench) allocations(c *d3d11.Context) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l.recycled(c)
	runtime.ReadMemStats(&after)
	n := float64(after.Mallocs-before.Mallocs) / listsRound
	l.b.ReportMetric(n, "allocs/list")
	target(l.b, "Go allocations", n, "a list", n < 0.05, "0, except for slabs of lists")
}

// together measures recording and execution on one thread, with the driver's lists
// and with the runtime's.
func together(b *testing.B) {
	native, emulated := newListBench(b, umd.Options{}), newListBench(b, umd.Options{EmulatedLists: true})
	one := func(l *listBench) func() float64 {
		c, all := l.deferred(), l.many(false)
		l.executed(all)
		return func() float64 { return l.recycled(c) + l.executed(all) }
	}
	measureNative, measureEmulated := one(native), one(emulated)
	for b.Loop() {
		var faster []float64
		ns := median(listRounds, func() float64 {
			n := measureNative()
			faster = append(faster, measureEmulated()/n)
			return n
		})
		slices.Sort(faster)
		gain := faster[len(faster)/2]
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(1e9/ns, "lists/s")
		b.ReportMetric(gain, "x-emulation")
		target(b, "recorded and executed, one thread", 1e3/ns, "M lists/s", ns < 500, "more than 2")
		target(b, "speed against the emulation", gain, "x", gain > 1, "more than 1")
	}
}

// BenchmarkImmediateCopy measures CopyResource of 64 bytes on the immediate
// context.
func BenchmarkImmediateCopy(b *testing.B) {
	l := newListBench(b, umd.Options{})
	l.immediate()
	for b.Loop() {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(listRounds, l.immediate), "ns/CopyResource")
	}
}

// spin computes for about as long as a round of lists takes, without memory
// accesses.
func spin() uint64 {
	x := uint64(1)
	for range 1_000_000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// scaling returns how many times the work of one goroutine two of them do in the
// same time. It uses the shortest of many short rounds, which other processes
// disturbed least.
func scaling(work func(goroutine int)) float64 {
	const rounds = 300
	best := [3]time.Duration{1: time.Hour, 2: time.Hour}
	for range rounds {
		for n := 1; n <= 2; n++ {
			var wg sync.WaitGroup
			start := time.Now()
			for i := range n {
				wg.Go(func() { work(i) })
			}
			wg.Wait()
			best[n] = min(best[n], time.Since(start))
		}
	}
	return 2 * float64(best[1]) / float64(best[2])
}

// spent is scaling by processor time: twice the time of one goroutine divided by
// the time of both. It does not depend on the load of the machine, only on how much
// the two goroutines slow each other down.
func spent(b *testing.B, work func(goroutine int)) float64 {
	const rounds = 40
	var took [3]time.Duration
	for range rounds {
		for n := 1; n <= 2; n++ {
			var wg sync.WaitGroup
			start := processor(b)
			for i := range n {
				wg.Go(func() { work(i) })
			}
			wg.Wait()
			took[n] += processor(b) - start
		}
	}
	return 4 * float64(took[1]) / float64(took[2])
}

// BenchmarkRecordParallel records the same lists on one goroutine and on two, from
// the same buffers. The wall-clock figure is below 2 if the machine has no two free
// processors, so the figure of two goroutines that only compute is printed with it.
func BenchmarkRecordParallel(b *testing.B) {
	l := newListBench(b, umd.Options{})
	contexts := []*d3d11.Context{l.deferred(), l.deferred()}
	var sink [2][16]uint64
	for b.Loop() {
		gain := scaling(func(i int) {
			for range listsRound {
				l.list(contexts[i]).Release()
			}
		})
		free := scaling(func(i int) { sink[i][0] = spin() })
		cpu := spent(b, func(i int) {
			for range listsRound {
				l.list(contexts[i]).Release()
			}
		})
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(gain, "x-one")
		b.ReportMetric(free, "x-one-computing")
		b.ReportMetric(cpu, "x-one-processor")
		target(b, "two recording goroutines, processor time", cpu, "x one", cpu >= 1.8, "at least 1.8")
		target(b, "two recording goroutines, wall clock", gain, "x one", gain >= 1.8, "at least 1.8")
		b.Logf("two goroutines that only compute are %.3f x one here, on %d processors", free, runtime.GOMAXPROCS(0))
	}
}
