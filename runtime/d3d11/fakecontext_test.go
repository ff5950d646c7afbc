package d3d11

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// fill fills the table of a deferred context. Each function records a call of
// the device's function.
func (c *fakeContext) fill(d *umddi.DeviceFuncs) {
	c.fillOpens(d)
	c.fillWork(d)
	c.fillMaps(d)
	c.fillState(d)
	f := c.f
	d.RecycleCommandList = func(t *ddi.Thread, h umddi.HDevice, list umddi.HCommandList) {
		defer c.leave()
		c.enter(t, h, "RecycleCommandList", fakeRecording, fakeAbandoned, fakeFinished)
		l := f.list(list, "RecycleCommandList", fakeRetired)
		if l.context != c || !bytes.Equal(l.content, list.Private) {
			f.wrong("RecycleCommandList of another context's list, or its memory has changed")
		}
		l.state = fakeCached
	}
	d.CommandListExecute = func(t *ddi.Thread, h umddi.HDevice, list umddi.HCommandList) {
		defer c.leave()
		if c.enter(t, h, "CommandListExecute") {
			ic := umddi.HCommandList{Object: c.ic(list.Object, umddi.HandleCommandList)}
			l := f.list(ic, "CommandListExecute", fakeValid)
			c.record(func(t *ddi.Thread) {
				f.list(ic, "nested CommandListExecute", fakeValid)
				f.run(t, l)
			})
			c.inherit(l)
			clear(c.bound)
		}
	}
	d.RelocateDeviceFuncs = func(_ *ddi.Thread, h umddi.HDevice, funcs *umddi.DeviceFuncs) {
		if h != c.arg.Context {
			f.wrong("RelocateDeviceFuncs with another context")
		}
		f.moved(c.arg.ContextFuncs, funcs)
		c.arg.ContextFuncs = funcs
	}
	d.AbandonCommandList = func(t *ddi.Thread, h umddi.HDevice) {
		defer c.leave()
		c.enter(t, h, "AbandonCommandList")
		c.state = fakeAbandoned
		c.ops = nil
	}
	d.DestroyDevice = func(t *ddi.Thread, h umddi.HDevice) {
		defer c.leave()
		lives := []int{fakeFinished, fakeAbandoned}
		if len(c.ops) == 0 && len(c.locals) == 0 {
			lives = append(lives, fakeRecording)
		}
		c.enter(t, h, "DestroyDevice", lives...)
		if len(c.locals) != 0 {
			f.wrong("DestroyDevice with %d open handles", len(c.locals))
		}
		c.state = fakeDead
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.native.contexts, h.Root)
	}
}

func (c *fakeContext) fillOpens(d *umddi.DeviceFuncs) {
	d.CreateResource = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateResource, res umddi.HResource, rt umddi.HRTResource) {
		if arg != nil {
			c.f.wrong("a resource is opened with arguments")
		}
		c.open(t, h, "Resource", res.Object, &fakeLocal{typ: umddi.HandleResource, ic: rt.Runtime.(umddi.HResource).Object}, fakeLocalPrivate)
	}
	d.CreateRenderTargetView = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateRenderTargetView, v umddi.HRenderTargetView, rt umddi.HRTRenderTargetView) {
		if *arg != (umddi.CreateRenderTargetView{Resource: arg.Resource}) {
			c.f.wrong("a view is opened with arguments")
		}
		c.open(t, h, "View", v.Object, &fakeLocal{typ: umddi.HandleRenderTargetView,
			ic: rt.Runtime.(umddi.HRenderTargetView).Object, of: arg.Resource.Object}, fakeLocalPrivate)
	}
	d.CreateQuery = func(t *ddi.Thread, h umddi.HDevice, arg umddi.CreateQuery, q umddi.HQuery, rt umddi.HRTQuery) {
		c.open(t, h, "Query", q.Object, &fakeLocal{typ: umddi.HandleQuery, ic: rt.Runtime.(umddi.HQuery).Object}, fakeLocalPrivate)
	}
	d.CreateCommandList = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateCommandList, l umddi.HCommandList, rt umddi.HRTCommandList) {
		if arg != nil {
			c.f.wrong("a list is opened with arguments")
		}
		c.open(t, h, "List", l.Object, &fakeLocal{typ: umddi.HandleCommandList, ic: rt.Runtime.(umddi.HCommandList).Object}, fakeLocalList)
	}
	d.DestroyResource = func(t *ddi.Thread, h umddi.HDevice, o umddi.HResource) { c.closeLocal(t, h, "Resource", o.Object) }
	d.DestroyRenderTargetView = func(t *ddi.Thread, h umddi.HDevice, o umddi.HRenderTargetView) { c.closeLocal(t, h, "View", o.Object) }
	d.DestroyQuery = func(t *ddi.Thread, h umddi.HDevice, o umddi.HQuery) { c.closeLocal(t, h, "Query", o.Object) }
	d.DestroyCommandList = func(t *ddi.Thread, h umddi.HDevice, o umddi.HCommandList) { c.closeLocal(t, h, "List", o.Object) }
}

