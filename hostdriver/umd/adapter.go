// Package umd is the user-mode display driver: it records what the Direct3D
// runtime asks for as packets in a command buffer, with the allocation list and
// the patch list beside it, and hands them to the graphics kernel.
//
// Recording belongs to the immediate context's thread and enters the kernel
// only where memory is needed or a buffer is full. Create and Destroy functions
// are free-threaded. Nothing draws in this version: pipeline state is tracked
// and clears, copies, updates and queries go to the GPU.
//
// A deferred context records commands against the ids of the device's objects,
// in memory of its own, without a lock. A command list has them in the private
// memory of its handle and, behind that, in chunks. CommandListExecute carries
// them out like calls of the immediate context, so that nothing of a list is
// used any more when it returns, whatever the GPU has still to do.
//
// A list that a deferred context executes is copied into the recording, and not
// referred to. So a list takes the memory of all that is nested in it, each time
// it is: one that executes a list twice is twice as large, one that executes
// that one twice four times. The chunks of a list have at most 1 GiB, and a
// recording that would need more is lost, with E_OUTOFMEMORY.
package umd

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Bounds of what the miniport says of the width of a linear packet's byte count.
const (
	minLengthBits = 9
	maxLengthBits = 32
)

// An adapter is what stands behind an adapter handle.
type adapter struct {
	info    privdata.Adapter
	options Options
	maxCopy uint64 // most bytes of one COPY packet
}

// OpenAdapter is the entry of the driver, an umddi.OpenAdapterFunc. It asks the
// miniport what GPU it drives and fills the adapter's functions. It is what New
// returns for the zero Options.
//
//	DDI     OpenAdapter10_2, d3d10umddi.h
//	Caller  the runtime, once for each adapter handle
//	Out     Adapter.Driver, Funcs
//	Returns OK; DXGIUnsupported for another interface version; EFail if the
//	        miniport's data does not decode or is for another register map;
//	        what QueryAdapterInfoCb returned
func OpenAdapter(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	return openAdapter(t, arg, Options{Memory: heap{}})
}

func openAdapter(t *ddi.Thread, arg *umddi.OpenAdapter, o Options) ddi.HRESULT {
	if arg.Interface != umddi.Interface {
		return ddi.DXGIUnsupported
	}
	p := make([]byte, privdata.AdapterBytes)
	if hr := arg.Callbacks.QueryAdapterInfoCb(t, arg.RTAdapter, p); hr.Failed() {
		return hr
	}
	info, err := privdata.DecodeAdapter(p)
	if err != nil || info.MapHash != regmap.Hash() || info.Nodes == 0 ||
		info.LengthBits < minLengthBits || info.LengthBits > maxLengthBits {
		return ddi.EFail
	}
	arg.Adapter.Driver = &adapter{info: info, options: o, maxCopy: maxCopy(info)}
	*arg.Funcs = umddi.AdapterFuncs{
		CreateDevice:         createDevice,
		CloseAdapter:         closeAdapter,
		GetSupportedVersions: getSupportedVersions,
		GetCaps:              getCaps,
	}
	return ddi.OK
}

// closeAdapter drops the adapter. Its devices are destroyed before.
func closeAdapter(_ *ddi.Thread, h umddi.HAdapter) ddi.HRESULT {
	h.Driver = nil
	return ddi.OK
}

func getSupportedVersions(_ *ddi.Thread, _ umddi.HAdapter) ([]uint32, ddi.HRESULT) {
	return []uint32{umddi.Interface}, ddi.OK
}

// getCaps reports free-threaded creation and command lists, unless the options
// leave those to the runtime.
func getCaps(_ *ddi.Thread, h umddi.HAdapter, typ umddi.CapsType) (uint32, ddi.HRESULT) {
	if typ != umddi.CapsThreading {
		return 0, ddi.DXGIUnsupported
	}
	if h.Driver.(*adapter).options.EmulatedLists {
		return umddi.CapsFreeThreaded, ddi.OK
	}
	return umddi.CapsFreeThreaded | umddi.CapsCommandListsBuild2, ddi.OK
}

// maxCopy returns the most bytes of one COPY packet: the largest count that the
// GPU takes, rounded down so that the pieces of a longer copy stay aligned.
func maxCopy(info privdata.Adapter) uint64 {
	return (1<<info.LengthBits - 1) &^ (subresourceAlign - 1)
}
