package suite

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// compatible reports whether elements can be copied between two resources.
func compatible(a, b *tracked) bool {
	return (a.format == dxgi.Unknown) == (b.format == dxgi.Unknown) && a.family == b.family
}

func sameShape(a, b *tracked) bool {
	return a.w == b.w && a.h == b.h && a.mips == b.mips && len(a.subs) == len(b.subs)
}

// partner returns a resource that can usually be copied to x.
func (m *machine) partner(x *tracked) *tracked {
	if m.int(8) == 0 {
		return m.pick(anyResource)
	}
	return m.pick(func(y *tracked) bool { return y != x && compatible(x, y) && (sameShape(x, y) || m.int(4) == 0) })
}

func (m *machine) copyResource(c *d3d11.Context) step {
	dst := m.pick(anyResource)
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

// rect returns a random non-empty rectangle in w x h.
func (m *machine) rect(w, h int) (x0, y0, x1, y1 int) {
	x0, y0 = m.int(w), m.int(h)
	return x0, y0, x0 + 1 + m.int(w-x0), y0 + 1 + m.int(h-y0)
}

func box(x0, y0, x1, y1 int) *d3d11.Box {
	return &d3d11.Box{Left: uint32(x0), Top: uint32(y0), Right: uint32(x1), Bottom: uint32(y1), Back: 1}
}

// part returns the rows of a rectangle of a subresource.
func (m *tracked) part(sub, x0, y0, x1, y1 int) []byte {
	w, _ := m.size(sub)
	var out []byte
	for y := y0; y < y1; y++ {
		out = append(out, m.subs[sub][(y*w+x0)*m.bytes:(y*w+x1)*m.bytes]...)
	}
	return out
}

// put sets a rectangle of a subresource.
func (m *tracked) put(sub, x, y, w, h int, rows []byte) {
	full, _ := m.size(sub)
	p := slices.Clone(m.subs[sub])
	for i := range h {
		copy(p[((y+i)*full+x)*m.bytes:][:w*m.bytes], rows[i*w*m.bytes:])
	}
	m.subs[sub] = p
}

func (m *machine) copyRegion(c *d3d11.Context) step {
	dst := m.pick(anyResource)
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
	dst := m.pick(anyResource)
	sub := m.int(len(dst.subs))
	w, h := dst.size(sub)
	x0, y0, x1, y1 := m.rect(w, h)
	b := box(x0, y0, x1, y1)
	if m.int(4) == 0 {
		x0, y0, x1, y1, b = 0, 0, w, h, nil
	}
	w, h = x1-x0, y1-y0
	pitch := w*dst.bytes + m.int(9)
	data := m.randomBytes(pitch * h)
	var rows []byte
	for y := range h {
		rows = append(rows, data[y*pitch:][:w*dst.bytes]...)
	}
	c.UpdateSubresource(dst.res, uint32(sub), b, data, uint32(pitch), 0)
	clear(data) // UpdateSubresource must have copied it
	if dst.usage != d3d11.UsageDefault {
		return nil
	}
	return func() { dst.put(sub, x0, y0, w, h, rows) }
}

func (m *machine) clearTarget(c *d3d11.Context) step {
	dst := m.pick(func(x *tracked) bool { return x.view != nil })
	if dst == nil {
		return nil
	}
	v := [4]uint8(m.randomBytes(4))
	c.ClearRenderTargetView(dst.view, [4]float32{float32(v[0]) / 255, float32(v[1]) / 255, float32(v[2]) / 255, float32(v[3]) / 255})
	return func() {
		for _, sub := range dst.viewed {
			w, h := dst.size(sub)
			dst.subs[sub] = slices.Repeat(dst.color(v), w*h)
		}
	}
}
