package suite

import (
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// A modelled resource has beside it what it should contain.
type modelled struct {
	res    d3d11.Resource
	usage  d3d11.Usage
	format dxgi.Format // Unknown for a buffer
	family dxgi.Format
	bytes  int // of an element
	w, h   int
	mips   int
	view   *d3d11.RenderTargetView // of slices [1, 3) of mip level 1, as far as there are
	viewed []int                   // its subresources
	color  func([4]uint8) []byte   // an element of that colour
	subs   [][]byte                // rows without padding
	used   bool                    // by the GPU since the last discard
}

func (m *modelled) size(sub int) (w, h int) {
	level := sub % m.mips
	return max(1, m.w>>level), max(1, m.h>>level)
}

// A step changes the models as a command does when the GPU executes it.
type step func()

// A list is a command list, its steps and what it maps.
type list struct {
	api   *d3d11.CommandList
	steps []step
	maps  map[*modelled]bool
}

// A drafting is a deferred context and what is recorded on it.
type drafting struct {
	ctx     *d3d11.Context
	steps   []step
	maps    map[*modelled]bool
	current map[*modelled][]byte // what NO_OVERWRITE goes on with
}

// machine does random things with resources and lists, and to their models.
type machine struct {
	*d3d
	r     *rand.Rand
	all   []*modelled
	ctxs  []*drafting
	lists []*list
}

func (m *machine) int(n int) int { return m.r.IntN(n) }

func (m *machine) fresh(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(m.r.Uint32())
	}
	return p
}

