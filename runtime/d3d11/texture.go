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
	return d.createTexture("CreateTexture2D", desc, init, false, false)
}

// createTexture creates a texture, which may be the primary or a source of
// Present, for a call of the API.
func (d *Device) createTexture(api string, desc Texture2DDesc, init []SubresourceData, primary, present bool) (*Texture2D, error) {
	if d.removed() {
		return nil, d.gone(nil, api)
	}
	info, ok := d.textureFormat(desc.Format)
	if !ok {
		return nil, d.refuse(nil, api, problemf(MessageCreateTexture2DUnsupportedFormat,
			"Format is %v (%d), want one that a 2D texture can have", desc.Format, desc.Format))
	}
	if p := desc.shapeProblem(); p.found() {
		return nil, d.refuse(nil, api, p)
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
	p := d.flagsProblem(&desc)
	if !p.found() && t.size() > maxResource {
		p = problemf(MessageCreateTexture2DInvalidDimensions, "the size is %d bytes, want at most %d", t.size(), maxResource)
	}
	if !p.found() {
		p = t.initialProblem(init).ofTexture()
	}
	if p.found() {
		return nil, d.refuse(nil, api, p)
	}
	if err := t.create(d, api, init, desc.MiscFlags, present); err != nil {
		return nil, err
	}
	t.adopt(d, t)
	return t, nil
}

// fullChain returns the number of mip levels down to 1x1.
func (desc *Texture2DDesc) fullChain() uint32 {
	return uint32(bits.Len32(max(desc.Width, desc.Height)))
}

// shapeProblem returns why sizes, samples or the cube flag are invalid.
func (desc *Texture2DDesc) shapeProblem() problem {
	const id = MessageCreateTexture2DInvalidDimensions
	p := first(limits(id, "Width", uint64(desc.Width), 1, maxTexture2D), limits(id, "Height", uint64(desc.Height), 1, maxTexture2D),
		limits(id, "ArraySize", uint64(desc.ArraySize), 1, maxLayers))
	if p.found() {
		return p
	}
	if n := desc.fullChain(); desc.MipLevels > n {
		return problemf(MessageCreateTexture2DInvalidMipLevels, "MipLevels is %d, want at most %d for %d x %d texels",
			desc.MipLevels, n, desc.Width, desc.Height)
	}
	if s := desc.SampleDesc; s != (dxgi.SampleDesc{Count: 1}) {
		return problemf(MessageCreateTexture2DInvalidSamples, "SampleDesc is {%d, %d}, want {1, 0}", s.Count, s.Quality)
	}
	switch desc.MiscFlags {
	case 0:
		return problem{}
	case MiscTextureCube:
		if desc.ArraySize%6 != 0 || desc.Width != desc.Height {
			return problemf(MessageCreateTexture2DInvalidMiscFlags,
				"a cube has ArraySize %d and %d x %d texels, want a multiple of 6 and a square", desc.ArraySize, desc.Width, desc.Height)
		}
		return problem{}
	}
	return problemf(MessageCreateTexture2DUnrecognizedMiscFlags, "MiscFlags is %#x, want 0 or %#x", desc.MiscFlags, MiscTextureCube)
}

// flagsProblem returns why usage, access and bind flags do not fit each other or
// the format. MipLevels is not 0.
func (d *Device) flagsProblem(desc *Texture2DDesc) problem {
	const binds = BindShaderResource | BindRenderTarget | BindDepthStencil | BindUnorderedAccess
	if desc.BindFlags&^binds != 0 {
		return problemf(MessageCreateTexture2DUnrecognizedBindFlags, "BindFlags is %#x, want bits of %#x", desc.BindFlags, binds)
	}
	if p := accessProblem(desc.Usage, desc.BindFlags, desc.CPUAccessFlags); p.found() {
		return p.ofTexture()
	}
	if desc.Usage == UsageDynamic && (desc.MipLevels != 1 || desc.ArraySize != 1) {
		return problemf(MessageCreateTexture2DInvalidDimensions, "a dynamic texture has MipLevels %d and ArraySize %d, want 1 and 1",
			desc.MipLevels, desc.ArraySize)
	}
	if !d.bindAllowed(desc.Format, desc.BindFlags) {
		return problemf(MessageCreateTexture2DInvalidBindFlags, "BindFlags is %#x, which format %v does not support",
			desc.BindFlags, desc.Format)
	}
	return problem{}
}

// ofTexture converts a problem of a buffer to that of a texture, whose messages
// are in the same order.
func (p problem) ofTexture() problem {
	if p.found() {
		p.id += MessageCreateTexture2DUnrecognizedUsage - MessageCreateBufferUnrecognizedUsage
	}
	return p
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
	if n := t.subresources(); n != 1 {
		p := problemf(MessageInvalidState, "the texture has %d subresources, want 1", n)
		return SurfaceDesc{}, t.dev.failed(nil, "GetSurface", ddi.ENoInterface, p, nil)
	}
	return SurfaceDesc{t.desc.Width, t.desc.Height, t.desc.Format, t.desc.SampleDesc}, nil
}
