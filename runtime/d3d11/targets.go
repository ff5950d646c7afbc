package d3d11

import "github.com/hilgpu/hilgpu/runtime/ddi/umddi"

// targetsProblem returns why the views cannot be bound as render targets
// together.
func (c *Context) targetsProblem(views []*RenderTargetView) problem {
	const id = MessageOMSetRenderTargetsInvalidView
	if n := len(views); n > umddi.MaxRenderTargets {
		return problemf(MessageInvalidSlots, "NumViews is %d, want at most %d", n, umddi.MaxRenderTargets)
	}
	for i, v := range views {
		if v != nil && !v.usable(c.dev) {
			return problemf(id, "view %d %s", i, v.misuse(c.dev))
		}
	}
	return problem{}
}
