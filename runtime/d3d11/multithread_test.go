package d3d11

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMultithreadProtected(t *testing.T) {
	b := newBench(t)
	m := b.ctx.Multithread()
	assert.Same(t, m, b.dev.GetImmediateContext().Multithread())
	b.ctx.Release()
	assert.Nil(t, b.deferred().Multithread())
	assert.False(t, m.GetMultithreadProtected())
	assert.Same(t, b.ctx, m.Enter(), "without protection")
	b.ctx.Flush()
	m.Leave()
	assert.False(t, m.SetMultithreadProtected(true))
	assert.True(t, m.SetMultithreadProtected(true))
	assert.True(t, m.GetMultithreadProtected())
	b.ctx.Flush()

	in := m.Enter()
	assert.True(t, in.Multithread().GetMultithreadProtected())
	assert.True(t, in.Multithread().SetMultithreadProtected(false))
	assert.Same(t, in, in.Multithread().Enter(), "nested")
	in.Flush()
	in.Multithread().Leave()
	assert.Same(t, b.dev, in.GetDevice())
	b.dev.Release()
	assert.EqualValues(t, 2, in.AddRef())
	assert.EqualValues(t, 1, in.Release())
	in.SetPrivateData(GUID{1}, []byte{7})
	assert.Equal(t, ContextImmediate, in.GetType())
	in.IASetPrimitiveTopology(TopologyLineList)
	assert.Equal(t, TopologyLineList, in.IAGetPrimitiveTopology())
	m.Leave()
	m.Leave() // without Enter
	assert.Equal(t, TopologyLineList, b.ctx.IAGetPrimitiveTopology())
	data := make([]byte, 1)
	_, err := b.ctx.GetPrivateData(GUID{1}, data)
	require.NoError(t, err)
	assert.Equal(t, []byte{7}, data)
	assert.True(t, m.SetMultithreadProtected(false))
	assert.Equal(t, 3, b.drv.count("Flush"))
}

