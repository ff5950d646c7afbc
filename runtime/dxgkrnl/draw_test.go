package dxgkrnl

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// row is a range of bytes as a rectangle of the fake miniport.
func row(from, to int32) kmddi.Rect { return kmddi.Rect{Left: from, Right: to, Bottom: 1} }

// paint fills a range of an allocation by the kernel.
func (r *rig) paint(a ddi.KMHandle, from, to int32, v uint32) ddi.Status {
	return r.kernel.FillRectangle(r.thread, a, row(from, to), v)
}

// The kernel draws to the allocations of several devices, in as many DMA buffers as it takes. An
// allocation is opened once, and closed before it is destroyed.
func TestKernelDraws(t *testing.T) {
	r := newRig(t, options{})
	p := r.opened(2)
	a, b := r.alloc(640, local), p.alloc(640, system)
	r.write(a, repeat(1, 640))
	r.ok(r.paint(a, 0, 320, 2))
	r.ok(r.kernel.CopyRectangle(r.thread, b, row(0, 600), a, row(40, 640)))
	r.ok(r.kernel.CopyRectangle(r.thread, a, row(600, 640), a, row(0, 40)))
	var parts []kmddi.Rect
	for i := range int32(100) {
		parts = append(parts, row(2*i, 2*i+1))
	}
	r.ok(r.kernel.FillRectangle(r.thread, a, row(0, 640), 7, parts...))
	want := append(append(repeat(2, 320), repeat(1, 280)...), repeat(2, 40)...)
	copied := append(append(repeat(2, 280), repeat(1, 320)...), repeat(0, 40)...)
	for i := range 100 {
		want[2*i] = 7
	}
	assert.Equal(t, want, r.read(a))
	assert.Equal(t, copied, p.read(b))
	passes := 100*opBytes/1024 + 1
	assert.Len(t, r.logged("RenderKm"), 3+passes, "%d passes of the last one", passes)
	p.ok(p.destroy(b))
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	r.finish()
}

// A miniport without the function works, and the kernel does not draw.
func TestNoRenderKm(t *testing.T) {
	r := newRig(t, options{})
	r.kernel.driver.RenderKm = nil
	assert.Equal(t, ddi.StatusNotSupported, r.paint(r.alloc(64, local), 0, 64, 1))
	assert.Empty(t, checkTable(&r.kernel.driver))
	assert.Empty(t, r.logged("CreateContext"))
	r.finish()
}

func TestDrawingIsRefused(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	gone := r.alloc(64, local)
	r.ok(r.destroy(gone))
	offered := r.alloc(64, local)
	r.ok(r.thunks.OfferAllocations(r.thread, r.dev, &umddi.OfferAllocations{Allocations: []ddi.KMHandle{offered}, Priority: umddi.OfferPriorityLow}))
	locked := r.alloc(64, local)
	r.ok(r.thunks.Lock(r.thread, r.dev, &umddi.Lock{Allocation: locked}))
	for h, want := range map[ddi.KMHandle]ddi.Status{
		0: ddi.StatusInvalidHandle, gone: ddi.StatusInvalidHandle, r.ctx.Context: ddi.StatusInvalidHandle,
		offered: ddi.StatusInvalidParameter, locked: ddi.StatusCantRenderLocked,
	} {
		assert.Equal(t, want, r.paint(h, 0, 64, 1), "%#x", h)
		assert.Equal(t, want, r.kernel.CopyRectangle(r.thread, a, row(0, 64), h, row(0, 64)), "from %#x", h)
		assert.Equal(t, want, r.kernel.CopyRectangle(r.thread, h, row(0, 64), a, row(0, 64)), "to %#x", h)
	}
	assert.Equal(t, ddi.StatusInvalidHandle, r.kernel.CopyRectangle(r.thread, 0, row(0, 64), 0, row(0, 64)))
	for name, s := range map[string]ddi.Status{
		"RenderKm": ddi.StatusIllegalInstruction, "OpenAllocation": ddi.StatusNoMemory,
	} {
		b := r.alloc(64, local)
		r.mini.fail[name] = s
		assert.Equal(t, s, r.paint(b, 0, 64, 1), name)
		delete(r.mini.fail, name)
		r.ok(r.paint(b, 0, 64, 1))
	}
	r.unlock(locked)
	r.finish()
	assert.Equal(t, ddi.StatusDeviceRemoved, r.paint(a, 0, 64, 1), "after Stop")
}

