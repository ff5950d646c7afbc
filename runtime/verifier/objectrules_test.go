package verifier

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func handleCases() []ruleCase {
	return []ruleCase{
		{rule: "handle-unknown", breaks: func(r *rig) {
			r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{Object: memoryOf(rigPrivate)})
		}, keeps: func(r *rig) {
			r.funcs.DestroyResource(r.th, r.dev, r.make().buffer())
			r.funcs.SetPredication(r.th, r.dev, umddi.HQuery{}, false)
		}},
		{rule: "handle-destroyed", breaks: func(r *rig) {
			res := r.make().buffer()
			r.funcs.DestroyResource(r.th, r.dev, res)
			r.funcs.DestroyResource(r.th, r.dev, res)
		}, keeps: func(r *rig) { // the memory of a destroyed object is reused for another
			res := r.make().buffer()
			r.funcs.DestroyResource(r.th, r.dev, res)
			r.funcs.CalcPrivateResourceSize(r.th, r.dev, nil)
			r.funcs.CreateResource(r.th, r.dev, &umddi.CreateResource{}, res, umddi.HRTResource{})
			r.funcs.DestroyResource(r.th, r.dev, res)
		}},
		{rule: "handle-failed", breaks: func(r *rig) {
			r.reports("CreateCommandList", "device", ddi.EOutOfMemory)
			arg := &umddi.CreateCommandList{DeferredContext: r.deferred("d").h}
			h := umddi.HCommandList{Object: memoryOf(r.funcs.CalcPrivateCommandListSize(r.dth, r.dev, arg))}
			r.funcs.CreateCommandList(r.dth, r.dev, arg, h, umddi.HRTCommandList{})
			r.funcs.DestroyCommandList(r.th, r.dev, h)
		}, keeps: func(r *rig) { // the context is abandoned after a failure
			d := r.deferred("d")
			r.reports("CreateCommandList", "device", ddi.EOutOfMemory)
			arg := &umddi.CreateCommandList{DeferredContext: d.h}
			h := umddi.HCommandList{Object: memoryOf(r.funcs.CalcPrivateCommandListSize(r.dth, r.dev, arg))}
			r.funcs.CreateCommandList(r.dth, r.dev, arg, h, umddi.HRTCommandList{})
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.renew()
		}},
		{rule: "handle-foreign", breaks: func(r *rig) {
			res := r.make().buffer()
			d := r.deferred("d")
			d.funcs.ResourceCopy(r.dth, d.h, res, res)
		}, keeps: func(r *rig) {
			res := r.make().buffer()
			d := r.deferred("d")
			local := d.open(res)
			d.funcs.ResourceCopy(r.dth, d.h, local, local)
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}},
		{rule: "handle-reused", breaks: func(r *rig) {
			r.funcs.CreateResource(r.th, r.dev, &umddi.CreateResource{}, r.make().buffer(), umddi.HRTResource{})
		}, keeps: func(r *rig) {
			r.make().buffer()
			r.make().buffer()
		}},
		{rule: "handle-leak", breaks: func(r *rig) {
			r.make().query()
			r.funcs.DestroyDevice(r.th, r.dev)
		}, keeps: func(r *rig) {
			q := r.make().query()
			d := r.deferred("d")
			d.funcs.DestroyDevice(r.dth, d.h)
			r.funcs.DestroyQuery(r.th, r.dev, q)
			r.funcs.DestroyDevice(r.th, r.dev)
		}},
		{rule: "view-order", breaks: func(r *rig) {
			v := r.make().view(r.make().buffer())
			r.deferred("d").openView(v)
		}, keeps: func(r *rig) {
			res := r.make().buffer()
			v := r.make().view(res)
			d := r.deferred("d")
			local, lv := d.open(res), umddi.HRenderTargetView{Object: memoryOf(rigLocal)}
			d.funcs.CreateRenderTargetView(r.dth, d.h, &umddi.CreateRenderTargetView{Resource: local}, lv, umddi.HRTRenderTargetView{Runtime: v})
			d.list()
			d.funcs.DestroyRenderTargetView(r.dth, d.h, lv)
			d.funcs.DestroyResource(r.dth, d.h, local)
			r.funcs.DestroyRenderTargetView(r.th, r.dev, v)
			r.funcs.DestroyResource(r.th, r.dev, res)
		}},
		{rule: "local-open", breaks: func(r *rig) {
			res := r.make().buffer()
			d := r.deferred("d")
			d.open(res)
			d.open(res)
		}, keeps: func(r *rig) { // once per context and list
			res := r.make().buffer()
			d, e := r.deferred("d"), r.deferred("e")
			local := d.open(res)
			e.open(res)
			d.list()
			d.funcs.DestroyResource(r.dth, d.h, local)
			d.renew()
			d.open(res)
		}},
		{rule: "local-outlives", breaks: func(r *rig) {
			res := r.make().buffer()
			r.deferred("d").open(res)
			r.funcs.DestroyResource(r.th, r.dev, res)
		}, keeps: func(r *rig) { // a nested list, retired while closed
			l := r.deferred("d").list()
			e := r.deferred("e")
			local := e.openList(l)
			e.funcs.CommandListExecute(r.dth, e.h, local)
			e.list()
			e.funcs.DestroyCommandList(r.dth, e.h, local)
			r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
		}},
	}
}

