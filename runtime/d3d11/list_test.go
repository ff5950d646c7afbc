package d3d11

import (
	"bytes"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

func TestContexts(t *testing.T) {
	b := newBench(t)
	assert.Same(t, b.ctx, b.dev.GetImmediateContext())
	assert.Same(t, b.ctx, b.dev.GetImmediateContext())
	assert.Equal(t, ContextImmediate, b.ctx.GetType())
	assert.Zero(t, b.ctx.GetContextFlags())
	assert.Same(t, b.dev, b.ctx.GetDevice())
	def := b.deferred()
	assert.Equal(t, ContextDeferred, def.GetType())
	assert.Zero(t, def.GetContextFlags())
	assert.Zero(t, b.finish(def, false).GetContextFlags())
	_, err := b.dev.CreateDeferredContext(1)
	check(t, ddi.EInvalidArg, err)
	for _, c := range []*Context{b.ctx, def} {
		assert.EqualValues(t, -1, c.BeginEvent("frame"))
		assert.EqualValues(t, -1, c.EndEvent())
		assert.Zero(t, c.GetStatus())
	}
	single := newBench(t, func(_ *fakeDriver, c *Config) { c.SingleThreaded = true })
	_, err = single.dev.CreateDeferredContext(0)
	check(t, ddi.DXGIInvalidCall, err)
}

func TestFinishOnTheImmediateContext(t *testing.T) {
	b := newBench(t)
	for range 2 {
		_, err := b.ctx.FinishCommandList(true)
		check(t, ddi.DXGIInvalidCall, err)
		b.ctx.CopyResource(b.constant(), b.constant())
	}
}

func TestFlushOfADeferredContext(t *testing.T) {
	b := newBench(t)
	b.deferred().Flush()
	assert.Zero(t, b.drv.count("Flush"))
	b.ctx.Flush()
	assert.Equal(t, 1, b.drv.count("Flush"))
}

func TestDeferredContextInheritsNothing(t *testing.T) {
	b := newBench(t)
	setAll(b, b.ctx)
	defaults(t, b.deferred())
}

func TestListDoesNothingBeforeItExecutes(t *testing.T) {
	b := newBench(t)
	o := newObjects(b)
	b.drv.log = nil
	useAll(o.def, o)
	b.write(o.def, o.vb, MapWriteDiscard, 0, "x")
	b.finish(o.def, true)
	assert.Empty(t, b.drv.log)
}

func TestListReadsAtExecution(t *testing.T) {
	b := newBench(t)
	src, dst := b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm), b.texture(1, 1, 1, 1, dxgi.R8G8B8A8UNorm)
	v, def := b.view(src), b.deferred()
	b.ctx.ClearRenderTargetView(v, [4]float32{1, 0, 0, 1})
	def.CopyResource(dst, src)
	list := b.finish(def, false)
	for _, blue := range []byte{255, 0} {
		b.ctx.ClearRenderTargetView(v, [4]float32{0, 0, float32(blue) / 255, 1})
		b.ctx.ExecuteCommandList(list, false)
		assert.Equal(t, []byte{0, 0, blue, 255}, b.drv.content(dst, 0))
	}
}

func TestOrderOfExecutionDecides(t *testing.T) {
	b := newBench(t)
	a, c, d := b.constant(), b.constant(), b.constant()
	def := b.deferred()
	def.UpdateSubresource(a, 0, nil, []byte("first recorded.."), 0, 0)
	first := b.finish(def, false)
	def.UpdateSubresource(a, 0, nil, []byte("second recorded."), 0, 0)
	def.CopyResource(c, a)
	second := b.finish(def, false)
	def.CopyResource(d, c)
	third := b.finish(def, false)
	b.ctx.ExecuteCommandList(second, false)
	b.ctx.ExecuteCommandList(first, false)
	b.ctx.ExecuteCommandList(third, false)
	assert.Equal(t, "first recorded..", string(b.drv.content(a, 0)))
	assert.Equal(t, "second recorded.", string(b.drv.content(d, 0)), "a list reads the data written by the previous list")
}

func TestNestedLists(t *testing.T) {
	b := newBench(t)
	buf, src := b.constant(), b.staging(CPUAccessWrite)
	def := b.deferred()
	def.CopyResource(buf, src)
	list := b.finish(def, false)
	for range 100 {
		def.ExecuteCommandList(list, true)
		list.Release()
		list = b.finish(def, false)
	}
	b.write(b.ctx, src, MapWrite, 0, "a hundred levels")
	b.ctx.ExecuteCommandList(list, false)
	assert.Equal(t, "a hundred levels", string(b.drv.content(buf, 0)))
	assert.Equal(t, 1, b.drv.count("ResourceCopy"))
}

