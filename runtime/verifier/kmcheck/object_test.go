package kmcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// statusPending is STATUS_PENDING: neither success nor an error.
const statusPending ddi.Status = 0x103

// device creates a device.
func (r *rig) device() kmddi.HDevice {
	d := kmddi.HDevice{Root: new(ddi.Root)}
	r.funcs.CreateDevice(r.th, r.adapter, d, kmddi.CreateDevice{})
	return d
}

// context creates a context.
func (r *rig) context(d kmddi.HDevice) kmddi.HContext {
	c := kmddi.HContext{Root: new(ddi.Root)}
	r.funcs.CreateContext(r.th, d, c, kmddi.CreateContext{})
	return c
}

// allocation creates an allocation.
func (r *rig) allocation() kmddi.HAllocation {
	a := kmddi.HAllocation{Root: new(ddi.Root)}
	r.funcs.CreateAllocation(r.th, r.adapter, a, kmddi.CreateAllocation{})
	return a
}

// open opens an allocation for a device.
func (r *rig) open(d kmddi.HDevice, a kmddi.HAllocation) kmddi.HDeviceAllocation {
	o := kmddi.HDeviceAllocation{Root: new(ddi.Root)}
	r.funcs.OpenAllocation(r.th, d, o, kmddi.OpenAllocation{Allocation: a, Create: true})
	return o
}

// renderStatus renders with a status.
func (r *rig) renderStatus(s ddi.Status) {
	r.begin()
	r.status["Render"] = s
	r.funcs.Render(r.th, r.context(r.device()), kmddi.Render{})
}

// drawStatus is renderStatus for RenderKm.
func (r *rig) drawStatus(s ddi.Status) {
	r.begin()
	r.status["RenderKm"] = s
	r.funcs.RenderKm(r.th, r.context(r.device()), kmddi.Render{})
}

func resultCases() []ruleCase {
	return []ruleCase{
		{rule: "return-status", breaks: func(r *rig) { r.drawStatus(ddi.StatusPrivilegedInstruction) },
			keeps: func(r *rig) { r.drawStatus(ddi.StatusIllegalInstruction) }},
		{rule: "return-status", breaks: func(r *rig) { r.renderStatus(statusPending) },
			keeps: func(r *rig) { r.renderStatus(ddi.StatusIllegalInstruction) }},
		{rule: "return-status", breaks: func(r *rig) { r.renderStatus(ddi.StatusIODeviceError) },
			keeps: func(r *rig) { // the status of a callback is passed on
				r.on["Render"] = func(t *ddi.Thread) {
					r.status["ReadRegister"] = ddi.StatusIODeviceError
					r.cb.ReadRegister(t, r.h, kmddi.HMapping{}, 0)
				}
				r.renderStatus(ddi.StatusIODeviceError)
			}},
		{rule: "return-status", breaks: func(r *rig) {
			r.status["StartDevice"] = statusPending
			r.begin()
		}, keeps: func(r *rig) { // any error
			r.status["StartDevice"] = ddi.StatusIOTimeout
			r.begin()
		}},
		{rule: "return-status", breaks: func(r *rig) {
			r.begin()
			r.status["CreateDevice"] = ddi.StatusInvalidParameter
			r.device()
		}, keeps: func(r *rig) { r.begin(); r.status["CreateDevice"] = ddi.StatusNoMemory; r.device() }},
		{rule: "debug-length", breaks: func(r *rig) { r.collect(9) }, keeps: func(r *rig) { r.collect(8) }},
		{rule: "debug-length", breaks: func(r *rig) { r.collect(-1) }, keeps: func(r *rig) { r.collect(0) }},
		{rule: "start-displays", breaks: func(r *rig) { r.start.NumberOfChildren = 1; r.begin() },
			keeps: func(r *rig) { // what a failed start returns has no meaning
				r.start.NumberOfChildren, r.status["StartDevice"] = 1, ddi.StatusNoMemory
				r.begin()
			}},
	}
}

// collect calls CollectDbgInfo with 8 bytes, of which the driver uses n.
func (r *rig) collect(n int) {
	r.begin()
	r.length = n
	r.funcs.CollectDbgInfo(r.th, r.adapter, kmddi.CollectDbgInfo{Buffer: make([]byte, 8)})
}