func memoryCases() []ruleCase {
	return []ruleCase{
		{rule: "private-runtime", breaks: func(r *rig) {
			d := r.deferred("d")
			l := d.finish()
			r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
			l.Private[3] ^= 1
			d.funcs.RecycleCommandList(r.dth, d.h, l)
		}, keeps: func(r *rig) { // the driver may write in a function that gets the object
			res := r.make().buffer()
			r.calls("ResourceCopy", func(*ddi.Thread) { res.Private[3] ^= 1 })
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}},
		{rule: "private-outside", breaks: func(r *rig) {
			res := r.make().buffer()
			r.calls("IaSetTopology", func(*ddi.Thread) { res.Private[3] ^= 1 })
			r.funcs.IaSetTopology(r.th, r.dev, 1)
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}, keeps: func(r *rig) { // a submission may write, and a view includes its resource
			res := r.make().buffer()
			v := r.make().view(res)
			r.calls("IaSetTopology", func(t *ddi.Thread) {
				r.inner.KTCallbacks.RenderCb(t, r.inner.RTDevice, &umddi.Render{})
				res.Private[3] ^= 1
			})
			r.funcs.IaSetTopology(r.th, r.dev, 1)
			r.calls("ClearRenderTargetView", func(*ddi.Thread) { res.Private[4] ^= 1 })
			r.funcs.ClearRenderTargetView(r.th, r.dev, v, [4]float32{})
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}},
		{rule: "private-moved", breaks: func(r *rig) {
			d := r.deferred("d")
			l := d.finish()
			r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
			l.Private = l.Private[:rigPrivate-1]
			d.funcs.RecycleCommandList(r.dth, d.h, l)
		}, keeps: func(r *rig) {
			d := r.deferred("d")
			l := d.finish()
			r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
			d.funcs.RecycleCommandList(r.dth, d.h, l)
			d.again(l)
		}},
		{rule: "private-spare", breaks: func(r *rig) {
			r.funcs.CalcPrivateResourceSize(r.th, r.dev, nil)
			h := umddi.HResource{Object: &ddi.Object{Private: make([]byte, rigPrivate, 2*rigPrivate)}}
			r.funcs.CreateResource(r.th, r.dev, &umddi.CreateResource{}, h, umddi.HRTResource{})
		}, keeps: func(r *rig) {
			r.funcs.CalcPrivateResourceSize(r.th, r.dev, nil)
			slab := make([]byte, 2*rigPrivate)
			h := umddi.HResource{Object: &ddi.Object{Private: slab[:rigPrivate:rigPrivate]}}
			r.funcs.CreateResource(r.th, r.dev, &umddi.CreateResource{}, h, umddi.HRTResource{})
		}},
		{rule: "table-excluded", breaks: func(r *rig) {
			r.driver["CreateDeferredContext"] = func(args, _ []any) {
				args[2].(*umddi.CreateDeferredContext).ContextFuncs.Flush = func(*ddi.Thread, umddi.HDevice) {}
			}
			r.deferred("d")
		}, keeps: func(r *rig) { r.deferred("d") }},
		{rule: "table-missing", breaks: func(r *rig) {
			r.driver["CreateDevice"] = func(args, _ []any) {
				args[0].(*umddi.CreateDevice).DeviceFuncs.RecycleCreateCommandList = nil
			}
			r.createDevice(umddi.HDevice{Root: new(ddi.Root)}, "second")
		}, keeps: func(r *rig) { // a driver without command lists needs no entries for them
			r.caps = umddi.CapsFreeThreaded
			r.openAdapter()
			r.driver["CreateDevice"] = func(args, _ []any) {
				args[0].(*umddi.CreateDevice).DeviceFuncs.RecycleCreateCommandList = nil
			}
			r.createDevice(umddi.HDevice{Root: new(ddi.Root)}, "second")
		}},
		{rule: "table-relocate", breaks: func(r *rig) {
			r.driver["RelocateDeviceFuncs"] = func(args, _ []any) {
				args[2].(*umddi.DeviceFuncs).CalcPrivateResourceSize = func(*ddi.Thread, umddi.HDevice, *umddi.CreateResource) int { return 0 }
			}
			r.funcs.RelocateDeviceFuncs(r.th, r.dev, r.funcs)
		}, keeps: func(r *rig) {
			r.driver["RelocateDeviceFuncs"] = func(args, _ []any) {
				args[2].(*umddi.DeviceFuncs).Flush = func(*ddi.Thread, umddi.HDevice) {}
			}
			r.funcs.RelocateDeviceFuncs(r.th, r.dev, r.funcs)
		}},
		{rule: "caps-threading", breaks: func(r *rig) {
			r.caps = umddi.CapsCommandListsBuild2
			r.top.GetCaps(r.th, r.adapter, umddi.CapsThreading)
		}, keeps: func(r *rig) {
			r.caps = umddi.CapsFreeThreaded
			r.top.GetCaps(r.th, r.adapter, umddi.CapsThreading)
		}},
	}
}

