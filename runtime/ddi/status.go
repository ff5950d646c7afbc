package ddi

import "fmt"

// Status is an NTSTATUS, the result of kernel-mode functions.
type Status uint32

// The status codes in use (ntstatus.h).
const (
	StatusSuccess               Status = 0
	StatusUnsuccessful          Status = 0xc0000001
	StatusInvalidHandle         Status = 0xc0000008
	StatusInvalidParameter      Status = 0xc000000d
	StatusNoSuchDevice          Status = 0xc000000e
	StatusNoMemory              Status = 0xc0000017
	StatusIllegalInstruction    Status = 0xc000001d
	StatusRevisionMismatch      Status = 0xc0000059
	StatusPrivilegedInstruction Status = 0xc0000096
	StatusInsufficientResources Status = 0xc000009a
	StatusDeviceNotReady        Status = 0xc00000a3
	StatusIOTimeout             Status = 0xc00000b5
	StatusNotSupported          Status = 0xc00000bb
	StatusInvalidUserBuffer     Status = 0xc00000e8
	StatusDeviceConfiguration   Status = 0xc0000182
	StatusIODeviceError         Status = 0xc0000185
	StatusDeviceRemoved         Status = 0xc00002b6

	StatusInsufficientDMABuffer Status = 0xc01e0001 // STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
	StatusCannotColorConvert    Status = 0xc01e0008 // STATUS_GRAPHICS_CANNOTCOLORCONVERT
	StatusDriverMismatch        Status = 0xc01e0009 // STATUS_GRAPHICS_DRIVER_MISMATCH
	StatusNoVideoMemory         Status = 0xc01e0100 // STATUS_GRAPHICS_NO_VIDEO_MEMORY
	StatusCantLockMemory        Status = 0xc01e0101 // STATUS_GRAPHICS_CANT_LOCK_MEMORY
	StatusAllocationBusy        Status = 0xc01e0102 // STATUS_GRAPHICS_ALLOCATION_BUSY
	StatusCantRenderLocked      Status = 0xc01e0111 // STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION
	StatusGPUExceptionOnDevice  Status = 0xc01e0200 // STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE
)

var statusNames = map[Status]string{
	StatusSuccess: "STATUS_SUCCESS", StatusUnsuccessful: "STATUS_UNSUCCESSFUL",
	StatusInvalidHandle: "STATUS_INVALID_HANDLE", StatusInvalidParameter: "STATUS_INVALID_PARAMETER",
	StatusNoSuchDevice: "STATUS_NO_SUCH_DEVICE", StatusNoMemory: "STATUS_NO_MEMORY", StatusIllegalInstruction: "STATUS_ILLEGAL_INSTRUCTION",
	StatusRevisionMismatch: "STATUS_REVISION_MISMATCH", StatusPrivilegedInstruction: "STATUS_PRIVILEGED_INSTRUCTION",
	StatusInsufficientResources: "STATUS_INSUFFICIENT_RESOURCES", StatusIOTimeout: "STATUS_IO_TIMEOUT",
	StatusDeviceNotReady: "STATUS_DEVICE_NOT_READY",
	StatusNotSupported:   "STATUS_NOT_SUPPORTED", StatusInvalidUserBuffer: "STATUS_INVALID_USER_BUFFER",
	StatusDeviceConfiguration: "STATUS_DEVICE_CONFIGURATION_ERROR", StatusIODeviceError: "STATUS_IO_DEVICE_ERROR",
	StatusDeviceRemoved: "STATUS_DEVICE_REMOVED", StatusInsufficientDMABuffer: "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER",
	StatusCannotColorConvert: "STATUS_GRAPHICS_CANNOTCOLORCONVERT",
	StatusDriverMismatch:     "STATUS_GRAPHICS_DRIVER_MISMATCH", StatusNoVideoMemory: "STATUS_GRAPHICS_NO_VIDEO_MEMORY",
	StatusCantLockMemory: "STATUS_GRAPHICS_CANT_LOCK_MEMORY", StatusAllocationBusy: "STATUS_GRAPHICS_ALLOCATION_BUSY",
	StatusCantRenderLocked: "STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION", StatusGPUExceptionOnDevice: "STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE",
}

