package testbench_test

import (
	"errors"
	"flag"
	"image"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

var queuesScale = flag.Int("queues.scale", 1, "factor of the width and the height of the frames that are composed in queues")

// forced are queues whose turns end after 2,000 clocks.
var forced = testbench.Queues{Use: true, Quantum: 2000, Preempt: true}

// resumes is what CollectDbgInfo tells of a queue.
var resumes = regexp.MustCompile(`queue (\d+) of (\d+) contexts: tail (\d+), .* resumed (\d+) times`)

// counted returns the drivers of this GPU. When the work of the kernel ends, all becomes the entries and
// the resumes of all queues that the firmware has, by queue.
func counted(t *testing.T, all map[int][2]int) testbench.Drivers {
	drivers := testbench.HostDrivers()
	entry := drivers.KernelMode
	drivers.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		collect, destroy := table.CollectDbgInfo, table.DestroyContext
		var adapter kmddi.HAdapter
		start := table.StartDevice
		table.StartDevice = func(th *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			adapter = h
			return start(th, h, info, cb)
		}
		table.DestroyContext = func(th *ddi.Thread, h kmddi.HContext) ddi.Status {
			b := make([]byte, 64<<10)
			out, s := collect(th, adapter, kmddi.CollectDbgInfo{Buffer: b})
			require.Equal(t, ddi.StatusSuccess, s)
			for _, m := range resumes.FindAllStringSubmatch(string(b[:out.Length]), -1) {
				var n [4]int
				for i := range n {
					n[i], _ = strconv.Atoi(m[1+i])
				}
				all[n[0]] = [2]int{n[2], n[3]}
			}
			return destroy(th, h)
		}
		return table
	}
	return drivers
}

// composedWith composes each plan on its own device, and returns the frames. After each upload and each list of a device
// the next device continues, so all have work at the same time.
func composedWith(t *testing.T, sys compose.System, plans []*compose.Plan) []*image.NRGBA {
	frames, errs := make([]*image.NRGBA, len(plans)), make([]error, len(plans))
	turn, ended := make([]chan struct{}, len(plans)), make(chan int)
	for i, plan := range plans {
		turn[i] = make(chan struct{})
		plan.Think = func() {
			ended <- -1
			<-turn[i]
		}
		go func() {
			<-turn[i]
			frames[i], errs[i] = compose.Run(sys, plan)
			ended <- i
		}()
	}
	for left := len(plans); left != 0; {
		for i := range turn {
			if turn[i] == nil {
				continue
			}
			turn[i] <- struct{}{}
			if <-ended == i {
				turn[i] = nil
				left--
			}
		}
	}
	require.NoError(t, errors.Join(errs...))
	return frames
}

// composeDevices is the number of devices that compose at the same time.
const composeDevices = 3

// plansOf returns the plan of each device.
func plansOf(t *testing.T, o compose.Options) []*compose.Plan {
	t.Helper()
	var plans []*compose.Plan
	for range composeDevices {
		plan, err := compose.NewPlan(o)
		require.NoError(t, err)
		plans = append(plans, plan)
		o.Seed++
	}
	return plans
}

// composesInQueues checks that the frames of all devices are the same without firmware, with it, and with the work
// of each context in its own queue, which is preempted every 2,000 clocks.
func composesInQueues(t *testing.T, without, with string, o compose.Options) {
	t.Helper()
	var first []*image.NRGBA
	for _, tt := range []struct {
		selector string
		queues   testbench.Queues
	}{
		{without, testbench.Queues{}}, {with, testbench.Queues{}}, {with, forced},
	} {
		all, plans := map[int][2]int{}, plansOf(t, o)
		sys, err := testbench.Open(tt.selector, counted(t, all), testbench.Options{Queues: tt.queues, Record: eventstest.Record(t)})
		require.NoError(t, err)
		frames := composedWith(t, sys, plans)
		require.NoError(t, sys.Close())
		if first == nil {
			first = frames
		}
		for i, plan := range plans {
			at, n := compose.Diff(frames[i], plan.Reference())
			assert.Zero(t, n, "%s %+v, device %d: pixels differ, the first at %v", tt.selector, tt.queues, i, at)
			assert.Equal(t, first[i].Pix, frames[i].Pix, "%s %+v, device %d", tt.selector, tt.queues, i)
		}
		if !tt.queues.Use {
			assert.Empty(t, all)
			continue
		}
		busy, emulated := uint64(0), tt.selector
		if strings.HasPrefix(tt.selector, "line?") {
			emulated = "emu?config=full" // the line does the same work in at least as many clocks
		}
		if !strings.HasPrefix(tt.selector, "verilated?") { // whose frame is small: most lists end in their quantum
			busy = busyIn(t, emulated, tt.queues, o)
			require.Greater(t, busy, composeDevices*busyQuanta*uint64(forced.Quantum), "work that needs more stops than one of each device")
		}
		preempted(t, tt.selector, all, busy)
	}
}

