package suite

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench"
)

// Two textures that fit in VRAM only one at a time can be copied to each other, and
// commands recorded with the copy are executed too.
func copyOfTexturesThatDoNotFitTogether(t *T) {
	d := newD3D(t)
	tex := func(w uint32, first int) *d3d11.Texture2D {
		return d.texture(dxgi.R8G8B8A8UNorm, w, 100, 1, 1, d3d11.UsageDefault, d3d11.BindShaderResource, count(first, int(w)*400))
	}
	a, b, c, small := tex(160, 1), tex(100, 2), tex(100, 3), tex(10, 4)
	d.ctx.UpdateSubresource(small, 0, nil, count(5, 4000), 40, 0)
	d.ctx.CopyResource(b, c)
	d.ctx.CopySubresourceRegion(a, 0, 0, 0, 0, b, 0, nil)
	d.ctx.Flush()
	require.NoError(t, d.dev.GetDeviceRemovedReason(), "the GPU moves allocations between VRAM and host memory, and the device stays")
	same(t, count(5, 4000), d.texels(small, 0), "an update recorded before the copies is executed")
	same(t, count(3, 40000), d.texels(b, 0), "b is a copy of c")
	same(t, count(3, 400), d.texels(a, 0)[:400], "the copy fills the first texels of the first row, which is wider")
	same(t, count(1+400, 240), d.texels(a, 0)[400:640], "the rest of the row is as before")
}

// A GPU-only texture larger than VRAM is in host memory: the segments decide. One
// larger than host memory cannot be created, and no other call fails.
func textureLargerThanVRAM(t *T) {
	d := d3dOf(t, t.Open(testbench.Options{HostMemory: 64 << 20}))
	desc := d3d11.Texture2DDesc{
		Width: 4096, Height: 4096, MipLevels: 1, ArraySize: 2, Format: dxgi.R8G8B8A8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: d3d11.BindShaderResource,
	}
	_, err := d.dev.CreateTexture2D(desc, nil)
	assert.ErrorIs(t, err, ddi.EOutOfMemory, "a texture of 128 MiB on a PC with 64 MiB returns E_OUTOFMEMORY")
	desc.Width, desc.ArraySize = 128, 1
	for _, h := range []uint32{128, 129, 512} {
		desc.Height = h
		tex, err := d.dev.CreateTexture2D(desc, nil)
		require.NoError(t, err, "CreateTexture2D succeeds for %d rows of 512 bytes in 64 KiB of VRAM", h)
		d.ctx.UpdateSubresource(tex, 0, nil, count(9, int(512*h)), 512, 0)
		same(t, count(9, int(512*h)), d.texels(tex, 0), "a texture in host memory has what was written")
	}
}