func objectCases() []ruleCase {
	return []ruleCase{
		{rule: "handle-kind", breaks: func(r *rig) {
			r.begin()
			r.funcs.DestroyContext(r.th, kmddi.HContext(r.device()))
		}, keeps: func(r *rig) { r.begin(); r.funcs.DestroyContext(r.th, r.context(r.device())) }},
		{rule: "handle-kind", breaks: func(r *rig) { // an opened allocation of another device
			r.begin()
			d, e := r.device(), r.device()
			o := r.open(d, r.allocation())
			r.funcs.CloseAllocation(r.th, e, o)
		}, keeps: func(r *rig) { // two devices open one allocation
			r.begin()
			d, e, a := r.device(), r.device(), r.allocation()
			o, p := r.open(d, a), r.open(e, a)
			r.funcs.CloseAllocation(r.th, e, p)
			r.funcs.CloseAllocation(r.th, d, o)
		}},
		{rule: "handle-kind", breaks: func(r *rig) {
			r.begin()
			c, o := r.context(r.device()), r.open(r.device(), r.allocation())
			r.funcs.Render(r.th, c, kmddi.Render{AllocationList: []kmddi.AllocationList{{DeviceSpecificAllocation: o}}})
		}, keeps: func(r *rig) {
			r.begin()
			d := r.device()
			c, o := r.context(d), r.open(d, r.allocation())
			r.funcs.Render(r.th, c, kmddi.Render{AllocationList: []kmddi.AllocationList{{}, {DeviceSpecificAllocation: o}}})
		}},
		{rule: "handle-kind", breaks: func(r *rig) { // the adapter of another kernel
			r.begin()
			r.funcs.QueryAdapterInfo(r.th, kmddi.HAdapter{Root: new(ddi.Root)}, kmddi.QueryAdapterInfo{})
		}, keeps: func(r *rig) { r.begin(); r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{}) }},
		{rule: "handle-kind", breaks: func(r *rig) { // a submission of a context of another device
			r.begin()
			d, c := r.device(), r.context(r.device())
			r.funcs.Patch(r.th, r.adapter, kmddi.Patch{Device: d, Context: c})
		}, keeps: func(r *rig) {
			r.begin()
			d := r.device()
			r.funcs.Patch(r.th, r.adapter, kmddi.Patch{Device: d, Context: r.context(d)})
			r.submit(0, 1, 0) // paging has no handles
		}},
		{rule: "object-life", breaks: func(r *rig) {
			r.begin()
			r.status["CreateDevice"] = ddi.StatusNoMemory
			r.funcs.DestroyDevice(r.th, r.device())
		}, keeps: func(r *rig) { // after a failure the memory of the handle may be used again
			r.begin()
			r.status["CreateDevice"] = ddi.StatusNoMemory
			d := r.device()
			r.status["CreateDevice"] = ddi.StatusSuccess
			r.funcs.CreateDevice(r.th, r.adapter, d, kmddi.CreateDevice{})
			r.funcs.DestroyDevice(r.th, d)
		}},
		{rule: "object-life", breaks: func(r *rig) {
			r.begin()
			a := r.allocation()
			r.funcs.DestroyAllocation(r.th, r.adapter, a)
			r.funcs.BuildPagingBuffer(r.th, r.adapter, kmddi.BuildPagingBuffer{Allocation: a})
		}, keeps: func(r *rig) { // a raw copy has no allocation
			r.begin()
			r.funcs.BuildPagingBuffer(r.th, r.adapter, kmddi.BuildPagingBuffer{Allocation: r.allocation()})
			r.funcs.BuildPagingBuffer(r.th, r.adapter, kmddi.BuildPagingBuffer{})
		}},
		{rule: "object-children", breaks: func(r *rig) {
			r.begin()
			d := r.device()
			r.context(d)
			r.funcs.DestroyDevice(r.th, d)
		}, keeps: func(r *rig) {
			r.begin()
			d := r.device()
			r.funcs.DestroyContext(r.th, r.context(d))
			r.funcs.DestroyDevice(r.th, d)
			r.end()
		}},
		{rule: "object-children", breaks: func(r *rig) {
			r.begin()
			a := r.allocation()
			r.open(r.device(), a)
			r.funcs.DestroyAllocation(r.th, r.adapter, a)
		}, keeps: func(r *rig) { // an allocation outlives the device
			r.begin()
			d, a := r.device(), r.allocation()
			r.funcs.CloseAllocation(r.th, d, r.open(d, a))
			r.funcs.DestroyDevice(r.th, d)
			r.funcs.DestroyAllocation(r.th, r.adapter, a)
		}},
		{rule: "object-children", breaks: func(r *rig) { r.begin(); r.device(); r.funcs.StopDevice(r.th, r.adapter) },
			keeps: func(r *rig) { r.begin(); r.funcs.DestroyDevice(r.th, r.device()); r.end() }},
	}
}

