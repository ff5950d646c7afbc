package testbench_test

import (
	"image"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

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

// composedWith runs a plan on a board with queues, and returns the frame, and entries and resumes by queue.
func composedWith(t *testing.T, selector string, o compose.Options, q testbench.Queues) (*image.NRGBA, map[int][2]int) {
	t.Helper()
	plan, err := compose.NewPlan(o)
	require.NoError(t, err)
	all := map[int][2]int{}
	sys, err := testbench.Open(selector, counted(t, all), testbench.Options{Queues: q})
	require.NoError(t, err)
	frame, err := compose.Run(sys, plan)
	require.NoError(t, err)
	require.NoError(t, sys.Close())
	return frame, all
}

// composesInQueues checks that the frame is the same without firmware, with it, and with the work of the context
// in a queue of its own that is preempted every 2,000 clocks.
func composesInQueues(t *testing.T, without, with string, o compose.Options) {
	t.Helper()
	plan, err := compose.NewPlan(o)
	require.NoError(t, err)
	want := plan.Reference()
	for _, tt := range []struct {
		selector string
		queues   testbench.Queues
	}{
		{without, testbench.Queues{}}, {with, testbench.Queues{}}, {with, forced},
	} {
		frame, all := composedWith(t, tt.selector, o, tt.queues)
		at, n := compose.Diff(frame, want)
		assert.Zero(t, n, "%s %+v: pixels differ, the first at %v", tt.selector, tt.queues, at)
		assert.Equal(t, want.Pix, frame.Pix, "%s %+v", tt.selector, tt.queues)
		if !tt.queues.Use {
			assert.Empty(t, all)
			continue
		}
		used, entries, stops := 0, 0, 0
		for _, n := range all {
			used += min(n[0], 1)
			entries += n[0]
			stops += n[1]
		}
		assert.Equal(t, 2, used, "one queue of the context, one of paging")
		assert.GreaterOrEqual(t, entries, 4)
		assert.GreaterOrEqual(t, stops, 3, "%s: the firmware preempts the queues", tt.selector)
		t.Logf("%s: %d entries, %d resumed after a stop", tt.selector, entries, stops)
	}
}

func TestComposeInQueues(t *testing.T) {
	o := compose.Options{Width: 40, Height: 30, Contexts: 2, Seed: 5, Sources: noise(3, image.Pt(70, 60), image.Pt(9, 33))}
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
	tooltest.Need(t, sim.Verilator.Tools()...)
	o := compose.Options{Width: 32, Height: 16, Contexts: 1, Seed: 5, Sources: noise(3, image.Pt(50, 40))}
	composesInQueues(t, "verilated?config=small", "verilated?config=full", o)
}

// A board without queues is refused. The work does not run without them.
func TestQueuesOfOtherBoards(t *testing.T) {
	for _, tt := range []struct {
		selector string
		queues   testbench.Queues
		want     error
	}{
		{"emu", forced, testbench.ErrQueues},
		{"emu?config=full&mcu=0", forced, testbench.ErrQueues},
		{"emu?config=full&vram=32KiB", forced, testbench.ErrQueues},
		{"emu?config=full", testbench.Queues{Use: true, Quantum: 999}, testbench.ErrQueues},
		{"emu?config=full&mcumem=8KiB", forced, testbench.ErrDevice},
	} {
		_, err := testbench.Open(tt.selector, testbench.HostDrivers(), testbench.Options{Queues: tt.queues})
		assert.ErrorIs(t, err, tt.want, tt.selector)
	}
}
