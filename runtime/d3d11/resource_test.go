package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// TestAccessTable compares every combination of usage, at most one bind flag,
// and CPU access with the table of the documentation.
func TestAccessTable(t *testing.T) {
	input := map[uint32]bool{BindVertexBuffer: true, BindIndexBuffer: true, BindConstantBuffer: true, BindShaderResource: true}
	all := []uint32{0, BindVertexBuffer, BindIndexBuffer, BindConstantBuffer, BindShaderResource, BindStreamOutput,
		BindRenderTarget, BindUnorderedAccess}
	access := []uint32{0, CPUAccessWrite, CPUAccessRead, CPUAccessRead | CPUAccessWrite, 1}
	b := newBench(t)
	for _, bind := range all {
		for _, cpu := range access {
			want := map[Usage]bool{
				UsageDefault:   cpu == 0,
				UsageImmutable: input[bind] && cpu == 0,
				UsageDynamic:   input[bind] && cpu == CPUAccessWrite,
				UsageStaging:   bind == 0 && cpu != 0 && cpu != 1,
			}
			for usage := UsageDefault; usage <= UsageStaging+1; usage++ {
				buf, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 16, Usage: usage, BindFlags: bind, CPUAccessFlags: cpu},
					&SubresourceData{SysMem: ramp(0, 16)})
				hr := ddi.EInvalidArg
				if want[usage] {
					hr = ddi.OK
					buf.Release()
				}
				check(t, hr, err, "usage %d bind %#x access %#x", usage, bind, cpu)
			}
		}
	}
}

