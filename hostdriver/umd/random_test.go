package umd

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// model is a resource with what it should contain, rows without padding.
type model struct {
	res  umddi.HResource
	arg  *umddi.CreateResource
	subs [][]byte
	view umddi.HRenderTargetView
}

func (m *model) size(sub int) (w, h int) {
	s := m.arg.MipInfoList[uint32(sub)%m.arg.MipLevels]
	return int(s.TexelWidth), int(s.TexelHeight)
}

func (m *model) texture() bool { return m.arg.ResourceDimension == umddi.Texture2D }

// machine applies random operations to a device and to the models.
type machine struct {
	*rig
	t   *rapid.T
	all []*model
}

func (m *machine) pick(name string, want func(x *model) bool) *model {
	var fit []*model
	for _, x := range m.all {
		if want(x) {
			fit = append(fit, x)
		}
	}
	if len(fit) == 0 {
		m.t.Skip("no such resource")
	}
	return fit[rapid.IntRange(0, len(fit)-1).Draw(m.t, name)]
}

func (m *machine) usage(u umddi.Usage) func(x *model) bool {
	return func(x *model) bool { return x.arg.Usage == u }
}

func (m *machine) any(*model) bool { return true }

func (m *machine) below(name string, n int) int { return rapid.IntRange(0, n-1).Draw(m.t, name) }

func (m *machine) bytes(n int) []byte { return seq(m.below("first byte", 256), n) }

func (m *machine) create(*rapid.T) {
	if len(m.all) == 12 {
		m.t.Skip("enough resources")
	}
	u := rapid.SampledFrom([]umddi.Usage{umddi.UsageDefault, umddi.UsageDefault, umddi.UsageDynamic, umddi.UsageStaging}).Draw(m.t, "usage")
	var arg *umddi.CreateResource
	switch m.below("kind", 3) {
	case 0:
		arg = buf(uint32(rapid.SampledFrom([]int{16, 700}).Draw(m.t, "bytes")), u)
	case 1:
		arg = tex(5, 6, dxgi.R8G8B8A8UInt, u, 0)
	case 2:
		arg = tex(8, 4, dxgi.R8G8B8A8UInt, u, 0)
		if u != umddi.UsageDynamic {
			arg = mips(arg, 2)
		}
	}
	if u == umddi.UsageDefault && arg.ResourceDimension == umddi.Texture2D {
		arg.BindFlags = umddi.BindRenderTarget
	}
	x := &model{arg: arg}
	for i := range int(arg.MipLevels * arg.ArraySize) {
		w, h := x.size(i)
		data := m.bytes(w * h * elementBytes(arg))
		x.subs = append(x.subs, data)
		arg.InitialDataUP = append(arg.InitialDataUP, umddi.SubresourceUP{SysMem: data, RowPitch: uint32(w * elementBytes(arg))})
	}
	x.res = m.rig.create(arg)
	arg.InitialDataUP = nil
	if arg.BindFlags != 0 {
		x.view = m.rig.view(x.res, arg.Format, 0, 0, 1)
	}
	m.all = append(m.all, x)
}

func (m *machine) destroy(*rapid.T) {
	x := m.pick("victim", m.any)
	m.f.DestroyResource(m.th, m.h, x.res)
	m.all = slices.DeleteFunc(m.all, func(y *model) bool { return x == y })
}

// box draws a rectangle of w x h elements that may be too large.
func (m *machine) box(w, h int) (b *umddi.Box, inside bool) {
	l, t := m.below("left", w), m.below("top", h)
	r, bt := l+1+m.below("width", w), t+1+m.below("height", h)
	return box(uint32(l), uint32(t), uint32(r), uint32(bt)), r <= w && bt <= h
}

func (m *machine) update(*rapid.T) {
	x := m.pick("resource", m.any)
	sub := m.below("subresource", len(x.subs))
	w, h := x.size(sub)
	b, inside := m.box(w, h)
	n := elementBytes(x.arg)
	bw, bh := int(b.Right-b.Left), int(b.Bottom-b.Top)
	data := m.bytes(bw * bh * n)
	m.rig.update(x.res, x.arg, uint32(sub), b, data)
	if inside {
		paste(x.subs[sub], w*n, int(b.Left)*n, int(b.Top), data, bw*n, 0, 0, bw*n, bh)
	}
	clear(data)
}

