package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// halves returns two fills of the halves of 64 bytes.
func halves(a ddi.KMHandle, v byte) []command {
	return []command{fill(a, 0, 32, v), fill(a, 32, 32, v)}
}

// Work of a higher priority stops a node in the middle of a buffer. The stopped buffer goes
// on from its place, with a new fence and after another Patch.
func TestHigherPriorityPreempts(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	low := q.devices[0]
	low.ok(low.submit(q.contexts[0], halves(q.targets[0], 1)...))
	executed := 0
	q.mini.preempt = func(node int) {
		executed++
		q.gpu.stop(node, 1)
	}
	q.mini.log = nil
	q.work(1)
	assert.Equal(t, []string{
		"Preempt fence=2 node=0", "NotifyInterrupt type=2 fence=2 node=0",
		"Patch fence=3 node=0", "Submit buffer fence=3 node=0",
	}, q.logged("Preempt", "NotifyInterrupt", "Patch", "Submit"))
	assert.Equal(t, []int{0, 1, 0}, q.end())
	assert.Equal(t, 1, executed)
	assert.EqualValues(t, 1, q.kernel.Stats().Preemptions)
}

// Work of the same priority, and work that is not ready, stops nothing.
func TestNoPreemption(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, nodes: 2})
	q.work(0)
	high := q.devices[1].context(0)
	other := q.devices[1].context(1)
	q.ok(q.thunks.SetContextSchedulingPriority(q.thread, high.Context, MaxPriority))
	q.devices[1].ok(q.devices[1].submit(other, fill(q.targets[1], 0, 64, 7)))
	q.devices[1].ok(q.devices[1].submit(high, fill(q.targets[1], 0, 64, 8))) // waits for the work before it
	assert.Zero(t, q.kernel.Stats().Preemptions)
}

// A node answers later. Meanwhile it gets nothing, and what completes is reported first.
//
// docs/properties.md: S5.
func TestAnswerComesLater(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	q.work(0)
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
	q.mini.preempt = func(int) {}
	q.work(1)
	q.work(1)
	b := q.devices[0].alloc(64, local)
	q.devices[0].render(fill(b, 0, 64, 1)) // with a paging buffer
	q.enter()
	assert.Empty(t, q.logged("Submit buffer fence=3"))
	q.gpu.complete(0) // fence 1, although PREEMPT was asked for
	q.gpu.stop(0, 0)
	q.enter()
	require.Equal(t, []string{"Submit buffer fence=3 node=0", "Submit buffer fence=4 node=0"}, q.logged("Submit"))
	assert.Equal(t, []int{0, 1, 1, 0}, q.end())
}

// A node that does not answer is a hang, two seconds after the request.
//
// docs/properties.md: S5.
func TestNoAnswer(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	q.work(0)
	q.mini.preempt = func(int) {}
	q.gpu.now += 1500
	q.work(1)
	asked := q.gpu.now
	p := q.devices[1]
	assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Err(), &e)
	assert.Equal(t, Timeout, e.Kind)
	assert.InDelta(t, 2000, q.gpu.now-asked, 20)
	require.NotEmpty(t, q.reports)
	assert.Equal(t, "preempt-time-out: DxgkDdiPreemptCommand: node 0: preemption fence 2 was accepted, but DMA_PREEMPTED was not reported in 2000 clocks", q.reports[0])

	require.NoError(t, q.kernel.Recover(q.thread))
	q.mini.preempt = nil
	next := []*rig{q.process(8), q.process(9)}
	for i, p := range next {
		p.open(0)
		q.ok(q.thunks.SetContextSchedulingPriority(q.thread, p.ctx.Context, i))
		p.render(fill(p.alloc(64, system), 0, 64, 1))
	}
	assert.EqualValues(t, 2, q.kernel.Stats().Preemptions)
	q.gpu.auto = true
	for _, p := range next {
		p.wait()
	}
	q.finish()
}

// The end of a quantum ends a wait.
func TestQuantumDuringAWait(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, quantum: 10})
	q.gpu.latency = 500
	q.gpu.auto = true
	var tasks []Task
	for i, p := range q.devices {
		tasks = append(tasks, Task{p.thread, func(*ddi.Thread) {
			p.ok(p.submit(q.contexts[i], halves(q.targets[i], byte(i+1))...))
			p.wait()
		}})
	}
	q.kernel.Run(1, tasks)
	assert.NotZero(t, q.kernel.Stats().Preemptions)
	q.finish()
}

