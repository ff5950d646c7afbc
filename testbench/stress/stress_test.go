package stress

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// small returns the options of a short run, in which the sanitizer is on.
func small(t *testing.T, board string) Options {
	return Options{Board: board, Drivers: testbench.HostDrivers(), System: testbench.Options{Sanitize: true, Record: eventstest.Record(t)}, Processes: 3, Contexts: 2, KernelDraws: true, Seed: 1, Rounds: 3, Frames: 3, Pressure: 1.5}
}

// Every process presents what the model has, and only the guilty lose their devices.
func TestEachFault(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name, board string
		change      func(o *Options)
		check       func(t *testing.T, r Round)
	}{
		{"none", "emu?vram=64KiB", func(o *Options) {}, func(t *testing.T, r Round) {
			assert.EqualValues(t, 3*4*3, r.Frames, "three processes, three rounds and the last one, three frames")
			assert.Positive(t, r.PagingBuffers)
			assert.Positive(t, r.Preemptions)
			assert.Zero(t, r.NodeResets+r.Recoveries+r.Guilty+r.Others+r.Refused)
		}},
		{"none on a line", "line?vram=64KiB", func(o *Options) { o.Rounds = 1 }, func(t *testing.T, r Round) {
			assert.Positive(t, r.Preemptions)
			assert.Less(t, r.Preemptions, r.DMABuffers, "a turn is long enough for some work")
		}},
		{"three contexts", "emu?vram=64KiB", func(o *Options) { o.Contexts = 3 }, func(t *testing.T, r Round) {
			assert.EqualValues(t, 36, r.Frames)
			assert.Zero(t, r.NodeResets+r.Recoveries+r.Guilty+r.Others+r.Refused)
		}},
		{"one node", "emu?vram=64KiB&nodes=1", func(o *Options) {}, func(t *testing.T, r Round) { assert.EqualValues(t, 36, r.Frames) }},
		{"hang", "emu?vram=64KiB", func(o *Options) { o.Hang, o.Rounds = 0.05, 1 }, func(t *testing.T, r Round) {
			assert.Positive(t, r.Hangs)
			assert.Equal(t, []uint64{r.Hangs, r.Hangs, 0}, []uint64{r.Guilty, r.NodeResets, r.Others})
		}},
		{"hang after a given time", "emu?vram=64KiB", func(o *Options) { o.Hang, o.Rounds, o.System.Tdr = 0.05, 1, 20*time.Millisecond }, func(t *testing.T, r Round) {
			assert.Positive(t, r.Hangs)
			assert.Equal(t, []uint64{r.Hangs, r.Hangs, 0}, []uint64{r.Guilty, r.NodeResets, r.Others})
		}},
		{"much memory", "emu?vram=8MiB", func(o *Options) { o.Processes, o.Rounds, o.Frames, o.System.Sanitize = 2, 1, 1, false }, func(t *testing.T, r Round) {
			assert.Zero(t, r.NodeResets+r.Recoveries, "the work of the bench takes less than a time-out")
		}},
		{"bad packet", "emu?vram=64KiB", fault(BadPacket, 0.02), func(t *testing.T, r Round) {
			assert.Positive(t, r.Injected[BadPacket])
			assert.Equal(t, r.Guilty, r.NodeResets)
			assert.Zero(t, r.Others)
		}},
		{"bad packet on a line", "line?vram=64KiB", fault(BadPacket, 0.02), func(t *testing.T, r Round) {
			assert.Positive(t, r.Guilty)
			assert.Zero(t, r.Others)
		}},
		{"host read", "emu?vram=64KiB", fault(HostRead, 0.02), func(t *testing.T, r Round) {
			assert.Positive(t, r.Recoveries, "the node waits for its read and cannot be reset")
			assert.Positive(t, r.Others)
		}},
		{"host read on a line", "line?vram=64KiB", fault(HostRead, 0.02), func(t *testing.T, r Round) { assert.Positive(t, r.Guilty) }},
		{"PREEMPT ignored", "emu?vram=64KiB", fault(IgnorePreempt, 0.05), func(t *testing.T, r Round) {
			assert.Positive(t, r.NodeResets)
			assert.Positive(t, r.Injected[IgnorePreempt])
		}},
		{"bad packet and PREEMPT ignored", "emu?vram=64KiB", func(o *Options) {
			fault(BadPacket, 0.05)(o)
			fault(IgnorePreempt, 0.5)(o)
		}, func(t *testing.T, r Round) { assert.Positive(t, r.Guilty) }},
		{"reset ignored", "emu?vram=64KiB", fault(IgnoreReset, 0.02), func(t *testing.T, r Round) {
			assert.Positive(t, r.Recoveries)
			assert.Zero(t, r.NodeResets)
		}},
		{"interrupt", "emu?vram=64KiB", fault(LostInterrupt, 0.1), func(t *testing.T, r Round) {
			assert.Positive(t, r.Lost, "found by asking the GPU")
			assert.Zero(t, r.NodeResets+r.Recoveries+r.Guilty+r.Others)
		}},
		{"no memory", "emu?vram=64KiB", fault(NoMemory, 0.1), func(t *testing.T, r Round) {
			assert.Positive(t, r.Refused)
			assert.Zero(t, r.NodeResets+r.Recoveries)
		}},
		{"firmware", "emu?config=full&vram=128KiB", func(o *Options) {
			fault(Firmware, 0.05)(o)
			o.System.Queues.Use, o.Rounds = true, 1
		}, func(t *testing.T, r Round) { assert.Positive(t, r.Recoveries) }},
		{"unplug", "emu?vram=64KiB", fault(Unplug, 0.01), func(t *testing.T, r Round) { assert.Equal(t, r.Injected[Unplug], r.Recoveries) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small(t, tt.board)
			tt.change(&o)
			r, err := Run(o)
			t.Log(r)
			require.NoError(t, err)
			tt.check(t, r)
		})
	}
}

