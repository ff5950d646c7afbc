package verifier

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/content"
)

// A writeMap is a mapped subresource of a map that writes.
type writeMap struct {
	memory umddi.Mapped
	typ    umddi.Map
	before []byte // contents at the map, if it does not discard
}

// newContent gives a resource its contents.
func (k *Checker) newContent(fr *frame, o *object, arg *umddi.CreateResource) {
	element, component := 1, 1
	if arg.ResourceDimension != umddi.Buffer {
		info, ok := arg.Format.Info()
		if !ok {
			return
		}
		element, component = info.Bytes, componentBytes(info)
	}
	var subs []content.Shape
	for i := range int(arg.ArraySize * arg.MipLevels) {
		mip := arg.MipInfoList[i%len(arg.MipInfoList)]
		subs = append(subs, content.Shape{Width: int(mip.TexelWidth), Height: int(max(1, mip.TexelHeight))})
	}
	o.content = content.NewResource(element, component, subs)
	for i, init := range arg.InitialDataUP {
		k.contents.Write(o.content, i, o.content.All(i), init.SysMem, int(init.RowPitch), k.callOf(fr))
	}
}

// componentBytes returns the size of a component, or that of an element without equal
// components.
func componentBytes(info dxgi.Info) int {
	if info.Bits%8 != 0 || info.Bytes%(info.Bits/8) != 0 {
		return info.Bytes
	}
	return info.Bits / 8
}

// callOf returns the call of fr.
func (k *Checker) callOf(fr *frame) content.Call {
	return content.Call{Function: fr.f.Name, Number: fr.call}
}

// contentOf returns the contents of the resource of a handle. They are nil if they are
// unknown.
func (k *Checker) contentOf(h umddi.HResource) *content.Resource {
	if o := k.objects[h.Object]; o != nil && o.source().kind == umddi.HandleResource {
		return o.source().content
	}
	return nil
}

// endContent updates the contents of resources at the return of a function.
func (k *Checker) endContent(fr *frame) {
	a := fr.args
	switch fr.f.Name {
	case "pfnCreateResource":
		if o := fr.created; o != nil && o.of == nil && len(fr.errors) == 0 {
			k.newContent(fr, o, a[1].(*umddi.CreateResource))
		}
	case "pfnDestroyResource":
		if o := fr.destroyed; o != nil && o.ctx == nil && o.content != nil {
			k.contents.Drop(o.content)
		}
	case "pfnResourceUpdateSubresourceUP":
		k.updated(fr)
	case "pfnResourceCopy":
		k.copied(fr)
	case "pfnResourceCopyRegion":
		k.copiedRegion(fr)
	case "pfnClearRenderTargetView":
		k.cleared(fr)
	case "pfnPresent":
		to := k.contentOf(a[0].(umddi.Present).DstResource)
		k.does(fr, to, func(m *content.Model, _ uint64) { m.Lost(to) })
	case "pfnReclaimResources":
		arg := a[0].(umddi.ReclaimResources)
		for i, h := range arg.Resources {
			if to := k.contentOf(h); arg.Discarded[i] {
				k.does(fr, to, func(m *content.Model, _ uint64) { m.Lost(to) })
			}
		}
	case "pfnCommandListExecute":
		k.executed(fr)
	}
}

// does does work that changes a resource, or records it. Work that failed or that
// depends on a predicate leaves the resource unknown.
func (k *Checker) does(fr *frame, to *content.Resource, do func(m *content.Model, list uint64)) {
	if to == nil {
		return
	}
	if len(fr.errors) > 0 || fr.predicated {
		do = func(m *content.Model, _ uint64) { m.Lost(to) }
	}
	if fr.ctx.deferred {
		fr.ctx.recorded.Record(to, do)
		return
	}
	do(&k.contents, 0)
	to.Written()
}

// updated does ResourceUpdateSubresourceUP.
func (k *Checker) updated(fr *frame) {
	a, to, sub := fr.args, k.contentOf(fr.args[1].(umddi.HResource)), int(fr.args[2].(uint32))
	b, data, pitch, c := boxOf(a[3].(*umddi.Box), to.All(sub)), a[4].([]byte), int(a[5].(uint32)), k.callOf(fr)
	if to == nil {
		return
	}
	if fr.ctx.deferred {
		data = slices.Clone(data)
	}
	k.does(fr, to, func(m *content.Model, list uint64) {
		c.List = list
		m.Write(to, sub, b, data, pitch, c)
	})
}

// copied does ResourceCopy.
func (k *Checker) copied(fr *frame) {
	to, from, c := k.contentOf(fr.args[1].(umddi.HResource)), k.contentOf(fr.args[2].(umddi.HResource)), k.callOf(fr)
	k.does(fr, to, func(m *content.Model, list uint64) {
		c.List = list
		for sub := range to.Subresources() {
			m.Copy(to, sub, 0, 0, from, sub, to.All(sub), c)
		}
	})
}

// copiedRegion does ResourceCopyRegion.
func (k *Checker) copiedRegion(fr *frame) {
	n := func(i int) int { return int(fr.args[i].(uint32)) }
	to, from, c := k.contentOf(fr.args[1].(umddi.HResource)), k.contentOf(fr.args[6].(umddi.HResource)), k.callOf(fr)
	toSub, x, y, sub := n(2), n(3), n(4), n(7)
	b := boxOf(fr.args[8].(*umddi.Box), from.All(sub))
	k.does(fr, to, func(m *content.Model, list uint64) {
		c.List = list
		m.Copy(to, toSub, x, y, from, sub, b, c)
	})
}