// The context of the kernel is none of an application.
func TestSystemContextIsHidden(t *testing.T) {
	r := newRig(t, options{})
	var made []bool
	create := r.kernel.driver.CreateContext
	r.kernel.driver.CreateContext = func(t *ddi.Thread, d kmddi.HDevice, c kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
		made = append(made, arg.SystemContext)
		return create(t, d, c, arg)
	}
	r.context(0)
	r.mini.log = nil
	r.mini.fail["CreateContext"] = ddi.StatusNoMemory
	a := r.alloc(64, local)
	assert.Equal(t, ddi.StatusNoMemory, r.paint(a, 0, 64, 1))
	delete(r.mini.fail, "CreateContext")
	r.ok(r.paint(a, 0, 64, 1))
	r.ok(r.paint(a, 0, 64, 1))
	assert.Len(t, r.logged("CreateContext"), 2)
	assert.Equal(t, []bool{false, true, true}, made)
	h := r.kernel.devices[0].contexts[0].handle
	r.kernel.driver.Escape = func(*ddi.Thread, kmddi.HAdapter, kmddi.Escape) ddi.Status { return ddi.StatusSuccess }
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.SetContextSchedulingPriority(r.thread, h, 0))
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.DestroyContext(r.thread, h))
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.Escape(r.thread, &kmt.Escape{Context: h}))
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.Render(r.thread, r.dev, &umddi.Render{Context: h}))
	r.finish()
}

// drawings makes q record its order with -1 for the kernel.
func (q *queues) drawings() {
	q.mini.patched = func(arg kmddi.Patch) {
		at := -1
		for i, c := range q.contexts {
			if q.kernel.handles.get(c.Context).(*context).driver == arg.Context {
				at = i
			}
		}
		*q.order = append(*q.order, at)
	}
}

// A drawing of the kernel waits for earlier work on its allocations, and that work rises to the level of the
// drawing. The drawing goes before all other work that waits, and before later work on its allocations.
func TestDrawingsAreOrdered(t *testing.T) {
	q := newQueues(t, 4, options{})
	q.drawings()
	q.priority(3, MaxPriority)
	q.work(0) // in the hardware
	q.work(3)
	q.work(2)
	q.work(1)
	p := q.devices[1]
	q.ok(q.paint(q.targets[1], 0, 32, 9))
	p.ok(p.submit(q.contexts[1], fill(q.targets[1], 16, 8, 4)))
	q.ok(q.kernel.CopyRectangle(q.thread, q.targets[2], row(0, 32), q.targets[1], row(0, 32)))
	q.gpu.auto = true
	p.wait()
	want := append(append(append(repeat(9, 16), repeat(4, 8)...), repeat(9, 8)...), repeat(1, 32)...)
	assert.Equal(t, want, p.read(q.targets[1]))
	assert.Equal(t, append(want[:32:32], repeat(2, 32)...), q.devices[2].read(q.targets[2]))
	assert.Equal(t, []int{0, 1, -1, 2, 1, -1, 3}, q.end())
}

// Work of a device with one context waits for an earlier drawing that waits itself, for another node.
func TestWorkAfterADrawingThatWaits(t *testing.T) {
	q := newQueues(t, 3, options{nodes: 2})
	p := q.devices[1]
	other := p.context(1)
	for _, v := range []byte{7, 8} { // the second one is not made, since the node is full
		p.ok(p.submit(other, fill(q.targets[1], 0, 64, v)))
	}
	q.ok(q.kernel.CopyRectangle(q.thread, q.targets[2], row(0, 64), q.targets[1], row(0, 64)))
	q.devices[2].ok(q.devices[2].submit(q.contexts[2], fill(q.targets[2], 0, 32, 9)))
	q.gpu.auto = true
	assert.Equal(t, append(repeat(9, 32), repeat(8, 32)...), q.devices[2].read(q.targets[2]))
	q.finish()
}