func TestCreateBuffer(t *testing.T) {
	const (
		cb  = BindConstantBuffer
		vb  = BindVertexBuffer
		srv = BindShaderResource
		uav = BindUnorderedAccess
		raw = MiscBufferAllowRawViews
		str = MiscBufferStructured
	)
	data := &SubresourceData{SysMem: make([]byte, 64)}
	for _, tt := range []struct {
		name string
		desc BufferDesc
		init *SubresourceData
		want ddi.HRESULT
	}{
		{"no bytes", BufferDesc{}, nil, ddi.EInvalidArg},
		{"one byte", BufferDesc{ByteWidth: 1}, nil, ddi.OK},
		{"more than 2 GiB", BufferDesc{ByteWidth: 1<<31 + 1}, nil, ddi.EInvalidArg},
		{"a constant buffer of 0", BufferDesc{BindFlags: cb}, nil, ddi.EInvalidArg},
		{"a constant buffer of 15", BufferDesc{ByteWidth: 15, BindFlags: cb}, nil, ddi.EInvalidArg},
		{"a constant buffer of 16", BufferDesc{ByteWidth: 16, BindFlags: cb}, nil, ddi.OK},
		{"a constant buffer of 17", BufferDesc{ByteWidth: 17, BindFlags: cb}, nil, ddi.EInvalidArg},
		{"a constant buffer of 31", BufferDesc{ByteWidth: 31, BindFlags: cb}, nil, ddi.EInvalidArg},
		{"a constant buffer of 32", BufferDesc{ByteWidth: 32, BindFlags: cb}, nil, ddi.OK},
		{"the largest constant buffer", BufferDesc{ByteWidth: 65536, BindFlags: cb}, nil, ddi.OK},
		{"a larger constant buffer", BufferDesc{ByteWidth: 65552, BindFlags: cb}, nil, ddi.EInvalidArg},
		{"a constant buffer with another bind flag", BufferDesc{ByteWidth: 16, BindFlags: cb | vb}, nil, ddi.EInvalidArg},
		{"two other bindings", BufferDesc{ByteWidth: 16, BindFlags: vb | srv}, nil, ddi.OK},
		{"depth-stencil", BufferDesc{ByteWidth: 16, BindFlags: BindDepthStencil}, nil, ddi.EInvalidArg},
		{"present", BufferDesc{ByteWidth: 16, BindFlags: umddi.BindPresent}, nil, ddi.EInvalidArg},
		{"stride 0", BufferDesc{ByteWidth: 16, BindFlags: srv, MiscFlags: str}, nil, ddi.EInvalidArg},
		{"stride 1", BufferDesc{ByteWidth: 16, BindFlags: srv, MiscFlags: str, StructureByteStride: 1}, nil, ddi.EInvalidArg},
		{"stride 2", BufferDesc{ByteWidth: 16, BindFlags: srv, MiscFlags: str, StructureByteStride: 2}, nil, ddi.EInvalidArg},
		{"stride 3", BufferDesc{ByteWidth: 24, BindFlags: srv, MiscFlags: str, StructureByteStride: 3}, nil, ddi.EInvalidArg},
		{"stride 4", BufferDesc{ByteWidth: 16, BindFlags: srv, MiscFlags: str, StructureByteStride: 4}, nil, ddi.OK},
		{"stride 5", BufferDesc{ByteWidth: 20, BindFlags: srv, MiscFlags: str, StructureByteStride: 5}, nil, ddi.EInvalidArg},
		{"stride 8", BufferDesc{ByteWidth: 16, BindFlags: uav, MiscFlags: str, StructureByteStride: 8}, nil, ddi.OK},
		{"stride 512", BufferDesc{ByteWidth: 1024, BindFlags: srv, MiscFlags: str, StructureByteStride: 512}, nil, ddi.OK},
		{"stride 513", BufferDesc{ByteWidth: 1026, BindFlags: srv, MiscFlags: str, StructureByteStride: 513}, nil, ddi.EInvalidArg},
		{"stride 1024", BufferDesc{ByteWidth: 1024, BindFlags: srv, MiscFlags: str, StructureByteStride: 1024}, nil, ddi.OK},
		{"stride 2048", BufferDesc{ByteWidth: 2048, BindFlags: srv, MiscFlags: str, StructureByteStride: 2048}, nil, ddi.OK},
		{"stride 2052", BufferDesc{ByteWidth: 2052, BindFlags: srv, MiscFlags: str, StructureByteStride: 2052}, nil, ddi.EInvalidArg},
		{"stride ~0", BufferDesc{ByteWidth: 16, BindFlags: srv, MiscFlags: str, StructureByteStride: ^uint32(0)}, nil, ddi.EInvalidArg},
		{"half a structure", BufferDesc{ByteWidth: 20, BindFlags: srv, MiscFlags: str, StructureByteStride: 8}, nil, ddi.EInvalidArg},
		{"a structured vertex buffer", BufferDesc{ByteWidth: 16, BindFlags: vb | srv, MiscFlags: str, StructureByteStride: 4}, nil, ddi.EInvalidArg},
		{"raw and structured", BufferDesc{ByteWidth: 16, BindFlags: srv, MiscFlags: raw | str, StructureByteStride: 4}, nil, ddi.EInvalidArg},
		{"raw with SRV", BufferDesc{ByteWidth: 16, BindFlags: srv, MiscFlags: raw}, nil, ddi.OK},
		{"raw with UAV", BufferDesc{ByteWidth: 16, BindFlags: uav | vb, MiscFlags: raw}, nil, ddi.OK},
		{"raw with neither", BufferDesc{ByteWidth: 16, BindFlags: vb, MiscFlags: raw}, nil, ddi.EInvalidArg},
		{"raw, not a multiple of 4", BufferDesc{ByteWidth: 15, BindFlags: srv, MiscFlags: raw}, nil, ddi.EInvalidArg},
		{"shared", BufferDesc{ByteWidth: 16, MiscFlags: 2}, nil, ddi.EInvalidArg},
		{"a cube", BufferDesc{ByteWidth: 16, MiscFlags: MiscTextureCube}, nil, ddi.EInvalidArg},
		{"data of NULL", BufferDesc{ByteWidth: 16}, &SubresourceData{}, ddi.EInvalidArg},
		{"enough data", BufferDesc{ByteWidth: 64}, data, ddi.OK},
		{"too little data", BufferDesc{ByteWidth: 65}, data, ddi.EInvalidArg},
		{"immutable needs data", BufferDesc{ByteWidth: 16, Usage: UsageImmutable, BindFlags: vb}, nil, ddi.EInvalidArg},
		{"immutable with data", BufferDesc{ByteWidth: 16, Usage: UsageImmutable, BindFlags: vb}, data, ddi.OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			_, err := b.dev.CreateBuffer(tt.desc, tt.init)
			check(t, tt.want, err)
			if tt.want != ddi.OK {
				assert.Zero(t, b.drv.count("CreateResource"))
			}
		})
	}
}