// Lists nest to any depth: execution and release use only a small amount of
// stack. Release uses the same amount for any number of lists, which a
// goroutine with a new stack shows.
func TestDeepNesting(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	b := newBench(t)
	buf, def := b.constant(), b.deferred()
	def.UpdateSubresource(buf, 0, nil, bytes.Repeat([]byte{7}, 16), 0, 0)
	l := b.finish(def, false)
	for range 20_000 {
		def.ExecuteCommandList(l, true)
		l.Release()
		l = b.finish(def, false)
	}
	b.ctx.IASetPrimitiveTopology(TopologyLineList)
	b.ctx.ExecuteCommandList(l, true)
	assert.Equal(t, bytes.Repeat([]byte{7}, 16), b.drv.content(buf, 0))
	assert.Equal(t, TopologyLineList, b.ctx.IAGetPrimitiveTopology())
	debug.SetMaxStack(256 << 10)
	done := make(chan uint32)
	go func() { done <- l.Release() }()
	assert.Zero(t, <-done)
}

// The memory kept by a list does not double when it executes another list
// twice.
func TestRepeatedNesting(t *testing.T) {
	b := newBench(t)
	dyn, def := b.dynamic(BindVertexBuffer), b.deferred()
	b.write(def, dyn, MapWriteDiscard, 0, "x")
	l := b.finish(def, false)
	for range 20 {
		for range 2 {
			def.ExecuteCommandList(l, true)
		}
		l.Release()
		l = b.finish(def, false)
		require.Len(t, l.body.maps, 1)
	}
}