// fault returns a change of options that adds a fault.
func fault(f Fault, rate float64) func(o *Options) {
	return func(o *Options) { o.Faults = append(o.Faults, Injection{f, rate}) }
}

// The submissions of a device go to several contexts, on both nodes.
func TestContexts(t *testing.T) {
	o := small(t, "emu?vram=64KiB")
	o.Contexts, o.Rounds = 4, 1
	made, used, nodes := 0, map[kmddi.HContext]int{}, map[uint32]int{}
	entry := o.Drivers.KernelMode
	o.Drivers.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		create, patch := table.CreateContext, table.Patch
		table.CreateContext = func(t *ddi.Thread, dev kmddi.HDevice, ctx kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
			if !arg.SystemContext {
				made++
			}
			return create(t, dev, ctx, arg)
		}
		table.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			used[arg.Context]++
			nodes[arg.NodeOrdinal]++
			return patch(t, h, arg)
		}
		return table
	}
	r, err := Run(o)
	require.NoError(t, err)
	assert.Positive(t, r.Drawn, "by the kernel")
	assert.Equal(t, 2*3*4, made, "a device of each process before the first round, and one after it")
	assert.Len(t, used, made+1, "and that of the kernel")
	assert.Len(t, nodes, 2)
}

// changed returns the drivers with a miniport that changes one submission of a device.
func changed(change func(part []byte)) testbench.Drivers {
	d := testbench.HostDrivers()
	entry := d.KernelMode
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		patch, fences := table.Patch, map[uint32]bool{}
		table.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			s := patch(t, h, arg)
			if !arg.Flags.Paging {
				if fences[arg.SubmissionFenceID] = true; len(fences) == 60 {
					change(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset])
				}
			}
			return s
		}
		return table
	}
	return d
}