func TestBufferDescription(t *testing.T) {
	b := newBench(t)
	plain, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 16, StructureByteStride: 4}, nil)
	require.NoError(t, err)
	assert.Zero(t, plain.GetDesc().StructureByteStride)
	desc := BufferDesc{ByteWidth: 16, BindFlags: BindShaderResource, MiscFlags: MiscBufferStructured, StructureByteStride: 8}
	structured, err := b.dev.CreateBuffer(desc, nil)
	require.NoError(t, err)
	assert.Equal(t, desc, structured.GetDesc())
	arg := b.drv.resources[id(&structured.obj)].arg
	assert.EqualValues(t, 8, arg.ByteStride)
	assert.Equal(t, []umddi.MipInfo{{TexelWidth: 16, TexelHeight: 1}}, arg.MipInfoList)
	dyn := b.drv.resources[id(&b.dynamic(BindVertexBuffer).obj)].arg
	assert.EqualValues(t, umddi.CPUWrite, dyn.MapFlags)
	both := b.drv.resources[id(&b.staging(CPUAccessRead|CPUAccessWrite).obj)].arg
	assert.EqualValues(t, umddi.CPUWrite|umddi.CPURead, both.MapFlags)
}

func TestCreateTexture2D(t *testing.T) {
	base := Texture2DDesc{Width: 4, Height: 4, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}}
	one := []SubresourceData{{SysMem: make([]byte, 64), SysMemPitch: 16}}
	for _, tt := range []struct {
		name   string
		change func(*Texture2DDesc)
		init   []SubresourceData
		want   ddi.HRESULT
	}{
		{"plain", func(d *Texture2DDesc) {}, nil, ddi.OK},
		{"no width", func(d *Texture2DDesc) { d.Width = 0 }, nil, ddi.EInvalidArg},
		{"no height", func(d *Texture2DDesc) { d.Height = 0 }, nil, ddi.EInvalidArg},
		{"the widest", func(d *Texture2DDesc) { d.Width, d.Height = 16384, 1 }, nil, ddi.OK},
		{"too wide", func(d *Texture2DDesc) { d.Width, d.Height = 16385, 1 }, nil, ddi.EInvalidArg},
		{"larger than memory", func(d *Texture2DDesc) { d.Width, d.Height, d.ArraySize = 16384, 16384, 3 }, nil, ddi.EInvalidArg},
		{"no slices", func(d *Texture2DDesc) { d.ArraySize = 0 }, nil, ddi.EInvalidArg},
		{"2048 slices", func(d *Texture2DDesc) { d.ArraySize = 2048 }, nil, ddi.OK},
		{"2049 slices", func(d *Texture2DDesc) { d.ArraySize = 2049 }, nil, ddi.EInvalidArg},
		{"the full chain", func(d *Texture2DDesc) { d.MipLevels = 3 }, nil, ddi.OK},
		{"a longer chain", func(d *Texture2DDesc) { d.MipLevels = 4 }, nil, ddi.EInvalidArg},
		{"a cube of 5", func(d *Texture2DDesc) { d.MiscFlags, d.ArraySize = MiscTextureCube, 5 }, nil, ddi.EInvalidArg},
		{"a cube of 6", func(d *Texture2DDesc) { d.MiscFlags, d.ArraySize = MiscTextureCube, 6 }, nil, ddi.OK},
		{"a cube of 7", func(d *Texture2DDesc) { d.MiscFlags, d.ArraySize = MiscTextureCube, 7 }, nil, ddi.EInvalidArg},
		{"a flat cube", func(d *Texture2DDesc) { d.MiscFlags, d.ArraySize, d.Height = MiscTextureCube, 6, 2 }, nil, ddi.EInvalidArg},
		{"generated mips", func(d *Texture2DDesc) { d.MiscFlags = 1 }, nil, ddi.EInvalidArg},
		{"no samples", func(d *Texture2DDesc) { d.SampleDesc.Count = 0 }, nil, ddi.EInvalidArg},
		{"15 samples", func(d *Texture2DDesc) { d.SampleDesc.Count = 15 }, nil, ddi.EInvalidArg},
		{"quality as many as levels", func(d *Texture2DDesc) { d.SampleDesc.Quality = 1 }, nil, ddi.EInvalidArg},
		{"unknown format", func(d *Texture2DDesc) { d.Format = dxgi.Unknown }, nil, ddi.EInvalidArg},
		{"a format that is not in the table", func(d *Texture2DDesc) { d.Format = 200 }, nil, ddi.EInvalidArg},
		{"a format that the driver lacks", func(d *Texture2DDesc) { d.Format = dxgi.R8UInt }, nil, ddi.EInvalidArg},
		{"a target that the driver lacks", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.A8UNorm, BindRenderTarget }, nil, ddi.EInvalidArg},
		{"the same without the flag", func(d *Texture2DDesc) { d.Format = dxgi.A8UNorm }, nil, ddi.OK},
		{"a vertex buffer", func(d *Texture2DDesc) { d.BindFlags = BindVertexBuffer }, nil, ddi.EInvalidArg},
		{"a render target", func(d *Texture2DDesc) { d.BindFlags = BindRenderTarget | BindShaderResource }, nil, ddi.OK},
		{"a typeless render target", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.R8G8B8A8Typeless, BindRenderTarget }, nil, ddi.OK},
		{"R9G9B9E5 as target", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.R9G9B9E5SharedExp, BindRenderTarget }, nil, ddi.EInvalidArg},
		{"D24S8 as depth", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.D24UNormS8UInt, BindDepthStencil }, nil, ddi.OK},
		{"D24S8 with SRV", func(d *Texture2DDesc) {
			d.Format, d.BindFlags = dxgi.D24UNormS8UInt, BindDepthStencil|BindShaderResource
		}, nil, ddi.EInvalidArg},
		{"D24S8 as target", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.D24UNormS8UInt, BindRenderTarget }, nil, ddi.EInvalidArg},
		{"D32 with SRV", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.D32Float, BindShaderResource }, nil, ddi.EInvalidArg},
		{"D32 as target", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.D32Float, BindRenderTarget }, nil, ddi.EInvalidArg},
		{"R32 typeless as depth with SRV", func(d *Texture2DDesc) {
			d.Format, d.BindFlags = dxgi.R32Typeless, BindDepthStencil|BindShaderResource
		}, nil, ddi.OK},
		{"RGBA8 as depth", func(d *Texture2DDesc) { d.BindFlags = BindDepthStencil }, nil, ddi.EInvalidArg},
		{"RGBA8 typeless as depth", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.R8G8B8A8Typeless, BindDepthStencil }, nil, ddi.EInvalidArg},
		{"depth and target", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.R32Typeless, BindDepthStencil|BindRenderTarget }, nil, ddi.EInvalidArg},
		{"UAV of a colour", func(d *Texture2DDesc) { d.BindFlags = BindUnorderedAccess }, nil, ddi.OK},
		{"UAV of SRGB", func(d *Texture2DDesc) { d.Format, d.BindFlags = dxgi.R8G8B8A8UNormSRGB, BindUnorderedAccess }, nil, ddi.EInvalidArg},
		{"dynamic", func(d *Texture2DDesc) {
			d.Usage, d.BindFlags, d.CPUAccessFlags = UsageDynamic, BindShaderResource, CPUAccessWrite
		}, nil, ddi.OK},
		{"dynamic with mips", func(d *Texture2DDesc) {
			d.Usage, d.BindFlags, d.CPUAccessFlags, d.MipLevels = UsageDynamic, BindShaderResource, CPUAccessWrite, 0
		}, nil, ddi.EInvalidArg},
		{"dynamic array", func(d *Texture2DDesc) {
			d.Usage, d.BindFlags, d.CPUAccessFlags, d.ArraySize = UsageDynamic, BindShaderResource, CPUAccessWrite, 2
		}, nil, ddi.EInvalidArg},
		{"data", func(d *Texture2DDesc) {}, one, ddi.OK},
		{"data of NULL", func(d *Texture2DDesc) {}, []SubresourceData{{}}, ddi.EInvalidArg},
		{"a row is missing", func(d *Texture2DDesc) {}, []SubresourceData{{SysMem: make([]byte, 63), SysMemPitch: 16}}, ddi.EInvalidArg},
		{"a pitch that is too large for the data", func(d *Texture2DDesc) {}, []SubresourceData{{SysMem: make([]byte, 64), SysMemPitch: 17}}, ddi.EInvalidArg},
		{"data of one subresource of two", func(d *Texture2DDesc) { d.ArraySize = 2 }, one, ddi.EInvalidArg},
		{"immutable needs data", func(d *Texture2DDesc) { d.Usage, d.BindFlags = UsageImmutable, BindShaderResource }, nil, ddi.EInvalidArg},
		{"immutable", func(d *Texture2DDesc) { d.Usage, d.BindFlags = UsageImmutable, BindShaderResource }, one, ddi.OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(f *fakeDriver, _ *Config) {
				f.noFormat[dxgi.R8UInt] = umddi.FormatTexture2D
				f.noFormat[dxgi.A8UNorm] = umddi.FormatRenderTarget
			})
			desc := base
			tt.change(&desc)
			_, err := b.dev.CreateTexture2D(desc, tt.init)
			check(t, tt.want, err)
		})
	}
}