// Work of a low priority that work of a high one waits for takes turns with the high ones.
func TestInheritedLevelTakesTurns(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, quantum: 100, nodes: 2})
	low, high := q.devices[0], q.devices[0].context(1)
	q.priority(0, MinPriority)
	q.priority(1, MaxPriority)
	q.ok(q.thunks.SetContextSchedulingPriority(q.thread, high.Context, MaxPriority))
	q.gpu.latency, q.gpu.auto = 1_000_000, true
	began, asked := q.gpu.now, uint64(0)
	q.mini.preempt = func(node int) {
		asked, q.gpu.latency = q.gpu.now, 10
		q.gpu.stop(node, 0)
	}
	q.work(1)
	low.ok(low.submit(q.contexts[0], fill(q.targets[0], 0, 64, 1)))
	low.ok(low.submit(high, fill(q.targets[0], 0, 32, 2)))
	q.kernel.Run(1, []Task{{low.thread, func(*ddi.Thread) { low.wait() }}})
	assert.InDelta(t, 100, asked-began, 30)
	q.end()
}

// QueryCurrentFence may report a preemption whose interrupt was lost.
func TestLostAnswer(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	q.work(0)
	q.mini.preempt = func(int) {}
	q.mini.query = func(th *ddi.Thread, node uint32) (uint32, ddi.Status) {
		if q.mini.stopping[node] != 0 {
			q.mini.cb.SynchronizeExecution(th, q.mini.cb.DeviceHandle, 0, func(th *ddi.Thread) bool {
				q.gpu.queues[node] = nil
				q.mini.notify(th, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAPreempted, FenceID: q.mini.stopping[node], LastCompletedFenceID: q.mini.last[node]})
				q.mini.stopping[node] = 0
				return true
			})
		}
		return q.mini.last[node], ddi.StatusSuccess
	}
	q.work(1)
	p := q.devices[1]
	q.gpu.onWait = func() { q.gpu.auto = q.mini.stopping[0] == 0 }
	p.wait()
	q.finish()
}

// Paging buffers that were stopped go first again, with their fences.
//
// docs/properties.md: S5.
func TestPagingBuffersArePreempted(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 3, 3
	q.priority(1, 1)
	low, high := q.devices[0], q.devices[1]
	a, b := low.alloc(64, local), low.alloc(128, local)
	low.ok(low.submit(q.contexts[0], fill(q.targets[0], 0, 64, 1))) // fence 1
	low.ok(low.submit(q.contexts[0], fill(a, 0, 64, 2), fill(b, 0, 128, 3)))
	q.mini.log = nil
	high.ok(high.submit(q.contexts[1], fill(q.targets[1], 0, 64, 9)))
	assert.Equal(t, []string{
		"Preempt fence=4 node=0", "Submit paging fence=2 node=0", "Patch fence=5 node=0", "Submit buffer fence=5 node=0",
		"Patch fence=6 node=0", "Submit buffer fence=6 node=0",
	}, q.logged("Preempt", "Patch", "Submit"))
	q.gpu.auto = true
	assert.Equal(t, repeat(2, 64), low.read(a))
	assert.Equal(t, repeat(3, 128), low.read(b))
	q.end()
}

// A stopped buffer finds its allocations at another place, or gets them back from host
// memory, with what it has written.
func TestStoppedWorkIsMoved(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, vram: 8192})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 3, 3
	q.priority(1, 1)
	low, high := q.devices[0], q.devices[1]
	a, whole := low.alloc(2048, local), high.alloc(8192, local)
	q.gpu.auto = true
	low.render(fill(a, 0, 2048, 5))
	low.wait()
	q.gpu.auto = false
	low.render(fill(a, 0, 1024, 1), fill(a, 1024, 512, 2))
	high.render(fill(whole, 0, 8192, 9))
	assert.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	q.gpu.auto = true
	assert.Equal(t, repeat(9, 8192), high.read(whole))
	assert.Equal(t, append(append(repeat(1, 1024), repeat(2, 512)...), repeat(5, 512)...), low.read(a))
	assert.NotZero(t, q.kernel.Stats().Evictions)
	q.end()
}

