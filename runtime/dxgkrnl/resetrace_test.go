package dxgkrnl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A destroyed allocation keeps its content for work that is taken back from a node that is reset.
func TestDestroyedContentAfterAReset(t *testing.T) {
	q := newQueues(t, 2, options{resets: true, vram: 8192})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 3, 3
	low, high := q.devices[0], q.devices[1]
	guilty := q.process(7)
	guilty.open(0)
	a, b, whole := low.alloc(2048, local), low.alloc(2048, system), high.alloc(8192, local)
	q.gpu.auto = true
	low.render(fill(a, 0, 2048, 7))
	low.wait()
	q.gpu.auto = false
	guilty.render(command{op: opHang})
	low.render(copyTo(b, 0, a, 0, 2048))
	low.ok(low.destroy(a))
	high.render(fill(whole, 0, 8192, 9))
	q.gpu.auto = true
	assert.True(t, string(repeat(7, 2048)) == string(low.read(b)), "content")
	assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
	assert.True(t, string(repeat(9, 8192)) == string(high.read(whole)))
	q.finish()
}

// Work that completes in ResetEngine, which reports it, is not aborted.
func TestWorkCompletesInAReset(t *testing.T) {
	q := newQueues(t, 1, options{resets: true})
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], fill(q.targets[0], 0, 64, 1)))
	q.mini.at = map[string]func(){"ResetEngine": func() { q.gpu.complete(0) }}
	q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev)
	assert.Equal(t, repeat(1, 64), q.gpuRead(q.targets[0], 64), "it was executed")
	assert.NoError(t, q.kernel.Lost(q.devices[0].dev))
}

// An answer to the preemption that comes before the reset makes it unnecessary.
func TestAnswerBeforeAReset(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.mini.preempt = func(int) {}
	q.mini.at = map[string]func(){"CollectDbgInfo": func() {
		q.gpu.queues[0][0].bytes = 0
		q.gpu.complete(0)
		q.gpu.stop(0, 0) // the answer
	}}
	began := q.gpu.now
	q.devices[1].wait()
	assert.InDelta(t, 4000, q.gpu.now-began, 200)
	assert.Zero(t, q.kernel.Stats().NodeResets)
	for i := range 2 {
		assert.NoError(t, q.kernel.Lost(q.devices[i].dev))
	}
	q.finish()
}

// A fault that comes before the reset is not lost.
func TestFaultBeforeAReset(t *testing.T) {
	q := newQueues(t, 2, options{resets: true})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
	q.devices[1].ok(q.devices[1].submit(q.contexts[1], command{op: opFault}))
	q.mini.at = map[string]func(){"CollectDbgInfo": func() {
		q.gpu.queues[0][0].bytes = 0
		q.gpu.complete(0)
		q.gpu.complete(0) // faults
	}}
	began := q.gpu.now
	q.devices[1].thunks.WaitForIdle(q.devices[1].thread, q.devices[1].dev)
	assert.NoError(t, q.kernel.Lost(q.devices[0].dev))
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Lost(q.devices[1].dev), &e)
	assert.Equal(t, Fault, e.Kind)
	assert.InDelta(t, 2000, q.gpu.now-began, 200)
}

// A completion that comes before the kernel gives up the reset is not lost.
func TestCompletionBeforeTheEnd(t *testing.T) {
	q := hung(t, options{})
	asked := 0
	q.mini.query = func(th *ddi.Thread, node uint32) (uint32, ddi.Status) {
		v := q.mini.read(th, regFence)
		if asked++; asked == 2 {
			q.gpu.complete(0)
		}
		return v, 0
	}
	q.mini.at = map[string]func(){"CollectDbgInfo": func() {
		q.gpu.queues[0][0].bytes = 0
		q.gpu.complete(0)
	}}
	began := q.gpu.now
	q.devices[1].wait()
	assert.InDelta(t, 2000, q.gpu.now-began, 200)
	assert.Empty(t, q.reports)
}

// The reason names the work that was aborted, also if that was not the suspect.
func TestTextOfNextWork(t *testing.T) {
	q := hung(t, options{})
	var events []Event
	q.kernel.observer = func(_ *ddi.Thread, e Event) { events = append(events, e) }
	q.mini.at = map[string]func(){"ResetEngine": func() {
		q.gpu.queues[0][0].bytes = 0
		q.gpu.complete(0)
	}}
	q.devices[1].thunks.WaitForIdle(q.devices[1].thread, q.devices[1].dev)
	at := slices.IndexFunc(events, func(e Event) bool { return e.Kind == EventReset })
	require.GreaterOrEqual(t, at, 0)
	assert.EqualValues(t, 2, events[at].Fence)
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Lost(q.devices[1].dev), &e)
	assert.Contains(t, events[at].Text, "dxgkrnl: GPU time-out: node 0, fence 2: ")
	assert.Contains(t, e.Work, "patched by DxgkDdiPatch (1 of 1 locations)", "it has a patch, the suspect none")
	require.Len(t, q.reports, 1)
	assert.Contains(t, q.reports[0], "node 0: fence 2 made no progress")
}