func TestTextureDescription(t *testing.T) {
	b := newBench(t)
	full := b.texture(512, 512, 0, 1, dxgi.R8UNorm)
	assert.EqualValues(t, 10, full.GetDesc().MipLevels)
	arg := b.drv.resources[id(&full.obj)].arg
	assert.Equal(t, umddi.MipInfo{TexelWidth: 512, TexelHeight: 512}, arg.MipInfoList[0])
	assert.Equal(t, umddi.MipInfo{TexelWidth: 1, TexelHeight: 1}, arg.MipInfoList[9])
	wide := b.texture(8, 2, 0, 1, dxgi.R8UNorm)
	assert.Equal(t, []umddi.MipInfo{{TexelWidth: 8, TexelHeight: 2}, {TexelWidth: 4, TexelHeight: 1}, {TexelWidth: 2, TexelHeight: 1},
		{TexelWidth: 1, TexelHeight: 1}}, b.drv.resources[id(&wide.obj)].arg.MipInfoList)

	_, err := full.GetSurface()
	check(t, ddi.ENoInterface, err)
	_, err = b.texture(4, 4, 1, 2, dxgi.R8UNorm).GetSurface()
	check(t, ddi.ENoInterface, err)
	s, err := b.texture(4, 8, 1, 1, dxgi.R8UNorm).GetSurface()
	require.NoError(t, err)
	assert.Equal(t, SurfaceDesc{4, 8, dxgi.R8UNorm, dxgi.SampleDesc{Count: 1}}, s)
}

