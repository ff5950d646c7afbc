package dxgkrnl

import (
	"maps"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// out makes Render return the given results.
func out(o kmddi.RenderOut, s ddi.Status, patches ...kmddi.PatchLocation) func(r *rig) {
	return func(r *rig) {
		r.mini.render = func(arg kmddi.Render) (kmddi.RenderOut, ddi.Status, bool) {
			copy(arg.PatchLocationListOut, patches)
			return o, s, true
		}
	}
}

func built(o kmddi.BuildPagingBufferOut, s ddi.Status) func(r *rig) {
	return func(r *rig) {
		r.mini.build = func(kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status, bool) { return o, s, true }
	}
}

// notifies makes the interrupt routine report arg, with or without a DPC.
func notifies(arg kmddi.NotifyInterrupt, dpc bool) func(r *rig) {
	return func(r *rig) {
		r.mini.isr = func(t *ddi.Thread) {
			r.mini.cb.NotifyInterrupt(t, r.mini.cb.DeviceHandle, arg)
			if dpc {
				r.mini.cb.QueueDpc(t, r.mini.cb.DeviceHandle)
			}
		}
	}
}

func fails(call string) func(r *rig) {
	return func(r *rig) { r.mini.fail[call] = ddi.StatusNotSupported }
}

// keepsBuffer makes Patch change what Render was lent, before it does its work.
// The kernel looks at the buffer when Patch is called, so the change happens when
// paging is built, which follows Render.
func keepsBuffer(r *rig, change func(arg kmddi.Render)) {
	paged := r.alloc(64, local)
	r.mini.render = func(arg kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
		r.mini.build = func(kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status, bool) {
			change(arg)
			return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess, true
		}
		return o, s, false
	}
	r.extra = []command{fill(paged, 0, 64, 1)}
}

// losesDevice makes the device lose work in its software queue.
func losesDevice(r *rig) {
	r.kernel.caps.CancelCommandAware = true
	r.gpu.auto = false
	busy := r.alloc(64, system)
	for range r.gpu.capacity {
		r.render(fill(busy, 0, 64, 1))
	}
	r.gpu.onWait = func() {
		r.gpu.onWait, r.gpu.auto = nil, true
		r.kernel.loseDevice(r.kernel.devices[1], ddi.StatusDeviceRemoved)
	}
}

const completed = kmddi.InterruptDMACompleted

var bugchecks = []struct {
	name     string
	code, p1 uint32
	set      uint32 // segments of the allocation in the rendered command
	breaks   func(r *rig)
}{
	{"Patch writes after the submitted part", 0xc4, 0x10009, system, func(r *rig) {
		r.mini.patched = func(arg kmddi.Patch) { arg.DmaBuffer[arg.DmaBufferSubmissionEndOffset] = 1 }
	}},
	{"Patch writes before the submitted part", 0xc4, 0x10009, system, func(r *rig) { // of the second portion
		r.gpu.auto = true
		big := func() ddi.KMHandle { return r.alloc(40<<10, local) }
		r.extra = []command{fill(big(), 0, 64, 1), fill(big(), 0, 64, 1)}
		r.mini.patched = func(arg kmddi.Patch) {
			if arg.DmaBufferSubmissionStartOffset > 0 {
				arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset-1]++
			}
		}
	}},
	{"SubmitCommand fails", 0x119, 2, system, fails("Submit")},
	{"SubmitCommand of a paging buffer fails", 0x119, 5, local, fails("Submit")},
	{"Patch fails", 0x119, 3, system, fails("Patch")},
	{"CancelCommand fails", 0x119, 9, system, func(r *rig) {
		fails("Cancel")(r)
		losesDevice(r)
	}},
	{"a fence that is not submitted", 0x119, 1, system, notifies(kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 3}, true)},
	{"a fence that goes backwards", 0x119, 1, system, notifies(kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 0}, true)},
	{"a fence before the first submission", 0x119, 1, system, func(r *rig) {
		r.mini.isr = func(t *ddi.Thread) { // of node 1, which has no work
			r.mini.cb.NotifyInterrupt(t, r.mini.cb.DeviceHandle, kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 0, NodeOrdinal: 1})
		}
	}},
	{"a node that does not exist", 0x119, 1, system, notifies(kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2, NodeOrdinal: 2}, true)},
	{"a query that returns an impossible fence", 0x119, 1, system, func(r *rig) {
		r.gpu.lostIRQ = true
		r.mini.query = func(*ddi.Thread, uint32) (uint32, ddi.Status) { return 99, 0 }
	}},
	{"an unknown interrupt type", 0xc4, 0x10006, system, notifies(kmddi.NotifyInterrupt{InterruptType: 3, FenceID: 2}, true)},
	{"NotifyInterrupt without QueueDpc", 0xc4, 0x10001, system, notifies(kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2}, false)},
	{"QueueDpc before NotifyInterrupt", 0xc4, 0x10001, system, func(r *rig) {
		r.mini.isr = func(t *ddi.Thread) {
			r.mini.cb.QueueDpc(t, r.mini.cb.DeviceHandle)
			r.mini.cb.NotifyInterrupt(t, r.mini.cb.DeviceHandle, kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2})
		}
	}},
	{"DPC without NotifyDpc", 0xc4, 0x10002, system, func(r *rig) { r.mini.dpc = func(*ddi.Thread) {} }},
	{"NotifyInterrupt below DIRQL", 0xc4, 0x10003, system, func(r *rig) {
		r.mini.dpc = func(t *ddi.Thread) {
			r.mini.cb.NotifyInterrupt(t, r.mini.cb.DeviceHandle, kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2})
		}
	}},
	{"NotifyDpc at DIRQL", 0xc4, 0x10003, system, func(r *rig) {
		r.mini.isr = func(t *ddi.Thread) { r.mini.cb.NotifyDpc(t, r.mini.cb.DeviceHandle) }
	}},
	{"SynchronizeExecution returns at DISPATCH_LEVEL", 0xc4, 0x10007, system, func(r *rig) {
		r.mini.dpc = func(t *ddi.Thread) {
			r.mini.cb.SynchronizeExecution(t, r.mini.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
				t.Lower(ddi.DispatchLevel)
				return true
			})
		}
	}},
	{"a handle of another adapter", 0xc4, 0x10004, system, func(r *rig) {
		r.mini.isr = func(t *ddi.Thread) { r.mini.cb.QueueDpc(t, kmddi.HDxgkrnl{}) }
	}},
	{"memory that is not allocated is freed", 0xc4, 0x10004, system, func(r *rig) {
		r.mini.isr = func(t *ddi.Thread) {
			r.mini.cb.FreeContiguousMemory(t, r.mini.cb.DeviceHandle, kmddi.ContiguousMemory{PhysicalAddress: 1})
		}
	}},
	{"Render overflows the DMA buffer", 0x10e, 0x12, system, out(kmddi.RenderOut{DmaBufferUsed: 1028}, 0)},
	{"Render overflows the patch list", 0x10e, 0x12, system, out(kmddi.RenderOut{DmaBufferUsed: 32, PatchesUsed: 129}, 0)},
	{"Render keeps the DMA buffer, and writes it after its return", 0xc4, 0x10008, system, func(r *rig) {
		keepsBuffer(r, func(arg kmddi.Render) { arg.DmaBuffer[0] ^= 1 })
	}},
	{"Render keeps the private data", 0xc4, 0x10008, system, func(r *rig) {
		keepsBuffer(r, func(arg kmddi.Render) { arg.DmaBufferPrivateData[3] ^= 1 })
	}},
	{"Render keeps the patch list", 0xc4, 0x10008, system, func(r *rig) {
		keepsBuffer(r, func(arg kmddi.Render) { arg.PatchLocationListOut[0].AllocationOffset++ })
	}},
	{"Render changes the allocation list", 0xc4, 0x10008, system, func(r *rig) {
		r.mini.render = func(arg kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
			arg.AllocationList[0].WriteOperation = false
			return o, s, false
		}
	}},
	{"the GPU writes after a DMA buffer", 0x10e, 0x12, system, func(r *rig) {
		r.mini.render = func(kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
			d := r.kernel.devices[1].contexts[0].dma[1]
			r.gpu.onComplete = func() { r.gpu.write(d.pages.Phys+uint64(len(d.pages.Bytes)), 1) }
			return o, s, false
		}
	}},
	{"the GPU writes before a DMA buffer", 0x10e, 0x12, system, func(r *rig) {
		r.mini.render = func(kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
			d := r.kernel.devices[1].contexts[0].dma[1]
			r.gpu.onComplete = func() { r.gpu.write(d.pages.Phys-1, 1) }
			return o, s, false
		}
	}},
	{"Render uses half a dword", 0xc4, 0x10005, system, out(kmddi.RenderOut{DmaBufferUsed: 30}, 0)},
	{"an empty DMA buffer is insufficient", 0x10e, 0x16, system, out(kmddi.RenderOut{}, ddi.StatusInsufficientDMABuffer)},
	{"a patch of no list element", 0x10e, 0x8, system, out(kmddi.RenderOut{DmaBufferUsed: 32, PatchesUsed: 1}, 0, kmddi.PatchLocation{AllocationIndex: 1})},
	{"a patch beyond the used part", 0x10e, 0x8, system, out(kmddi.RenderOut{DmaBufferUsed: 32, PatchesUsed: 1}, 0, kmddi.PatchLocation{PatchOffset: 32})},
	{"SplitOffset decreases", 0x10e, 0x8, system, out(kmddi.RenderOut{DmaBufferUsed: 32, PatchesUsed: 2}, 0,
		kmddi.PatchLocation{PatchOffset: 8, SplitOffset: 8}, kmddi.PatchLocation{PatchOffset: 16, SplitOffset: 4})},
	{"SplitOffset after the use", 0x10e, 0x8, system, out(kmddi.RenderOut{DmaBufferUsed: 32, PatchesUsed: 1}, 0, kmddi.PatchLocation{PatchOffset: 8, SplitOffset: 12})},
	{"BuildPagingBuffer returns an illegal status", 0x10e, 0xb, local, fails("BuildPagingBuffer")},
	{"BuildPagingBuffer makes no progress", 0x10e, 0xb, local, built(kmddi.BuildPagingBufferOut{}, ddi.StatusInsufficientDMABuffer)},
	{"BuildPagingBuffer returns busy for an idle GPU", 0x10e, 0xb, local, built(kmddi.BuildPagingBufferOut{}, ddi.StatusAllocationBusy)},
	{"BuildPagingBuffer overflows", 0x10e, 0x12, local, built(kmddi.BuildPagingBufferOut{DmaBufferUsed: 260}, 0)},
	{"BuildPagingBuffer uses half a dword", 0xc4, 0x10005, local, built(kmddi.BuildPagingBufferOut{DmaBufferUsed: 2}, 0)},
}

