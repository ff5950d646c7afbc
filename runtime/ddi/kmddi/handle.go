// Package kmddi declares the kernel-mode device driver interface of WDDM 1.3:
// the functions of a display miniport driver that the graphics kernel
// (runtime/dxgkrnl) calls, and the callbacks of the kernel. It contains only
// data, and the layout of the commands of DxgkDdiRenderKm.
package kmddi

import "github.com/hilgpu/hilgpu/runtime/ddi"

// HAdapter is the miniport's device context (MiniportDeviceContext, hAdapter).
type HAdapter struct{ *ddi.Root }

// HDevice is the miniport's device (hDevice).
type HDevice struct{ *ddi.Root }

// HContext is the miniport's context (hContext).
type HContext struct{ *ddi.Root }

// HAllocation is the miniport's adapter-wide allocation (hAllocation of
// DXGKARG_CREATEALLOCATION).
type HAllocation struct{ *ddi.Root }

// HDeviceAllocation is the miniport's view of an allocation opened by one
// device (hDeviceSpecificAllocation).
type HDeviceAllocation struct{ *ddi.Root }

// HDxgkrnl identifies the adapter in the miniport's calls to the kernel
// (DeviceHandle of DXGKRNL_INTERFACE). It is opaque to the miniport.
type HDxgkrnl struct{ System any }

// HMapping is a range of a BAR returned by DxgkCbMapMemory. It is opaque to the
// miniport.
type HMapping struct{ System any }

// DriverEntry returns the miniport's table, which a WDK miniport's DriverEntry
// fills in as DRIVER_INITIALIZATION_DATA before it calls DxgkInitialize.
type DriverEntry func() DriverInitializationData