func TestInitialData(t *testing.T) {
	b := newBench(t)
	desc := Texture2DDesc{Width: 2, Height: 2, MipLevels: 2, ArraySize: 1, Format: dxgi.R8UNorm, SampleDesc: dxgi.SampleDesc{Count: 1}}
	tex, err := b.dev.CreateTexture2D(desc, []SubresourceData{
		{SysMem: []byte{1, 2, 0, 3, 4}, SysMemPitch: 3}, {SysMem: []byte{5}, SysMemPitch: 1},
	})
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3, 4}, b.drv.content(tex, 0))
	assert.Equal(t, []byte{5}, b.drv.content(tex, 1))
}

// TestFailedCreate makes each Create function of the driver fail. The error is
// returned and no Destroy follows.
func TestFailedCreate(t *testing.T) {
	for _, tt := range []struct {
		create, destroy string
		call            func(b *bench, tex *Texture2D) error
	}{
		{"CreateResource", "DestroyResource", func(b *bench, _ *Texture2D) error {
			_, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
			return err
		}},
		{"CreateResource", "DestroyResource", func(b *bench, tex *Texture2D) error {
			_, err := b.dev.CreateTexture2D(tex.GetDesc(), nil)
			return err
		}},
		{"CreateResource", "DestroyResource", func(b *bench, _ *Texture2D) error {
			_, err := b.dev.CreateSwapChain(SwapChainDesc{Width: 1, Height: 1, Format: dxgi.R8UNorm, BufferCount: 1})
			return err
		}},
		{"CreateRenderTargetView", "DestroyRenderTargetView", func(b *bench, tex *Texture2D) error {
			_, err := b.dev.CreateRenderTargetView(tex, nil)
			return err
		}},
		{"CreateQuery", "DestroyQuery", func(b *bench, _ *Texture2D) error {
			_, err := b.dev.CreateQuery(&QueryDesc{})
			return err
		}},
	} {
		for hr, want := range map[ddi.HRESULT]ddi.HRESULT{
			ddi.EOutOfMemory: ddi.EOutOfMemory, ddi.DDIDeviceRemoved: ddi.DXGIDeviceRemoved, ddi.EInvalidArg: ddi.DXGIDeviceRemoved,
		} {
			b := newBench(t)
			tex := b.texture(1, 1, 1, 1, dxgi.R8UNorm)
			b.drv.fail[tt.create] = hr
			check(t, want, tt.call(b, tex), "%s %v", tt.create, hr)
			assert.Zero(t, b.drv.count(tt.destroy))
			clear(b.drv.fail)
		}
	}
}