// Every rule with a bugcheck has a program that breaks it and one at its boundary.
func TestEveryBugcheckIsTested(t *testing.T) {
	elsewhere := map[string]bool{
		"aperture-write":        true, // TestDummyPage
		"aperture-map-result":   true, // TestMappingFails
		"aperture-unmap-result": true, // TestMappingFails
		"private-overflow":      true, // TestPrivateDataOverflow
		"reset-fence":           true, // TestAbortedFence
		"reset-interrupt":       true, // TestInterruptsOfAReset
		"reset-limit":           true, // TestLimitOfResets
		"reset-time":            true, // TestLimitOfResetFunctions
	}
	broken, kept := maps.Clone(elsewhere), maps.Clone(elsewhere)
	for _, b := range bugchecks {
		r, ok := rule.ByCode(b.code, b.p1)
		require.True(t, ok, "%#x/%#x", b.code, b.p1)
		broken[r.Name] = true
	}
	for _, b := range boundaries {
		_, err := rule.Named(b.rule)
		require.NoError(t, err)
		kept[b.rule] = true
	}
	for _, r := range rule.KernelMode() {
		if r.Code != 0 {
			assert.True(t, broken[r.Name], "no program breaks %s", r.Name)
			assert.True(t, kept[r.Name], "no program is at the boundary of %s", r.Name)
		}
	}
}