// TestMultithreadEveryMethod: between Enter and Leave every method of the context
// waits, and the methods of the context that Enter returns do not.
func TestMultithreadEveryMethod(t *testing.T) {
	b := newBench(t, predicated)
	list, dyn, q := b.finish(b.deferred(), false), b.dynamic(BindVertexBuffer), b.query(QueryEvent)
	methods := map[string]func(*Context){
		"FinishCommandList":      func(c *Context) { _, _ = c.FinishCommandList(false) },
		"ExecuteCommandList":     func(c *Context) { c.ExecuteCommandList(list, true) },
		"refused list":           func(c *Context) { c.ExecuteCommandList(nil, false) },
		"SwapDeviceContextState": func(c *Context) { c.SwapDeviceContextState(nil) },
		"CopyResource":           func(c *Context) { c.CopyResource(nil, nil) },
		"CopySubresourceRegion":  func(c *Context) { c.CopySubresourceRegion(nil, 0, 0, 0, 0, nil, 0, nil) },
		"UpdateSubresource":      func(c *Context) { c.UpdateSubresource(nil, 0, nil, nil, 0, 0) },
		"ClearRenderTargetView":  func(c *Context) { c.ClearRenderTargetView(nil, [4]float32{}) },
		"Flush":                  func(c *Context) { c.Flush() },
		"Map":                    func(c *Context) { _ = c.Map(dyn, 0, MapWriteDiscard, 0, new(MappedSubresource)) },
		"Unmap":                  func(c *Context) { c.Unmap(dyn, 0) },
		"Begin":                  func(c *Context) { c.Begin(q) },
		"End":                    func(c *Context) { c.End(q) },
		"GetData":                func(c *Context) { _ = c.GetData(q, nil, 0) },
		"SetPredication":         func(c *Context) { c.SetPredication(nil, false) },
		"GetPredication":         func(c *Context) { c.GetPredication() },
		"ClearState":             func(c *Context) { c.ClearState() },
		"IASetPrimitiveTopology": func(c *Context) { c.IASetPrimitiveTopology(TopologyLineList) },
		"IAGetPrimitiveTopology": func(c *Context) { c.IAGetPrimitiveTopology() },
		"IASetVertexBuffers":     func(c *Context) { c.IASetVertexBuffers(0, nil, nil, nil) },
		"IAGetVertexBuffers":     func(c *Context) { c.IAGetVertexBuffers(0, nil, nil, nil) },
		"IASetIndexBuffer":       func(c *Context) { c.IASetIndexBuffer(nil, 0, 0) },
		"IAGetIndexBuffer":       func(c *Context) { c.IAGetIndexBuffer() },
		"OMSetRenderTargets":     func(c *Context) { c.OMSetRenderTargets(nil) },
		"OMGetRenderTargets":     func(c *Context) { c.OMGetRenderTargets(nil) },
		"RSSetViewports":         func(c *Context) { c.RSSetViewports(nil) },
		"RSGetViewports":         func(c *Context) { c.RSGetViewports(nil) },
		"RSSetScissorRects":      func(c *Context) { c.RSSetScissorRects(nil) },
		"RSGetScissorRects":      func(c *Context) { c.RSGetScissorRects(nil) },
	}
	for st, set := range []func(*Context, uint32, []*Buffer){
		(*Context).VSSetConstantBuffers, (*Context).HSSetConstantBuffers, (*Context).DSSetConstantBuffers,
		(*Context).GSSetConstantBuffers, (*Context).PSSetConstantBuffers, (*Context).CSSetConstantBuffers,
		(*Context).VSGetConstantBuffers, (*Context).HSGetConstantBuffers, (*Context).DSGetConstantBuffers,
		(*Context).GSGetConstantBuffers, (*Context).PSGetConstantBuffers, (*Context).CSGetConstantBuffers,
	} {
		methods[fmt.Sprint("constant buffers ", st)] = func(c *Context) { set(c, 0, nil) }
	}
	m := b.ctx.Multithread()
	m.SetMultithreadProtected(true)
	for name, method := range methods {
		in := m.Enter()
		method(in)
		started, done := make(chan bool), make(chan bool)
		go func() {
			close(started)
			method(b.ctx)
			close(done)
		}()
		<-started
		for range 20 {
			runtime.Gosched()
		}
		select {
		case <-done:
			t.Errorf("%s does not wait", name)
		default:
		}
		m.Leave()
		<-done
	}
}

// TestMultithreadSerializes: goroutines use the context at once. Each update
// reaches the driver, and none comes between two of another's Enter and Leave.
func TestMultithreadSerializes(t *testing.T) {
	const goroutines, rounds = 8, 200
	b := newBench(t)
	m := b.ctx.Multithread()
	m.SetMultithreadProtected(true)
	buf, dyn := b.constant(), b.dynamic(BindVertexBuffer)
	var order []uint32 // guarded by the protection itself
	record := func(c *Context, who uint32) {
		order = append(order, who)
		c.UpdateSubresource(buf, 0, nil, binary.LittleEndian.AppendUint32(make([]byte, 12), who), 0, 0)
	}
	var wg sync.WaitGroup
	for g := range uint32(goroutines) {
		wg.Go(func() {
			for range rounds {
				in := m.Enter()
				record(in, g)
				in.IASetPrimitiveTopology(Topology(1 + g%5))
				record(in, g)
				m.Leave()
				b.ctx.UpdateSubresource(buf, 0, nil, make([]byte, 16), 0, 0)
				b.ctx.IASetVertexBuffers(g, []*Buffer{dyn}, []uint32{4}, []uint32{0})
				b.ctx.IASetVertexBuffers(g, []*Buffer{nil}, []uint32{0}, []uint32{0})
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 3*goroutines*rounds, b.drv.count("ResourceUpdateSubresourceUP"))
	for pair := range slices.Chunk(order, 2) {
		require.Equal(t, pair[0], pair[1])
	}
}
