package d3d11

import "github.com/hilgpu/hilgpu/runtime/ddi/umddi"

// targetsProblem returns why the views cannot be render targets together: all
// have the same size, and no subresource is in two of them.
//
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-omsetrendertargets, Remarks
func (c *Context) targetsProblem(views []*RenderTargetView) problem {
	const id = MessageOMSetRenderTargetsInvalidView
	if n := len(views); n > umddi.MaxRenderTargets {
		return problemf(MessageInvalidSlots, "NumViews is %d, want at most %d", n, umddi.MaxRenderTargets)
	}
	for i, v := range views {
		if v == nil {
			continue
		}
		if !v.usable(c.dev) {
			return problemf(id, "view %d %s", i, v.misuse(c.dev))
		}
		for j, w := range views[:i] {
			if w == nil {
				continue
			}
			if p := targetPairProblem(j, w, i, v); p.found() {
				return p
			}
		}
	}
	return problem{}
}

// targetPairProblem returns why views v and w cannot be in slots i and j
// together.
func targetPairProblem(i int, v *RenderTargetView, j int, w *RenderTargetView) problem {
	const id = MessageOMSetRenderTargetsInvalidView
	vw, vh := v.res.extent(v.desc.MipSlice)
	ww, wh := w.res.extent(w.desc.MipSlice)
	if vw != ww || vh != wh || v.desc.ArraySize != w.desc.ArraySize {
		return problemf(id, "view %d has %d x %d texels in %d slices, want %d x %d in %d as in view %d",
			j, ww, wh, w.desc.ArraySize, vw, vh, v.desc.ArraySize, i)
	}
	first := max(v.desc.FirstArraySlice, w.desc.FirstArraySlice)
	end := min(v.desc.FirstArraySlice+v.desc.ArraySize, w.desc.FirstArraySlice+w.desc.ArraySize)
	if v.res == w.res && v.desc.MipSlice == w.desc.MipSlice && first < end {
		return problemf(id, "view %d has mip level %d of slice %d, as view %d has", j, w.desc.MipSlice, first, i)
	}
	return problem{}
}
