package kmcheck

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// fails makes a function fail after code that the driver runs in it.
func (r *rig) fails(name string, code func(t *ddi.Thread)) {
	r.on[name], r.status[name] = code, ddi.StatusUnsuccessful
}

// refuses runs a start that fails after an access with a status.
func (r *rig) refuses(s ddi.Status) {
	r.fails("StartDevice", func(t *ddi.Thread) {
		r.status["ReadRegister"] = s
		r.read(t, 7)
	})
	r.begin()
	r.funcs.RemoveDevice(r.th, r.adapter)
}

// rejects makes a function of the start fail with a status.
func (r *rig) rejects(name string, s ddi.Status) {
	r.status[name] = s
	if name == "AddDevice" {
		r.funcs.AddDevice(r.th, r.adapter)
		return
	}
	r.begin()
	r.funcs.RemoveDevice(r.th, r.adapter)
}

// looks makes StartDevice ask for the device.
func (r *rig) looks() {
	r.on["StartDevice"] = func(t *ddi.Thread) { r.cb.GetDeviceInformation(t, r.h) }
}

func failedCases() []ruleCase {
	render := func(other bool) func(r *rig) {
		return func(r *rig) {
			r.begin()
			d := r.device()
			if other {
				r.context(d)
			}
			r.unset = true
			c := r.context(d)
			r.status["Render"] = ddi.StatusInvalidHandle
			r.funcs.Render(r.th, c, kmddi.Render{})
		}
	}
	query := func(typ kmddi.InfoType) func(r *rig) {
		return func(r *rig) {
			r.begin()
			r.fails("QueryAdapterInfo", nil)
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{Type: typ})
		}
	}
	return []ruleCase{
		{rule: "call-failed", breaks: func(r *rig) { r.refuses(ddi.StatusSuccess) },
			keeps: func(r *rig) { r.refuses(ddi.StatusIODeviceError) }}, // the device does not answer
		{rule: "call-failed", breaks: func(r *rig) { r.rejects("StartDevice", ddi.StatusUnsuccessful) },
			keeps: func(r *rig) { r.looks(); r.rejects("StartDevice", ddi.StatusNoSuchDevice) }},
		{rule: "call-failed", breaks: func(r *rig) { r.rejects("StartDevice", ddi.StatusNoSuchDevice) }, // it has not looked at the device
			keeps: func(r *rig) { r.looks(); r.rejects("StartDevice", ddi.StatusRevisionMismatch) }},
		{rule: "call-failed", breaks: func(r *rig) { r.rejects("AddDevice", ddi.StatusRevisionMismatch) },
			keeps: func(r *rig) { // the device lacks a BAR
				r.status["StartDevice"], r.status["MapMemory"] = ddi.StatusNoSuchDevice, ddi.StatusInvalidParameter
				r.on["StartDevice"] = func(t *ddi.Thread) {
					r.cb.GetDeviceInformation(t, r.h)
					r.cb.MapMemory(t, r.h, 1, 0, 64)
				}
				r.begin()
				r.funcs.RemoveDevice(r.th, r.adapter)
			}},
		{rule: "call-failed", breaks: func(r *rig) {
			r.fails("AddDevice", nil)
			r.funcs.AddDevice(r.th, r.adapter)
		}, keeps: func(r *rig) { // there is no memory
			r.status["AllocateContiguousMemory"] = ddi.StatusNoMemory
			r.fails("StartDevice", func(t *ddi.Thread) { r.cb.AllocateContiguousMemory(t, r.h, 64) })
			r.begin()
			r.funcs.RemoveDevice(r.th, r.adapter)
		}},
		{rule: "call-failed", breaks: query(kmddi.InfoDriverCaps), keeps: query(kmddi.InfoUMDriverPrivate)}, // the input is the application's
		{rule: "call-failed", breaks: func(r *rig) { r.begin(); r.fails("QueryCurrentFence", nil); r.query(nil) },
			keeps: func(r *rig) { r.begin(); r.query(nil) }},
		{rule: "call-failed", breaks: func(r *rig) { r.begin(); r.fails("StopDevice", nil); r.end() },
			keeps: func(r *rig) { // other functions may fail
				r.begin()
				r.fails("CollectDbgInfo", nil)
				r.funcs.CollectDbgInfo(r.th, r.adapter, kmddi.CollectDbgInfo{})
				r.end()
			}},
		{rule: "call-failed", breaks: func(r *rig) {
			r.begin()
			d := r.device()
			r.fails("DestroyDevice", nil)
			r.funcs.DestroyDevice(r.th, d)
		}, keeps: func(r *rig) { // the device does not answer
			r.begin()
			d := r.device()
			r.fails("DestroyDevice", func(t *ddi.Thread) { r.status["ReadRegister"] = ddi.StatusIODeviceError; r.read(t, 0) })
			r.funcs.DestroyDevice(r.th, d)
		}},
		{rule: "memory-leak", breaks: func(r *rig) { // the leak is the mistake to name
			r.fails("StartDevice", func(t *ddi.Thread) { r.cb.AllocateContiguousMemory(t, r.h, 64) })
			r.begin()
			r.funcs.RemoveDevice(r.th, r.adapter)
		}, keeps: func(r *rig) { r.begin(); r.end() }},
		{rule: "handle-refused", breaks: func(r *rig) {
			r.begin()
			r.unset, r.status["DestroyContext"] = true, ddi.StatusInvalidHandle
			r.funcs.DestroyContext(r.th, r.context(r.device()))
		}, keeps: func(r *rig) { // the adapter has an object
			r.begin()
			r.status["QueryAdapterInfo"] = ddi.StatusInvalidHandle
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoUMDriverPrivate})
		}},
		{rule: "handle-refused", breaks: render(true), keeps: render(false)}, // a driver without objects of contexts
		{rule: "interrupt-ignored", breaks: func(r *rig) { r.ignores(true, true) }, keeps: func(r *rig) { r.ignores(false, true) }},
		{rule: "interrupt-ignored", breaks: func(r *rig) { r.ignores(true, true) }, keeps: func(r *rig) { r.ignores(true, false) }},
	}
}