// boxOf returns a box, or all.
func boxOf(b *umddi.Box, all content.Box) content.Box {
	if b == nil {
		return all
	}
	return content.Box{X0: int(b.Left), Y0: int(b.Top), X1: int(b.Right), Y1: int(b.Bottom)}
}

// cleared does ClearRenderTargetView.
func (k *Checker) cleared(fr *frame) {
	o := k.objects[fr.args[1].(umddi.HRenderTargetView).Object]
	if o == nil || o.source().dep == nil {
		return
	}
	v, color, c := o.source(), fr.args[2].([4]float32), k.callOf(fr)
	to, arg := v.dep.content, v.view
	info, _ := arg.Format.Info()
	var value [8]byte
	known := info.Renderable() && !slices.ContainsFunc(color[:], inexact)
	if known {
		binary.LittleEndian.PutUint64(value[:], info.Pattern(color))
	}
	signed := info.Kind == dxgi.SNorm || info.Kind == dxgi.SInt
	k.does(fr, to, func(m *content.Model, list uint64) {
		c.List = list
		if !known {
			m.Lost(to)
			return
		}
		for i := arg.FirstArraySlice; i < arg.FirstArraySlice+arg.ArraySize; i++ {
			m.Fill(to, int(i)*len(v.dep.mips)+int(arg.MipSlice), value, signed, c)
		}
	})
}

// inexact reports whether the conversion of a colour has no single result: a NaN, an
// infinity or a negative zero.
func inexact(v float32) bool {
	return v != v || math.IsInf(float64(v), 0) || v == 0 && math.Signbit(float64(v))
}

// executed does CommandListExecute.
func (k *Checker) executed(fr *frame) {
	if len(fr.objects) == 0 {
		return
	}
	list := fr.objects[0].source().recorded
	switch {
	case fr.ctx.deferred:
		fr.ctx.recorded.Execute(list)
	case len(fr.errors) > 0 || fr.predicated:
		k.contents.Lose(list)
	default:
		k.contents.Run(list, fr.call)
	}
}

// mapContent compares what a map for reading returns with the contents, and notes the
// memory of a map for writing.
func (k *Checker) mapContent(fr *frame, m umddi.Mapped) {
	o, sub := fr.created, fr.args[2].(uint32)
	if o == nil || len(fr.errors) > 0 || o.source().content == nil {
		return
	}
	r, typ := o.source().content, fr.args[3].(umddi.Map)
	if typ == umddi.MapRead || typ == umddi.MapReadWrite {
		k.compareContent(fr, r, int(sub), m)
	}
	if typ == umddi.MapRead {
		return
	}
	to := writeMap{memory: m, typ: typ}
	if typ == umddi.MapWriteNoOverwrite && (fr.ctx.deferred || r.Overwritable()) {
		to.before = slices.Clone(m.Data)
	}
	fr.ctx.mapped[subresource{o.source(), sub}] = to
}

// KernelDraws is called before and after the graphics kernel draws for a tool. The calls of the driver do not show such
// drawings, so all contents are unknown after it: also those that were copied from the allocation in work that is not
// yet submitted.
func (k *Checker) KernelDraws(begins bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.contents.Forget()
	if begins {
		k.drawing++
	} else {
		k.drawing--
	}
}

// compareContent compares mapped memory with the contents of a subresource.
func (k *Checker) compareContent(fr *frame, r *content.Resource, sub int, m umddi.Mapped) {
	if s := fr.ctx.device.kernel; s != nil && s.failed || k.drawing > 0 {
		return
	}
	found := k.contents.Compare(r, sub, m.Data, int(m.RowPitch))
	if found == "" {
		return
	}
	if fr.unsynchronized != "" {
		found += "; " + fr.unsynchronized
	}
	k.fail(fr, "content", "%v, subresource %d: %s", fr.created.source(), sub, found)
	k.contents.Forget()
}

// unmapContent takes what the CPU wrote to mapped memory.
func (k *Checker) unmapContent(fr *frame, s subresource) {
	m, ok := fr.ctx.mapped[s]
	delete(fr.ctx.mapped, s)
	r, c := s.res.content, k.callOf(fr)
	if !ok || r == nil {
		return
	}
	data, pitch := m.memory.Data, int(m.memory.RowPitch)
	keeps := m.typ == umddi.MapWriteNoOverwrite
	if all := r.All(0); keeps {
		data, m.before = data[:min(len(data), all.X1)], m.before[:min(len(m.before), all.X1)]
	}
	switch {
	case fr.ctx.deferred && s.sub != 0:
		fr.ctx.recorded.Record(r, func(m *content.Model, _ uint64) { m.Lost(r) })
	case fr.ctx.deferred && keeps:
		fr.ctx.recorded.Overwrite(r, m.before, data, c)
	case fr.ctx.deferred:
		fr.ctx.recorded.Discard(r, data, pitch, c)
	case keeps && m.before == nil:
		k.contents.Lost(r)
	case keeps:
		k.contents.Overwrite(r, m.before, data, c)
	default:
		k.contents.Take(r, int(s.sub), data, pitch, c)
	}
}