// boundaries are programs that nearly break a rule.
var boundaries = []struct {
	rule string
	set  uint32
	keep func(r *rig)
}{
	{"cancel-result", system, func(r *rig) {
		r.faults = true
		losesDevice(r)
	}},
	{"fence-reported", system, func(r *rig) { // a newer fence also reports the older ones
		r.mini.isr = func(t *ddi.Thread) {
			r.mini.notify(t, kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2})
			r.mini.notify(t, kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2})
			r.mini.cb.QueueDpc(t, r.mini.cb.DeviceHandle)
		}
	}},
	{"submit-result", system, func(*rig) {}},
	{"submit-paging-result", local, func(*rig) {}},
	{"patch-result", system, func(*rig) {}},
	{"patch-range", system, func(r *rig) { // the last byte of the part
		r.mini.patched = func(arg kmddi.Patch) { arg.DmaBuffer[arg.DmaBufferSubmissionEndOffset-1] = 0 }
	}},
	{"patch-list", system, func(r *rig) { // the last address, a split at the patch, and the same split again
		renders(r, 32, kmddi.PatchLocation{PatchOffset: dstAt, SplitOffset: dstAt}, kmddi.PatchLocation{PatchOffset: 24, SplitOffset: dstAt})
	}},
	{"paging-result", local, func(r *rig) { // once busy, once too small with progress
		n := 0
		r.mini.build = func(arg kmddi.BuildPagingBuffer) (o kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
			n++
			return kmddi.BuildPagingBufferOut{MultipassOffset: arg.MultipassOffset}, ddi.StatusAllocationBusy, n == 1
		}
	}},
	{"buffer-overflow", system, func(r *rig) { // every byte and every patch
		renders(r, 1024, make([]kmddi.PatchLocation, 128)...)
	}},
	{"render-progress", system, func(r *rig) { // nothing written, but MultipassOffset moved
		r.mini.render = func(arg kmddi.Render) (kmddi.RenderOut, ddi.Status, bool) {
			return kmddi.RenderOut{MultipassOffset: opBytes}, ddi.StatusInsufficientDMABuffer, arg.MultipassOffset == 0
		}
	}},
	{"interrupt-dpc", system, func(r *rig) { // one QueueDpc after several notifications
		r.mini.isr = func(t *ddi.Thread) {
			r.mini.cb.QueueDpc(t, r.mini.cb.DeviceHandle)
			r.mini.notify(t, kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2})
			r.mini.cb.QueueDpc(t, r.mini.cb.DeviceHandle)
		}
	}},
	{"dpc-notify", system, func(r *rig) { // twice
		r.mini.dpc = func(t *ddi.Thread) {
			r.mini.cb.NotifyDpc(t, r.mini.cb.DeviceHandle)
			r.mini.cb.NotifyDpc(t, r.mini.cb.DeviceHandle)
		}
	}},
	{"callback-level", system, func(r *rig) { // at DIRQL in SynchronizeExecution
		r.mini.dpc = func(t *ddi.Thread) {
			r.mini.cb.SynchronizeExecution(t, r.mini.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
				r.mini.notify(t, kmddi.NotifyInterrupt{InterruptType: completed, FenceID: 2})
				return true
			})
			r.mini.cb.NotifyDpc(t, r.mini.cb.DeviceHandle)
		}
	}},
	{"synchronize-level", system, func(r *rig) {
		r.mini.dpc = func(t *ddi.Thread) {
			r.mini.cb.SynchronizeExecution(t, r.mini.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
				t.Lower(t.Raise(ddi.DIRQL))
				return true
			})
			r.mini.cb.NotifyDpc(t, r.mini.cb.DeviceHandle)
		}
	}},
	{"callback-handle", system, func(r *rig) { // memory is freed once
		r.mini.dpc = func(t *ddi.Thread) {
			m, s := r.mini.cb.AllocateContiguousMemory(t, r.mini.cb.DeviceHandle, 4)
			r.ok(s)
			r.mini.cb.FreeContiguousMemory(t, r.mini.cb.DeviceHandle, m)
			r.mini.cb.NotifyDpc(t, r.mini.cb.DeviceHandle)
		}
	}},
	{"buffer-kept", system, func(r *rig) { // Render may write all it is lent, and Patch the portion
		r.mini.render = func(arg kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
			clear(arg.DmaBuffer)
			clear(arg.DmaBufferPrivateData)
			clear(arg.PatchLocationListOut)
			return o, s, false
		}
	}},
	{"buffer-align", system, func(r *rig) { renders(r, 4) }},
	{"interrupt-type", system, func(r *rig) { // faulted, after the last fence: the GPU stops, the miniport has not erred
		r.faults = true
		r.mini.isr = func(t *ddi.Thread) {
			r.mini.notify(t, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAFaulted, FenceID: 2, Status: uint32(ddi.StatusGPUExceptionOnDevice)})
			r.mini.cb.QueueDpc(t, r.mini.cb.DeviceHandle)
		}
	}},
}

