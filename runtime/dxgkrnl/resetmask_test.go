package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// From the decision to reset a node on, the kernel does not act on its interrupts before it
// has asked for the last fence.
//
// docs/properties.md: T2.
func TestNodeIsMaskedInAReset(t *testing.T) {
	q := hung(t, options{})
	var seen []EventKind
	q.mini.at = map[string]func(){
		"CollectDbgInfo": func() {
			q.kernel.observer = func(_ *ddi.Thread, e Event) { seen = append(seen, e.Kind) }
			q.gpu.queues[0][0].bytes = 0
			q.gpu.complete(0)
			q.kernel.dev.Deliver(q.kernel.thread)
		},
		"QueryDependentEngineGroup": func() {
			assert.Empty(t, seen)
			assert.NotEmpty(t, q.logged("NotifyInterrupt type=1 fence=1"), "it has arrived")
		},
	}
	q.goesOn(1)
	assert.Contains(t, seen, EventReport)
	assert.Zero(t, q.kernel.Stats().NodeResets)
	q.finish()
}

// Between the decision and the reset a node gets no work.
func TestNodeGetsNoWorkInAReset(t *testing.T) {
	q := newQueues(t, 2, options{resets: true, pagingBytes: opBytes, vram: 1 << 20})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
	p := q.devices[1]
	p.render(fill(p.alloc(3*4096, local), 0, 64, 1)) // 3 paging buffers, of which 1 has room
	q.mini.at = map[string]func(){
		"CollectDbgInfo": func() {
			q.gpu.queues[0][0].bytes = 0
			q.gpu.complete(0)
			q.mini.log = nil
			q.kernel.dev.Deliver(q.kernel.thread)
		},
		"QueryDependentEngineGroup": func() { assert.Empty(t, q.logged("Submit")) },
	}
	q.gpu.auto = true
	p.wait()
	assert.Zero(t, q.kernel.Stats().NodeResets)
	q.finish()
}

// ResetEngine aborts a submission. A fence of a preemption is none.
//
// docs/properties.md: T3.
func TestAbortedFenceOfAPreemption(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.mini.preempt = func(int) {}
	q.mini.engine = func(_ *ddi.Thread, node uint32) (uint32, ddi.Status, bool) {
		q.gpu.queues[node] = nil
		return q.mini.stopping[node], ddi.StatusSuccess, true
	}
	b := crash(func() { q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev) })
	require.NotNil(t, b)
	assert.Equal(t, []any{uint32(0x119), uint32(SchedulerAbort), "DxgkDdiResetEngine"}, []any{b.Code, b.P1, b.Function})
	assert.Contains(t, b.Text, "LastAbortedFenceID is 3, want 0 to 3: the last completed fence, or that of a submission after it")
}

// A node is responsive if it has made progress in the last second, and not at any time since
// it was last asked.
func TestQuestionIsAboutTheLastSecond(t *testing.T) {
	for _, tt := range []struct {
		name  string
		until uint64 // ticks for which the work makes progress
		want  uint64 // ticks until the work is ended
	}{{"stops at once", 10, 2000}, {"stops in the first second", 900, 2000}, {"stops in the last second", 1900, 4000}} {
		t.Run(tt.name, func(t *testing.T) {
			q := newQueues(t, 1, options{resets: true, quantum: 1 << 40})
			began, seen := q.gpu.now, uint64(0)
			q.mini.every = func(name string) {
				if name == "QueryEngineStatus" {
					progress := 1 + min(q.gpu.now-began, tt.until)
					q.mini.responsive, seen = progress != seen, progress
				}
			}
			q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
			q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev)
			assert.InDelta(t, tt.want, q.gpu.now-began, 60)
			q.lost(0, Timeout)
			q.finish()
		})
	}
}

// An application that polls instead of waiting asks too.
func TestPollingAsksForProgress(t *testing.T) {
	q := newQueues(t, 1, options{resets: true})
	p := q.devices[0]
	p.ok(p.submit(q.contexts[0], command{op: opHang, uses: []use{{dstAt, q.targets[0], 0, true}}}))
	for _, tt := range []struct {
		at    uint64
		asked int
	}{{900, 0}, {1100, 1}, {1200, 0}} {
		q.gpu.now, q.mini.log = q.kernel.nodes[0].progressAt+tt.at, nil
		assert.Equal(t, ddi.StatusAllocationBusy, p.thunks.Lock(p.thread, p.dev, &umddi.Lock{Allocation: q.targets[0], DoNotWait: true}))
		assert.Len(t, q.logged("QueryEngineStatus"), tt.asked, tt.at)
	}
}

