package d3d11

import (
	"math/bits"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Texture2DDesc is D3D11_TEXTURE2D_DESC.
type Texture2DDesc struct {
	Width, Height  uint32 // texels, 1 to 16384
	MipLevels      uint32 // 0 means a full mip chain
	ArraySize      uint32 // 1 to 2048
	Format         dxgi.Format
	SampleDesc     dxgi.SampleDesc // must be {1, 0}
	Usage          Usage
	BindFlags      uint32 // Bind bits
	CPUAccessFlags uint32 // CPUAccess bits
	MiscFlags      uint32 // 0 or MiscTextureCube
}

// A Texture2D is ID3D11Texture2D. Subresource i is mip level i%MipLevels of
// array slice i/MipLevels.
type Texture2D struct {
	resource

	desc Texture2DDesc
}

// Limits of textures (d3d11.h).
const (
	maxTexture2D = 16384
	maxLayers    = 2048
)

// CreateTexture2D creates a texture. If init is not nil, the texture gets its
// data.
//
//	DDI     pfnCalcPrivateResourceSize, pfnCreateResource
//	In      desc: flags and format must be compatible and supported by the
//	        driver. init: one element per subresource, copied; required for an
//	        immutable texture
//	Returns EInvalidArg, EOutOfMemory, DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-d3d11-id3d11device-createtexture2d
func (d *Device) CreateTexture2D(desc Texture2DDesc, init []SubresourceData) (*Texture2D, error) {
	return d.createTexture(desc, init, false, false)
}

// createTexture creates a texture, which may be the primary or a source of
// Present.
func (d *Device) createTexture(desc Texture2DDesc, init []SubresourceData, primary, present bool) (*Texture2D, error) {
	if d.removed() {
		return nil, ddi.DXGIDeviceRemoved
	}
	info, ok := d.textureFormat(desc.Format)
	if !ok || !desc.shapeAllowed() {
		return nil, ddi.EInvalidArg
	}
	if desc.MipLevels == 0 {
		desc.MipLevels = desc.fullChain()
	}
	t := &Texture2D{desc: desc}
	t.resource = resource{
		dimension: umddi.Texture2D,
		usage:     desc.Usage,
		bind:      desc.BindFlags,
		access:    desc.CPUAccessFlags,
		format:    desc.Format,
		bytes:     uint32(info.Bytes),
		width:     desc.Width,
		height:    desc.Height,
		mips:      desc.MipLevels,
		layers:    desc.ArraySize,
		castable:  present && !primary,
		primary:   primary,
	}
	if !d.flagsAllowed(&desc) || t.size() > maxResource || !t.initialAllowed(init) {
		return nil, ddi.EInvalidArg
	}
	if hr := t.create(d, init, desc.MiscFlags, present); hr != ddi.OK {
		return nil, hr
	}
	t.adopt(d, t)
	return t, nil
}

// fullChain returns the number of mip levels down to 1x1.
func (desc *Texture2DDesc) fullChain() uint32 {
	return uint32(bits.Len32(max(desc.Width, desc.Height)))
}

// shapeAllowed checks sizes, samples and the cube flag.
func (desc *Texture2DDesc) shapeAllowed() bool {
	in := func(v, limit uint32) bool { return v >= 1 && v <= limit }
	if !in(desc.Width, maxTexture2D) || !in(desc.Height, maxTexture2D) || !in(desc.ArraySize, maxLayers) {
		return false
	}
	if desc.MipLevels > desc.fullChain() || desc.SampleDesc != (dxgi.SampleDesc{Count: 1}) {
		return false
	}
	switch desc.MiscFlags {
	case 0:
		return true
	case MiscTextureCube:
		return desc.ArraySize >= 6 && desc.ArraySize%6 == 0 && desc.Width == desc.Height
	}
	return false
}

// flagsAllowed checks that usage, access and bind flags are compatible with
// each other and the format. MipLevels is not 0.
func (d *Device) flagsAllowed(desc *Texture2DDesc) bool {
	const binds = BindShaderResource | BindRenderTarget | BindDepthStencil | BindUnorderedAccess
	if desc.BindFlags&^binds != 0 || !accessAllowed(desc.Usage, desc.BindFlags, desc.CPUAccessFlags) {
		return false
	}
	if desc.Usage == UsageDynamic && (desc.MipLevels != 1 || desc.ArraySize != 1) {
		return false
	}
	return d.bindAllowed(desc.Format, desc.BindFlags)
}

// size returns the size of all subresources in bytes.
func (r *resource) size() uint64 {
	var n uint64
	for level := range r.mips {
		w, h := r.extent(level)
		n += uint64(w) * uint64(h)
	}
	return n * uint64(r.bytes) * uint64(r.layers)
}

// GetDesc returns the description of the texture, with its number of mip
// levels.
func (t *Texture2D) GetDesc() Texture2DDesc { return t.desc }

func (t *Texture2D) core() *resource {
	if t == nil {
		return nil
	}
	return &t.resource
}

// SurfaceDesc is DXGI_SURFACE_DESC.
type SurfaceDesc struct {
	Width, Height uint32 // texels
	Format        dxgi.Format
	SampleDesc    dxgi.SampleDesc
}

// GetSurface returns the IDXGISurface description of the texture. A texture
// with more than one subresource is not a surface and returns ENoInterface.
func (t *Texture2D) GetSurface() (SurfaceDesc, error) {
	if t.subresources() != 1 {
		return SurfaceDesc{}, ddi.ENoInterface
	}
	return SurfaceDesc{t.desc.Width, t.desc.Height, t.desc.Format, t.desc.SampleDesc}, nil
}
