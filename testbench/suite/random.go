package suite

import (
	"bytes"
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// tracked is a resource and its expected contents.
type tracked struct {
	res    d3d11.Resource
	usage  d3d11.Usage
	format dxgi.Format // Unknown for a buffer
	family dxgi.Format
	bytes  int // size of an element
	w, h   int
	mips   int
	view   *d3d11.RenderTargetView // slices [1, 3) of mip level 1, as far as they exist
	viewed []int                   // subresources of view
	color  func([4]uint8) []byte   // converts a color to an element
	subs   [][]byte                // contents by subresource, rows without padding
	used   bool                    // used by the GPU since the last discard
}

func (m *tracked) size(sub int) (w, h int) {
	level := sub % m.mips
	return max(1, m.w>>level), max(1, m.h>>level)
}

// A step applies the effect of a command to the expected contents.
type step func()

// A machine performs random operations on resources and lists and applies them to the
// expected contents.
type machine struct {
	*d3d
	r     *rand.Rand
	all   []*tracked
	ctxs  []*deferredContext
	lists []*list
}

func (m *machine) int(n int) int { return m.r.IntN(n) }

func (m *machine) randomBytes(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(m.r.Uint32())
	}
	return p
}

func (m *machine) pick(fits func(*tracked) bool) *tracked {
	var some []*tracked
	for _, x := range m.all {
		if fits(x) {
			some = append(some, x)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[m.int(len(some))]
}

func withUsage(u d3d11.Usage) func(*tracked) bool {
	return func(x *tracked) bool { return x.usage == u }
}

func anyResource(*tracked) bool { return true }

// work performs an operation that both kinds of contexts support, and returns its step.
func (m *machine) work(c *d3d11.Context) step {
	switch m.int(5) {
	case 0:
		return m.copyResource(c)
	case 1, 2:
		return m.copyRegion(c)
	case 3:
		return m.update(c)
	}
	return m.clearTarget(c)
}

func (m *machine) immediate() {
	if s := m.work(m.ctx); s != nil {
		s()
	}
}

// mapStaging reads a subresource of a staging resource and may write it.
func (m *machine) mapStaging() {
	x := m.pick(withUsage(d3d11.UsageStaging))
	if x == nil {
		return
	}
	sub := m.int(len(x.subs))
	typ := []d3d11.MapType{d3d11.MapRead, d3d11.MapReadWrite, d3d11.MapWrite}[m.int(3)]
	var out d3d11.MappedSubresource
	if m.int(2) == 0 {
		require.NoError(m.t, m.ctx.Map(x.res, uint32(sub), typ, 0, &out), "Map(type %d) of a staging resource succeeds", typ)
	} else {
		m.poll(func() error { return m.ctx.Map(x.res, uint32(sub), typ, d3d11.MapDoNotWait, &out) }, ddi.DXGIStillDrawing)
	}
	w, h := x.size(sub)
	for y := range h {
		row, want := out.Data[y*int(out.RowPitch):][:w*x.bytes], x.subs[sub][y*w*x.bytes:][:w*x.bytes]
		m.same(want, row, "Map shows what the model has: row %d of subresource %d of a %v of %d x %d", y, sub, x.format, x.w, x.h)
	}
	if typ != d3d11.MapRead {
		x0, y0, x1, y1 := m.rect(w, h)
		rows := m.randomBytes((x1 - x0) * (y1 - y0) * x.bytes)
		for y := y0; y < y1; y++ {
			copy(out.Data[y*int(out.RowPitch)+x0*x.bytes:], rows[(y-y0)*(x1-x0)*x.bytes:][:(x1-x0)*x.bytes])
		}
		x.put(sub, x0, y0, x1-x0, y1-y0, rows)
	}
	if m.int(3) == 0 { // the context can flush while the resource is mapped
		m.flushed()
	}
	m.ctx.Unmap(x.res, uint32(sub))
}

func (m *machine) flushed() { m.ctx.Flush() }

// poll calls f until it stops returning busy. The number of calls is limited, because each
// call takes time on the GPU.
func (m *machine) poll(f func() error, busy ddi.HRESULT) {
	for range 1_000_000 {
		err := f()
		if err == nil {
			return
		}
		require.ErrorIs(m.t, err, busy, "a call that is not done returns %v", busy)
	}
	require.Fail(m.t, "busy without end")
}

// mapDynamic writes a dynamic resource.
func (m *machine) mapDynamic() {
	x := m.pick(withUsage(d3d11.UsageDynamic))
	if x == nil {
		return
	}
	var out d3d11.MappedSubresource
	if x.format == dxgi.Unknown && !x.used && m.int(2) == 0 {
		require.NoError(m.t, m.ctx.Map(x.res, 0, d3d11.MapWriteNoOverwrite, 0, &out), "Map(NO_OVERWRITE) of a dynamic buffer succeeds")
		x0, _, x1, _ := m.rect(x.w, 1)
		p := m.randomBytes(x1 - x0)
		copy(out.Data[x0:], p)
		x.put(0, x0, 0, x1-x0, 1, p)
		m.ctx.Flush()
	} else {
		require.NoError(m.t, m.ctx.Map(x.res, 0, d3d11.MapWriteDiscard, 0, &out), "Map(DISCARD) of a dynamic resource succeeds")
		x.subs[0] = m.randomBytes(x.w * x.h * x.bytes)
		for y := range x.h {
			copy(out.Data[y*int(out.RowPitch):], x.subs[0][y*x.w*x.bytes:][:x.w*x.bytes])
		}
		x.used = false
	}
	m.ctx.Unmap(x.res, 0)
}

func (m *machine) query() {
	q, err := m.dev.CreateQuery(&d3d11.QueryDesc{})
	require.NoError(m.t, err, "CreateQuery succeeds for an event")
	m.ctx.End(q)
	m.poll(func() error { return m.ctx.GetData(q, nil, 0) }, ddi.False)
	q.Release()
}

// check compares all resources with the expected contents.
func (m *machine) check() {
	for _, x := range m.all {
		if b, ok := x.res.(*d3d11.Buffer); ok {
			m.same(x.subs[0], m.contents(b), "after all calls the contents are the model's: buffer of %d bytes, usage %d", x.w, x.usage)
			continue
		}
		for i := range x.subs {
			m.same(x.subs[i], m.texels(x.res.(*d3d11.Texture2D), uint32(i)),
				"after all calls the contents are the model's: subresource %d of a %v of %d x %d, usage %d", i, x.format, x.w, x.h, x.usage)
		}
		x.used = true
	}
}

func (m *machine) run(n int) {
	for range n {
		switch k := m.int(100); {
		case k < 4:
			m.createBuffer()
		case k < 10:
			m.createTexture()
		case k < 16 && len(m.all) > 14:
			m.release()
		case len(m.all) == 0:
		case k < 45:
			m.immediate()
		case k < 55:
			m.mapStaging()
		case k < 63:
			m.mapDynamic()
		case k < 85:
			m.record()
		case k < 89:
			m.finishList()
		case k < 95:
			m.execute()
		case k < 97:
			m.ctx.Flush()
		case k < 98:
			m.query()
		case k < 99:
			m.check()
		}
	}
	m.check()
}

// randomOperations performs random operations that an application may do, immediately or
// through lists, and compares the contents of all resources with a plain model.
func randomOperations(t *T) {
	m := &machine{d3d: newD3D(t), r: rand.New(rand.NewPCG(t.Seed, 7))}
	for range 2 {
		m.ctxs = append(m.ctxs, &deferredContext{ctx: m.deferred(), maps: map[*tracked]bool{}, current: map[*tracked][]byte{}})
	}
	m.run(500)
}

// same ends the case unless two byte strings are equal.
func (m *machine) same(want, got []byte, format string, args ...any) {
	m.t.Helper()
	if !bytes.Equal(want, got) {
		same(m.t, want, got, format, args...)
		m.t.FailNow()
	}
}
