package suite

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
)

// A list is refused only for what the API forbids: not because it copies from a
// staging buffer that is mapped for reading, but because it maps a dynamic buffer
// that is mapped. Its effect on the state is the same.
func executeWhileMapped(t *T) {
	d := newD3D(t)
	cb := d.buffer(d3d11.UsageDefault, d3d11.BindConstantBuffer, count(0, 16))
	from, to := d.buffer(d3d11.UsageStaging, 0, count(3, 64)), d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, 64))
	dyn := d.buffer(d3d11.UsageDynamic, d3d11.BindVertexBuffer, count(0, 64))
	def := d.deferred()
	def.CopyResource(to, from)
	copies := d.finish(def, false)
	d.write(def, dyn, d3d11.MapWriteDiscard, count(9, 64))
	def.CopyResource(to, dyn)
	maps := d.finish(def, false)

	var m d3d11.MappedSubresource
	require.NoError(t, d.ctx.Map(from, 0, d3d11.MapRead, 0, &m))
	d.ctx.ExecuteCommandList(copies, false)
	assert.Equal(t, count(3, 64), m.Data[:64])
	d.ctx.Unmap(from, 0)
	assert.Equal(t, count(3, 64), d.contents(to))

	require.NoError(t, d.ctx.Map(dyn, 0, d3d11.MapWriteDiscard, 0, &m))
	for _, restore := range []bool{true, false} {
		d.ctx.PSSetConstantBuffers(0, []*d3d11.Buffer{cb})
		d.ctx.ExecuteCommandList(maps, restore)
		var got [1]*d3d11.Buffer
		d.ctx.PSGetConstantBuffers(0, got[:])
		assert.Equal(t, restore, got[0] == cb)
	}
	d.ctx.Unmap(dyn, 0)
	assert.Equal(t, count(3, 64), d.contents(to), "the refused list")
	d.ctx.ExecuteCommandList(maps, false)
	assert.Equal(t, count(9, 64), d.contents(to))
}