// Work that a preemption takes back while its device is being lost is cancelled too.
func TestPreemptionAnswersInACancel(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true, resets: true, nodes: 2})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 1, 1
	p := q.devices[0]
	p2 := q.process(8)
	p2.open(1)
	other := p.context(1)
	x := p.alloc(64, system)
	// node 1 executes work of the device, and is asked to stop for another process
	p.ok(p.submit(other, fill(x, 0, 64, 1)))
	p.ok(p.submit(other, fill(x, 0, 64, 2)))
	q.mini.preempt = func(int) {}
	q.ok(q.thunks.SetContextSchedulingPriority(q.thread, p2.ctx.Context, 3))
	p2.render(fill(p2.alloc(64, system), 0, 64, 5))
	require.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	// node 0 faults with work of the device
	p.ok(p.submit(q.contexts[0], command{op: opFault}))
	p.ok(p.submit(q.contexts[0], fill(q.targets[0], 0, 64, 3)))
	q.mini.at = map[string]func(){"Cancel": func() {
		q.mini.at["Cancel"] = func() { // while the work of node 1 is cancelled
			q.gpu.stop(1, 0)
			q.kernel.dev.Deliver(q.kernel.thread)
		}
	}}
	q.gpu.auto = true
	q.mini.preempt = nil
	p2.wait()
	q.ok(p.thunks.DestroyDevice(p.thread, p.dev))
	assert.NoError(t, q.kernel.Err())
	q.finish()
}

// A device that is lost keeps its reason.
func TestFirstReasonIsKept(t *testing.T) {
	q := newQueues(t, 1, options{resets: true, nodes: 2})
	p := q.devices[0]
	other := p.context(1)
	p.ok(p.submit(q.contexts[0], command{op: opFault}))
	p.ok(p.submit(other, command{op: opHang}))
	q.gpu.auto = true
	assert.NoError(t, q.kernel.WaitForIdle(q.thread))
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Lost(p.dev), &e)
	assert.Equal(t, Fault, e.Kind, "the first reason")
}

// Work that hangs is ended, although the node stops for other work again and again.
func TestHungWorkBesideOthers(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, resets: true, quantum: 10})
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
	q.gpu.auto = true
	for range 100 {
		q.gpu.now += 500
		q.work(1)
		q.devices[1].wait()
	}
	assert.Error(t, q.kernel.Lost(q.devices[0].dev))
}

// Work may complete while a responsive node is asked.
func TestCompletionMeetsTheQuestion(t *testing.T) {
	q := newQueues(t, 1, options{resets: true})
	q.mini.responsive = true
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], fill(q.targets[0], 0, 64, 1)))
	q.mini.at = map[string]func(){"QueryEngineStatus": func() {
		q.gpu.complete(0)
		q.kernel.dev.Deliver(q.kernel.thread)
	}}
	q.devices[0].wait()
	assert.Zero(t, q.kernel.Stats().NodeResets)
	q.finish()
}

// A node of a group that has made progress does not cost the adapter.
func TestProgressOfAGroup(t *testing.T) {
	q := hung(t, options{})
	q.mini.group = 3
	q.mini.at = map[string]func(){"CollectDbgInfo": func() {
		q.gpu.queues[0][0].bytes = 0
		q.gpu.complete(0)
	}}
	q.devices[1].thunks.WaitForIdle(q.devices[1].thread, q.devices[1].dev)
	assert.NoError(t, q.kernel.Err())
}

// Work may hang while the kernel stops.
func TestHangDuringStop(t *testing.T) {
	for _, pre := range []bool{false, true} {
		q := hung(t, options{preempts: pre})
		assert.NoError(t, q.kernel.Stop(q.thread))
		assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
		assert.Zero(t, q.mini.live)
		assert.NoError(t, q.gpu.err)
	}
}

// Fences may wrap around near a reset.
func TestResetsNearTheWrapOfFences(t *testing.T) {
	for first := uint32(0xfffffff8); first != 3; first++ {
		for _, pre := range []bool{false, true} {
			if first == 0 {
				continue
			}
			o := options{first: first, preempts: pre}
			q := hung(t, o)
			q.goesOn(1)
			q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev)
			assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
			q.lost(0, Timeout)
			q.finish()
		}
	}
}

// Paging buffers that are taken back are submitted again, also if the thread that places allocations waits for them.
func TestThreadThatPlacesWaits(t *testing.T) {
	for _, op := range []uint32{opHang, opFault} {
		q := newQueues(t, 2, options{resets: true, vram: 2 << 20})
		q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
		q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: op}))
		p := q.devices[1]
		a := p.alloc(1<<20, local)
		q.gpu.auto = true
		p.ok(p.submit(q.contexts[1], fill(a, 0, 64, 6)))
		assert.NoError(t, q.kernel.Err())
	}
}

// linkDown is an error by which a link is down.
type linkDown struct{}

func (linkDown) Error() string { return "broken" }

func (linkDown) Is(error) bool { return true }

// A link that fails during a reset is no time-out.
func TestLinkFailsInAReset(t *testing.T) {
	for _, at := range []string{"QueryEngineStatus", "CollectDbgInfo", "QueryDependentEngineGroup", "ResetEngine"} {
		q := hung(t, options{})
		q.mini.at = map[string]func(){at: func() {
			q.gpu.linkErr = linkDown{}
			q.mini.fail["ResetEngine"] = ddi.StatusIODeviceError
		}}
		q.devices[1].thunks.WaitForIdle(q.devices[1].thread, q.devices[1].dev)
		var e *DeviceError
		require.ErrorAs(t, q.kernel.Err(), &e)
		assert.Equal(t, Link, e.Kind, at)
	}
}

// Two contexts that hang, and stop for each other, both end.
func TestTwoHang(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, resets: true, quantum: 100})
	for i := range 2 {
		q.devices[i].ok(q.devices[i].submit(q.contexts[i], command{op: opHang}))
	}
	q.gpu.auto = true
	q.gpu.onWait = func() {
		if q.gpu.now > 1_000_000 {
			panic("a thousand seconds without an end")
		}
	}
	assert.NotPanics(t, func() {
		for i := range 2 {
			q.devices[i].thunks.WaitForIdle(q.devices[i].thread, q.devices[i].dev)
		}
	})
}
