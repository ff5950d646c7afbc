package umd

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// box draws a rectangle of w x h elements, which may be too large.
func (m *machine) box(w, h int) (b *umddi.Box, inside bool) {
	l, t := m.below("left", w), m.below("top", h)
	r, bt := l+1+m.below("width", w), t+1+m.below("height", h)
	return box(uint32(l), uint32(t), uint32(r), uint32(bt)), r <= w && bt <= h
}

func (m *machine) update(*rapid.T) {
	x, on := m.pick("resource", m.any), m.opContext()
	sub := m.below("subresource", len(x.subs))
	w, h := x.size(sub)
	b, inside := m.box(w, h)
	n := elementBytes(x.arg)
	bw, bh := int(b.Right-b.Left), int(b.Bottom-b.Top)
	data := m.bytes(bw * bh * n)
	on.f.ResourceUpdateSubresourceUP(m.th, on.h, on.res(x), uint32(sub), b, data, uint32(n*bw), 0)
	was := slices.Clone(data)
	clear(data)
	if inside {
		m.work(on, func() {
			paste(x.subs[sub], w*n, int(b.Left)*n, int(b.Top), was, bw*n, 0, 0, bw*n, bh)
		}, x)
	}
}

// paste copies h rows of n bytes from (sx, sy) to (dx, dy), x in bytes.
func paste(dst []byte, dstRow, dx, dy int, src []byte, srcRow, sx, sy, n, h int) {
	for y := range h {
		copy(dst[(dy+y)*dstRow+dx:][:n], src[(sy+y)*srcRow+sx:])
	}
}

func (m *machine) copyAll(*rapid.T) {
	dst, src, on := m.pick("dst", m.any), m.pick("src", m.any), m.opContext()
	on.f.ResourceCopy(m.th, on.h, on.res(dst), on.res(src))
	m.work(on, func() {
		if dst.texture() != src.texture() || !slices.Equal(dst.arg.MipInfoList, src.arg.MipInfoList) || dst.arg.ArraySize != src.arg.ArraySize {
			return
		}
		for i := range dst.subs {
			copy(dst.subs[i], src.subs[i])
		}
	}, dst, src)
}

func (m *machine) copyRegion(*rapid.T) {
	dst, src, on := m.pick("dst", m.any), m.pick("src", m.any), m.opContext()
	ds, ss := m.below("dst subresource", len(dst.subs)), m.below("src subresource", len(src.subs))
	if dst == src && ds == ss {
		m.t.Skip("may overlap")
	}
	w, h := src.size(ss)
	b, inside := m.box(w, h)
	dw, dh := dst.size(ds)
	x, y := m.below("x", dw), m.below("y", dh)
	on.f.ResourceCopyRegion(m.th, on.h, on.res(dst), uint32(ds), uint32(x), uint32(y), 0, on.res(src), uint32(ss), b)
	bw, bh := int(b.Right-b.Left), int(b.Bottom-b.Top)
	m.work(on, func() {
		if inside && dst.texture() == src.texture() && x+bw <= dw && y+bh <= dh {
			n := elementBytes(src.arg)
			paste(dst.subs[ds], dw*n, x*n, y, src.subs[ss], w*n, int(b.Left)*n, int(b.Top), bw*n, bh)
		}
	}, dst, src)
}

func (m *machine) clear(*rapid.T) {
	x, on := m.pick("target", func(x *model) bool { return x.view.Object != nil }), m.opContext()
	v := m.below("value", 256)
	on.f.ClearRenderTargetView(m.th, on.h, on.view(x), [4]float32{float32(v), float32(v), float32(v), float32(v)})
	m.work(on, func() {
		for i := range x.subs[0] {
			x.subs[0][i] = byte(v)
		}
	}, x)
}

// predication sets a predicate whose result is FALSE, or none.
func (m *machine) predication(*rapid.T) {
	on, q := m.opContext(), m.predicate
	kind := m.below("none, skips if FALSE, if TRUE", 3)
	switch {
	case kind == 0:
		q = umddi.HQuery{}
	case on.deferred:
		q = m.c.q(q)
	}
	on.f.SetPredication(m.th, on.h, q, kind == 2)
	m.effect(on, func() { m.skip = kind == 1 })
}

// write writes rows without padding to mapped memory.
func (m *machine) write(x *model, sub int, to umddi.Mapped, data []byte) {
	w, h := x.size(sub)
	n := w * elementBytes(x.arg)
	paste(to.Data, int(to.RowPitch), 0, 0, data, n, 0, 0, n, h)
}

func (m *machine) discard(*rapid.T) {
	x, on := m.pick("dynamic", m.usage(umddi.UsageDynamic)), m.opContext()
	res := on.res(x)
	to := on.f.DynamicResourceMapDiscard(m.th, on.h, res, 0, umddi.MapWriteDiscard, 0)
	require.NotNil(m, to.Data)
	data := m.bytes(len(x.subs[0]))
	m.write(x, 0, to, data)
	on.f.DynamicResourceUnmap(m.th, on.h, res, 0)
	m.effect(on, func() { copy(x.subs[0], data) }, x)
	if on.deferred {
		m.mapped[x] = data
	}
}

// noOverwrite writes to the memory of the last discard in the list.
func (m *machine) noOverwrite(*rapid.T) {
	x := m.pick("discarded", func(x *model) bool { return m.mapped[x] != nil && !x.texture() })
	to := m.c.f.DynamicIABufferMapNoOverwrite(m.th, m.c.h, m.c.res(x.res), 0, umddi.MapWriteNoOverwrite, 0)
	require.Equal(m, m.mapped[x], to.Data)
	at := m.below("byte", len(to.Data))
	to.Data[at]++
	m.mapped[x][at]++
	m.c.f.DynamicIABufferUnmap(m.th, m.c.h, m.c.res(x.res), 0)
}

func (m *machine) mapStaging(*rapid.T) {
	x := m.pick("staging", m.usage(umddi.UsageStaging))
	sub := m.below("subresource", len(x.subs))
	to := m.f.StagingResourceMap(m.th, m.h, x.res, uint32(sub), umddi.MapReadWrite, 0)
	require.NotNil(m, to.Data)
	w, h := x.size(sub)
	n := w * elementBytes(x.arg)
	for y := range h {
		require.Equal(m, x.subs[sub][y*n:][:n], to.Data[y*int(to.RowPitch):][:n], "row %d", y)
	}
	data := m.bytes(n * h)
	m.write(x, sub, to, data)
	copy(x.subs[sub], data)
	m.f.StagingResourceUnmap(m.th, m.h, x.res, uint32(sub))
}

func (m *machine) event(*rapid.T) {
	q := m.rig.query()
	m.f.QueryEnd(m.th, m.h, q)
	if m.below("ask", 2) == 1 {
		before := len(m.queue)
		data := m.ask(q, 0)
		require.Equal(m, byte(255), data[0])
		require.Equal(m, []ddi.HRESULT{ddi.DDIStillDrawing}, m.errors())
		require.Len(m, m.queue, before+1)
		m.run(len(m.queue))
		require.Equal(m, byte(1), m.ask(q, 0)[0])
	}
	m.f.DestroyQuery(m.th, m.h, q)
}
