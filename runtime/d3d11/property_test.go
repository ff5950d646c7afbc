package d3d11

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// fixture is a device with a few objects of each kind. The objects are created in
// a fixed order, so that equal states have equal contents and IDs.
type fixture struct {
	*bench
	buffers  []*Buffer // with UsageDefault
	dynamics []*Buffer
	textures []*Texture2D
	views    []*RenderTargetView
	query    *Query
	ranges   []*Query // predicates; the first has the result TRUE
}

func newFixture(t *testing.T) *fixture {
	b := newBench(t, predicated)
	w := &fixture{bench: b}
	for i := range 3 {
		buf, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 16, BindFlags: BindVertexBuffer | BindShaderResource},
			&SubresourceData{SysMem: ramp(byte(16*i), 16)})
		require.NoError(t, err)
		w.buffers = append(w.buffers, buf)
		w.dynamics = append(w.dynamics, b.dynamic(BindVertexBuffer))
		tex := b.texture(4, 4, 2, 2, dxgi.R8G8B8A8UNorm)
		w.textures = append(w.textures, tex)
		w.views = append(w.views, b.view(tex))
	}
	var err error
	w.query, err = b.dev.CreateQuery(&QueryDesc{})
	require.NoError(t, err)
	for range 2 {
		p := b.predicate()
		b.ctx.End(p)
		w.ranges = append(w.ranges, p)
	}
	b.drv.results[id(&w.ranges[0].obj)] = true
	return w
}

// operation is one call. Indices and numbers stand for objects.
type operation struct {
	Kind    int
	A, B    int
	X, Y, N uint32
}

func drawOperation(t *rapid.T) operation {
	return operation{
		Kind: rapid.IntRange(0, 13).Draw(t, "kind"),
		A:    rapid.IntRange(0, 2).Draw(t, "a"),
		B:    rapid.IntRange(0, 2).Draw(t, "b"),
		X:    rapid.Uint32Range(0, 4).Draw(t, "x"),
		Y:    rapid.Uint32Range(0, 4).Draw(t, "y"),
		N:    rapid.Uint32().Draw(t, "n"),
	}
}

// bytes returns 64 bytes derived from N.
func (o operation) bytes() []byte {
	p := make([]byte, 64)
	for i := 0; i < len(p); i += 4 {
		binary.LittleEndian.PutUint32(p[i:], o.N+uint32(i)*0x9e3779b9)
	}
	return p
}

// do makes the call on c.
func (w *fixture) do(t assert.TestingT, c *Context, o operation) {
	box := &Box{Left: o.X, Top: 0, Right: o.X + 1 + o.N%3, Bottom: 1, Back: 1}
	switch o.Kind {
	case 0:
		c.CopyResource(w.buffers[o.A], w.buffers[o.B])
	case 1:
		c.CopySubresourceRegion(w.buffers[o.A], 0, o.Y, 0, 0, w.dynamics[o.B], 0, box)
	case 2:
		c.CopySubresourceRegion(w.textures[o.A], o.N%4, o.X, o.Y, 0, w.textures[o.B], o.N/4%4, box)
	case 3:
		c.UpdateSubresource(w.buffers[o.A], 0, box, o.bytes(), 0, 0)
	case 4:
		c.UpdateSubresource(w.textures[o.A], o.N%4, nil, o.bytes(), 16, 0)
	case 5:
		c.ClearRenderTargetView(w.views[o.A], [4]float32{float32(o.X) / 4, float32(o.Y) / 4, 0, 1})
	case 6:
		w.fill(t, c, o)
	case 7:
		c.IASetVertexBuffers(o.X, []*Buffer{w.buffers[o.A], nil, w.dynamics[o.B]}, []uint32{o.Y, 0, 4}, []uint32{0, 0, o.X})
	case 8:
		c.OMSetRenderTargets([]*RenderTargetView{w.views[o.A], w.views[o.B]}[:o.N%3])
	case 9:
		c.RSSetViewports([]Viewport{{Width: float32(o.X)}, {Height: float32(o.Y)}}[:o.N%3])
	case 10:
		c.IASetPrimitiveTopology(Topology(o.N % 6))
	case 11:
		c.End(w.query)
		if o.N%4 == 0 {
			c.ClearState()
		}
	case 12:
		c.SetPredication([]*Query{w.ranges[0], w.ranges[1], nil}[o.A], o.N%2 == 0)
	case 13:
		c.Begin(w.ranges[o.A%2])
		c.End(w.ranges[o.B%2])
		c.End(w.ranges[o.A%2])
	}
}

// fill discards a dynamic buffer and appends to it.
func (w *fixture) fill(t assert.TestingT, c *Context, o operation) {
	var m MappedSubresource
	if !assert.NoError(t, c.Map(w.dynamics[o.A], 0, MapWriteDiscard, 0, &m)) {
		return
	}
	copy(m.Data, o.bytes())
	c.Unmap(w.dynamics[o.A], 0)
	if !assert.NoError(t, c.Map(w.dynamics[o.A], 0, MapWriteNoOverwrite, 0, &m)) {
		return
	}
	m.Data[o.X] = byte(o.Y)
	c.Unmap(w.dynamics[o.A], 0)
}