// renders makes Render write n bytes of nothing and the given patches.
func renders(r *rig, n uint32, patches ...kmddi.PatchLocation) {
	r.mini.render = func(arg kmddi.Render) (kmddi.RenderOut, ddi.Status, bool) {
		clear(arg.DmaBuffer)
		copy(arg.PatchLocationListOut, patches)
		return kmddi.RenderOut{DmaBufferUsed: n, PatchesUsed: uint32(len(patches))}, ddi.StatusSuccess, true
	}
	r.gpu.ignores = true
}

func TestBoundaries(t *testing.T) {
	for _, tt := range boundaries {
		t.Run(tt.rule, func(t *testing.T) {
			r := newRig(t, options{})
			warm := r.alloc(64, system)
			r.render(fill(warm, 0, 64, 1)) // fence 1
			r.wait()
			a := r.alloc(64, tt.set)
			tt.keep(r)
			b := crash(func() {
				r.ok(r.submit(&r.ctx, fill(a, 0, 64, 1)))
				s := r.thunks.WaitForIdle(r.thread, r.dev)
				assert.Equal(t, r.faults, s.Failed())
			})
			require.Nil(t, b, "%v", b)
		})
	}
}

// docs/properties.md: F1.
func TestBugchecks(t *testing.T) {
	for _, tt := range bugchecks {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{nodes: 2})
			warm := r.alloc(64, system)
			r.render(fill(warm, 0, 64, 1)) // fence 1
			r.wait()
			a := r.alloc(64, tt.set)
			tt.breaks(r)
			b := crash(func() {
				r.submit(&r.ctx, append(r.extra, fill(a, 0, 64, 1))...)
				r.thunks.WaitForIdle(r.thread, r.dev)
			})
			require.NotNil(t, b)
			assert.Equal(t, []uint32{tt.code, tt.p1}, []uint32{b.Code, b.P1}, b.Error())
			r.wantCrashed(t, a)
			assert.ErrorIs(t, r.kernel.Err(), b)
		})
	}
}