func mapCases() []ruleCase {
	return []ruleCase{
		{rule: "map-discard", breaks: func(r *rig) {
			d := r.deferred("d")
			d.funcs.DynamicIABufferMapNoOverwrite(r.dth, d.h, d.open(r.make().dynamic()), 0, umddi.MapWriteNoOverwrite, 0)
		}, keeps: func(r *rig) {
			res := r.make().dynamic()
			r.funcs.DynamicIABufferMapNoOverwrite(r.th, r.dev, res, 0, umddi.MapWriteNoOverwrite, 0)
			d := r.deferred("d")
			local := d.open(res)
			d.funcs.DynamicIABufferMapDiscard(r.dth, d.h, local, 0, umddi.MapWriteDiscard, 0)
			d.funcs.DynamicIABufferUnmap(r.dth, d.h, local, 0)
			d.funcs.DynamicIABufferMapNoOverwrite(r.dth, d.h, local, 0, umddi.MapWriteNoOverwrite, 0)
		}},
		{rule: "map-state", breaks: func(r *rig) {
			r.funcs.DynamicIABufferUnmap(r.th, r.dev, r.make().dynamic(), 0)
		}, keeps: func(r *rig) { // a failed map leaves the resource unmapped
			res := r.make().dynamic()
			r.reports("DynamicIABufferMapDiscard", "device", ddi.EOutOfMemory)
			r.funcs.DynamicIABufferMapDiscard(r.th, r.dev, res, 0, umddi.MapWriteDiscard, 0)
			delete(r.driver, "DynamicIABufferMapDiscard")
			r.funcs.DynamicIABufferMapDiscard(r.th, r.dev, res, 0, umddi.MapWriteDiscard, 0)
			r.funcs.DynamicIABufferUnmap(r.th, r.dev, res, 0)
		}},
	}
}