// busyIn composes the frames again, and returns the clocks in which the nodes work, by the last sample of the run.
func busyIn(t *testing.T, selector string, queues testbench.Queues, o compose.Options) (clocks uint64) {
	t.Helper()
	queues.Period = 4000
	options := testbench.Options{Queues: queues}
	options.Observer.Samples = func(more []log.Sample) { clocks = more[len(more)-1].Busy[0] + more[len(more)-1].Busy[1] }
	sys, err := testbench.Open(selector, testbench.HostDrivers(), options)
	require.NoError(t, err)
	composedWith(t, sys, plansOf(t, o))
	require.NoError(t, sys.Close())
	return clocks
}

// busyQuanta is the most quanta of work of the nodes for each stop. Uploads and short lists end in their quantum, without a stop.
const busyQuanta = 5

// preempted checks that each context has had its own queue, which was stopped in its work, and that there are as many stops as
// fit the quantum. busy is the work of the nodes in clocks, on the emulator; 0: unknown.
func preempted(t *testing.T, selector string, all map[int][2]int, busy uint64) {
	t.Helper()
	stops := 0
	first := len(all) - composeDevices // those before it are of the system
	for i := first; i < len(all); i++ {
		n := all[i]
		assert.GreaterOrEqual(t, n[0], 4, "%s: entries of queue %d", selector, i)
		assert.Positive(t, n[1], "%s: queue %d is continued after a stop", selector, i)
		stops += n[1]
		t.Logf("%s, queue %d: %d entries, %d continued after a stop", selector, i, n[0], n[1])
	}
	assert.GreaterOrEqual(t, uint64(stops*busyQuanta)*uint64(forced.Quantum), busy, "%s: %d stops in %d clocks of work", selector, stops, busy)
}

func TestComposeInQueues(t *testing.T) {
	k := *queuesScale
	o := compose.Options{Width: 40 * k, Height: 30 * k, Contexts: 2, Seed: 5, Sources: noise(3, image.Pt(70*k, 60*k), image.Pt(9*k, 33*k))}
	for _, tt := range []struct{ name, without, with string }{
		{"emulator", "emu", "emu?config=full"},
		{"one node", "emu?config=full&nodes=1&mcu=0", "emu?config=full&nodes=1"},
		{"line", "line?config=small&baud=1000000000&delay=0", "line?config=full&baud=1000000000&delay=0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			composesInQueues(t, tt.without, tt.with, o)
		})
	}
}

func TestVerilatedComposesInQueues(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	k := *queuesScale
	o := compose.Options{Width: 32 * k, Height: 16 * k, Contexts: 1, Seed: 5, Sources: noise(3, image.Pt(50*k, 40*k))}
	composesInQueues(t, "verilated?config=small", "verilated?config=full", o)
}

// The driver loads the firmware over the UART of a board, and composes with a queue of each context.
func TestGatewareComposesInQueues(t *testing.T) {
	tooltest.Long(t)
	t.Parallel()
	o := compose.Options{Width: 16, Height: 8, Contexts: 1, Seed: 5, Sources: noise(2, image.Pt(20, 10))}
	sys, err := testbench.Open("pins:ulx3s-mcu", testbench.HostDrivers(), testbench.Options{Queues: testbench.Queues{Use: true}})
	require.NoError(t, err)
	plans := plansOf(t, o)[:1]
	at, n := compose.Diff(composedWith(t, sys, plans)[0], plans[0].Reference())
	assert.Zero(t, n, "pixels differ, the first at %v", at)
	require.NoError(t, sys.Close())
}

// A board that lacks what queues need is refused, and the work does not run without them. What they do not need may be missing.
func TestQueuesOfOtherBoards(t *testing.T) {
	for _, tt := range []struct {
		selector string
		queues   testbench.Queues
		want     error
	}{
		{"emu", forced, testbench.ErrQueues},
		{"emu?config=full&mcu=0", forced, testbench.ErrQueues},
		{"emu?config=full&vram=32KiB", forced, testbench.ErrQueues},
		{"emu?mcu=1&contexts=0", testbench.Queues{Use: true}, testbench.ErrQueues},
		{"emu?mcu=1&signal=0", testbench.Queues{Use: true}, testbench.ErrQueues},
		{"emu?mcu=1&preemption=0", testbench.Queues{Use: true}, testbench.ErrQueues},
		{"emu?mcu=1&preemption=0", forced, testbench.ErrQueues},
		{"emu?config=small&mcu=1&mcumem=32KiB&vram=256KiB", testbench.Queues{Use: true}, testbench.ErrQueues},
		{"emu?mcu=1&counters=0", testbench.Queues{Use: true, Period: 2000}, testbench.ErrQueues},
		{"emu?mcu=1&counters=0&timeline=0&trace=0&watchdog=0&protection=0", testbench.Queues{Use: true}, nil},
		{"emu?config=full", testbench.Queues{Use: true, Quantum: 999}, testbench.ErrQueues},
		{"emu?config=full&mcumem=8KiB", forced, testbench.ErrDevice},
	} {
		s, err := testbench.Open(tt.selector, testbench.HostDrivers(), testbench.Options{Queues: tt.queues, Record: eventstest.Record(t)})
		assert.ErrorIs(t, err, tt.want, tt.selector)
		if err == nil {
			assert.NoError(t, s.Close(), tt.selector)
		}
	}
}
