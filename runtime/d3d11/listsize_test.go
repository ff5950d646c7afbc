package d3d11

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// doubled returns a list of n levels, each of which executes the one before
// twice. Its size is 128 * (2^n - 1) bytes.
func doubled(b *bench, def *Context, n int) *CommandList {
	l := b.finish(def, false)
	for range n {
		def.ExecuteCommandList(l, false)
		def.ExecuteCommandList(l, true)
		l.Release()
		l = b.finish(def, false)
	}
	return l
}

// TestListSizeLimit: a nest of 22 levels has 2^29 - 128 bytes, so a list that
// executes it twice has 2^30 - 128. The remaining calls reach the limit of 2^30
// exactly, or exceed it by a byte.
func TestListSizeLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		rest func(b *bench, def *Context)
		want ddi.HRESULT
	}{
		"two calls":      {func(b *bench, def *Context) { def.ClearState(); def.ClearState() }, ddi.OK},
		"one call more":  {func(b *bench, def *Context) { def.ClearState(); def.ClearState(); def.ClearState() }, ddi.EOutOfMemory},
		"an update":      {updateBytes(64), ddi.OK},
		"a byte more":    {updateBytes(65), ddi.EOutOfMemory},
		"a discard":      {discardBytes(64), ddi.OK},
		"a larger one":   {discardBytes(80), ddi.EOutOfMemory},
		"a refused list": {func(b *bench, def *Context) { def.ExecuteCommandList(nil, false) }, ddi.OK},
		"an empty list":  {func(b *bench, def *Context) { def.ExecuteCommandList(doubled(b, b.deferred(), 0), false) }, ddi.OK},
		"a list":         {func(b *bench, def *Context) { def.ExecuteCommandList(doubled(b, b.deferred(), 1), false) }, ddi.EOutOfMemory},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			l, def := doubled(b, b.deferred(), 22), b.deferred()
			def.ExecuteCommandList(l, false)
			def.ExecuteCommandList(l, true)
			tt.rest(b, def)
			list, err := def.FinishCommandList(true)
			check(t, tt.want, err)
			assert.Equal(t, tt.want == ddi.OK, list != nil)
		})
	}
}

func updateBytes(n uint32) func(*bench, *Context) {
	return func(b *bench, def *Context) {
		tex := b.texture(n, 1, 1, 1, dxgi.R8UNorm)
		def.UpdateSubresource(tex, 0, nil, make([]byte, n), n, 0)
	}
}

func discardBytes(n uint32) func(*bench, *Context) {
	return func(b *bench, def *Context) {
		buf, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: n, Usage: UsageDynamic, BindFlags: BindVertexBuffer, CPUAccessFlags: CPUAccessWrite}, nil)
		require.NoError(b, err)
		if def.Map(buf, 0, MapWriteDiscard, 0, new(MappedSubresource)) == nil {
			def.Unmap(buf, 0)
		}
	}
}

// TestListSizeOfMaps: a map without a discard adds no data.
func TestListSizeOfMaps(t *testing.T) {
	b := newBench(t)
	def, vb := b.deferred(), b.dynamic(BindVertexBuffer)
	b.write(def, vb, MapWriteDiscard, 0, "x")
	b.write(def, vb, MapWriteNoOverwrite, 0, "y")
	assert.EqualValues(t, 64+16+64, b.finish(def, false).body.size)
}

// TestListTooLarge: above the limit Map and FinishCommandList fail and name the
// size; the state is kept, and the next list is unaffected.
func TestListTooLarge(t *testing.T) {
	b := newBench(t)
	def, q, vb, buf, src := b.deferred(), b.query(QueryEvent), b.dynamic(BindVertexBuffer), b.constant(), b.constant()
	l := doubled(b, b.deferred(), 23) // 2^30 - 128 bytes
	for round := range 2 {
		def.IASetPrimitiveTopology(TopologyLineList)
		def.Begin(q)
		def.CopyResource(buf, src)
		def.ExecuteCommandList(l, true)
		err := def.Map(vb, 0, MapWriteDiscard, 0, new(MappedSubresource))
		check(t, ddi.EOutOfMemory, err)
		def.IASetPrimitiveTopology(TopologyPointList)
		list, err := def.FinishCommandList(true)
		require.Nil(t, list)
		check(t, ddi.EOutOfMemory, err)
		var e *Error
		require.True(t, errors.As(err, &e))
		// Six calls, the 16 bytes of the map, and the list.
		assert.Equal(t, "the list is dropped, because its size is 1073742096 bytes, want at most 1073741824", e.Text, "round %d", round)
		assert.Equal(t, TopologyPointList, def.IAGetPrimitiveTopology())
	}
	def.CopyResource(buf, src)
	good := b.finish(def, false)
	assert.EqualValues(t, 64, good.body.size)
	b.ctx.ExecuteCommandList(good, false)
	assert.Equal(t, 1, b.drv.count("ResourceCopy"))
	for _, o := range []interface{ Release() uint32 }{good, l, def} {
		assert.Zero(t, o.Release())
	}
}