// paste copies h rows of n bytes from (sx, sy) to (dx, dy), x in bytes.
func paste(dst []byte, dstRow, dx, dy int, src []byte, srcRow, sx, sy, n, h int) {
	for y := range h {
		copy(dst[(dy+y)*dstRow+dx:][:n], src[(sy+y)*srcRow+sx:])
	}
}

func (m *machine) copyAll(*rapid.T) {
	dst, src := m.pick("dst", m.any), m.pick("src", m.any)
	m.rig.copy(dst.res, src.res)
	if dst.texture() != src.texture() || !slices.Equal(dst.arg.MipInfoList, src.arg.MipInfoList) || dst.arg.ArraySize != src.arg.ArraySize {
		return
	}
	for i := range dst.subs {
		copy(dst.subs[i], src.subs[i])
	}
}

func (m *machine) copyRegion(*rapid.T) {
	dst, src := m.pick("dst", m.any), m.pick("src", m.any)
	ds, ss := m.below("dst subresource", len(dst.subs)), m.below("src subresource", len(src.subs))
	if dst == src && ds == ss {
		m.t.Skip("may overlap")
	}
	w, h := src.size(ss)
	b, inside := m.box(w, h)
	dw, dh := dst.size(ds)
	x, y := m.below("x", dw), m.below("y", dh)
	m.f.ResourceCopyRegion(m.th, m.h, dst.res, uint32(ds), uint32(x), uint32(y), 0, src.res, uint32(ss), b)
	bw, bh := int(b.Right-b.Left), int(b.Bottom-b.Top)
	if inside && dst.texture() == src.texture() && x+bw <= dw && y+bh <= dh {
		n := elementBytes(src.arg)
		paste(dst.subs[ds], dw*n, x*n, y, src.subs[ss], w*n, int(b.Left)*n, int(b.Top), bw*n, bh)
	}
}

func (m *machine) clear(*rapid.T) {
	x := m.pick("target", func(x *model) bool { return x.view.Object != nil })
	v := m.below("value", 256)
	m.f.ClearRenderTargetView(m.th, m.h, x.view, [4]float32{float32(v), float32(v), float32(v), float32(v)})
	for i := range x.subs[0] {
		x.subs[0][i] = byte(v)
	}
}

// write puts rows without padding into mapped memory.
func (m *machine) write(x *model, sub int, to umddi.Mapped, data []byte) {
	w, h := x.size(sub)
	n := w * elementBytes(x.arg)
	paste(to.Data, int(to.RowPitch), 0, 0, data, n, 0, 0, n, h)
	copy(x.subs[sub], data)
}

func (m *machine) discard(*rapid.T) {
	x := m.pick("dynamic", m.usage(umddi.UsageDynamic))
	to := m.f.DynamicResourceMapDiscard(m.th, m.h, x.res, 0, umddi.MapWriteDiscard, 0)
	require.NotNil(m, to.Data)
	m.write(x, 0, to, m.bytes(len(x.subs[0])))
	m.f.DynamicResourceUnmap(m.th, m.h, x.res, 0)
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
	m.write(x, sub, to, m.bytes(n*h))
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

func (m *machine) check(*rapid.T) {
	require.Empty(m, m.errs)
}

// Random operations leave in each resource what they leave in plain memory,
// whatever the size of the kernel's buffers.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newKernel(rt)
		k.cmdBytes = rapid.IntRange(80, 600).Draw(rt, "command bytes")
		k.nAllocs = rapid.IntRange(2, 6).Draw(rt, "allocations")
		k.nPatches = rapid.IntRange(2, 12).Draw(rt, "patch locations")
		k.info.LengthBits = rapid.Uint32Range(9, 12).Draw(rt, "length bits")
		m := &machine{rig: newRigOn(k), t: rt}
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create, "destroy": m.destroy, "update": m.update, "copy": m.copyAll, "region": m.copyRegion,
			"region again": m.copyRegion, "clear": m.clear, "discard": m.discard, "map": m.mapStaging, "event": m.event,
			"flush": func(*rapid.T) { m.flush() }, "run": func(*rapid.T) { m.run(1) }, "": m.check,
		})
		for i, x := range m.all {
			for sub, want := range x.subs {
				require.True(m, bytes.Equal(want, m.read(x.res, x.arg, uint32(sub))), "resource %d, subresource %d", i, sub)
			}
		}
		m.f.DestroyDevice(m.th, m.h)
		require.Empty(m, m.handles, "allocations left")
		require.Empty(m, m.errs)
	})
}