func (c *fakeContext) res(h umddi.HResource) umddi.HResource {
	return umddi.HResource{Object: c.ic(h.Object, umddi.HandleResource)}
}

func (c *fakeContext) fillWork(d *umddi.DeviceFuncs) {
	dev := c.f.arg.Device
	ic := func() *umddi.DeviceFuncs { return c.f.arg.DeviceFuncs }
	d.ResourceUpdateSubresourceUP = func(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, sub uint32, box *umddi.Box, data []byte, row, depth uint32) {
		defer c.leave()
		if !c.enter(t, h, "ResourceUpdateSubresourceUP") {
			return
		}
		to, p := c.res(dst), bytes.Clone(data)
		if box != nil {
			b := *box
			box = &b
		}
		c.record(func(t *ddi.Thread) { ic().ResourceUpdateSubresourceUP(t, dev, to, sub, box, p, row, depth) })
	}
	d.ResourceCopy = func(t *ddi.Thread, h umddi.HDevice, dst, src umddi.HResource) {
		defer c.leave()
		if c.enter(t, h, "ResourceCopy") {
			to, from := c.res(dst), c.res(src)
			c.record(func(t *ddi.Thread) { ic().ResourceCopy(t, dev, to, from) })
		}
	}
	d.ResourceCopyRegion = func(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, dstSub, x, y, z uint32, src umddi.HResource, srcSub uint32, box *umddi.Box) {
		defer c.leave()
		if !c.enter(t, h, "ResourceCopyRegion") {
			return
		}
		to, from := c.res(dst), c.res(src)
		if box != nil {
			b := *box
			box = &b
		}
		c.record(func(t *ddi.Thread) { ic().ResourceCopyRegion(t, dev, to, dstSub, x, y, z, from, srcSub, box) })
	}
	d.ClearRenderTargetView = func(t *ddi.Thread, h umddi.HDevice, v umddi.HRenderTargetView, color [4]float32) {
		defer c.leave()
		if c.enter(t, h, "ClearRenderTargetView") {
			to := umddi.HRenderTargetView{Object: c.ic(v.Object, umddi.HandleRenderTargetView)}
			c.record(func(t *ddi.Thread) { ic().ClearRenderTargetView(t, dev, to, color) })
		}
	}
	d.QueryBegin = func(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
		defer c.leave()
		if c.enter(t, h, "QueryBegin") {
			of := umddi.HQuery{Object: c.ic(q.Object, umddi.HandleQuery)}
			c.begun[of.Object] = true
			c.record(func(t *ddi.Thread) { ic().QueryBegin(t, dev, of) })
		}
	}
	d.QueryEnd = func(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
		defer c.leave()
		if c.enter(t, h, "QueryEnd") {
			of := umddi.HQuery{Object: c.ic(q.Object, umddi.HandleQuery)}
			delete(c.begun, of.Object)
			c.record(func(t *ddi.Thread) { ic().QueryEnd(t, dev, of) })
		}
	}
	if ic().SetPredication == nil {
		return
	}
	d.SetPredication = func(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery, value bool) {
		defer c.leave()
		if c.enter(t, h, "SetPredication", fakeRecording, fakeAbandoned) || q.Object == nil {
			of := umddi.HQuery{Object: c.bind("predicate", q.Object, umddi.HandleQuery)}
			c.record(func(t *ddi.Thread) { ic().SetPredication(t, dev, of, value) })
		}
	}
}

func (c *fakeContext) fillMaps(d *umddi.DeviceFuncs) {
	f := c.f
	discard := func(name string) func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32, umddi.Map, umddi.MapFlags) umddi.Mapped {
		return func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, typ umddi.Map, _ umddi.MapFlags) umddi.Mapped {
			defer c.leave()
			if !c.enter(t, h, name) {
				return umddi.Mapped{}
			}
			o := c.res(res).Object
			f.mu.Lock()
			r := f.resources[id(o)]
			f.mu.Unlock()
			w, rows := r.size(sub)
			if c.mapped[o] {
				f.wrong("%s of a mapped resource", name)
			}
			c.mapped[o] = true
			if typ == umddi.MapWriteDiscard {
				data := make([]byte, w*rows*r.bpp)
				c.maps[o] = data
				c.record(func(t *ddi.Thread) {
					f.mu.Lock()
					defer f.mu.Unlock()
					copy(f.resources[id(o)].subs[sub], data)
				})
			} else if c.maps[o] == nil {
				f.wrong("%s without a discard", name)
			}
			return umddi.Mapped{Data: c.maps[o], RowPitch: w * r.bpp, DepthPitch: w * r.bpp * rows}
		}
	}
	unmap := func(name string) func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32) {
		return func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32) {
			defer c.leave()
			c.enter(t, h, name)
			o := c.res(res).Object
			if !c.mapped[o] {
				f.wrong("%s of an unmapped resource", name)
			}
			delete(c.mapped, o)
		}
	}
	d.DynamicResourceMapDiscard, d.DynamicResourceUnmap = discard("DynamicResourceMapDiscard"), unmap("DynamicResourceUnmap")
	d.DynamicIABufferMapDiscard, d.DynamicIABufferUnmap = discard("DynamicIABufferMapDiscard"), unmap("DynamicIABufferUnmap")
	d.DynamicIABufferMapNoOverwrite = discard("DynamicIABufferMapNoOverwrite")
	d.DynamicConstantBufferMapDiscard = discard("DynamicConstantBufferMapDiscard")
	d.DynamicConstantBufferUnmap = unmap("DynamicConstantBufferUnmap")
}

