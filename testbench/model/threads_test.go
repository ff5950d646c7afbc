package model_test

import (
	"flag"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// rounds is the number of rounds of each goroutine of TestThreads.
var rounds = flag.Int("model.rounds", 40, "`rounds` of each goroutine of TestThreads")

// Number of goroutines of each kind in TestThreads.
const (
	recorders = 4
	creators  = 2
	releasers = 2
)

// A recorded is a list with its recorder and its number.
type recorded struct {
	recorder int
	number   uint32
	list     *d3d11.CommandList
}

// threads is a device that several goroutines use.
type threads struct {
	t     *testing.T
	dev   *d3d11.Device
	ctx   *d3d11.Context
	src   *d3d11.Buffer                      // source of all lists
	dst   [recorders]*d3d11.Buffer           // destinations, one per recorder
	last  [recorders]uint32                  // number of the last executed list
	lists chan recorded                      // to the immediate context
	gone  chan interface{ Release() uint32 } // to the releasers
}

// TestThreads creates and releases objects, records on deferred contexts and
// releases lists in many goroutines, while the immediate context executes the
// lists. It is for the race detector and the verifier, and checks that the last
// list of each recorder has written its data.
func TestThreads(t *testing.T) {
	for _, tt := range []struct {
		name     string
		emulated bool
	}{{"native", false}, {"emulated", true}} {
		t.Run(tt.name, func(t *testing.T) {
			drivers := testbench.HostDrivers()
			drivers.UserMode = umd.New(umd.Options{EmulatedLists: tt.emulated})
			sys, err := testbench.Open("emu", drivers, testbench.Options{Seed: 1, Sanitize: true, Record: eventstest.Record(t)})
			require.NoError(t, err)
			dev, ctx, err := sys.CreateDevice()
			require.NoError(t, err)
			h := &threads{t: t, dev: dev, ctx: ctx, lists: make(chan recorded, 4), gone: make(chan interface{ Release() uint32 }, 4)}
			h.hammer()
			assert.NoError(t, dev.GetDeviceRemovedReason())
			assert.NoError(t, sys.Err())
			dev.Close()
			assert.Empty(t, sys.Findings())
			assert.NoError(t, sys.Close())
		})
	}
}

func (h *threads) hammer() {
	h.src = h.buffer(d3d11.UsageDefault, 1)
	var sources, sinks sync.WaitGroup
	for i := range h.dst {
		h.dst[i] = h.buffer(d3d11.UsageDefault, 0)
		sources.Go(func() { h.record(i) })
	}
	for range creators {
		sources.Go(h.create)
	}
	for range releasers {
		sinks.Go(func() {
			for x := range h.gone {
				x.Release()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		sources.Wait()
		close(h.lists)
		close(done)
	}()
	for l := range h.lists { // the immediate context belongs to this goroutine
		h.ctx.ExecuteCommandList(l.list, l.number%2 == 0)
		h.last[l.recorder] = l.number
		h.gone <- l.list
	}
	<-done
	close(h.gone)
	sinks.Wait()
	for i := range h.dst {
		assert.Equal(h.t, h.last[i], h.read(h.dst[i]), "data of recorder %d", i)
		assert.EqualValues(h.t, *rounds, h.last[i])
	}
}

// buffer creates a buffer of 16 bytes that begins with a number.
func (h *threads) buffer(u d3d11.Usage, number uint32) *d3d11.Buffer {
	desc := d3d11.BufferDesc{ByteWidth: 16, Usage: u, BindFlags: d3d11.BindVertexBuffer}
	if u == d3d11.UsageDynamic {
		desc.CPUAccessFlags = d3d11.CPUAccessWrite
	}
	b, err := h.dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: padded(number)})
	if !assert.NoError(h.t, err) {
		return nil
	}
	return b
}

// record records lists on a context that it replaces at times. Each list writes its
// number to the recorder's buffer by a map or an update, and reads the shared
// source.
func (h *threads) record(i int) {
	ring := h.buffer(d3d11.UsageDynamic, 0)
	var c *d3d11.Context
	for n := uint32(1); int(n) <= *rounds; n++ {
		if c == nil {
			var err error
			if c, err = h.dev.CreateDeferredContext(0); !assert.NoError(h.t, err) {
				return
			}
		}
		c.CopyResource(h.dst[i], h.src)
		if n%2 == 0 {
			c.UpdateSubresource(h.dst[i], 0, nil, padded(n), 0, 0)
		} else {
			var m d3d11.MappedSubresource
			if !assert.NoError(h.t, c.Map(ring, 0, d3d11.MapWriteDiscard, 0, &m)) {
				return
			}
			copy(m.Data, padded(n))
			c.Unmap(ring, 0)
			c.CopyResource(h.dst[i], ring)
		}
		c.IASetVertexBuffers(0, []*d3d11.Buffer{h.src}, []uint32{16}, []uint32{0})
		l, err := c.FinishCommandList(n%3 == 0)
		if !assert.NoError(h.t, err) {
			return
		}
		h.lists <- recorded{i, n, l}
		if n%5 == 0 { // with recorded commands that are discarded
			c.CopyResource(h.dst[i], h.src)
			h.gone <- c
			c = nil
		}
	}
	if c != nil {
		h.gone <- c
	}
}

// padded returns the 16 bytes of a buffer that begins with a number.
func padded(n uint32) []byte { return append(le.AppendUint32(nil, n), make([]byte, 12)...) }

// create creates objects of each kind, which other goroutines release.
func (h *threads) create() {
	for range *rounds {
		b := h.buffer(d3d11.UsageDefault, 5)
		tex, err := h.dev.CreateTexture2D(d3d11.Texture2DDesc{Width: 4, Height: 4, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm,
			SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: d3d11.BindRenderTarget}, nil)
		if b == nil || !assert.NoError(h.t, err) {
			return
		}
		v, err := h.dev.CreateRenderTargetView(tex, nil)
		if !assert.NoError(h.t, err) {
			return
		}
		q, err := h.dev.CreateQuery(&d3d11.QueryDesc{Query: d3d11.QueryOcclusionPredicate})
		if !assert.NoError(h.t, err) {
			return
		}
		b.AddRef()
		for _, x := range []interface{ Release() uint32 }{b, tex, q, v, b} {
			h.gone <- x
		}
	}
}

// read returns the number in a buffer.
func (h *threads) read(b *d3d11.Buffer) uint32 {
	to, err := h.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 16, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, nil)
	require.NoError(h.t, err)
	h.ctx.CopyResource(to, b)
	var m d3d11.MappedSubresource
	require.NoError(h.t, h.ctx.Map(to, 0, d3d11.MapRead, 0, &m))
	defer h.ctx.Unmap(to, 0)
	return le.Uint32(m.Data)
}
