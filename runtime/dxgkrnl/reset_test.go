package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// hung returns queues whose first device has hung work in the hardware, and the second one
// work after it.
func hung(t *testing.T, o options) *queues {
	o.resets, o.quantum = true, 1<<40
	q := newQueues(t, 2, o)
	q.mini.patched = nil
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
	q.work(1)
	q.mini.log = nil
	q.gpu.auto = true
	return q
}

// lost checks that a device of q is lost for a reason, and that it can be destroyed.
func (q *queues) lost(i int, kind Kind) {
	p := q.devices[i]
	var e *DeviceError
	require.ErrorAs(q, q.kernel.Lost(p.dev), &e)
	assert.Equal(q, kind, e.Kind)
	assert.Contains(q, e.Dump, "miniport: state\n")
	assert.Equal(q, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	assert.Equal(q, ddi.StatusDeviceRemoved, p.thunks.CreateContext(p.thread, p.dev, &umddi.CreateContext{}))
	p.ok(p.thunks.DestroyDevice(p.thread, p.dev))
}

// goesOn checks that a device of q has its result, and that it and a new one work.
func (q *queues) goesOn(i int) {
	p := q.devices[i]
	p.wait()
	assert.NoError(q, q.kernel.Lost(p.dev))
	assert.Equal(q, repeat(byte(i), 64), p.read(q.targets[i]))
	for _, r := range []*rig{p, q.process(9)} {
		if r != p {
			r.open(0)
		}
		a := r.alloc(64, both)
		r.render(fill(a, 0, 64, 5))
		assert.Equal(q, repeat(5, 64), r.read(a))
	}
	assert.NoError(q, q.kernel.Err())
}

// A node that hangs is asked to stop, and reset two seconds later. Only the device of the
// work that it executed is lost; the work after it is executed.
//
// docs/properties.md: T1.
func TestNodeIsReset(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.mini.preempt = func(int) {}
	began := q.gpu.now
	q.devices[1].wait()
	assert.InDelta(t, 4000, q.gpu.now-began, 60)
	assert.Equal(t, []string{
		"Preempt fence=3 node=0", "QueryEngineStatus node=0", "QueryEngineStatus node=0", "CollectDbgInfo 0x141", "QueryDependentEngineGroup node=0",
		"ResetEngine node=0", "Patch fence=4 node=0", "Submit buffer fence=4 node=0",
	}, q.logged("Preempt", "QueryE", "QueryD", "Collect", "Reset", "Patch", "Submit"))
	q.goesOn(1)
	q.lost(0, Timeout)
	assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
	assert.Zero(t, q.kernel.Stats().Recoveries)
	q.finish()
}

// Work that stops, but makes no progress when it goes on, is hung.
func TestWorkThatStopsAndHangs(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.goesOn(1)
	q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev)
	assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
	q.lost(0, Timeout)
	q.finish()
}

// Work that takes longer than TdrDelay, but stops when it is asked to, is not hung.
func TestLongWork(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true, resets: true})
	q.gpu.latency = 3000
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], halves(q.targets[0], 1)...))
	q.mini.preempt = func(node int) {
		q.gpu.latency = 10
		q.gpu.stop(node, 1)
	}
	q.gpu.auto = true
	q.devices[0].wait()
	assert.Equal(t, repeat(1, 64), q.devices[0].read(q.targets[0]))
	assert.Zero(t, q.kernel.Stats().NodeResets)
	assert.Equal(t, []string{"gpu-late: DxgkDdiSubmitCommand: node 0: fence 3, which was fence 1, ended after a time of 2000 clocks without progress and a preemption"}, q.reports)
	q.finish()
}

// A node that is responsive gets more time, once.
func TestResponsiveNode(t *testing.T) {
	for _, ends := range []bool{true, false} {
		q := hung(t, options{})
		q.mini.responsive = true
		began := q.gpu.now
		if ends {
			q.gpu.onWait = func() {
				if q.gpu.now > began+1500 {
					q.gpu.onWait = nil
					q.gpu.queues[0][0].bytes = 0
				}
			}
		}
		q.goesOn(1)
		if ends {
			q.devices[0].wait()
			assert.Zero(t, q.kernel.Stats().NodeResets)
		} else {
			assert.InDelta(t, 4000, q.gpu.now-began, 100)
			q.lost(0, Timeout)
		}
		assert.Len(t, q.logged("QueryEngineStatus"), 2)
		q.finish()
	}
}