func (m *machine) pick(fits func(*modelled) bool) *modelled {
	var some []*modelled
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

func has(u d3d11.Usage) func(*modelled) bool { return func(x *modelled) bool { return x.usage == u } }

func each(*modelled) bool { return true }

var usages = []d3d11.Usage{d3d11.UsageDefault, d3d11.UsageDefault, d3d11.UsageImmutable, d3d11.UsageDynamic, d3d11.UsageStaging}

func (m *machine) createBuffer() {
	u := usages[m.int(len(usages))]
	bind := uint32(d3d11.BindVertexBuffer)
	if u == d3d11.UsageStaging {
		bind = 0
	}
	n := []int{64, 64, 1, 13, 777, 5000}[m.int(6)]
	x := &modelled{usage: u, bytes: 1, w: n, h: 1, mips: 1, subs: [][]byte{m.fresh(n)}}
	x.res = m.buffer(u, bind, x.subs[0])
	m.all = append(m.all, x)
}

// shapes of textures, few, so that many pairs can be copied to each other.
var shapes = []struct {
	f             dxgi.Format
	w, h, mips, n int
}{
	{dxgi.R8G8B8A8UNorm, 17, 9, 2, 3},
	{dxgi.R8G8B8A8Typeless, 17, 9, 2, 3},
	{dxgi.R8G8B8A8UNorm, 40, 50, 1, 1},
	{dxgi.R8G8B8A8UInt, 40, 50, 1, 1},
	{dxgi.B8G8R8A8UNorm, 40, 50, 1, 1},
	{dxgi.R8UNorm, 23, 31, 5, 1},
	{dxgi.R8UNorm, 1, 3, 1, 2},
	{dxgi.R32G32B32A32UInt, 5, 7, 3, 1},
	{dxgi.R16G16B16A16UNorm, 11, 6, 1, 4},
}

// colors are the elements of the renderable formats above.
var colors = map[dxgi.Format]func([4]uint8) []byte{
	dxgi.R8G8B8A8UNorm: func(c [4]uint8) []byte { return c[:] },
	dxgi.B8G8R8A8UNorm: func(c [4]uint8) []byte { return []byte{c[2], c[1], c[0], c[3]} },
	dxgi.R8UNorm:       func(c [4]uint8) []byte { return c[:1] },
	dxgi.R16G16B16A16UNorm: func(c [4]uint8) []byte { // v/255 is v*257/65535
		return []byte{c[0], c[0], c[1], c[1], c[2], c[2], c[3], c[3]}
	},
}

func (m *machine) createTexture() {
	s, u := shapes[m.int(len(shapes))], usages[m.int(len(usages))]
	if u == d3d11.UsageDynamic && (s.mips > 1 || s.n > 1) {
		return
	}
	info, _ := s.f.Info()
	x := &modelled{usage: u, format: s.f, family: info.Family, bytes: info.Bytes, w: s.w, h: s.h, mips: s.mips}
	for i := range s.mips * s.n {
		w, h := x.size(i)
		x.subs = append(x.subs, m.fresh(w*h*x.bytes))
	}
	bind := uint32(d3d11.BindShaderResource)
	if u == d3d11.UsageStaging {
		bind = 0
	}
	draws := u == d3d11.UsageDefault && colors[s.f] != nil && m.int(3) > 0
	if draws {
		bind |= d3d11.BindRenderTarget
	}
	tex := m.texture(s.f, uint32(s.w), uint32(s.h), uint32(s.mips), uint32(s.n), u, bind, x.subs...)
	x.res = tex
	x.subs = slices.Clone(x.subs)
	if draws {
		mip, first := min(1, s.mips-1), min(1, s.n-1)
		n := min(2, s.n-first)
		x.view, x.color = m.target(tex, uint32(mip), uint32(first), uint32(n)), colors[s.f]
		for i := first; i < first+n; i++ {
			x.viewed = append(x.viewed, i*s.mips+mip)
		}
	}
	m.all = append(m.all, x)
}

func (m *machine) release() {
	if len(m.all) < 6 {
		return
	}
	i := m.int(len(m.all))
	x := m.all[i]
	if x.view != nil {
		x.view.Release()
	}
	x.res.Release()
	m.all = slices.Delete(m.all, i, i+1)
}

// compatible says whether elements can be copied between the two.
func compatible(a, b *modelled) bool {
	return (a.format == dxgi.Unknown) == (b.format == dxgi.Unknown) && a.family == b.family
}

func sameShape(a, b *modelled) bool {
	return a.w == b.w && a.h == b.h && a.mips == b.mips && len(a.subs) == len(b.subs)
}

// partner is a resource that can mostly be copied to x.
func (m *machine) partner(x *modelled) *modelled {
	if m.int(8) == 0 {
		return m.pick(each)
	}
	return m.pick(func(y *modelled) bool { return y != x && compatible(x, y) && (sameShape(x, y) || m.int(4) == 0) })
}

func (m *machine) copyResource(c *d3d11.Context) step {
	dst := m.pick(each)
	src := m.partner(dst)
	if src == nil {
		return nil
	}
	c.CopyResource(dst.res, src.res)
	if dst == src || dst.usage == d3d11.UsageImmutable || !compatible(dst, src) || !sameShape(dst, src) {
		return nil
	}
	return func() {
		dst.used, src.used = true, true
		for i := range dst.subs {
			dst.subs[i] = slices.Clone(src.subs[i])
		}
	}
}

// rect returns a rectangle in w x h that is not empty.
func (m *machine) rect(w, h int) (x0, y0, x1, y1 int) {
	x0, y0 = m.int(w), m.int(h)
	return x0, y0, x0 + 1 + m.int(w-x0), y0 + 1 + m.int(h-y0)
}

func box(x0, y0, x1, y1 int) *d3d11.Box {
	return &d3d11.Box{Left: uint32(x0), Top: uint32(y0), Right: uint32(x1), Bottom: uint32(y1), Back: 1}
}

// part returns rows of a rectangle of a subresource.
func (m *modelled) part(sub, x0, y0, x1, y1 int) []byte {
	w, _ := m.size(sub)
	var out []byte
	for y := y0; y < y1; y++ {
		out = append(out, m.subs[sub][(y*w+x0)*m.bytes:(y*w+x1)*m.bytes]...)
	}
	return out
}

// put sets a rectangle of a subresource.
func (m *modelled) put(sub, x, y, w, h int, rows []byte) {
	full, _ := m.size(sub)
	p := slices.Clone(m.subs[sub])
	for i := range h {
		copy(p[((y+i)*full+x)*m.bytes:][:w*m.bytes], rows[i*w*m.bytes:])
	}
	m.subs[sub] = p
}

func (m *machine) copyRegion(c *d3d11.Context) step {
	dst := m.pick(each)
	src := m.partner(dst)
	if m.int(6) == 0 {
		src = dst
	}
	if src == nil {
		return nil
	}
	ds, ss := m.int(len(dst.subs)), m.int(len(src.subs))
	dw, dh := dst.size(ds)
	sw, sh := src.size(ss)
	x0, y0, x1, y1 := m.rect(sw, sh)
	b := box(x0, y0, x1, y1)
	if m.int(4) == 0 {
		x0, y0, x1, y1, b = 0, 0, sw, sh, nil
	}
	w, h := x1-x0, y1-y0
	x, y := m.int(max(1, dw-w+1)), m.int(max(1, dh-h+1))
	if m.int(10) == 0 {
		x++
	}
	c.CopySubresourceRegion(dst.res, uint32(ds), uint32(x), uint32(y), 0, src.res, uint32(ss), b)
	overlap := dst == src && ds == ss && x < x1 && x0 < x+w && y < y1 && y0 < y+h
	if dst.usage == d3d11.UsageImmutable || !compatible(dst, src) || x+w > dw || y+h > dh || overlap {
		return nil
	}
	return func() {
		dst.used, src.used = true, true
		dst.put(ds, x, y, w, h, src.part(ss, x0, y0, x1, y1))
	}
}

func (m *machine) update(c *d3d11.Context) step {
	dst := m.pick(each)
	sub := m.int(len(dst.subs))
	w, h := dst.size(sub)
	x0, y0, x1, y1 := m.rect(w, h)
	b := box(x0, y0, x1, y1)
	if m.int(4) == 0 {
		x0, y0, x1, y1, b = 0, 0, w, h, nil
	}
	w, h = x1-x0, y1-y0
	pitch := w*dst.bytes + m.int(9)
	data := m.fresh(pitch * h)
	var rows []byte
	for y := range h {
		rows = append(rows, data[y*pitch:][:w*dst.bytes]...)
	}
	c.UpdateSubresource(dst.res, uint32(sub), b, data, uint32(pitch), 0)
	clear(data) // it has been copied
	if dst.usage != d3d11.UsageDefault {
		return nil
	}
	return func() { dst.put(sub, x0, y0, w, h, rows) }
}

func (m *machine) clearTarget(c *d3d11.Context) step {
	dst := m.pick(func(x *modelled) bool { return x.view != nil })
	if dst == nil {
		return nil
	}
	v := [4]uint8(m.fresh(4))
	c.ClearRenderTargetView(dst.view, [4]float32{float32(v[0]) / 255, float32(v[1]) / 255, float32(v[2]) / 255, float32(v[3]) / 255})
	return func() {
		for _, sub := range dst.viewed {
			w, h := dst.size(sub)
			dst.subs[sub] = slices.Repeat(dst.color(v), w*h)
		}
	}
}

// work does one thing that both kinds of contexts can, and returns what it does
// when it is executed.
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
	x := m.pick(has(d3d11.UsageStaging))
	if x == nil {
		return
	}
	sub := m.int(len(x.subs))
	typ := []d3d11.MapType{d3d11.MapRead, d3d11.MapReadWrite, d3d11.MapWrite}[m.int(3)]
	var out d3d11.MappedSubresource
	if m.int(2) == 0 {
		require.NoError(m.t, m.ctx.Map(x.res, uint32(sub), typ, 0, &out))
	} else {
		m.poll(func() error { return m.ctx.Map(x.res, uint32(sub), typ, d3d11.MapDoNotWait, &out) }, ddi.DXGIStillDrawing)
	}
	w, h := x.size(sub)
	for y := range h {
		row, want := out.Data[y*int(out.RowPitch):][:w*x.bytes], x.subs[sub][y*w*x.bytes:][:w*x.bytes]
		require.Equal(m.t, want, row, "row %d of subresource %d of a %v of %d x %d", y, sub, x.format, x.w, x.h)
	}
	if typ != d3d11.MapRead {
		x0, y0, x1, y1 := m.rect(w, h)
		rows := m.fresh((x1 - x0) * (y1 - y0) * x.bytes)
		for y := y0; y < y1; y++ {
			copy(out.Data[y*int(out.RowPitch)+x0*x.bytes:], rows[(y-y0)*(x1-x0)*x.bytes:][:(x1-x0)*x.bytes])
		}
		x.put(sub, x0, y0, x1-x0, y1-y0, rows)
	}
	if m.int(3) == 0 { // work goes on while it is mapped
		m.flushed()
	}
	m.ctx.Unmap(x.res, uint32(sub))
}