func TestExecuteOfAMappedResource(t *testing.T) {
	b := newBench(t)
	vb, buf := b.dynamic(BindVertexBuffer), b.constant()
	def := b.deferred()
	def.CopyResource(buf, b.constant())
	b.write(def, vb, MapWriteDiscard, 0, "x")
	inner := b.finish(def, false)
	def.ExecuteCommandList(inner, false)
	list := b.finish(def, false)

	require.NoError(t, b.ctx.Map(vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	for _, l := range []*CommandList{inner, list} {
		b.ctx.ExecuteCommandList(l, false)
		assert.Zero(t, b.drv.count("ResourceCopy"), "it is not executed at all")
	}
	require.NoError(t, def.Map(vb, 0, MapWriteDiscard, 0, new(MappedSubresource)))
	def.ExecuteCommandList(inner, false)
	def.Unmap(vb, 0)
	unnested := b.finish(def, false)
	b.ctx.Unmap(vb, 0)
	b.ctx.ExecuteCommandList(unnested, false)
	assert.Zero(t, b.drv.count("ResourceCopy"), "nor recorded")
	b.ctx.ExecuteCommandList(list, false)
	assert.Equal(t, 1, b.drv.count("ResourceCopy"))
}

// TestExecuteWithMappedStaging: a list is refused only for what the API forbids,
// which is not that it copies from or to a staging resource that is mapped.
func TestExecuteWithMappedStaging(t *testing.T) {
	b := newBench(t)
	src, dst := b.staging(CPUAccessRead|CPUAccessWrite), b.staging(CPUAccessRead|CPUAccessWrite)
	def := b.deferred()
	def.CopyResource(dst, src)
	inner := b.finish(def, false)
	def.ExecuteCommandList(inner, false)
	outer := b.finish(def, false)
	for _, l := range []*CommandList{inner, outer} {
		b.write(b.ctx, src, MapWrite, 0, "new")
		b.write(b.ctx, dst, MapWrite, 0, "old")
		require.NoError(t, b.ctx.Map(src, 0, MapRead, 0, new(MappedSubresource)))
		b.ctx.ExecuteCommandList(l, false)
		b.ctx.Unmap(src, 0)
		assert.Equal(t, "new", string(b.drv.content(dst, 0)[:3]))
		before := b.drv.count("ResourceCopy")
		for _, r := range []*Buffer{src, dst} {
			require.NoError(t, b.ctx.Map(r, 0, MapWrite, 0, new(MappedSubresource)))
			b.ctx.ExecuteCommandList(l, false)
			b.ctx.Unmap(r, 0)
		}
		assert.Equal(t, before+2, b.drv.count("ResourceCopy"))
	}
}

// TestRefusedExecution: a refused execution leaves the state that an execution
// leaves, on both kinds of contexts.
func TestRefusedExecution(t *testing.T) {
	for _, restore := range []bool{false, true} {
		b := newBench(t, predicated)
		q, x, y := b.predicate(), b.constant(), b.constant()
		def := b.deferred()
		def.Begin(q)
		def.CopyResource(x, y)
		refused := b.finish(def, false)
		def.CopyResource(y, x)
		probe := b.finish(def, false)

		full := setAll(b, b.ctx)
		b.ctx.Begin(q)
		b.ctx.ExecuteCommandList(refused, restore)
		b.ctx.End(q)
		assert.Zero(t, b.drv.count("ResourceCopy"))
		if restore {
			assert.Equal(t, full, b.drv.state)
		} else {
			assert.Equal(t, fakeState{}, b.drv.state)
			defaults(t, b.ctx)
		}

		setAll(b, def)
		def.Begin(q)
		def.ExecuteCommandList(refused, restore)
		def.End(q)
		if !restore {
			defaults(t, def)
		}
		def.CopyResource(x, y)
		during := fakeState{}
		b.drv.hook = func(_ *ddi.Thread, n string) {
			if n == "ResourceCopy" {
				during = b.drv.state
			}
		}
		b.ctx.ExecuteCommandList(b.finish(def, false), false)
		b.drv.hook = nil
		assert.Equal(t, 1, b.drv.count("ResourceCopy"))
		if restore {
			assert.Equal(t, full.Topology, during.Topology)
		} else {
			assert.Equal(t, fakeState{}, during)
		}
		b.ctx.ExecuteCommandList(probe, restore)
	}
}

func TestExecuteOfNothing(t *testing.T) {
	b, other := newBench(t), newBench(t)
	full := setAll(b, b.ctx)
	gone := b.finish(b.deferred(), false)
	gone.Release()
	for _, l := range []*CommandList{nil, gone, other.finish(other.deferred(), false)} {
		b.ctx.ExecuteCommandList(l, false)
		assert.Equal(t, full, b.drv.state)
	}
}

func TestListStopsWhenTheDeviceIsRemoved(t *testing.T) {
	b := newBench(t)
	buf, src, def := b.constant(), b.constant(), b.deferred()
	def.UpdateSubresource(buf, 0, nil, ramp(1, 16), 0, 0)
	def.CopyResource(buf, src)
	list := b.finish(def, false)
	b.drv.fail["ResourceUpdateSubresourceUP"] = ddi.DDIDeviceRemoved
	b.ctx.ExecuteCommandList(list, true)
	assert.Zero(t, b.drv.count("ResourceCopy"))
}

// TestListMemoryIsReused: later lists reuse the memory of released lists.
func TestListMemoryIsReused(t *testing.T) {
	b := newBench(t)
	buf, src, def, data := b.constant(), b.constant(), b.deferred(), ramp(0, 16)
	record := func() {
		for range 50 {
			def.CopyResource(buf, src)
			def.UpdateSubresource(buf, 0, nil, data, 0, 0)
			def.VSSetConstantBuffers(0, []*Buffer{src})
		}
		l, err := def.FinishCommandList(false)
		if err == nil {
			l.Release()
		}
	}
	record()
	assert.Less(t, testing.AllocsPerRun(20, record), 55.0, "the list, and one slice of the test per call")
}

func TestQueries(t *testing.T) {
	b := newBench(t)
	for name, desc := range map[string]*QueryDesc{"nil": nil, "occlusion": {Query: 1}, "flags": {MiscFlags: 1}} {
		_, err := b.dev.CreateQuery(desc)
		check(t, ddi.EInvalidArg, err, name)
	}
	q, err := b.dev.CreateQuery(&QueryDesc{Query: QueryEvent})
	require.NoError(t, err)
	assert.Equal(t, QueryDesc{}, q.GetDesc())
	assert.EqualValues(t, 4, q.GetDataSize())
	data := []byte{9, 9, 9, 9}
	get := func(want ddi.HRESULT, p []byte, flags GetDataFlags) {
		t.Helper()
		check(t, want, b.ctx.GetData(q, p, flags))
	}
	get(ddi.DXGIInvalidCall, data, 0)
	b.ctx.Begin(q)
	get(ddi.DXGIInvalidCall, data, 0)
	b.drv.fail["QueryEnd"] = ddi.DDIDeviceRemoved
	lost := newBench(t)
	lost.drv.fail = b.drv.fail
	lostQuery, err := lost.dev.CreateQuery(&QueryDesc{})
	require.NoError(t, err)
	lost.ctx.End(lostQuery)
	assert.False(t, lostQuery.ended, "a failed End does not count")
	clear(b.drv.fail)
	def := b.deferred()
	def.End(q)
	check(t, ddi.DXGIInvalidCall, def.GetData(q, data, 0))
	list := b.finish(def, false)
	get(ddi.DXGIInvalidCall, data, 0)
	b.drv.pending = 2
	b.ctx.ExecuteCommandList(list, false)
	check(t, ddi.DXGIInvalidCall, def.GetData(q, data, 0), "also after execution")
	for _, n := range []int{1, 2, 3, 5, 8} {
		get(ddi.EInvalidArg, make([]byte, n), 0)
	}
	get(ddi.EInvalidArg, data, 2)
	check(t, ddi.EInvalidArg, b.ctx.GetData(nil, data, 0))
	get(ddi.False, data, 0)
	get(ddi.False, nil, GetDataDoNotFlush)
	assert.Equal(t, []byte{9, 9, 9, 9}, data, "not used so far")
	get(ddi.OK, nil, 0)
	get(ddi.OK, data, GetDataDoNotFlush)
	assert.Equal(t, []byte{1, 0, 0, 0}, data)
	assert.Equal(t, 2, b.drv.count("QueryGetData DoNotFlush"))
	b.ctx.End(q)
	get(ddi.False, data, 0)
	b.ctx.End(nil)
	q.Release()
	b.ctx.End(q)
	get(ddi.EInvalidArg, data, 0)
	assert.Equal(t, 2, b.drv.count("QueryEnd"))
}
