package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Bits of CheckFormatSupport (D3D11_FORMAT_SUPPORT). Other bits are never set.
const (
	FormatSupportTexture2D    = 0x20
	FormatSupportMip          = 0x1000
	FormatSupportRenderTarget = 0x4000
	FormatSupportDepthStencil = 0x10000
	FormatSupportCPULockable  = 0x20000
	FormatSupportCast         = 0x100000 // CAST_WITHIN_BIT_LAYOUT: copies within a typeless family
)

// CheckFormatSupport returns the FormatSupport bits of f. It returns EFail if
// the driver or this version does not support f.
//
//	DDI     pfnCheckFormatSupport, called at device creation
func (d *Device) CheckFormatSupport(f dxgi.Format) (uint32, error) {
	const api = "CheckFormatSupport"
	if d.removed() {
		return 0, d.gone(nil, api)
	}
	info, ok := d.textureFormat(f)
	if !ok {
		p := problemf(MessageCheckFormatSupportNotSupported, "Format is %v (%d), which is not supported", f, f)
		return 0, d.failed(nil, api, ddi.EFail, p, nil)
	}
	n := uint32(FormatSupportTexture2D | FormatSupportMip | FormatSupportCPULockable)
	if d.renderable(f) {
		n |= FormatSupportRenderTarget
	}
	if info.Kind == dxgi.Depth {
		n |= FormatSupportDepthStencil
	}
	if family, _ := info.Family.Info(); family.Kind == dxgi.Typeless {
		n |= FormatSupportCast
	}
	return n, nil
}

// CheckMultisampleQualityLevels returns the number of quality levels of f with
// count samples per texel: the driver's result for one sample, and 0 for more,
// which are not supported. Count 0 is EFail.
//
//	DDI     pfnCheckMultisampleQualityLevels
func (d *Device) CheckMultisampleQualityLevels(f dxgi.Format, count uint32) (uint32, error) {
	const api = "CheckMultisampleQualityLevels"
	switch {
	case d.removed():
		return 0, d.gone(nil, api)
	case count == 0:
		p := problem{MessageInvalidArgument, "SampleCount is 0, want at least 1"}
		return 0, d.failed(nil, api, ddi.EFail, p, nil)
	case count > 1 || !d.renderable(f):
		return 0, nil
	}
	k := d.acquireCall()
	defer d.releaseCall(k)
	k.enter(api)
	defer k.leave(api)
	n := d.funcs.CheckMultisampleQualityLevels(k.begin("pfnCheckMultisampleQualityLevels", 0), d.h, f, count)
	if hr := k.end(); hr != ddi.OK {
		return 0, k.failed(api, hr)
	}
	return n, nil
}

// has reports whether the driver reports any of the bits for f.
func (d *Device) has(f dxgi.Format, bits uint32) bool {
	return f < maxFormat && d.formats[f]&bits != 0
}

// textureFormat describes f if 2D textures may have it.
func (d *Device) textureFormat(f dxgi.Format) (dxgi.Info, bool) {
	info, ok := f.Info()
	return info, ok && d.has(f, umddi.FormatTexture2D)
}

// renderable reports whether a render target view may have format f.
func (d *Device) renderable(f dxgi.Format) bool {
	info, ok := f.Info()
	return ok && d.has(f, umddi.FormatRenderTarget) &&
		info.Kind != dxgi.Typeless && info.Kind != dxgi.Depth && info.Kind != dxgi.SharedExp
}

// anyMember reports whether f is typeless and fits holds for a typed member of
// its family.
func (d *Device) anyMember(f dxgi.Format, fits func(dxgi.Format) bool) bool {
	if info, ok := f.Info(); !ok || info.Kind != dxgi.Typeless {
		return false
	}
	for m := dxgi.Format(1); m < maxFormat; m++ {
		info, ok := m.Info()
		if ok && info.Family == f && m != f && fits(m) {
			return true
		}
	}
	return false
}

// bindAllowed reports whether a texture of format f may have the given bind
// flags. A typeless format may if a member of its family may.
func (d *Device) bindAllowed(f dxgi.Format, bind uint32) bool {
	depth := func(f dxgi.Format) bool {
		info, ok := f.Info()
		return ok && info.Kind == dxgi.Depth
	}
	typed := func(f dxgi.Format) bool {
		info, ok := f.Info()
		return ok && info.Kind != dxgi.Typeless && info.Kind != dxgi.UNormSRGB && info.Kind != dxgi.SharedExp
	}
	if depth(f) && bind&^BindDepthStencil != 0 {
		return false
	}
	if bind&BindRenderTarget != 0 && !d.renderable(f) && !d.anyMember(f, d.renderable) {
		return false
	}
	if bind&BindDepthStencil != 0 {
		if bind&(BindRenderTarget|BindUnorderedAccess) != 0 || !depth(f) && !d.anyMember(f, depth) {
			return false
		}
	}
	return bind&BindUnorderedAccess == 0 || typed(f) || d.anyMember(f, typed)
}

// copyCompatible reports whether elements of the two formats may be copied to
// each other: both are in one typeless family, or one is R9G9B9E5 and the other
// a colour format with a single 32-bit component.
//
//	Source  learn.microsoft.com, "Format Conversion using Direct3D 10.1"
func copyCompatible(a, b dxgi.Format) bool {
	ai, aok := a.Info()
	bi, bok := b.Info()
	if !aok || !bok {
		return false
	}
	if ai.Family == bi.Family {
		return true
	}
	word := func(i dxgi.Info) bool { return i.Family == dxgi.R32Typeless && i.Kind != dxgi.Depth }
	return a == dxgi.R9G9B9E5SharedExp && word(bi) || b == dxgi.R9G9B9E5SharedExp && word(ai)
}