// Error returns the name of the status. A failing Status can be used as an
// error.
func (s Status) Error() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("NTSTATUS 0x%08x", uint32(s))
}

// Failed reports whether s is an error.
func (s Status) Failed() bool { return s >= 0xc0000000 }

// HRESULT is the result of user-mode functions and of the API.
type HRESULT uint32

// The results in use (winerror.h, d3dukmdt.h, dxgiddi.h, d3d11.h).
const (
	OK    HRESULT = 0 // S_OK
	False HRESULT = 1 // S_FALSE

	ENotImpl     HRESULT = 0x80004001
	ENoInterface HRESULT = 0x80004002
	EFail        HRESULT = 0x80004005
	EOutOfMemory HRESULT = 0x8007000e
	EInvalidArg  HRESULT = 0x80070057

	DXGIInvalidCall   HRESULT = 0x887a0001
	DXGINotFound      HRESULT = 0x887a0002
	DXGIMoreData      HRESULT = 0x887a0003
	DXGIUnsupported   HRESULT = 0x887a0004
	DXGIDeviceRemoved HRESULT = 0x887a0005
	DXGIDeviceHung    HRESULT = 0x887a0006
	DXGIStillDrawing  HRESULT = 0x887a000a
	DXGIInternalError HRESULT = 0x887a0020
	D3D11MapNoDiscard HRESULT = 0x887c0004 // D3D11_ERROR_DEFERRED_CONTEXT_MAP_WITHOUT_INITIAL_DISCARD
	DDIStillDrawing   HRESULT = 0x887b0001 // DXGI_DDI_ERR_WASSTILLDRAWING
	DDIUnsupported    HRESULT = 0x887b0002 // DXGI_DDI_ERR_UNSUPPORTED
	DDIDeviceRemoved  HRESULT = 0x88760870 // D3DDDIERR_DEVICEREMOVED
	DDINotAvailable   HRESULT = 0x8876086a // D3DDDIERR_NOTAVAILABLE
)

var hresultNames = map[HRESULT]string{
	OK: "S_OK", False: "S_FALSE", ENotImpl: "E_NOTIMPL", ENoInterface: "E_NOINTERFACE", EFail: "E_FAIL", EOutOfMemory: "E_OUTOFMEMORY",
	EInvalidArg: "E_INVALIDARG", DXGIInvalidCall: "DXGI_ERROR_INVALID_CALL", DXGIUnsupported: "DXGI_ERROR_UNSUPPORTED",
	DXGINotFound: "DXGI_ERROR_NOT_FOUND", DXGIMoreData: "DXGI_ERROR_MORE_DATA",
	DXGIDeviceRemoved: "DXGI_ERROR_DEVICE_REMOVED", DXGIDeviceHung: "DXGI_ERROR_DEVICE_HUNG",
	DXGIStillDrawing: "DXGI_ERROR_WAS_STILL_DRAWING", DXGIInternalError: "DXGI_ERROR_DRIVER_INTERNAL_ERROR",
	D3D11MapNoDiscard: "D3D11_ERROR_DEFERRED_CONTEXT_MAP_WITHOUT_INITIAL_DISCARD", DDIStillDrawing: "DXGI_DDI_ERR_WASSTILLDRAWING",
	DDIUnsupported: "DXGI_DDI_ERR_UNSUPPORTED", DDIDeviceRemoved: "D3DDDIERR_DEVICEREMOVED", DDINotAvailable: "D3DDDIERR_NOTAVAILABLE",
}

// Error returns the name of the result. A failing HRESULT can be used as an
// error.
func (h HRESULT) Error() string {
	if n, ok := hresultNames[h]; ok {
		return n
	}
	return fmt.Sprintf("HRESULT 0x%08x", uint32(h))
}

// Failed reports whether h is an error.
func (h HRESULT) Failed() bool { return h >= 0x80000000 }