// same asserts that two drivers have the same contents and state.
func (w *fixture) same(t assert.TestingT, v *fixture, what string) {
	assert.Equal(t, w.drv.state, v.drv.state, what)
	for n, r := range w.drv.resources {
		assert.Equal(t, r.subs, v.drv.resources[n].subs, "%s: resource %d", what, n)
	}
	assert.Equal(t, w.drv.queries, v.drv.queries, what)
}

// TestListsDoWhatTheImmediateContextDoes makes random calls on the immediate
// context of one device, twice, and on another device in lists that are split
// at random, partly nested, and executed twice.
func TestListsDoWhatTheImmediateContextDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		direct, listed := newFixture(t), newFixture(t)
		defer direct.dev.Close()
		defer listed.dev.Close()
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawOperation), 0, 12), 1, 5).Draw(rt, "parts")
		nested := rapid.SliceOfN(rapid.Bool(), len(parts), len(parts)).Draw(rt, "nested")
		inner, outer := listed.deferred(), listed.deferred()
		var lists []*CommandList
		for i, part := range parts {
			for _, o := range part {
				listed.do(rt, inner, o)
			}
			l := listed.finish(inner, false)
			if nested[i] {
				outer.ExecuteCommandList(l, false)
				l.Release()
				l = listed.finish(outer, false)
			}
			lists = append(lists, l)
		}
		for range 2 {
			for i, part := range parts {
				listed.ctx.ExecuteCommandList(lists[i], false)
				for _, o := range part {
					direct.do(rt, direct.ctx, o)
				}
				direct.ctx.ClearState()
			}
			direct.same(rt, listed, "lists")
		}
	})
}

// TestKeptStateIsTheImmediateContexts splits a sequence of calls into lists
// that keep their state. The driver's state before each copy must be the same
// as without lists.
func TestKeptStateIsTheImmediateContexts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		direct, listed := newFixture(t), newFixture(t)
		defer direct.dev.Close()
		defer listed.dev.Close()
		var want, got []fakeState
		probe := func(w *fixture, to *[]fakeState) {
			w.drv.hook = func(_ *ddi.Thread, name string) {
				if name == "ResourceCopy" {
					*to = append(*to, w.drv.state)
				}
			}
		}
		probe(direct, &want)
		probe(listed, &got)
		def := listed.deferred()
		for _, part := range rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawOperation), 0, 8), 1, 5).Draw(rt, "parts") {
			for _, o := range append(part, operation{Kind: 0, A: 0, B: 1}) {
				direct.do(rt, direct.ctx, o)
				listed.do(rt, def, o)
			}
			l := listed.finish(def, true)
			listed.ctx.ExecuteCommandList(l, true)
			l.Release()
		}
		assert.Equal(rt, want, got)
		assert.Equal(rt, fakeState{}, listed.drv.state, "restored each time")
	})
}

// TestParallelRecording records in several goroutines while the immediate
// context works and objects are created and destroyed. Each goroutine writes
// its own buffer.
func TestParallelRecording(t *testing.T) {
	const workers, rounds = 8, 20
	for _, caps := range []uint32{0, 1} {
		b := newBench(t, func(f *fakeDriver, _ *Config) { f.caps = caps })
		shared, source := b.dynamic(BindVertexBuffer), b.constant()
		lists := make([][]*CommandList, workers)
		own := make([]*Buffer, workers)
		var wg sync.WaitGroup
		for w := range workers {
			own[w] = b.buffer(UsageDefault, BindVertexBuffer, 0)
			def := b.deferred()
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range rounds {
					temp, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 16}, nil)
					if !assert.NoError(t, err) {
						return
					}
					b.write(def, shared, MapWriteDiscard, 0, string(ramp(byte(w), 16)))
					def.VSSetConstantBuffers(0, []*Buffer{source})
					def.CopyResource(temp, shared)
					def.CopyResource(own[w], temp)
					def.UpdateSubresource(own[w], 0, &Box{Right: 1, Bottom: 1, Back: 1}, []byte{byte(i)}, 0, 0)
					temp.Release()
					l, err := def.FinishCommandList(i%2 == 0)
					if assert.NoError(t, err) {
						lists[w] = append(lists[w], l)
					}
				}
			}()
		}
		for range rounds {
			b.ctx.CopyResource(source, source)
			b.ctx.VSSetConstantBuffers(0, []*Buffer{source})
			b.write(b.ctx, shared, MapWriteDiscard, 0, "x")
			b.ctx.ClearState()
		}
		wg.Wait()
		for w, ls := range lists {
			for _, l := range ls {
				b.ctx.ExecuteCommandList(l, false)
				l.Release()
			}
			want := ramp(byte(w), 16)
			want[0] = rounds - 1
			assert.Equal(t, want, b.drv.content(own[w], 0))
		}
	}
}