// A drawing stops work of any priority that it does not wait for, and the work goes on.
func TestDrawingPreempts(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.drawings()
	q.priority(0, MaxPriority)
	p := q.devices[0]
	p.ok(p.submit(q.contexts[0], halves(q.targets[0], 1)...))
	q.mini.log = nil
	q.ok(q.paint(q.targets[1], 0, 64, 5))
	assert.Len(t, q.logged("Preempt"), 1)
	q.ok(q.paint(q.targets[0], 0, 16, 6))
	assert.Empty(t, q.logged("Preempt"), "it waits for what is stopped")
	q.gpu.auto = true
	assert.Equal(t, repeat(5, 64), q.devices[1].read(q.targets[1]))
	assert.Equal(t, append(repeat(6, 16), repeat(1, 48)...), p.read(q.targets[0]))
	assert.Equal(t, []int{0, -1, 0, -1}, q.end())
}

// A drawing that hangs costs no device of an application. The next call tells of it, and
// the one after it draws again.
func TestDrawingHangs(t *testing.T) {
	for _, o := range []options{{resets: true}, {resets: true, preempts: true}} {
		q := newQueues(t, 2, o)
		q.ok(q.paint(q.targets[1], 0, 64, hangColor))
		q.ok(q.paint(q.targets[1], 0, 64, 8))
		q.work(0)
		q.work(1)
		q.gpu.auto = true
		for i, p := range q.devices {
			p.wait()
			assert.NoError(t, q.kernel.Lost(p.dev))
			assert.Equal(t, repeat(byte(i), 64), p.read(q.targets[i]))
		}
		assert.EqualValues(t, 1, q.kernel.Stats().NodeResets)
		var e *DeviceError
		require.ErrorAs(t, q.kernel.Lost(0), &e)
		assert.Equal(t, Timeout, e.Kind)
		assert.Contains(t, e.Error(), "written by DxgkDdiRenderKm")
		assert.Equal(t, ddi.StatusDeviceRemoved, q.paint(q.targets[1], 0, 64, 8))
		q.ok(q.paint(q.targets[1], 0, 32, 8))
		assert.Equal(t, append(repeat(8, 32), repeat(1, 32)...), q.devices[1].read(q.targets[1]))
		q.finish()
	}
}

// The device of an application that is lost does not take along what the kernel draws, and the
// kernel draws no more to it.
func TestDrawingBesidesALostDevice(t *testing.T) {
	q := hung(t, options{preempts: true})
	q.ok(q.paint(q.targets[0], 0, 64, 3)) // to an allocation of the lost device
	q.ok(q.paint(q.targets[1], 0, 64, 3))
	q.devices[1].wait()
	assert.Equal(t, repeat(3, 64), q.devices[1].read(q.targets[1]))
	assert.Equal(t, ddi.StatusDeviceRemoved, q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev))
	assert.NoError(t, q.kernel.Lost(0))
	assert.Equal(t, ddi.StatusDeviceRemoved, q.paint(q.targets[0], 0, 64, 3))
	q.lost(0, Timeout)
	q.ok(q.paint(q.targets[1], 0, 64, 4))
	assert.Equal(t, repeat(4, 64), q.devices[1].read(q.targets[1]))
	q.finish()
}

// After a reset of the adapter the kernel draws to the allocations of new devices.
func TestDrawingAfterAReset(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.ok(r.paint(a, 0, 64, hangColor))
	assert.ErrorIs(t, r.kernel.WaitForIdle(r.thread), r.kernel.Err(), "the adapter stops, since no node is reset")
	assert.Equal(t, ddi.StatusDeviceRemoved, r.paint(a, 0, 64, 1))
	require.NoError(t, r.kernel.Recover(r.thread))
	assert.Equal(t, ddi.StatusDeviceRemoved, r.paint(a, 0, 64, 1), "an allocation of a removed device")
	p := r.opened(2)
	b := p.alloc(64, local)
	p.ok(p.paint(b, 0, 64, 1))
	assert.Len(t, r.logged("DestroyContext"), 1, "the context is made again")
	assert.Equal(t, repeat(1, 64), p.read(b))
	assert.EqualValues(t, 1, r.kernel.Stats().Recoveries)
}

