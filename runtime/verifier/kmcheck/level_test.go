package kmcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func levelCases() []ruleCase {
	return []ruleCase{
		{rule: "entry-level", breaks: func(r *rig) {
			r.begin()
			r.at(ddi.DispatchLevel, func(t *ddi.Thread) { r.funcs.Patch(t, r.adapter, kmddi.Patch{}) })
		}, keeps: func(r *rig) { // each at its level, and CollectDbgInfo at any
			r.begin()
			r.funcs.Patch(r.th, r.adapter, kmddi.Patch{})
			r.submit(0, 1, 0)
			r.interrupt(nil)
			r.dpc(nil)
			for _, l := range []ddi.IRQL{ddi.PassiveLevel, ddi.DIRQL} {
				r.at(l, func(t *ddi.Thread) { r.funcs.CollectDbgInfo(t, r.adapter, kmddi.CollectDbgInfo{}) })
			}
		}},
		{rule: "entry-level", breaks: func(r *rig) {
			r.begin()
			r.funcs.SubmitCommand(r.th, r.adapter, kmddi.SubmitCommand{})
		}, keeps: func(r *rig) { r.begin(); r.submit(0, 1, 0) }},
		{rule: "level-return", breaks: func(r *rig) {
			r.begin()
			r.on["Patch"] = func(t *ddi.Thread) { t.Raise(ddi.DispatchLevel) }
			r.funcs.Patch(r.th, r.adapter, kmddi.Patch{})
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{}) // one mistake, one violation
		}, keeps: func(r *rig) {
			r.begin()
			r.on["Patch"] = func(t *ddi.Thread) { t.Lower(t.Raise(ddi.DIRQL)) }
			r.funcs.Patch(r.th, r.adapter, kmddi.Patch{})
		}},
		{rule: "level-return", breaks: func(r *rig) {
			r.begin()
			r.on["SubmitCommand"] = func(t *ddi.Thread) { t.Lower(ddi.PassiveLevel) }
			r.submit(0, 1, 0)
		}, keeps: func(r *rig) { r.begin(); r.submit(0, 1, 0) }},
		{rule: "callback-irql", breaks: func(r *rig) {
			r.begin()
			r.on["SubmitCommand"] = func(t *ddi.Thread) { r.cb.GetDeviceInformation(t, r.h) }
			r.submit(0, 1, 0)
		}, keeps: func(r *rig) {
			r.on["StartDevice"] = func(t *ddi.Thread) { r.cb.GetDeviceInformation(t, r.h) }
			r.begin()
		}},
		{rule: "callback-irql", breaks: func(r *rig) {
			r.begin()
			r.query(func(t *ddi.Thread) {
				r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool {
					_, s := r.cb.SynchronizeExecution(t, r.h, 0, func(*ddi.Thread) bool { return true })
					return s == ddi.StatusSuccess
				})
			})
		}, keeps: func(r *rig) { // in the DPC it may be called
			r.begin()
			r.dpc(func(t *ddi.Thread) {
				r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool { r.cb.QueueDpc(t, r.h); return true })
			})
		}},
		{rule: "interrupt-callback", breaks: func(r *rig) {
			r.begin()
			r.interrupt(func(t *ddi.Thread) { r.cb.ReadDeviceSpace(t, r.h, 0) })
		}, keeps: func(r *rig) {
			r.begin()
			r.interrupt(func(t *ddi.Thread) {
				r.cb.ReadRegister(t, r.h, kmddi.HMapping{}, 0)
				r.cb.LogEtwEvent(t, r.h, "an interrupt")
				r.cb.QueueDpc(t, r.h)
			})
		}},
		{rule: "notify-place", breaks: func(r *rig) {
			r.begin()
			r.on["SubmitCommand"] = func(t *ddi.Thread) { r.cb.NotifyDpc(t, r.h) }
			r.submit(0, 1, 0)
		}, keeps: func(r *rig) {
			r.begin()
			r.dpc(func(t *ddi.Thread) { r.cb.NotifyDpc(t, r.h) })
		}},
		{rule: "notify-place", breaks: func(r *rig) {
			r.begin()
			r.submit(0, 1, 0)
			r.query(func(t *ddi.Thread) {
				old := t.Raise(ddi.DIRQL)
				r.notify(t, 0, 1)
				t.Lower(old)
			})
		}, keeps: func(r *rig) {
			r.begin()
			r.submit(0, 1, 0)
			r.query(func(t *ddi.Thread) {
				r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool { r.notify(t, 0, 1); return true })
			})
		}},
		{rule: "callback-stopped", breaks: func(r *rig) {
			r.begin()
			r.on["RemoveDevice"] = func(t *ddi.Thread) { r.cb.ReadDeviceSpace(t, r.h, 0) }
			r.end()
		}, keeps: func(r *rig) {
			use := func(t *ddi.Thread) { r.cb.ReadDeviceSpace(t, r.h, 0) }
			r.on["StartDevice"], r.on["StopDevice"] = use, use
			r.begin()
			r.end()
		}},
		{rule: "callback-stopped", breaks: func(r *rig) {
			r.status["StartDevice"] = ddi.StatusNoMemory
			r.begin()
			r.interrupt(func(t *ddi.Thread) { r.cb.QueueDpc(t, r.h) })
		}, keeps: func(r *rig) { // an old interrupt during StartDevice
			r.on["StartDevice"] = func(*ddi.Thread) {
				r.interrupt(func(t *ddi.Thread) { r.cb.ReadRegister(t, r.h, kmddi.HMapping{}, 0) })
			}
			r.begin()
		}},
		{rule: "class-overlap", breaks: func(r *rig) {
			r.begin()
			r.on["SubmitCommand"] = func(*ddi.Thread) { r.funcs.Patch(r.other, r.adapter, kmddi.Patch{}) }
			r.submit(0, 1, 0)
		}, keeps: func(r *rig) { // the interrupt path and reentrant functions
			r.begin()
			r.on["QueryAdapterInfo"] = func(*ddi.Thread) { r.funcs.Patch(r.other, r.adapter, kmddi.Patch{}) }
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{})
			r.on["Patch"] = func(*ddi.Thread) { r.interrupt(nil); r.dpc(nil) }
			r.funcs.Patch(r.th, r.adapter, kmddi.Patch{})
		}},
		{rule: "class-overlap", breaks: func(r *rig) {
			r.begin()
			r.on["QueryAdapterInfo"] = func(*ddi.Thread) { r.funcs.ResetFromTimeout(r.other, r.adapter) }
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{})
		}, keeps: func(r *rig) {
			r.begin()
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{})
			r.funcs.ResetFromTimeout(r.other, r.adapter)
		}},
		{rule: "adapter-state", breaks: func(r *rig) {
			r.status["StartDevice"] = ddi.StatusNoMemory
			r.begin()
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{})
		}, keeps: func(r *rig) {
			r.begin()
			r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{})
			r.end()
			r.begin() // it may be added again
		}},
		{rule: "adapter-state", breaks: func(r *rig) {
			r.begin()
			r.funcs.RemoveDevice(r.th, r.adapter)
		}, keeps: func(r *rig) { // a device that did not start is removed
			r.refuses(ddi.StatusIODeviceError)
		}},
	}
}

// Every function and callback of the tables has a description, under its WDK name.
func TestEveryFunctionIsDescribed(t *testing.T) {
	r := newRig(t)
	r.begin()
	names := wrappedNames(r)
	for name := range functions {
		assert.Contains(t, names, name)
	}
	for name := range callbacks {
		assert.Contains(t, names, name)
	}
	assert.Len(t, names, len(functions)+len(callbacks))
}