func (m *machine) flushed() { m.ctx.Flush() }

// poll calls f until it stops answering busy. It may be called many times, but
// not for ever: asking takes time on the GPU.
func (m *machine) poll(f func() error, busy ddi.HRESULT) {
	for range 1_000_000 {
		err := f()
		if err == nil {
			return
		}
		require.ErrorIs(m.t, err, busy)
	}
	require.Fail(m.t, "busy for ever")
}

// mapDynamic writes a dynamic resource.
func (m *machine) mapDynamic() {
	x := m.pick(has(d3d11.UsageDynamic))
	if x == nil {
		return
	}
	var out d3d11.MappedSubresource
	if x.format == dxgi.Unknown && !x.used && m.int(2) == 0 {
		require.NoError(m.t, m.ctx.Map(x.res, 0, d3d11.MapWriteNoOverwrite, 0, &out))
		x0, _, x1, _ := m.rect(x.w, 1)
		p := m.fresh(x1 - x0)
		copy(out.Data[x0:], p)
		x.put(0, x0, 0, x1-x0, 1, p)
		m.ctx.Flush()
	} else {
		require.NoError(m.t, m.ctx.Map(x.res, 0, d3d11.MapWriteDiscard, 0, &out))
		x.subs[0] = m.fresh(x.w * x.h * x.bytes)
		for y := range x.h {
			copy(out.Data[y*int(out.RowPitch):], x.subs[0][y*x.w*x.bytes:][:x.w*x.bytes])
		}
		x.used = false
	}
	m.ctx.Unmap(x.res, 0)
}