// A fault ends only the work that faulted.
//
// docs/properties.md: T5, T9.
func TestFaultResetsTheNode(t *testing.T) {
	for _, preempts := range []bool{false, true} {
		q := newQueues(t, 2, options{resets: true, preempts: preempts})
		q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
		q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opFault}))
		q.work(1)
		q.devices[0].ok(q.devices[0].submit(q.contexts[0], fill(q.targets[0], 0, 64, 3)))
		q.gpu.auto = true
		q.goesOn(1)
		assert.Equal(t, []byte{0}, q.gpuRead(q.targets[0], 1), "later work of the device is cancelled")
		q.lost(0, Fault)
		assert.Len(t, q.reports, 1)
		assert.Contains(t, q.reports[0], "gpu-fault: DxgkDdiSubmitCommand: node 0: fence 1 faulted")
		q.finish()
	}
}

// gpuRead returns the first n bytes of an allocation in host memory.
func (q *queues) gpuRead(h ddi.KMHandle, n int) []byte {
	return q.kernel.handles.get(h).(*allocation).pages.Bytes[:n]
}

// The other node does not notice a reset.
//
// docs/properties.md: T7.
func TestOtherNodeGoesOn(t *testing.T) {
	q := newQueues(t, 1, options{resets: true, nodes: 2})
	other := q.process(7)
	other.open(1)
	a := other.alloc(64, system)
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
	q.gpu.now += 1500
	other.render(fill(a, 0, 64, 7))
	q.mini.log = nil
	assert.Equal(t, ddi.StatusDeviceRemoved, q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev))
	assert.NotEmpty(t, q.gpu.queues[1], "it still has its work")
	q.gpu.auto = true
	assert.Equal(t, repeat(7, 64), other.read(a))
	assert.Len(t, q.logged("Submit"), 0)
	q.lost(0, Timeout)
	q.finish()
}

// What completes after the last look is not aborted: nothing is reset if the kernel learns it
// in time, and else the reset says so.
//
// docs/properties.md: T2.
func TestCompletionMeetsReset(t *testing.T) {
	for _, at := range []string{"QueryEngineStatus", "CollectDbgInfo", "QueryDependentEngineGroup"} {
		q := hung(t, options{})
		q.mini.at = map[string]func(){at: func() {
			q.gpu.queues[0][0].bytes = 0
			q.gpu.complete(0)
		}}
		q.goesOn(1)
		q.devices[0].wait()
		assert.NoError(t, q.kernel.Lost(q.devices[0].dev), at)
		q.finish()
	}
}

// If the suspected work completes so late that the next one is aborted, that one is lost.
func TestNextWorkIsAborted(t *testing.T) {
	q := hung(t, options{})
	q.mini.at = map[string]func(){"ResetEngine": func() {
		q.gpu.queues[0][0].bytes = 0
		q.gpu.complete(0)
	}}
	q.devices[0].wait()
	assert.NoError(t, q.kernel.Lost(q.devices[0].dev))
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Lost(q.devices[1].dev), &e)
	assert.EqualValues(t, 2, e.Fence)
	q.lost(1, Timeout)
	q.finish()
}