// ignores completes a fence that the query finds. The interrupt routine ran after
// the GPU wrote the fence, or not, and returned FALSE, or not.
func (r *rig) ignores(ran, unclaimed bool) {
	at := r.allocates()
	r.claim = !unclaimed
	r.submit(0, 1, 4)
	r.interrupt(nil) // of another node
	r.k.DeviceWrote(at, binary.LittleEndian.AppendUint32(nil, 1))
	if ran {
		r.interrupt(nil)
	}
	r.synchronized(func(t *ddi.Thread) { r.read(t, 1); r.notify(t, 0, 1); r.cb.QueueDpc(t, r.h) })
}

// A failure tells how far the function came, and wraps the status.
func TestFailureTellsCallbacks(t *testing.T) {
	r := newRig(t)
	r.fails("StartDevice", func(t *ddi.Thread) {
		r.cb.GetDeviceInformation(t, r.h)
		r.status["MapMemory"] = ddi.StatusInvalidParameter
		r.cb.MapMemory(t, r.h, 9, 0, 64)
		r.cb.WriteRegister(t, r.h, kmddi.HMapping{}, 8, 5)
		r.read(t, 7)
	})
	r.begin()
	r.funcs.RemoveDevice(r.th, r.adapter)
	require.Len(t, r.m.Violations(), 1)
	v := r.m.Violations()[0]
	assert.Equal(t, "DxgkDdiStartDevice", v.Function)
	assert.Equal(t, []string{"DxgkDdiStartDevice"}, v.Stack, "not that of DxgkDdiRemoveDevice, after which it is reported")
	assert.Equal(t, "returned STATUS_UNSUCCESSFUL since DxgkCbMapMemory returned STATUS_INVALID_PARAMETER; its last callbacks are DxgkCbGetDeviceInformation; "+
		"DxgkCbMapMemory 0x9 0x0 0x40, which returned STATUS_INVALID_PARAMETER; WRITE_REGISTER_ULONG 0x8 = 0x5; READ_REGISTER_ULONG 0x0 = 0x7; "+
		"it has not reached MmAllocateContiguousMemory", v.Text)
	assert.ErrorIs(t, v, ddi.StatusUnsuccessful)

	r = newRig(t)
	r.begin()
	r.fails("QueryCurrentFence", nil)
	r.query(nil)
	require.Len(t, r.m.Violations(), 1)
	assert.Equal(t, "returned STATUS_UNSUCCESSFUL, but each of its accesses to the device was answered; it made no callback, nor did DxgkDdiStartDevice; "+
		"want the fence of node 0, read in the function of DxgkCbSynchronizeExecution", r.m.Violations()[0].Text)
}

// A device that does not support the settings of its driver is no mistake of the driver, if it has settings and
// has looked at the device.
func TestRefusedSettings(t *testing.T) {
	for _, s := range []ddi.Status{ddi.StatusNotSupported, ddi.StatusInvalidParameter, ddi.StatusDeviceNotReady} {
		for _, configured := range []bool{false, true} {
			r := newRig(t)
			r.k.o.Configured = configured
			r.looks()
			r.rejects("StartDevice", s)
			assert.Equal(t, configured, len(r.m.Violations()) == 0, "%v, %v", s, configured)
		}
		r := newRig(t)
		r.k.o.Configured = true
		r.rejects("StartDevice", s)
		assert.Len(t, r.m.Violations(), 1, "it has not looked at the device")
	}
}

// The frames of calls are made once.
func TestFramesAreReused(t *testing.T) {
	r := newRig(t)
	th := r.k.thread(r.th)
	th.push(frame{t: r.th})
	call := func() {
		th.push(frame{t: r.th})
		r.k.pop(th)
	}
	call()
	assert.Zero(t, testing.AllocsPerRun(10, call))
}