func TestSecondCreateOfASwapChainFails(t *testing.T) {
	b := newBench(t)
	n := 0
	b.drv.hook = func(_ *ddi.Thread, name string) {
		if name == "CreateResource" {
			if n++; n == 2 {
				b.drv.fail[name] = ddi.EOutOfMemory
			}
		}
	}
	_, err := b.dev.CreateSwapChain(SwapChainDesc{Width: 1, Height: 1, Format: dxgi.R8UNorm, BufferCount: 1})
	check(t, ddi.EOutOfMemory, err)
	assert.Equal(t, 1, b.drv.count("DestroyResource"))
}

func TestCreateRenderTargetView(t *testing.T) {
	const all = ^uint32(0)
	for _, tt := range []struct {
		name   string
		format dxgi.Format // of a texture of 3 mips, 4 slices
		desc   *RTVDesc
		want   *RTVDesc
	}{
		{"the entire resource", dxgi.R8G8B8A8UNorm, nil, &RTVDesc{dxgi.R8G8B8A8UNorm, RTVTexture2DArray, 0, 0, 4}},
		{"typeless needs a format", dxgi.R8G8B8A8Typeless, nil, nil},
		{"a member of the family", dxgi.R8G8B8A8Typeless, &RTVDesc{Format: dxgi.R8G8B8A8UNorm, ViewDimension: RTVTexture2D},
			&RTVDesc{dxgi.R8G8B8A8UNorm, RTVTexture2D, 0, 0, 1}},
		{"of another family", dxgi.R8G8B8A8Typeless, &RTVDesc{Format: dxgi.R32Float, ViewDimension: RTVTexture2D}, nil},
		{"a typed format is not cast", dxgi.R8G8B8A8UNorm, &RTVDesc{Format: dxgi.R8G8B8A8UNormSRGB, ViewDimension: RTVTexture2D}, nil},
		{"the last mip", dxgi.R8UNorm, &RTVDesc{ViewDimension: RTVTexture2D, MipSlice: 2}, &RTVDesc{dxgi.R8UNorm, RTVTexture2D, 2, 0, 1}},
		{"one mip too many", dxgi.R8UNorm, &RTVDesc{ViewDimension: RTVTexture2D, MipSlice: 3}, nil},
		{"slices 1 to 3", dxgi.R8UNorm, &RTVDesc{ViewDimension: RTVTexture2DArray, FirstArraySlice: 1, ArraySize: 3},
			&RTVDesc{dxgi.R8UNorm, RTVTexture2DArray, 0, 1, 3}},
		{"all remaining slices", dxgi.R8UNorm, &RTVDesc{ViewDimension: RTVTexture2DArray, FirstArraySlice: 2, ArraySize: all},
			&RTVDesc{dxgi.R8UNorm, RTVTexture2DArray, 0, 2, 2}},
		{"no slices", dxgi.R8UNorm, &RTVDesc{ViewDimension: RTVTexture2DArray}, nil},
		{"one slice too many", dxgi.R8UNorm, &RTVDesc{ViewDimension: RTVTexture2DArray, FirstArraySlice: 2, ArraySize: 3}, nil},
		{"a first slice too high", dxgi.R8UNorm, &RTVDesc{ViewDimension: RTVTexture2DArray, FirstArraySlice: 4, ArraySize: 1}, nil},
		{"no dimension", dxgi.R8UNorm, &RTVDesc{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			v, err := b.dev.CreateRenderTargetView(b.texture(4, 4, 3, 4, tt.format), tt.desc)
			if tt.want == nil {
				check(t, ddi.EInvalidArg, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, *tt.want, v.GetDesc())
			arg := b.drv.views[id(&v.obj)]
			assert.Equal(t, []uint32{tt.want.MipSlice, tt.want.FirstArraySlice, tt.want.ArraySize},
				[]uint32{arg.MipSlice, arg.FirstArraySlice, arg.ArraySize})
			assert.Equal(t, tt.want.Format, arg.Format)
		})
	}
}

func TestViewsOfWrongResources(t *testing.T) {
	b, other := newBench(t), newBench(t)
	plain, err := b.dev.CreateTexture2D(Texture2DDesc{Width: 1, Height: 1, MipLevels: 1, ArraySize: 1, Format: dxgi.R8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}}, nil)
	require.NoError(t, err)
	released := b.texture(1, 1, 1, 1, dxgi.R8UNorm)
	released.Release()
	for name, res := range map[string]Resource{
		"nothing": nil, "NULL": (*Texture2D)(nil), "a buffer": b.constant(), "no bind flag": plain, "released": released,
		"of another device": other.texture(1, 1, 1, 1, dxgi.R8UNorm),
	} {
		_, err := b.dev.CreateRenderTargetView(res, nil)
		check(t, ddi.EInvalidArg, err, name)
	}
}