// A reset of a node that cannot do it becomes one of the adapter.
//
// docs/properties.md: T8.
func TestResetOfTheAdapterInstead(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(q *queues)
	}{
		{"group", func(q *queues) { q.mini.group = 3 }},
		{"group fails", func(q *queues) { q.mini.fail["QueryDependentEngineGroup"] = ddi.StatusNotSupported }},
		{"reset fails", func(q *queues) { q.mini.fail["ResetEngine"] = ddi.StatusIOTimeout }},
		{"nothing aborted twice", func(q *queues) {
			q.mini.engine = func(_ *ddi.Thread, node uint32) (uint32, ddi.Status, bool) {
				q.gpu.queues[node], q.mini.stopping[node] = nil, 0
				return q.mini.last[node], ddi.StatusSuccess, true
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := hung(t, options{})
			tt.set(q)
			assert.Equal(t, ddi.StatusDeviceRemoved, q.devices[1].thunks.WaitForIdle(q.devices[1].thread, q.devices[1].dev))
			require.Error(t, q.kernel.Err())
			q.mini.log, q.mini.engine, q.mini.fail = nil, nil, map[string]ddi.Status{}
			p := q.process(9)
			p.open(0)
			assert.Len(t, q.logged("ResetFromTimeout", "RestartFromTimeout"), 2)
			q.lost(0, Timeout)
			q.lost(1, Timeout)
			p.works(t)
			q.finish()
		})
	}
}

// A paging buffer that hangs takes the adapter with it.
//
// docs/properties.md: T4.
func TestPagingBufferHangs(t *testing.T) {
	q := newQueues(t, 1, options{resets: true, preempts: true})
	p := q.devices[0]
	p.render(fill(p.alloc(64, local), 0, 64, 1))
	q.mini.preempt = func(int) {}
	assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	assert.Len(t, q.logged("ResetEngine"), 1)
	require.Error(t, q.kernel.Err())
	q.gpu.auto, q.mini.preempt = true, nil
	next := q.process(9)
	next.open(0)
	next.works(t)
	q.lost(0, Timeout)
	q.finish()
}

// Paging buffers after hung work keep their fences.
func TestPagingAfterHungWork(t *testing.T) {
	q := newQueues(t, 2, options{resets: true})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 3, 3
	q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
	p := q.devices[1]
	a := p.alloc(64, local)
	p.render(fill(a, 0, 64, 6))
	q.gpu.auto = true
	p.wait()
	assert.Equal(t, []string{"Submit paging fence=2 node=0", "Submit buffer fence=3 node=0", "Submit paging fence=2 node=0", "Submit buffer fence=4 node=0"}, q.logged("Submit")[1:])
	assert.Equal(t, repeat(6, 64), p.read(a))
	q.lost(0, Timeout)
	q.finish()
}

// A device is lost while another thread waits in its thunks, or places its allocations.
//
// docs/properties.md: S8.
func TestLostWhileAThreadWaits(t *testing.T) {
	for seed := range uint64(48) {
		q := newQueues(t, 3, options{resets: true, preempts: seed%2 == 0, nodes: 2, quantum: 100})
		q.gpu.auto = true
		errs := make([]error, len(q.devices))
		var tasks []Task
		for i, p := range q.devices {
			tasks = append(tasks, Task{p.thread, func(*ddi.Thread) {
				for n := range 8 {
					a := p.allocOf(24<<10, local)
					if a == 0 {
						return
					}
					cmds := []command{fill(a, 0, 64, byte(n)), fill(q.targets[i], 0, 64, byte(n))}
					if i == int(seed%3) && n == int(seed/3%8) {
						cmds[1] = command{op: opHang}
					}
					if s := p.submit(&p.ctx, cmds...); s.Failed() {
						errs[i] = s
						return
					}
				}
				if s := p.thunks.WaitForIdle(p.thread, p.dev); s.Failed() {
					errs[i] = s
				}
			}})
		}
		q.kernel.Run(seed, tasks)
		for i, p := range q.devices {
			if i == int(seed%3) {
				assert.ErrorIs(t, errs[i], ddi.StatusDeviceRemoved)
				q.lost(i, Timeout)
				continue
			}
			require.NoError(t, errs[i], "seed %d", seed)
			assert.Equal(t, repeat(7, 64), p.read(q.targets[i]))
		}
		assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
		q.finish()
	}
}

// allocOf is alloc for a device that may be lost. It then returns 0.
func (r *rig) allocOf(size uint64, set uint32) ddi.KMHandle {
	arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: private{size: size, align: 256, preferred: set, supported: set}.encode()}}}
	if r.thunks.CreateAllocation(r.thread, r.dev, arg).Failed() {
		return 0
	}
	return arg.AllocationInfo[0].Allocation
}
