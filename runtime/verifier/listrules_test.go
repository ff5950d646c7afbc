package verifier

import "github.com/hilgpu/hilgpu/runtime/ddi/umddi"

func listCases() []ruleCase {
	retire := func(r *rig, l umddi.HCommandList) { r.funcs.RecycleDestroyCommandList(r.other, r.dev, l) }
	return []ruleCase{
		{rule: "list-state", breaks: func(r *rig) {
			d := r.deferred("d")
			l := d.finish()
			retire(r, l)
			r.funcs.CommandListExecute(r.th, r.dev, l)
		}, keeps: func(r *rig) { // through the complete diagram, twice
			d := r.deferred("d")
			l := d.finish()
			for range 2 {
				r.funcs.CommandListExecute(r.th, r.dev, l)
				retire(r, l)
				d.funcs.RecycleCommandList(r.dth, d.h, l)
				d.again(l)
				d.renew()
			}
			r.funcs.DestroyCommandList(r.other, r.dev, l)
		}},
		{rule: "list-context", breaks: func(r *rig) {
			l := r.deferred("d").finish()
			e := r.deferred("e")
			retire(r, l)
			e.funcs.RecycleCommandList(r.dth, e.h, l)
		}, keeps: func(r *rig) {
			d, e := r.deferred("d"), r.deferred("e")
			l := d.finish()
			retire(r, l)
			d.funcs.RecycleCommandList(r.dth, d.h, l)
			retire(r, e.finish())
		}},
		{rule: "context-state", breaks: func(r *rig) {
			d := r.deferred("d")
			d.list()
			d.funcs.IaSetTopology(r.dth, d.h, 1)
		}, keeps: func(r *rig) {
			res := r.make().buffer()
			d := r.deferred("d")
			local := d.open(res)
			d.funcs.IaSetIndexBuffer(r.dth, d.h, local, 0, 0)
			d.list()
			d.funcs.DestroyResource(r.dth, d.h, local)
			d.renew()
			d.funcs.IaSetTopology(r.dth, d.h, 1)
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.funcs.IaSetTopology(r.dth, d.h, 0)
			d.funcs.DestroyDevice(r.dth, d.h)
		}},
		{rule: "context-open", breaks: func(r *rig) {
			d := r.deferred("d")
			d.open(r.make().buffer())
			d.list()
			d.renew()
		}, keeps: func(r *rig) {
			d := r.deferred("d")
			local := d.open(r.make().buffer())
			d.list()
			d.funcs.DestroyResource(r.dth, d.h, local)
			d.renew()
		}},
		{rule: "abandon-bound", breaks: func(r *rig) {
			d := r.deferred("d")
			local := d.open(r.make().buffer())
			d.funcs.IaSetIndexBuffer(r.dth, d.h, local, 0, 0)
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.funcs.DestroyResource(r.dth, d.h, local)
		}, keeps: func(r *rig) {
			d := r.deferred("d")
			local := d.open(r.make().buffer())
			d.funcs.IaSetIndexBuffer(r.dth, d.h, local, 0, 0)
			d.funcs.AbandonCommandList(r.dth, d.h)
			d.funcs.IaSetIndexBuffer(r.dth, d.h, umddi.HResource{}, 0, 0)
			d.funcs.DestroyResource(r.dth, d.h, local)
			d.renew()
		}},
		{rule: "list-open-work", breaks: func(r *rig) {
			d := r.deferred("d")
			d.funcs.DynamicIABufferMapDiscard(r.dth, d.h, d.open(r.make().dynamic()), 0, umddi.MapWriteDiscard, 0)
			d.list()
		}, keeps: func(r *rig) {
			d := r.deferred("d")
			local, q := d.open(r.make().dynamic()), d.openQuery(r.make().query())
			d.funcs.DynamicIABufferMapDiscard(r.dth, d.h, local, 0, umddi.MapWriteDiscard, 0)
			d.funcs.DynamicIABufferUnmap(r.dth, d.h, local, 0)
			d.funcs.QueryBegin(r.dth, d.h, q)
			d.funcs.QueryEnd(r.dth, d.h, q)
			d.list()
		}},
		{rule: "execute-mapped", breaks: func(r *rig) {
			res, l := mappingList(r)
			r.funcs.DynamicIABufferMapDiscard(r.th, r.dev, res, 0, umddi.MapWriteDiscard, 0)
			r.funcs.CommandListExecute(r.th, r.dev, l)
		}, keeps: func(r *rig) {
			res, l := mappingList(r)
			r.funcs.DynamicIABufferMapDiscard(r.th, r.dev, res, 0, umddi.MapWriteDiscard, 0)
			r.funcs.DynamicIABufferUnmap(r.th, r.dev, res, 0)
			r.funcs.CommandListExecute(r.th, r.dev, l)
		}},
		{rule: "execute-begun", breaks: func(r *rig) {
			q := r.make().query()
			d := r.deferred("d")
			d.funcs.QueryEnd(r.dth, d.h, d.openQuery(q))
			l := d.list()
			r.funcs.QueryBegin(r.th, r.dev, q)
			r.funcs.CommandListExecute(r.th, r.dev, l)
		}, keeps: func(r *rig) {
			q, other := r.make().query(), r.make().query()
			d := r.deferred("d")
			d.funcs.QueryEnd(r.dth, d.h, d.openQuery(q))
			l := d.list()
			r.funcs.QueryBegin(r.th, r.dev, q)
			r.funcs.QueryEnd(r.th, r.dev, q)
			r.funcs.QueryBegin(r.th, r.dev, other)
			r.funcs.CommandListExecute(r.th, r.dev, l)
		}},
	}
}

// mappingList returns a vertex buffer and a list that maps it.
func mappingList(r *rig) (umddi.HResource, umddi.HCommandList) {
	res := r.make().dynamic()
	d := r.deferred("d")
	local := d.open(res)
	d.funcs.DynamicIABufferMapDiscard(r.dth, d.h, local, 0, umddi.MapWriteDiscard, 0)
	d.funcs.DynamicIABufferUnmap(r.dth, d.h, local, 0)
	return res, d.list()
}
