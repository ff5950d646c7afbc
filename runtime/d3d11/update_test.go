package d3d11

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

func TestUpdateSubresource(t *testing.T) {
	box := func(l, top, r, bottom uint32) *Box { return &Box{Left: l, Top: top, Right: r, Bottom: bottom, Back: 1} }
	for _, tt := range []struct {
		name  string
		sub   uint32
		box   *Box
		data  string
		pitch uint32
		want  string // of a 3x2 texture, with a 1x1 mip
	}{
		{"all of it", 0, nil, "abcdef", 3, "abcdef"},
		{"with a pitch", 0, nil, "abc-def", 4, "abcdef"},
		{"a missing row", 0, nil, "abcde", 3, "......"},
		{"a box", 0, box(1, 0, 3, 2), "ab--cd", 4, ".ab.cd"},
		{"one texel", 0, box(2, 1, 3, 2), "z", 0, ".....z"},
		{"a box that is partly outside", 0, box(2, 0, 4, 1), "ab", 2, "......"},
		{"an empty box", 0, box(1, 1, 1, 1), "ab", 2, "......"},
		{"a deep box", 0, &Box{Right: 1, Bottom: 1, Back: 2}, "ab", 2, "......"},
		{"no such subresource", 2, nil, "abcdef", 3, "......"},
		{"the other mip", 1, nil, "m", 1, "......"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			for _, run := range b.each(func(c *Context) {
				tex := b.plain(3, 2, 2, 1, dxgi.R8UNorm, []byte("......"))
				data := []byte(tt.data)
				c.UpdateSubresource(tex, tt.sub, tt.box, data, tt.pitch, 0)
				clear(data)
				t.Cleanup(func() { assert.Equal(t, tt.want, string(b.drv.content(tex, 0)), "context %d", c.GetType()) })
			}) {
				run()
			}
		})
	}
}

func TestUpdateOfBuffers(t *testing.T) {
	part := &Box{Left: 4, Right: 8, Bottom: 1, Back: 1}
	whole := &Box{Right: 16, Bottom: 1, Back: 1}
	b, other := newBench(t), newBench(t)
	gone := b.constant()
	gone.Release()
	for _, tt := range []struct {
		name string
		buf  Resource
		box  *Box
		want bool
	}{
		{"a part of a vertex buffer", b.buffer(UsageDefault, BindVertexBuffer, 0), part, true},
		{"a constant buffer", b.constant(), nil, true},
		{"a constant buffer, by a box", b.constant(), whole, true},
		{"a part of a constant buffer", b.constant(), part, false},
		{"two rows", b.buffer(UsageDefault, 0, 0), &Box{Right: 1, Bottom: 2, Back: 1}, false},
		{"immutable", b.buffer(UsageImmutable, BindVertexBuffer, 0), nil, false},
		{"dynamic", b.dynamic(BindVertexBuffer), nil, false},
		{"staging", b.staging(CPUAccessWrite), nil, false},
		{"NULL", nil, nil, false},
		{"released", gone, nil, false},
		{"of another device", other.constant(), nil, false},
	} {
		for _, run := range b.each(func(c *Context) { c.UpdateSubresource(tt.buf, 0, tt.box, ramp(0, 16), 0, 0) }) {
			b.drv.log = nil
			run()
			assert.Equal(t, tt.want, b.drv.count("ResourceUpdateSubresourceUP") == 1, tt.name)
		}
	}
}

func TestDeferredUpdateCopiesAtOnce(t *testing.T) {
	b := newBench(t)
	buf, def, data := b.buffer(UsageDefault, 0, 0), b.deferred(), []byte("early bird's egg")
	before := slices.Clone(b.drv.content(buf, 0))
	def.UpdateSubresource(buf, 0, nil, data, 0, 0)
	copy(data, "late")
	list := b.finish(def, false)
	assert.Equal(t, before, b.drv.content(buf, 0))
	b.ctx.ExecuteCommandList(list, false)
	assert.Equal(t, "early bird's egg", string(b.drv.content(buf, 0)))
}
