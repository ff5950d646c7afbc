package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// SwapChainDesc is DXGI_SWAP_CHAIN_DESC without window and display mode.
type SwapChainDesc struct {
	Width, Height uint32 // pixels
	Format        dxgi.Format
	BufferCount   uint32 // must be 1
}

// PresentTest is DXGI_PRESENT_TEST: Present only returns the device's state.
const PresentTest = 1

// maxSyncInterval is the largest sync interval of Present, in frames.
const maxSyncInterval = 4

// A SwapChain is IDXGISwapChain with one back buffer, which Present copies to
// the primary (a blit, DXGI_SWAP_EFFECT_DISCARD). Its creation, its methods and
// the release of its primary must run on the immediate context's goroutine.
type SwapChain struct {
	child

	desc    SwapChainDesc
	back    *Texture2D
	primary *Texture2D
}

// CreateSwapChain creates a back buffer that is a render target, and a primary.
//
//	DDI     pfnCreateResource, twice, the second with Primary
//	Returns EInvalidArg if the size is 0, the format is not renderable or
//	        BufferCount is not 1; EOutOfMemory; DXGIDeviceRemoved
func (d *Device) CreateSwapChain(desc SwapChainDesc) (*SwapChain, error) {
	if d.removed() {
		return nil, ddi.DXGIDeviceRemoved
	}
	if desc.BufferCount != 1 || !d.renderable(desc.Format) {
		return nil, ddi.EInvalidArg
	}
	texture := Texture2DDesc{
		Width: desc.Width, Height: desc.Height, MipLevels: 1, ArraySize: 1,
		Format: desc.Format, SampleDesc: dxgi.SampleDesc{Count: 1},
	}
	primary, err := d.createTexture(texture, nil, true, true)
	if err != nil {
		return nil, err
	}
	texture.BindFlags = BindRenderTarget
	back, err := d.createTexture(texture, nil, false, true)
	if err != nil {
		primary.Release()
		return nil, err
	}
	s := &SwapChain{desc: desc, back: back, primary: primary}
	for _, t := range []*Texture2D{back, primary} {
		t.hold()
		t.Release()
	}
	s.adopt(d, s)
	return s, nil
}

// GetDesc returns the description of the swap chain.
func (s *SwapChain) GetDesc() SwapChainDesc { return s.desc }

// GetBuffer returns a reference to the back buffer. An index other than 0 is
// EInvalidArg; a released swap chain is DXGIInvalidCall.
func (s *SwapChain) GetBuffer(i uint32) (*Texture2D, error) {
	if !s.usable(s.dev) {
		return nil, ddi.DXGIInvalidCall
	}
	if i != 0 {
		return nil, ddi.EInvalidArg
	}
	s.back.addRef()
	return s.back, nil
}

// GetPrimary returns a reference to the primary, which holds the last presented
// frame and can be copied from. Direct3D has no such method; it replaces
// scan-out, which is not supported. A released swap chain is DXGIInvalidCall.
func (s *SwapChain) GetPrimary() (*Texture2D, error) {
	if !s.usable(s.dev) {
		return nil, ddi.DXGIInvalidCall
	}
	s.primary.addRef()
	return s.primary, nil
}

// Present copies the back buffer to the primary, after all earlier work.
//
//	DDI     pfnPresent, dxgiddi.h
//	In      syncInterval: 0 to 4; ignored, since there is no scan-out. flags: 0
//	        or PresentTest
//	Returns DXGIInvalidCall for other arguments, EOutOfMemory,
//	        DXGIStillDrawing, DXGIDeviceRemoved
func (s *SwapChain) Present(syncInterval, flags uint32) error {
	d := s.dev
	switch {
	case d.removed():
		return ddi.DXGIDeviceRemoved
	case !s.usable(d) || syncInterval > maxSyncInterval || flags&^PresentTest != 0:
		return ddi.DXGIInvalidCall
	case flags == PresentTest:
		return nil
	}
	k := d.immediate.call
	t := k.begin(maySet)
	k.presenting = true
	hr := d.dxgiFuncs.Present(t, umddi.Present{
		Device:           d.h,
		SurfaceToPresent: s.back.handle(),
		DstResource:      s.primary.handle(),
		DXGIContext:      umddi.DXGIContext{Runtime: d},
	})
	k.presenting = false
	return result(d.presented(k, hr))
}

// presented ends Present, which returned hr.
func (d *Device) presented(k *call, hr ddi.HRESULT) ddi.HRESULT {
	if reported := k.end(); reported != ddi.OK {
		return reported
	}
	switch {
	case hr == ddi.DDIDeviceRemoved:
		d.remove(d.lost())
		return ddi.DXGIDeviceRemoved
	case hr == ddi.EOutOfMemory || hr == ddi.DDIStillDrawing:
		return apiResult(hr)
	case hr.Failed():
		return k.contractBroken()
	}
	return ddi.OK
}

func (s *SwapChain) destroy() {
	s.back.drop()
	s.primary.drop()
}
