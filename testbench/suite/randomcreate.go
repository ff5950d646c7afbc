package suite

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

var usages = []d3d11.Usage{d3d11.UsageDefault, d3d11.UsageDefault, d3d11.UsageImmutable, d3d11.UsageDynamic, d3d11.UsageStaging}

func (m *machine) createBuffer() {
	u := usages[m.int(len(usages))]
	bind := uint32(d3d11.BindVertexBuffer)
	if u == d3d11.UsageStaging {
		bind = 0
	}
	n := []int{64, 64, 1, 13, 777, 5000}[m.int(6)]
	x := &tracked{usage: u, bytes: 1, w: n, h: 1, mips: 1, subs: [][]byte{m.randomBytes(n)}}
	x.res = m.buffer(u, bind, x.subs[0])
	m.all = append(m.all, x)
}

// shapes are sizes and formats of textures. They are few, so that many pairs can be copied.
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

// colors convert colors to elements, for the renderable formats above.
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
	x := &tracked{usage: u, format: s.f, family: info.Family, bytes: info.Bytes, w: s.w, h: s.h, mips: s.mips}
	for i := range s.mips * s.n {
		w, h := x.size(i)
		x.subs = append(x.subs, m.randomBytes(w*h*x.bytes))
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