// record records one thing.
func (m *machine) record() {
	d := m.ctxs[m.int(len(m.ctxs))]
	switch n := m.int(10); {
	case n < 2:
		m.recordMap(d)
	case n == 2 && len(m.lists) > 0:
		l := m.lists[m.int(len(m.lists))]
		if len(l.steps) > 200 {
			return
		}
		d.ctx.ExecuteCommandList(l.api, m.int(2) == 0)
		d.steps = append(d.steps, l.steps...)
		for x := range l.maps {
			d.maps[x] = true
			delete(d.current, x)
		}
	default:
		if s := m.work(d.ctx); s != nil {
			d.steps = append(d.steps, s)
			clear(d.current)
		}
	}
}

func (m *machine) recordMap(d *drafting) {
	x := m.pick(has(d3d11.UsageDynamic))
	if x == nil {
		return
	}
	var out d3d11.MappedSubresource
	if p, ok := d.current[x]; ok && x.format == dxgi.Unknown {
		require.NoError(m.t, d.ctx.Map(x.res, 0, d3d11.MapWriteNoOverwrite, 0, &out))
		require.Equal(m.t, p, out.Data)
		x0, _, x1, _ := m.rect(x.w, 1)
		copy(p[x0:x1], m.fresh(x1-x0)) // of the step below
		copy(out.Data, p)
	} else {
		require.NoError(m.t, d.ctx.Map(x.res, 0, d3d11.MapWriteDiscard, 0, &out))
		p := m.fresh(x.w * x.h * x.bytes)
		for y := range x.h {
			copy(out.Data[y*int(out.RowPitch):], p[y*x.w*x.bytes:][:x.w*x.bytes])
		}
		d.current[x], d.maps[x] = p, true
		d.steps = append(d.steps, func() { x.subs[0], x.used = slices.Clone(p), true })
	}
	d.ctx.Unmap(x.res, 0)
}

func (m *machine) finishList() {
	d := m.ctxs[m.int(len(m.ctxs))]
	m.lists = append(m.lists, &list{m.finish(d.ctx, m.int(2) == 0), d.steps, d.maps})
	d.steps, d.maps = nil, map[*modelled]bool{}
	clear(d.current)
	if len(m.lists) > 5 {
		m.lists[0].api.Release()
		m.lists = m.lists[1:]
	}
}

func (m *machine) execute() {
	if len(m.lists) == 0 {
		return
	}
	l := m.lists[m.int(len(m.lists))]
	m.ctx.ExecuteCommandList(l.api, m.int(2) == 0)
	for _, s := range l.steps {
		s()
	}
}

func (m *machine) query() {
	q, err := m.dev.CreateQuery(&d3d11.QueryDesc{})
	require.NoError(m.t, err)
	m.ctx.End(q)
	m.poll(func() error { return m.ctx.GetData(q, nil, 0) }, ddi.False)
	q.Release()
}

// check compares everything with the models.
func (m *machine) check() {
	for _, x := range m.all {
		if b, ok := x.res.(*d3d11.Buffer); ok {
			require.Equal(m.t, x.subs[0], m.contents(b), "buffer of %d bytes, usage %d", x.w, x.usage)
			continue
		}
		for i := range x.subs {
			require.Equal(m.t, x.subs[i], m.texels(x.res.(*d3d11.Texture2D), uint32(i)),
				"subresource %d of a %v of %d x %d, usage %d", i, x.format, x.w, x.h, x.usage)
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

// randomOperations does whatever an application may, immediately or through
// lists, and compares what is left in the resources with a plain model.
func randomOperations(t *T) {
	m := &machine{d3d: newD3D(t), r: rand.New(rand.NewPCG(t.Seed, 7))}
	for range 2 {
		m.ctxs = append(m.ctxs, &drafting{ctx: m.deferred(), maps: map[*modelled]bool{}, current: map[*modelled][]byte{}})
	}
	m.run(500)
}
