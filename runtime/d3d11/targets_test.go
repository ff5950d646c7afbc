package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// TestTargetsFitTogether: views of different sizes, or with a common
// subresource, are refused, and the earlier ones stay bound.
//
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-omsetrendertargets, Remarks
func TestTargetsFitTogether(t *testing.T) {
	b := newBench(t)
	big := b.texture(8, 8, 2, 4, dxgi.R8G8B8A8UNorm)
	small := b.texture(4, 4, 1, 1, dxgi.R8G8B8A8UNorm)
	wide := b.texture(8, 4, 1, 1, dxgi.R8G8B8A8UNorm)
	slices := func(tex *Texture2D, mip, first, n uint32) *RenderTargetView {
		v, err := b.dev.CreateRenderTargetView(tex, &RTVDesc{ViewDimension: RTVTexture2DArray, MipSlice: mip, FirstArraySlice: first, ArraySize: n})
		require.NoError(t, err)
		return v
	}
	for _, tt := range []struct {
		name  string
		views []*RenderTargetView
		want  string // the end of the message, or "" if they fit
	}{
		{"two slices", []*RenderTargetView{slices(big, 0, 0, 1), nil, slices(big, 0, 1, 1)}, ""},
		{"neighbours", []*RenderTargetView{slices(big, 0, 0, 2), slices(big, 0, 2, 2)}, ""},
		{"a small mip level and a small texture", []*RenderTargetView{slices(big, 1, 0, 1), b.view(small)}, ""},
		{"the same slice in another texture", []*RenderTargetView{b.view(small), b.view(b.texture(4, 4, 1, 1, dxgi.R8G8B8A8UNorm))}, ""},
		{"another height", []*RenderTargetView{b.view(wide), slices(big, 0, 0, 1)},
			"view 1 has 8 x 8 texels in 1 slices, want 8 x 4 in 1 as in view 0"},
		{"another mip level", []*RenderTargetView{nil, slices(big, 0, 0, 1), slices(big, 1, 1, 1)},
			"view 2 has 4 x 4 texels in 1 slices, want 8 x 8 in 1 as in view 1"},
		{"another array size", []*RenderTargetView{slices(big, 0, 0, 1), slices(big, 0, 1, 2)},
			"view 1 has 8 x 8 texels in 2 slices, want 8 x 8 in 1 as in view 0"},
		{"a view in two slots", []*RenderTargetView{slices(big, 0, 2, 1), nil, slices(big, 0, 2, 1)},
			"view 2 has mip level 0 of slice 2, as view 0 has"},
		{"slices in common", []*RenderTargetView{slices(big, 0, 0, 2), slices(big, 0, 1, 2)},
			"view 1 has mip level 0 of slice 1, as view 0 has"},
	} {
		for _, c := range []*Context{b.ctx, b.deferred()} {
			b.dev.InfoQueue().ClearStoredMessages()
			before := b.view(wide)
			c.OMSetRenderTargets([]*RenderTargetView{before})
			c.OMSetRenderTargets(tt.views)
			got := make([]*RenderTargetView, 1)
			c.OMGetRenderTargets(got)
			if tt.want == "" {
				assert.Same(t, tt.views[0], got[0], tt.name)
				assert.Zero(t, b.dev.InfoQueue().NumStoredMessages(), tt.name)
				continue
			}
			assert.Same(t, before, got[0], tt.name)
			assert.Equal(t, Message{CategoryStateSetting, SeverityError, 388, "OMSetRenderTargets: dropped: " + tt.want}, b.last(), tt.name)
		}
	}
}