func resourceCases() []ruleCase {
	allocate := func(t *ddi.Thread, r *rig) kmddi.ContiguousMemory {
		m, _ := r.cb.AllocateContiguousMemory(t, r.h, 64)
		return m
	}
	return []ruleCase{
		{rule: "memory-leak", breaks: func(r *rig) {
			r.on["StartDevice"] = func(t *ddi.Thread) { allocate(t, r) }
			r.begin()
			r.end()
		}, keeps: func(r *rig) {
			r.on["StartDevice"] = func(t *ddi.Thread) {
				m := allocate(t, r)
				r.on["StopDevice"] = func(t *ddi.Thread) { r.cb.FreeContiguousMemory(t, r.h, m) }
			}
			r.begin()
			r.end()
		}},
		{rule: "memory-leak", breaks: func(r *rig) { // no roll-back of a start that failed
			r.on["StartDevice"] = func(t *ddi.Thread) { allocate(t, r); allocate(t, r) }
			r.status["StartDevice"] = ddi.StatusNoMemory
			r.begin()
			r.funcs.RemoveDevice(r.th, r.adapter)
		}, keeps: func(r *rig) {
			r.on["StartDevice"] = func(t *ddi.Thread) {
				m := allocate(t, r)
				r.status["AllocateContiguousMemory"] = ddi.StatusNoMemory
				allocate(t, r)
				r.cb.FreeContiguousMemory(t, r.h, m)
			}
			r.status["StartDevice"] = ddi.StatusNoMemory
			r.begin()
			r.funcs.RemoveDevice(r.th, r.adapter)
		}},
		{rule: "mapping-leak", breaks: func(r *rig) {
			r.on["StartDevice"] = func(t *ddi.Thread) { r.cb.MapMemory(t, r.h, 0, 0, 64) }
			r.begin()
			r.end()
		}, keeps: func(r *rig) {
			r.on["StartDevice"] = func(t *ddi.Thread) {
				m, _ := r.cb.MapMemory(t, r.h, 0, 0, 64)
				r.cb.UnmapMemory(t, r.h, m)
				r.status["MapMemory"] = ddi.StatusInvalidParameter
				r.cb.MapMemory(t, r.h, 9, 0, 64) // refused, so there is nothing to unmap
			}
			r.begin()
			r.end()
		}},
		{rule: "callback-argument", breaks: func(r *rig) {
			r.on["StartDevice"] = func(t *ddi.Thread) {
				r.status["ReadRegister"] = ddi.StatusInvalidParameter
				r.cb.ReadRegister(t, r.h, kmddi.HMapping{}, 2)
			}
			r.begin()
		}, keeps: func(r *rig) { // a dead link is no mistake of the driver
			r.on["StartDevice"] = func(t *ddi.Thread) {
				r.status["ReadRegister"] = ddi.StatusIODeviceError
				r.cb.ReadRegister(t, r.h, kmddi.HMapping{}, 0)
			}
			r.begin()
		}},
		{rule: "driver-replaced", breaks: func(r *rig) {
			r.begin()
			d := r.device()
			r.on["CreateContext"] = func(*ddi.Thread) { d.Driver = "another" }
			r.context(d)
		}, keeps: func(r *rig) { // the object's own Create and Destroy functions
			r.begin()
			d := r.device()
			r.on["DestroyDevice"] = func(*ddi.Thread) { d.Driver = nil }
			r.funcs.DestroyDevice(r.th, d)
		}},
		{rule: "driver-replaced", breaks: func(r *rig) { // between two calls
			r.begin()
			c := r.context(r.device())
			c.Driver = "another"
			r.funcs.Render(r.th, c, kmddi.Render{})
		}, keeps: func(r *rig) { // the adapter's may change while the device starts, and need not be comparable
			r.on["StartDevice"] = func(*ddi.Thread) { r.adapter.Driver = []int{1} }
			r.begin()
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{})
		}},
	}
}

// A leak names the line of the driver that allocated, and the function of the
// interface.
func TestLeakNamesItsSite(t *testing.T) {
	r := newRig(t)
	r.on["StartDevice"] = func(t *ddi.Thread) { r.cb.AllocateContiguousMemory(t, r.h, 64) }
	r.begin()
	r.end()
	require.Len(t, r.m.Violations(), 1)
	assert.Regexp(t, `^the miniport still holds 64 bytes at 0x100000 of MmAllocateContiguousMemory, from DxgkDdiStartDevice at kmcheck\.TestLeakNamesItsSite\.func1 \(object_test\.go:\d+\), want MmFreeContiguousMemory before the end of DxgkDdiStopDevice$`,
		r.m.Violations()[0].Text)
}

// A violation names the set of legal statuses and the objects.
func TestStatusNamesTheSet(t *testing.T) {
	r := newRig(t)
	r.renderStatus(statusPending)
	require.Len(t, r.m.Violations(), 1)
	v := r.m.Violations()[0]
	assert.Contains(t, v.Text, "returned NTSTATUS 0x00000103, want STATUS_SUCCESS or STATUS_NO_MEMORY, ")
	assert.Contains(t, v.Text, " or STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE")
	assert.Equal(t, []string{"context 3"}, v.Handles)
}
