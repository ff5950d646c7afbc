package d3d11

import (
	"bytes"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// fakePrivate is the size of the fake driver's private memory: an ID, and bytes
// that it does not change.
const fakePrivate = 12

// fakeResource is a resource of the fake driver. Rows of subresources are
// contiguous.
type fakeResource struct {
	arg  umddi.CreateResource
	bpp  uint32
	subs [][]byte
	maps map[uint32]umddi.Mapped
}

func (r *fakeResource) size(sub uint32) (w, h uint32) {
	m := r.arg.MipInfoList[sub%r.arg.MipLevels]
	return m.TexelWidth, m.TexelHeight
}

func (f *fakeDriver) res(h umddi.HResource) *fakeResource {
	r := f.resources[id(h.Object)]
	if r == nil {
		f.violation("resource %d is not alive", id(h.Object))
	}
	return r
}

func (f *fakeDriver) fillResources(d *umddi.DeviceFuncs) {
	d.CalcPrivateResourceSize = func(t *ddi.Thread, _ umddi.HDevice, _ *umddi.CreateResource) int {
		f.enter(t, "CalcPrivateResourceSize")
		return f.calcSize
	}
	d.CreateResource = func(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateResource, h umddi.HResource, _ umddi.HRTResource) {
		if !f.enter(t, "CreateResource") {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		info, _ := arg.Format.Info()
		r := &fakeResource{arg: *arg, bpp: max(1, uint32(info.Bytes)), maps: map[uint32]umddi.Mapped{}}
		for sub := range arg.MipLevels * arg.ArraySize {
			w, hgt := r.size(sub)
			p := make([]byte, w*hgt*r.bpp)
			if arg.InitialDataUP != nil {
				up := arg.InitialDataUP[sub]
				for y := range hgt {
					copy(p[y*w*r.bpp:][:w*r.bpp], up.SysMem[y*up.RowPitch:])
				}
			}
			r.subs = append(r.subs, p)
		}
		f.resources[f.checkNew(h.Object)] = r
	}
	d.DestroyResource = func(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource) {
		f.enter(t, "DestroyResource")
		f.mu.Lock()
		defer f.mu.Unlock()
		if r := f.res(h); r != nil && len(r.maps) != 0 {
			f.violation("a mapped resource is destroyed")
		}
		n := id(h.Object)
		for _, r := range f.viewRes {
			if r == n {
				f.violation("a resource with a view is destroyed")
			}
		}
		for _, v := range f.state.Vertex {
			if v[0] == n {
				f.violation("a bound vertex buffer is destroyed")
			}
		}
		for _, st := range f.state.Constant {
			if slices.Contains(st[:], n) {
				f.violation("a bound constant buffer is destroyed")
			}
		}
		if f.state.Index[0] == n {
			f.violation("a bound index buffer is destroyed")
		}
		delete(f.resources, n)
	}
}

// mapFunc returns a map function. Rows are at least 64 bytes apart; the memory
// is copied back at unmap.
func (f *fakeDriver) mapFunc(name string, keep bool) func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32, umddi.Map, umddi.MapFlags) umddi.Mapped {
	return func(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource, sub uint32, typ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
		if !f.enter(t, name) {
			return umddi.Mapped{}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		r := f.res(h)
		if _, twice := r.maps[sub]; twice {
			f.violation("%s of a mapped subresource", name)
		}
		w, hgt := r.size(sub)
		m := umddi.Mapped{RowPitch: w * r.bpp}
		if r.arg.ResourceDimension == umddi.Texture2D {
			m.RowPitch = (m.RowPitch + 63) &^ 63
		}
		m.DepthPitch = m.RowPitch * hgt
		m.Data = bytes.Repeat([]byte{0xdd}, int(m.DepthPitch))
		if keep {
			for y := range hgt {
				copy(m.Data[y*m.RowPitch:][:w*r.bpp], r.subs[sub][y*w*r.bpp:])
			}
		}
		r.maps[sub] = m
		return m
	}
}

func (f *fakeDriver) unmapFunc(name string) func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32) {
	return func(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource, sub uint32) {
		f.enter(t, name)
		f.mu.Lock()
		defer f.mu.Unlock()
		r := f.res(h)
		m, ok := r.maps[sub]
		if !ok {
			f.violation("%s of an unmapped subresource", name)
			return
		}
		delete(r.maps, sub)
		w, hgt := r.size(sub)
		for y := range hgt {
			copy(r.subs[sub][y*w*r.bpp:][:w*r.bpp], m.Data[y*m.RowPitch:])
		}
	}
}

func (f *fakeDriver) fillMaps(d *umddi.DeviceFuncs) {
	d.StagingResourceMap = f.mapFunc("StagingResourceMap", true)
	d.StagingResourceUnmap = f.unmapFunc("StagingResourceUnmap")
	d.DynamicResourceMapDiscard = f.mapFunc("DynamicResourceMapDiscard", false)
	d.DynamicResourceUnmap = f.unmapFunc("DynamicResourceUnmap")
	d.DynamicIABufferMapDiscard = f.mapFunc("DynamicIABufferMapDiscard", false)
	d.DynamicIABufferMapNoOverwrite = f.mapFunc("DynamicIABufferMapNoOverwrite", true)
	d.DynamicIABufferUnmap = f.unmapFunc("DynamicIABufferUnmap")
	d.DynamicConstantBufferMapDiscard = f.mapFunc("DynamicConstantBufferMapDiscard", false)
	d.DynamicConstantBufferUnmap = f.unmapFunc("DynamicConstantBufferUnmap")
}

// move copies w x h elements of bpp bytes between rows.
func move(dst []byte, dstPitch uint32, src []byte, srcPitch, row, h uint32) {
	for y := range h {
		copy(dst[y*dstPitch:][:row], src[y*srcPitch:])
	}
}

func (f *fakeDriver) fillMoves(d *umddi.DeviceFuncs) {
	d.ResourceUpdateSubresourceUP = func(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource, sub uint32, box *umddi.Box, data []byte, rowPitch, _ uint32) {
		if !f.enter(t, "ResourceUpdateSubresourceUP") || f.skips() {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		r := f.res(h)
		w, hgt := r.size(sub)
		b := umddi.Box{Right: w, Bottom: hgt, Back: 1}
		if box != nil {
			b = *box
		}
		move(r.subs[sub][(b.Top*w+b.Left)*r.bpp:], w*r.bpp, data, rowPitch, (b.Right-b.Left)*r.bpp, b.Bottom-b.Top)
	}
	d.ResourceCopy = func(t *ddi.Thread, _ umddi.HDevice, dst, src umddi.HResource) {
		if !f.enter(t, "ResourceCopy") || f.skips() {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		to, from := f.res(dst), f.res(src)
		for i := range to.subs {
			copy(to.subs[i], from.subs[i])
		}
	}
	d.ResourceCopyRegion = func(t *ddi.Thread, _ umddi.HDevice, dst umddi.HResource, dstSub, x, y, z uint32, src umddi.HResource, srcSub uint32, box *umddi.Box) {
		if !f.enter(t, "ResourceCopyRegion") || f.skips() {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		to, from := f.res(dst), f.res(src)
		w, hgt := from.size(srcSub)
		tw, _ := to.size(dstSub)
		b := umddi.Box{Right: w, Bottom: hgt, Back: 1}
		if box != nil {
			b = *box
		}
		move(to.subs[dstSub][(y*tw+x)*to.bpp:], tw*to.bpp, slices.Clone(from.subs[srcSub][(b.Top*w+b.Left)*from.bpp:]),
			w*from.bpp, (b.Right-b.Left)*to.bpp, b.Bottom-b.Top)
	}
	d.ClearRenderTargetView = func(t *ddi.Thread, _ umddi.HDevice, v umddi.HRenderTargetView, color [4]float32) {
		if !f.enter(t, "ClearRenderTargetView") || f.skips() {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		arg, ok := f.views[id(v.Object)]
		if !ok {
			f.violation("view %d is not alive", id(v.Object))
			return
		}
		r := f.res(arg.Resource)
		var texel [4]byte
		for i, c := range color {
			texel[i] = byte(min(max(c, 0), 1)*255 + 0.5)
		}
		for s := range arg.ArraySize {
			p := r.subs[(arg.FirstArraySlice+s)*r.arg.MipLevels+arg.MipSlice]
			for i := range p {
				p[i] = texel[i%4]
			}
		}
	}
}

// content returns the driver's content of a subresource.
func (f *fakeDriver) content(r Resource, sub uint32) []byte {
	return f.resources[id(&r.core().obj)].subs[sub]
}