// A packet that is not executed is found, and so are a device that is lost without its own fault, and
// an address that is not that of the allocation.
func TestDriverIsWrong(t *testing.T) {
	for want, change := range map[string]func(part []byte){
		": verifier: access-address (driver): DxgkDdiPatch: ": func(part []byte) { part[8] |= 0x40 }, // the base of SET_STATE
		"wrong contents":                  func(part []byte) { part[3] = 1 }, // a NOP with the same body
		"no fault of its own explains it": func(part []byte) { part[3] = 0x7e },
	} {
		o := small(t, "emu?vram=64KiB")
		o.Drivers = changed(change)
		_, err := Run(o)
		require.ErrorIs(t, err, ErrFailed)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "stress: failed: seed 1, round ")
	}
}

// A guilty device that is not lost is found, and so is an adapter that stops without a fault, and
// memory that is left.
func TestJudge(t *testing.T) {
	b, err := open(small(t, "emu?vram=64KiB"))
	require.NoError(t, err)
	b.calm, b.round = false, 1
	require.NoError(t, b.next())
	b.processes[1].device.offend(BadPacket)
	b.round = 2
	err = b.next()
	require.ErrorIs(t, err, ErrFailed)
	assert.ErrorContains(t, err, "round 2, process 1: the device is not lost, though a submission of it failed in round 1: [bad-packet]")
	b.failed = nil
	b.memory--
	err = b.settle()
	require.ErrorIs(t, err, ErrFailed)
	assert.ErrorContains(t, err, "of the PC's memory are in use at the end")

	b.injector.Unplug()
	err = b.next()
	require.ErrorIs(t, err, ErrLink)
	assert.ErrorContains(t, err, "the adapter has stopped, and no fault explains it: ")
	b.failed = nil
	require.NoError(t, b.sys.Recover())
	require.NoError(t, b.sys.Close())
}

// A broken rule that no process sees ends the run too, and is no adapter that does not recover.
func TestBrokenRuleBetweenRounds(t *testing.T) {
	o := small(t, "emu?vram=64KiB")
	entry := o.Drivers.KernelMode
	o.Drivers.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		table.Escape = func(*ddi.Thread, kmddi.HAdapter, kmddi.Escape) ddi.Status { panic("a mistake") }
		return table
	}
	b, err := open(o)
	require.NoError(t, err)
	b.round = 1
	require.Error(t, b.sys.Escape(nil))
	err = b.recover()
	require.ErrorIs(t, err, ErrFailed)
	assert.ErrorContains(t, err, "stress: failed: seed 1, round 1: verifier: ")
	require.Error(t, b.sys.Close())
}

// A copy of what nobody has written is a warning of the sanitizer, and ends the run.
func TestUnwrittenIsFound(t *testing.T) {
	b, err := open(small(t, "emu?vram=64KiB"))
	require.NoError(t, err)
	b.round = 1
	require.NoError(t, b.next())
	d := b.processes[0].device
	var all [2]*d3d11.Buffer
	for i := range all {
		all[i], err = d.api.CreateBuffer(d3d11.BufferDesc{ByteWidth: 256, BindFlags: d3d11.BindVertexBuffer}, nil)
		require.NoError(t, err)
	}
	d.immediate.api.CopyResource(all[0], all[1])
	err = b.next()
	require.ErrorIs(t, err, ErrFailed)
	assert.ErrorContains(t, err, "stress: failed: seed 1, round 1: verifier: access-unwritten ")
	require.NoError(t, b.sys.Close())
}