// Work that waits for a stopped buffer gives up its places, if the stopped one needs them.
func TestPlacesOfWorkThatFollows(t *testing.T) {
	r := newRig(t, options{preempts: true, nodes: 2, capacity: 1, vram: 8192})
	p := r.process(2)
	p.open(0)
	a, b, c := r.alloc(4096, local), r.alloc(4096, local), p.alloc(8192, local)
	other := r.context(1)
	r.gpu.auto = false
	r.render(fill(a, 0, 2048, 1), fill(a, 2048, 2048, 2))
	for range 3 { // the paging buffers and the buffer
		r.gpu.step()
		r.enter()
		if len(r.gpu.queues[0]) > 0 {
			break
		}
	}
	require.NotEmpty(t, r.gpu.queues[0])
	r.ok(r.submit(other, copyTo(b, 0, a, 0, 4096))) // made: it waits for node 0
	r.ok(r.thunks.SetContextSchedulingPriority(r.thread, p.ctx.Context, 1))
	q := p.alloc(64, system)
	p.render(fill(q, 0, 64, 3)) // preempts
	require.EqualValues(t, 1, r.kernel.Stats().Preemptions)
	r.gpu.auto = true
	p.render(fill(c, 0, 8192, 9))
	assert.Equal(t, repeat(9, 8192), p.read(c))
	want := append(repeat(1, 2048), repeat(2, 2048)...)
	assert.Equal(t, want, r.read(b))
	assert.Equal(t, want, r.read(a))
	r.finish()
}

// The work of a removed device is cancelled, also when it was in the hardware and stopped.
//
// docs/properties.md: S8.
func TestCancel(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	q.work(0)
	q.work(0)
	q.mini.preempt = func(int) {}
	q.work(1)
	var events []EventKind
	q.kernel.observer = func(_ *ddi.Thread, e Event) {
		if e.Submission == 1 {
			events = append(events, e.Kind)
		}
	}
	low := q.kernel.handles.get(q.devices[0].dev).(*device)
	q.kernel.loseDevice(low, ddi.StatusDeviceRemoved)
	assert.Equal(t, 1, q.mini.cancels, "it waits in its software queue")
	q.gpu.stop(0, 0)
	q.enter()
	assert.Equal(t, 2, q.mini.cancels, "it was stopped")
	assert.Equal(t, []EventKind{EventPreempted, EventCancelled}, events)
	assert.True(t, low.idle())
	q.gpu.auto = true
	q.devices[1].wait()
	assert.Equal(t, []int{0, 1}, *q.order)
	q.finish()
}

// Contexts of one priority take turns within a buffer.
func TestQuantumInsideABuffer(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, quantum: 10})
	q.gpu.latency = 25
	for i := range 2 {
		q.devices[i].ok(q.devices[i].submit(q.contexts[i], halves(q.targets[i], byte(i+1))...))
	}
	q.gpu.auto = true
	for i, p := range q.devices {
		assert.Equal(t, repeat(byte(i+1), 64), p.read(q.targets[i]))
	}
	assert.Equal(t, []int{0, 1, 0, 1}, q.end())
}

func TestWrongPreemptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		want uint32
		note kmddi.NotifyInterrupt
		ask  bool
	}{
		{"not asked for", SchedulerFence, kmddi.NotifyInterrupt{FenceID: 2}, false},
		{"another fence", SchedulerFence, kmddi.NotifyInterrupt{FenceID: 1}, true},
		{"a last completed fence that was not submitted", SchedulerFence, kmddi.NotifyInterrupt{FenceID: 2, LastCompletedFenceID: 7}, true},
		{"the preemption as the last completed fence", SchedulerFence, kmddi.NotifyInterrupt{FenceID: 2, LastCompletedFenceID: 2}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := newQueues(t, 2, options{preempts: true})
			q.priority(1, 1)
			q.work(0)
			q.mini.preempt = func(int) {}
			if tt.ask {
				q.work(1)
			}
			q.mini.isr = func(th *ddi.Thread) {
				tt.note.InterruptType = kmddi.InterruptDMAPreempted
				q.mini.notify(th, tt.note)
			}
			b := crash(func() {
				q.gpu.interrupt(0)
				q.enter()
			})
			require.NotNil(t, b)
			assert.EqualValues(t, CodeScheduler, b.Code)
			assert.Equal(t, tt.want, b.P1)
		})
	}
}

func TestFailedPreemptions(t *testing.T) {
	for name, p1 := range map[string]uint32{"Preempt": SchedulerSubmit, "Cancel": SchedulerCancel} {
		t.Run(name, func(t *testing.T) {
			q := newQueues(t, 2, options{preempts: true})
			q.mini.fail[name] = ddi.StatusInvalidParameter
			q.priority(1, 1)
			q.work(0)
			b := crash(func() {
				if name == "Preempt" {
					q.work(1)
					return
				}
				q.work(0)
				q.kernel.loseDevice(q.kernel.handles.get(q.devices[0].dev).(*device), ddi.StatusDeviceRemoved)
			})
			require.NotNil(t, b)
			assert.EqualValues(t, CodeScheduler, b.Code)
			assert.Equal(t, p1, b.P1)
		})
	}
}
