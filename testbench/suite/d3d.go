package suite

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench"
)

// d3d is a device of the drivers on a board.
type d3d struct {
	t   *T
	sys *testbench.System
	dev *d3d11.Device
	ctx *d3d11.Context
}

func newD3D(t *T) *d3d {
	t.Helper()
	return d3dOf(t, t.Open(testbench.Options{}))
}

// d3dOf creates a device of a system.
func d3dOf(t *T, sys *testbench.System) *d3d {
	t.Helper()
	dev, ctx, err := sys.CreateDevice()
	require.NoError(t, err, "CreateDevice succeeds")
	d := &d3d{t, sys, dev, ctx}
	t.Cleanup(func() {
		assert.NoError(t, dev.GetDeviceRemovedReason(), "no call removes the device: GetDeviceRemovedReason returns S_OK")
		dev.Close()
	})
	return d
}

// allAccess is the CPU access of a staging resource.
const allAccess = d3d11.CPUAccessRead | d3d11.CPUAccessWrite

// access returns the CPU access of a resource, by its usage.
func access(u d3d11.Usage) uint32 {
	switch u {
	case d3d11.UsageStaging:
		return allAccess
	case d3d11.UsageDynamic:
		return d3d11.CPUAccessWrite
	}
	return 0
}

// texture creates a texture. data holds the rows of all subresources, or is nil.
func (d *d3d) texture(f dxgi.Format, w, h, mips, layers uint32, u d3d11.Usage, bind uint32, data ...[]byte) *d3d11.Texture2D {
	d.t.Helper()
	info, _ := f.Info()
	var init []d3d11.SubresourceData
	for i, p := range data {
		pitch := max(1, w>>(uint32(i)%mips)) * uint32(info.Bytes)
		init = append(init, d3d11.SubresourceData{SysMem: p, SysMemPitch: pitch})
	}
	tex, err := d.dev.CreateTexture2D(d3d11.Texture2DDesc{
		Width: w, Height: h, MipLevels: mips, ArraySize: layers, Format: f, SampleDesc: dxgi.SampleDesc{Count: 1},
		Usage: u, BindFlags: bind, CPUAccessFlags: access(u),
	}, init)
	require.NoError(d.t, err, "CreateTexture2D succeeds for %v of %d x %d, usage %d, bind flags %#x", f, w, h, u, bind)
	return tex
}

// buffer creates a buffer with data.
func (d *d3d) buffer(u d3d11.Usage, bind uint32, data []byte) *d3d11.Buffer {
	d.t.Helper()
	b, err := d.dev.CreateBuffer(d3d11.BufferDesc{
		ByteWidth: uint32(len(data)), Usage: u, BindFlags: bind, CPUAccessFlags: access(u),
	}, &d3d11.SubresourceData{SysMem: data})
	require.NoError(d.t, err, "CreateBuffer succeeds for %d bytes, usage %d, bind flags %#x", len(data), u, bind)
	return b
}

// target creates a view of the slices [first, first+n) of a mip level, in the
// format of the texture.
func (d *d3d) target(tex *d3d11.Texture2D, mip, first, n uint32) *d3d11.RenderTargetView {
	d.t.Helper()
	v, err := d.dev.CreateRenderTargetView(tex, &d3d11.RTVDesc{
		ViewDimension: d3d11.RTVTexture2DArray, MipSlice: mip, FirstArraySlice: first, ArraySize: n,
	})
	require.NoError(d.t, err, "CreateRenderTargetView succeeds")
	return v
}

func (d *d3d) deferred() *d3d11.Context {
	d.t.Helper()
	c, err := d.dev.CreateDeferredContext(0)
	require.NoError(d.t, err, "CreateDeferredContext succeeds")
	return c
}

// finish finishes a list.
func (d *d3d) finish(c *d3d11.Context, restore bool) *d3d11.CommandList {
	d.t.Helper()
	l, err := c.FinishCommandList(restore)
	require.NoError(d.t, err, "FinishCommandList succeeds")
	return l
}

// texels returns the rows of a subresource of a texture, without padding, after all
// earlier GPU work.
func (d *d3d) texels(tex *d3d11.Texture2D, sub uint32) []byte {
	d.t.Helper()
	desc := tex.GetDesc()
	info, _ := desc.Format.Info()
	level := sub % desc.MipLevels
	w, h := max(1, desc.Width>>level), max(1, desc.Height>>level)
	to := d.texture(desc.Format, w, h, 1, 1, d3d11.UsageStaging, 0)
	defer to.Release()
	d.ctx.CopySubresourceRegion(to, 0, 0, 0, 0, tex, sub, nil)
	return d.read(to, 0, int(w)*info.Bytes, int(h))
}

// contents returns the bytes of a buffer after all earlier GPU work.
func (d *d3d) contents(b *d3d11.Buffer) []byte {
	d.t.Helper()
	n := b.GetDesc().ByteWidth
	to := d.buffer(d3d11.UsageStaging, 0, make([]byte, n))
	defer to.Release()
	d.ctx.CopyResource(to, b)
	return d.read(to, 0, int(n), 1)
}

// read maps a staging resource and returns its rows without padding.
func (d *d3d) read(r d3d11.Resource, sub uint32, row, rows int) []byte {
	d.t.Helper()
	var m d3d11.MappedSubresource
	require.NoError(d.t, d.ctx.Map(r, sub, d3d11.MapRead, 0, &m), "Map(READ) of a staging resource succeeds, after all earlier work")
	out := make([]byte, 0, row*rows)
	for y := range rows {
		out = append(out, m.Data[y*int(m.RowPitch):][:row]...)
	}
	d.ctx.Unmap(r, sub)
	return out
}

// write maps a resource of one row and fills it.
func (d *d3d) write(c *d3d11.Context, r d3d11.Resource, typ d3d11.MapType, data []byte) {
	d.t.Helper()
	var m d3d11.MappedSubresource
	require.NoError(d.t, c.Map(r, 0, typ, 0, &m), "Map(type %d) succeeds", typ)
	copy(m.Data, data)
	c.Unmap(r, 0)
}

// count returns n bytes with the values first, first+1 and so on.
func count(first, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(first + i)
	}
	return p
}