// wantCrashed checks that no lock is held, that the thread is at its original
// level, and that the miniport is not called.
func (r *rig) wantCrashed(t *testing.T, a ddi.KMHandle) {
	require.False(t, r.kernel.gate.busy, "a thread is still in the kernel")
	require.Zero(t, r.kernel.visits)
	assert.Equal(t, ddi.PassiveLevel, r.thread.IRQL())
	r.mini.log = nil
	r.wantRemoved(t, a)
	assert.Equal(t, ddi.StatusDeviceRemoved, r.destroy(a))
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.DestroyDevice(r.thread, r.dev))
	assert.NoError(t, r.kernel.Stop(r.thread))
	assert.Empty(t, r.mini.log)
}

func TestWhatTheMiniportLeavesIsTakenBack(t *testing.T) {
	r := newRig(t, options{})
	cb := r.mini.cb
	mem, s := cb.AllocateContiguousMemory(r.thread, cb.DeviceHandle, 4)
	r.ok(s)
	m, s := cb.MapMemory(r.thread, cb.DeviceHandle, 0, 0, 4)
	r.ok(s)
	r.finish()
	assert.Error(t, r.gpu.machine.WriteMem(mem.PhysicalAddress, make([]byte, 4)), "the memory is freed")
	_, s = cb.ReadRegister(r.thread, cb.DeviceHandle, m, 0)
	assert.Equal(t, ddi.StatusInvalidHandle, s)
}