// Two threads that draw at once do not disturb each other, though each drawing takes several DMA buffers.
func TestThreadsDraw(t *testing.T) {
	const drawings, parts = 5, 100
	for seed := range uint64(10) {
		r := newRig(t, options{buffers: 1, capacity: 1})
		var tasks []Task
		all := []ddi.KMHandle{r.alloc(640, local), r.alloc(640, local)}
		for i, a := range all {
			th := &ddi.Thread{Process: 1, ID: uint32(10 + i)}
			tasks = append(tasks, Task{th, func(th *ddi.Thread) {
				for n := range int32(drawings) {
					var rects []kmddi.Rect
					for p := range int32(parts) {
						rects = append(rects, row(6*p+n, 6*p+n+1))
					}
					assert.Equal(t, ddi.StatusSuccess, r.kernel.FillRectangle(th, a, row(0, 640), uint32(10*(i+1))+uint32(n), rects...))
				}
			}})
		}
		r.kernel.Run(seed, tasks)
		for i, a := range all {
			want := repeat(0, 640)
			for p := range parts {
				for n := range drawings {
					want[6*p+n] = byte(10*(i+1) + n)
				}
			}
			assert.Equal(t, want, r.read(a), "seed %d, thread %d", seed, i)
		}
		r.finish()
	}
}

// Fills and copies of the kernel and of two devices have the effect of doing them one after the
// other, with more memory than VRAM, two nodes and preemptions.
func TestDrawingsAtRandom(t *testing.T) {
	const size = 12 << 10
	for seed := range uint64(20) {
		q := newQueues(t, 2, options{preempts: true, nodes: 2, quantum: 50})
		q.gpu.auto = true
		rng := rand.New(rand.NewPCG(seed, 0))
		var all []ddi.KMHandle
		want, owner := map[ddi.KMHandle][]byte{}, map[ddi.KMHandle]int{}
		contexts := [][]*umddi.CreateContext{{q.contexts[0], q.devices[0].context(1)}, {q.contexts[1], q.devices[1].context(1)}}
		for i := range 8 {
			p := q.devices[i%2]
			a := p.alloc(size, local)
			all, want[a], owner[a] = append(all, a), repeat(0, size), i%2
		}
		for range 60 {
			a := all[rng.IntN(8)]
			b := all[rng.IntN(8)]
			from, v := rng.Int32N(size-512), uint32(1+rng.IntN(200))
			p := q.devices[owner[a]]
			switch rng.IntN(4) {
			case 0:
				q.ok(q.paint(a, from, from+512, v))
				copy(want[a][from:], repeat(byte(v), 512))
			case 1:
				q.ok(q.kernel.CopyRectangle(q.thread, a, row(0, 256), b, row(size-256, size)))
				copy(want[a], want[b][size-256:])
			case 2:
				p.ok(p.submit(contexts[owner[a]][rng.IntN(2)], fill(a, uint32(from), 512, byte(v))))
				copy(want[a][from:], repeat(byte(v), 512))
			default:
				require.Equal(t, want[a], p.read(a), "seed %d", seed)
			}
			q.audit()
		}
		for _, a := range all {
			require.Equal(t, want[a], q.devices[owner[a]].read(a), "seed %d", seed)
		}
		q.finish()
	}
}

// A stopped kernel has no device that could be lost, also none of its own.
func TestNothingIsLostAfterStop(t *testing.T) {
	r := newRig(t, options{})
	r.finish()
	assert.NoError(t, r.kernel.Lost(0))
	assert.NoError(t, r.kernel.Lost(r.dev))
}