// The last resets of the adapter count that are less than TdrLimitTime ago.
//
// docs/properties.md: T1.
func TestWindowOfResets(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   []uint64 // of the resets, in ticks after the first
		bad  bool     // the last one is one too many
	}{
		{"a tick too early", []uint64{0, 1000, 2000, 3000, 4000, 59_999}, true},
		{"in time", []uint64{0, 1000, 2000, 3000, 4000, 60_000}, false},
		{"five after the first", []uint64{0, 50_000, 51_000, 52_000, 53_000, 60_000, 61_000}, true},
		{"regular", []uint64{0, 12_000, 24_000, 36_000, 48_000, 60_000, 72_000, 84_000, 96_000, 108_000, 120_000}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			var first uint64
			var b *Bugcheck
			for i, at := range tt.at {
				require.Nil(t, b)
				r.gpu.auto = false
				r.render(command{op: opHang})
				r.kernel.progressed(&r.kernel.nodes[0])
				r.kernel.tdrTicks = 100 // the hang takes less time than there is between resets
				require.Error(t, r.kernel.WaitForIdle(r.thread))
				if i == 0 {
					first = r.gpu.now
				}
				r.gpu.now = first + at
				b = crash(r.another)
			}
			if !tt.bad {
				require.Nil(t, b)
				return
			}
			require.NotNil(t, b)
			assert.Equal(t, []uint32{0x116, TimeoutLimit}, []uint32{b.Code, b.P1})
		})
	}
}

// Messages without progress are a storm if there are more than 50 in a second.
func TestRateOfAStorm(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tdr      uint64 // ticks, of which a second has 1000
		before   int    // messages before the last progress
		messages int
		want     uint64
	}{
		{"100 in 2 seconds", 2000, 0, 100, 0}, {"101 in 2 seconds", 2000, 0, 101, 101},
		{"50 in half a second", 500, 0, 50, 0}, {"51 in half a second", 500, 0, 51, 51},
		{"many before the progress", 2000, 1000, 100, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			r.kernel.tdrTicks = tt.tdr
			send := func(n int) {
				for range n {
					r.gpu.interrupt(0)
					r.kernel.dev.Deliver(r.thread)
				}
			}
			r.gpu.auto = false
			send(tt.before)
			r.render(command{op: opHang})
			send(tt.messages)
			r.wantStopped(t)
			var e *DeviceError
			require.ErrorAs(t, r.kernel.Err(), &e)
			assert.Equal(t, tt.want, e.Storm)
		})
	}
}

// wantStopped waits until the GPU has stopped.
func (r *rig) wantStopped(t *testing.T) {
	t.Helper()
	require.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
}

// The codes of bugchecks are those of bugcodes.h, and of the pages of learn.microsoft.com
// about them.
func TestCodesOfBugchecks(t *testing.T) {
	assert.EqualValues(t, 0x116, CodeTimeout, "VIDEO_TDR_ERROR")
	assert.EqualValues(t, 0x119, CodeScheduler, "VIDEO_SCHEDULER_INTERNAL_ERROR")
	assert.EqualValues(t, 0x10e, CodeMemory, "VIDEO_MEMORY_MANAGEMENT_INTERNAL")
	assert.EqualValues(t, 0xc4, CodeVerifier, "DRIVER_VERIFIER_DETECTED_VIOLATION")
	assert.EqualValues(t, 0x141, reasonTimeout, "VIDEO_ENGINE_TIMEOUT_DETECTED")
	assert.EqualValues(t, 0x117, reasonAdapter, "VIDEO_TDR_TIMEOUT_DETECTED")
	for _, tt := range []struct{ got, want uint32 }{
		{SchedulerFence, 1}, {SchedulerSubmit, 2}, {SchedulerPatch, 3}, {SchedulerPaging, 5}, {SchedulerCancel, 9}, {SchedulerAbort, 0xa}, {SchedulerReset, 0x10},
	} {
		assert.Equal(t, tt.want, tt.got)
	}
}

// A completion that was noted in a reset is reported once.
func TestNotedCompletionIsReportedOnce(t *testing.T) {
	q := hung(t, options{})
	reports := 0
	q.kernel.observer = func(_ *ddi.Thread, e Event) {
		if e.Kind == EventReport && e.Fence == 1 {
			reports++
		}
	}
	q.mini.at = map[string]func(){"QueryDependentEngineGroup": func() {
		q.gpu.queues[0][0].bytes = 0
		q.gpu.complete(0)
		q.kernel.dev.Deliver(q.kernel.thread)
	}}
	q.devices[1].wait()
	assert.Equal(t, 1, reports)
	assert.Contains(t, q.logged("NotifyInterrupt"), "NotifyInterrupt type=1 fence=1 node=0")
}