// set enters a function that sets state, possibly to unbind or in a refresh.
func (c *fakeContext) set(t *ddi.Thread, h umddi.HDevice, name string) bool {
	return c.enter(t, h, name, fakeRecording, fakeAbandoned)
}

func (c *fakeContext) buffers(name string, start uint32, bufs []umddi.HResource) []umddi.HResource {
	all := make([]umddi.HResource, len(bufs))
	for i, b := range bufs {
		all[i] = umddi.HResource{Object: c.bind(fmt.Sprint(name, int(start)+i), b.Object, umddi.HandleResource)}
	}
	return all
}

func (c *fakeContext) fillState(d *umddi.DeviceFuncs) {
	dev := c.f.arg.Device
	ic := func() *umddi.DeviceFuncs { return c.f.arg.DeviceFuncs }
	d.IaSetTopology = func(t *ddi.Thread, h umddi.HDevice, topology umddi.Topology) {
		defer c.leave()
		if c.set(t, h, "IaSetTopology") {
			c.record(func(t *ddi.Thread) { ic().IaSetTopology(t, dev, topology) })
		}
	}
	d.IaSetVertexBuffers = func(t *ddi.Thread, h umddi.HDevice, start uint32, bufs []umddi.HResource, strides, offsets []uint32) {
		defer c.leave()
		c.set(t, h, "IaSetVertexBuffers")
		all, s, o := c.buffers("vertex ", start, bufs), slices.Clone(strides), slices.Clone(offsets)
		c.record(func(t *ddi.Thread) { ic().IaSetVertexBuffers(t, dev, start, all, s, o) })
	}
	d.IaSetIndexBuffer = func(t *ddi.Thread, h umddi.HDevice, b umddi.HResource, fm dxgi.Format, offset uint32) {
		defer c.leave()
		c.set(t, h, "IaSetIndexBuffer")
		of := umddi.HResource{Object: c.bind("index", b.Object, umddi.HandleResource)}
		c.record(func(t *ddi.Thread) { ic().IaSetIndexBuffer(t, dev, of, fm, offset) })
	}
	constant := func(name string, st stage) func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource) {
		return func(t *ddi.Thread, h umddi.HDevice, start uint32, bufs []umddi.HResource) {
			defer c.leave()
			c.set(t, h, name)
			all := c.buffers(name, start, bufs)
			c.record(func(t *ddi.Thread) {
				_, set := constantBufferFunc(ic(), st)
				set(t, dev, start, all)
			})
		}
	}
	d.VsSetConstantBuffers = constant("VsSetConstantBuffers", stageVS)
	d.HsSetConstantBuffers = constant("HsSetConstantBuffers", stageHS)
	d.DsSetConstantBuffers = constant("DsSetConstantBuffers", stageDS)
	d.GsSetConstantBuffers = constant("GsSetConstantBuffers", stageGS)
	d.PsSetConstantBuffers = constant("PsSetConstantBuffers", stagePS)
	d.CsSetConstantBuffers = constant("CsSetConstantBuffers", stageCS)
	d.SetRenderTargets = func(t *ddi.Thread, h umddi.HDevice, views []umddi.HRenderTargetView) {
		defer c.leave()
		c.set(t, h, "SetRenderTargets")
		all := make([]umddi.HRenderTargetView, len(views))
		for i, v := range views {
			all[i] = umddi.HRenderTargetView{Object: c.bind(fmt.Sprint("target ", i), v.Object, umddi.HandleRenderTargetView)}
		}
		c.record(func(t *ddi.Thread) { ic().SetRenderTargets(t, dev, all) })
	}
	d.SetViewports = func(t *ddi.Thread, h umddi.HDevice, vps []umddi.Viewport) {
		defer c.leave()
		if c.set(t, h, "SetViewports") {
			all := slices.Clone(vps)
			c.record(func(t *ddi.Thread) { ic().SetViewports(t, dev, all) })
		}
	}
	d.SetScissorRects = func(t *ddi.Thread, h umddi.HDevice, rects []umddi.Rect) {
		defer c.leave()
		if c.set(t, h, "SetScissorRects") {
			all := slices.Clone(rects)
			c.record(func(t *ddi.Thread) { ic().SetScissorRects(t, dev, all) })
		}
	}
}
