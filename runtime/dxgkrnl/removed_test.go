package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// answers returns what thunks return that need a device which works, for an allocation of it.
func (r *rig) answers(a ddi.KMHandle) map[string]ddi.Status {
	list := []ddi.KMHandle{a}
	return map[string]ddi.Status{
		"CreateContext":        r.thunks.CreateContext(r.thread, r.dev, &umddi.CreateContext{}),
		"Lock":                 r.lock(&umddi.Lock{Allocation: a}),
		"SetPriority":          r.thunks.SetAllocationPriority(r.thread, r.dev, &umddi.SetPriority{Allocations: list, Priorities: []uint32{1}}),
		"OfferAllocations":     r.thunks.OfferAllocations(r.thread, r.dev, &umddi.OfferAllocations{Allocations: list, Priority: umddi.OfferPriorityLow}),
		"ReclaimAllocations":   r.thunks.ReclaimAllocations(r.thread, r.dev, &umddi.ReclaimAllocations{Allocations: list}),
		"WaitForIdle":          r.thunks.WaitForIdle(r.thread, r.dev),
		"Render":               r.submit(&r.ctx, fill(a, 0, 64, 1)),
		"CreateAllocation":     r.thunks.CreateAllocation(r.thread, r.dev, allocate(private{size: 64, align: 4, preferred: 1, supported: local})),
		"QueryVideoMemoryInfo": r.thunks.QueryVideoMemoryInfo(r.thread, &kmt.QueryVideoMemoryInfo{}),
	}
}

// The thunks of a lost device fail and change nothing. Those without a device go on.
func TestThunksOfALostDevice(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	d := r.kernel.handles.get(r.dev).(*device)
	r.kernel.loseDevice(d, ddi.StatusDeviceRemoved)
	for name, s := range r.answers(a) {
		if name == "QueryVideoMemoryInfo" {
			assert.Equal(t, ddi.StatusSuccess, s, name)
			continue
		}
		assert.Equal(t, ddi.StatusDeviceRemoved, s, name)
	}
	o := r.object(a)
	assert.Equal(t, []any{0, umddi.OfferPriorityNone, uint32(umddi.AllocationPriorityNormal), 1, 1},
		[]any{o.locks, o.offer, o.priority, len(d.contexts), len(d.allocations)})
}

// On a stopped adapter every thunk that needs the GPU fails.
func TestThunksOfAStoppedAdapter(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.kernel.stop(r.thread, reasonTimeout, r.kernel.timeOutOf(&r.kernel.nodes[0]))
	for name, s := range r.answers(a) {
		assert.Equal(t, ddi.StatusDeviceRemoved, s, name)
	}
	assert.Zero(t, r.object(a).locks)
}

// After a broken contract neither an interrupt nor a DPC reaches the miniport.
func TestInterruptsAfterABugcheck(t *testing.T) {
	r := newRig(t, options{})
	require.NotNil(t, crash(func() { r.kernel.bugcheck("DxgkDdiPatch", CodeScheduler, SchedulerPatch, "test") }))
	stats := r.kernel.Stats()
	r.mini.log = nil
	r.kernel.interrupt(r.thread, 0)
	r.kernel.deferred(r.thread)
	assert.Empty(t, r.mini.log)
	assert.Equal(t, stats, r.kernel.Stats())
}

// A callback with the handle of another adapter, or at the wrong level, breaks the contract.
func TestCallbacksWithAWrongHandle(t *testing.T) {
	for name, call := range map[string]func(r *rig, cb *kmddi.DxgkrnlInterface, h kmddi.HDxgkrnl){
		"DxgkCbNotifyInterrupt": func(r *rig, cb *kmddi.DxgkrnlInterface, h kmddi.HDxgkrnl) {
			cb.NotifyInterrupt(r.thread, h, kmddi.NotifyInterrupt{InterruptType: completed})
		},
		"DxgkCbNotifyDpc": func(r *rig, cb *kmddi.DxgkrnlInterface, h kmddi.HDxgkrnl) { cb.NotifyDpc(r.thread, h) },
		"DxgkCbQueueDpc":  func(r *rig, cb *kmddi.DxgkrnlInterface, h kmddi.HDxgkrnl) { cb.QueueDpc(r.thread, h) },
	} {
		t.Run(name, func(t *testing.T) {
			r, other := newRig(t, options{}), newRig(t, options{})
			b := crash(func() { call(r, r.mini.cb, other.mini.cb.DeviceHandle) })
			require.NotNil(t, b)
			assert.Equal(t, []any{uint32(CodeVerifier), uint32(VerifierHandle), name}, []any{b.Code, b.P1, b.Function})
		})
	}
}

// Without Config.Poison the memory that is lent has no guards, and nothing that the GPU or the
// miniport writes there is found.
func TestWithoutPoison(t *testing.T) {
	o := options{aperture: 4}
	g, mini, cfg := newMachine(t, &o)
	cfg.Poison = false
	r := &rig{TestingT: t, gpu: g, mini: mini, thread: &ddi.Thread{Process: 1, ID: 1}}
	var err error
	r.kernel, err = Start(r.thread, cfg)
	require.NoError(t, err)
	r.thunks = r.kernel.Thunks()
	r.open(0)
	a := r.alloc(64, local)
	last := remembers(r)
	for i := range 6 {
		r.render(fill(a, 0, 64, byte(i)))
		r.wait()
		assert.Len(t, last.DmaBuffer, 1024)
		assert.Len(t, last.DmaBufferPrivateData, 16)
		last.DmaBuffer[0], last.DmaBufferPrivateData[0] = 1, 1
	}
	g.write(r.kernel.dummy.Phys, 7)
	r.render(fill(a, 0, 64, 9))
	assert.Equal(t, repeat(9, 64), r.read(a))
	for _, l := range []*lent{&r.kernel.devices[1].contexts[0].dma[0].lent, &r.kernel.paging.all[0].lent} {
		assert.Equal(t, []any{l.pages, false, false}, []any{l.whole, l.guarded, l.clean})
	}
	r.finish()
}

// CancelCommand may write the buffer that it is lent.
func TestCancelMayWriteTheBuffer(t *testing.T) {
	r := newRig(t, options{capacity: 1})
	losesDevice(r)
	last := remembers(r)
	a := r.alloc(64, system)
	r.render(fill(a, 0, 64, 1), fill(a, 0, 64, 1))
	r.mini.at = map[string]func(){"Cancel": func() { last.DmaBuffer[0] = 0xff }}
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
	assert.Equal(t, 1, r.mini.cancels)
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	r.finish()
}