func TestFormatSupport(t *testing.T) {
	b := newBench(t, func(f *fakeDriver, _ *Config) {
		f.noFormat[dxgi.R8UInt] = ^uint32(0)
		f.noFormat[dxgi.A8UNorm] = umddi.FormatRenderTarget
	})
	const tex = FormatSupportTexture2D | FormatSupportMip | FormatSupportCPULockable
	for _, tt := range []struct {
		f      dxgi.Format
		want   uint32
		hr     ddi.HRESULT
		levels uint32
	}{
		{dxgi.R8G8B8A8UNorm, tex | FormatSupportRenderTarget | FormatSupportCast, ddi.OK, 1},
		{dxgi.R8G8B8A8Typeless, tex | FormatSupportCast, ddi.OK, 0},
		{dxgi.R8UNorm, tex | FormatSupportRenderTarget, ddi.OK, 1},
		{dxgi.A8UNorm, tex, ddi.OK, 0},
		{dxgi.D24UNormS8UInt, tex | FormatSupportDepthStencil | FormatSupportCast, ddi.OK, 0},
		{dxgi.R9G9B9E5SharedExp, tex, ddi.OK, 0},
		{dxgi.R8UInt, 0, ddi.EFail, 0},
		{dxgi.Unknown, 0, ddi.EFail, 0},
		{500, 0, ddi.EFail, 0},
	} {
		got, err := b.dev.CheckFormatSupport(tt.f)
		check(t, tt.hr, err, tt.f)
		assert.Equal(t, tt.want, got, tt.f)
		levels, err := b.dev.CheckMultisampleQualityLevels(tt.f, 1)
		assert.NoError(t, err)
		assert.Equal(t, tt.levels, levels, tt.f)
	}
	levels, err := b.dev.CheckMultisampleQualityLevels(dxgi.R8UNorm, 4)
	assert.NoError(t, err)
	assert.Zero(t, levels)
	_, err = b.dev.CheckMultisampleQualityLevels(dxgi.R8UNorm, 0)
	check(t, ddi.EFail, err)
}