func TestOptions(t *testing.T) {
	for want, change := range map[string]func(o *Options){
		"0 processes, want 1 to 64":                                           func(o *Options) { o.Processes = 0 },
		"65 processes, want 1 to 64":                                          func(o *Options) { o.Processes = 65 },
		"9 contexts, want 1 to 8":                                             func(o *Options) { o.Contexts = 9 },
		"-1 contexts, want 1 to 8":                                            func(o *Options) { o.Contexts = -1 },
		"0 frames, want at least 1":                                           func(o *Options) { o.Frames = 0 },
		"0 rounds and no time, want --rounds or --time":                       func(o *Options) { o.Rounds = 0 },
		"-1 rounds (--rounds), want at least 0":                               func(o *Options) { o.Rounds = -1 },
		"a time (--time) of -1s, want at least 0":                             func(o *Options) { o.Time = -time.Second },
		"a hang rate of 1.5, want 0 to 1":                                     func(o *Options) { o.Hang = 1.5 },
		"hangs on the board line, want a time-out of the GPU (--tdr-delay), ": func(o *Options) { o.Hang, o.Board = 0.1, "line" },
		"a time-out (--tdr-delay) of 1ms (100000 clocks) on the board emu, want at least 42ms (4194304 clocks), ":                                      func(o *Options) { o.System.Tdr = time.Millisecond },
		"hangs and a time-out (--tdr-delay) of 2s (200000000 clocks), want at most 1.342s (134217728 clocks), since the emulator needs minutes for it": func(o *Options) { o.Hang, o.System.Tdr = 0.1, 2*time.Second },
		"hangs and a time-out (--tdr-delay) of 500ms (50000000 clocks) on the board emu?config=full&vram=64KiB, want at most 71ms (7168000 clocks), since the longest work that the bench can make hang is shorter": func(o *Options) {
			o.Hang, o.Board, o.System.Tdr = 0.1, "emu?config=full&vram=64KiB", 500*time.Millisecond
		},
		"hangs and a time-out (--tdr-delay) of 16m40s on a link of 300000 bytes a second, want at most 1m49.226s, since the longest work that the bench can make hang is shorter": func(o *Options) {
			o.Hang, o.Board, o.System.Tdr = 0.1, "line?vram=64KiB", 1000*time.Second
		},
		"a pressure of 0, want more than 0 to 16":                                                               func(o *Options) { o.Pressure = 0 },
		"the board line?faults=cut=9, whose line is cut; unplug pulls the board out":                            func(o *Options) { o.Board = "line?faults=cut=9" },
		"the fault firmware, which needs --firmware-queues":                                                     fault(Firmware, 0.1),
		"the fault ignore-preempt with --firmware-queues, where the firmware stops and resets the nodes itself": func(o *Options) { fault(IgnorePreempt, 0.1)(o); o.System.Queues.Use = true },
		"the fault ignore-reset with --firmware-queues, ":                                                       func(o *Options) { fault(IgnoreReset, 0.1)(o); o.System.Queues.Use = true },
		"a rate of -1 of unplug, want 0 to 1":                                                                   fault(Unplug, -1),
	} {
		o := small(t, "emu")
		change(&o)
		_, err := Run(o)
		assert.ErrorIs(t, err, ErrInput)
		assert.ErrorContains(t, err, want)
	}
	all, err := ParseFaults("bad-packet=0.5,unplug=1")
	require.NoError(t, err)
	assert.Equal(t, []Injection{{BadPacket, 0.5}, {Unplug, 1}}, all)
	for _, bad := range []string{"unplug", "unplug=x", "unplug=2", "unplug=NaN", "rain=0.1", ",", "unplug=0.1,unplug=0.1", "unplug=0.1,bad-packet=0,unplug=0"} {
		_, err := ParseFaults(bad)
		assert.ErrorIs(t, err, ErrInput, bad)
	}
	stop := errors.New("enough")
	o := small(t, "emu?vram=64KiB")
	o.Progress = func(Round) error { return stop }
	_, err = Run(o)
	assert.ErrorIs(t, err, stop)
}

// A bad selector is the error, whatever the time-out is.
func TestBadSelectorWithTimeOut(t *testing.T) {
	for _, board := range []string{"emu?nope=1", "emu?vram=x", "emu?vram=3", "emu?nodes=9", "verilated?nope=1"} {
		for name, set := range map[string]func(o *testbench.Options){
			"clocks":     func(o *testbench.Options) { o.TdrDelay = 1000 },
			"a duration": func(o *testbench.Options) { o.Tdr = time.Microsecond },
			"no":         func(*testbench.Options) {},
		} {
			o := small(t, board)
			o.Hang = 0.1
			set(&o.System)
			_, err := Run(o)
			require.ErrorIs(t, err, boards.ErrSelector, "%s, %s time-out", board, name)
			assert.NotErrorIs(t, err, ErrInput, "%s, %s time-out", board, name)
		}
	}
}
