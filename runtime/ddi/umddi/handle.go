// Package umddi declares the user-mode device driver interface of Direct3D
// 11.0: the functions of a user-mode display driver that the runtime
// (runtime/d3d11) calls, and the callbacks of the runtime. It contains only
// data.
package umddi

import "github.com/hilgpu/hilgpu/runtime/ddi"

// Driver handles: the runtime owns their memory and the driver its content. The
// zero value is no object.
type (
	HAdapter          struct{ *ddi.Root }   // D3D10DDI_HADAPTER
	HDevice           struct{ *ddi.Root }   // D3D10DDI_HDEVICE
	HResource         struct{ *ddi.Object } // D3D10DDI_HRESOURCE
	HRenderTargetView struct{ *ddi.Object } // D3D10DDI_HRENDERTARGETVIEW
	HQuery            struct{ *ddi.Object } // D3D10DDI_HQUERY
	HCommandList      struct{ *ddi.Object } // D3D11DDI_HCOMMANDLIST
)

// Runtime handles, which the driver passes to callbacks. They are opaque to the
// driver.
type (
	HRTAdapter          struct{ Runtime any } // D3D10DDI_HRTADAPTER
	HRTDevice           struct{ Runtime any } // D3D10DDI_HRTDEVICE
	HRTCoreLayer        struct{ Runtime any } // D3D10DDI_HRTCORELAYER
	HRTResource         struct{ Runtime any } // D3D10DDI_HRTRESOURCE
	HRTRenderTargetView struct{ Runtime any } // D3D10DDI_HRTRENDERTARGETVIEW
	HRTQuery            struct{ Runtime any } // D3D10DDI_HRTQUERY
	HRTCommandList      struct{ Runtime any } // D3D11DDI_HRTCOMMANDLIST
	DXGIContext         struct{ Runtime any } // pDXGIContext
)

// OpenAdapter is D3D10DDIARG_OPENADAPTER. The driver sets Adapter.Driver and
// fills in Funcs.
type OpenAdapter struct {
	RTAdapter HRTAdapter
	Adapter   HAdapter
	Interface uint32 // Interface
	Callbacks *AdapterCallbacks
	Funcs     *AdapterFuncs
}

// OpenAdapterFunc is OpenAdapter10_2, the entry point of a user-mode display
// driver.
type OpenAdapterFunc func(t *ddi.Thread, arg *OpenAdapter) ddi.HRESULT

// Interface is D3D11_0_DDI_INTERFACE_VERSION: major 11, minor 10.
const Interface = 11<<16 | 10

// AdapterFuncs is D3D10_2DDI_ADAPTERFUNCS. Field X is pfnX.
type AdapterFuncs struct {
	CreateDevice func(t *ddi.Thread, h HAdapter, arg *CreateDevice) ddi.HRESULT
	CloseAdapter func(t *ddi.Thread, h HAdapter) ddi.HRESULT

	// GetSupportedVersions returns the interface versions of the driver.
	GetSupportedVersions func(t *ddi.Thread, h HAdapter) ([]uint32, ddi.HRESULT)

	// GetCaps returns D3D11DDI_THREADING_CAPS for CapsThreading and
	// DXGIUnsupported for other types.
	GetCaps func(t *ddi.Thread, h HAdapter, typ CapsType) (uint32, ddi.HRESULT)
}

// CapsType is D3D10_2DDICAPS_TYPE.
type CapsType uint32

// CapsThreading is D3D11DDICAPS_THREADING.
const CapsThreading CapsType = 1

// The threading capabilities (D3D11DDI_THREADING_CAPS).
const (
	CapsFreeThreaded       = 0x1
	CapsCommandLists       = 0x2
	CapsCommandListsBuild2 = 0x4
)

// AdapterCallbacks is D3DDDI_ADAPTERCALLBACKS. Field X is pfnX.
type AdapterCallbacks struct {
	// QueryAdapterInfoCb fills p with the miniport's private data.
	QueryAdapterInfoCb func(t *ddi.Thread, h HRTAdapter, p []byte) ddi.HRESULT
}

// CreateDevice is D3D10DDIARG_CREATEDEVICE. The driver sets Device.Driver and
// fills in DeviceFuncs and DXGIFuncs. The callback tables belong to the
// runtime, which may change their fields at any time: the driver must keep the
// pointers and not copy the tables.
type CreateDevice struct {
	RTDevice      HRTDevice
	RTCoreLayer   HRTCoreLayer
	Device        HDevice
	Interface     uint32
	Flags         uint32
	KTCallbacks   *DeviceCallbacks
	UMCallbacks   *CoreLayerCallbacks
	DXGICallbacks *DXGIBaseCallbacks
	DeviceFuncs   *DeviceFuncs
	DXGIFuncs     *DXGIBaseFuncs
}

// FlagSingleThreaded is D3D11DDI_CREATEDEVICE_FLAG_SINGLETHREADED.
const FlagSingleThreaded = 0x10
