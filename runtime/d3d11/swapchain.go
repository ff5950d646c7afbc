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
	const api = "CreateSwapChain"
	if d.removed() {
		return nil, d.gone(nil, api)
	}
	p := limits(MessageInvalidArgument, "BufferCount", uint64(desc.BufferCount), 1, 1)
	if !d.renderable(desc.Format) {
		p = problemf(MessageInvalidArgument, "Format is %v (%d), want one that a render target can have", desc.Format, desc.Format)
	}
	if p.found() {
		return nil, d.refuse(nil, api, p)
	}
	texture := Texture2DDesc{
		Width: desc.Width, Height: desc.Height, MipLevels: 1, ArraySize: 1,
		Format: desc.Format, SampleDesc: dxgi.SampleDesc{Count: 1},
	}
	primary, err := d.createTexture(api, texture, nil, true, true)
	if err != nil {
		return nil, err
	}
	texture.BindFlags = BindRenderTarget
	back, err := d.createTexture(api, texture, nil, false, true)
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
	const api = "GetBuffer"
	if p := s.misused(s.dev, MessageInvalidObject, "the swap chain"); p.found() {
		return nil, s.dev.failed(nil, api, ddi.DXGIInvalidCall, p, nil)
	}
	if p := limits(MessageInvalidArgument, "Buffer", uint64(i), 0, 0); p.found() {
		return nil, s.dev.refuse(nil, api, p)
	}
	s.back.addRef()
	return s.back, nil
}

// GetPrimary returns a reference to the primary, which holds the last presented
// frame and can be copied from. Direct3D has no such method; it replaces
// scan-out, which is not supported. A released swap chain is DXGIInvalidCall.
func (s *SwapChain) GetPrimary() (*Texture2D, error) {
	if p := s.misused(s.dev, MessageInvalidObject, "the swap chain"); p.found() {
		return nil, s.dev.failed(nil, "GetPrimary", ddi.DXGIInvalidCall, p, nil)
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
	if d.removed() {
		return d.gone(nil, "Present")
	}
	if p := s.presentProblem(syncInterval, flags); p.found() {
		return d.failed(nil, "Present", ddi.DXGIInvalidCall, p, nil)
	}
	if flags == PresentTest {
		return nil
	}
	k := d.immediate.call
	k.enter("Present")
	defer k.leave("Present")
	t := k.begin("pfnPresent", maySet)
	k.presenting = true
	hr := d.dxgiFuncs.Present(t, umddi.Present{
		Device:           d.h,
		SurfaceToPresent: s.back.handle(),
		DstResource:      s.primary.handle(),
		DXGIContext:      umddi.DXGIContext{Runtime: d},
	})
	k.presenting = false
	return k.failed("Present", d.presented(k, hr))
}

// presentProblem returns why the arguments of Present are invalid.
func (s *SwapChain) presentProblem(syncInterval, flags uint32) problem {
	p := s.misused(s.dev, MessageInvalidObject, "the swap chain")
	if !p.found() {
		p = limits(MessageInvalidArgument, "SyncInterval", uint64(syncInterval), 0, maxSyncInterval)
	}
	if !p.found() && flags&^PresentTest != 0 {
		p = problemf(MessageInvalidArgument, "Flags is %#x, want 0 or %#x", flags, PresentTest)
	}
	return p
}

// presented ends a function of DXGI, which returned hr.
func (d *Device) presented(k *call, hr ddi.HRESULT) ddi.HRESULT {
	if reported := k.end(); reported != ddi.OK {
		return reported
	}
	k.blame = k.entry
	switch {
	case hr == ddi.DDIDeviceRemoved:
		d.removeLost(k, k.entry+" returned "+hr.Error())
		return ddi.DXGIDeviceRemoved
	case hr == ddi.EOutOfMemory || hr == ddi.DDIStillDrawing:
		return apiResult(hr)
	case hr.Failed():
		return k.contractBroken("returned %v, want S_OK, %v, %v or %v", hr, ddi.EOutOfMemory, ddi.DDIStillDrawing, ddi.DDIDeviceRemoved)
	}
	return ddi.OK
}

func (s *SwapChain) destroy() {
	s.back.drop()
	s.primary.drop()
}
