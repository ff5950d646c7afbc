// Package kmddi declares the kernel-mode device driver interface of WDDM 1.3:
// what the graphics kernel (runtime/dxgkrnl) calls in a display miniport
// driver, and what the miniport calls back. It is data only.
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

// HDxgkrnl names the adapter in the miniport's calls to the kernel
// (DeviceHandle of DXGKRNL_INTERFACE). Only the kernel looks inside.
type HDxgkrnl struct{ System any }

// HMapping is a range of a BAR that DxgkCbMapMemory returned. Only the kernel
// looks inside.
type HMapping struct{ System any }

// DriverEntry fills in the miniport's table, as a miniport's DriverEntry does
// with DRIVER_INITIALIZATION_DATA before it calls DxgkInitialize.
type DriverEntry func() DriverInitializationData
