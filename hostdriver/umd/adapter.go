// Package umd is the user-mode display driver. It translates calls of the
// Direct3D runtime to packets in a command buffer, with an allocation list and
// a patch list, and submits them to the graphics kernel. [OpenAdapter] is its entry
// point; the packets are those of package [github.com/hilgpu/hilgpu/rtl/abi/pkt].
//
// Recording must run on the immediate context's thread. It enters the kernel
// only to get memory or when a buffer is full. Recording on a deferred context
// does not enter it. Create and Destroy functions are free-threaded. Draws are
// not supported: pipeline state is tracked, and clears, copies, updates and
// queries go to the GPU.
//
// A deferred context records commands that refer to the device's objects by ID.
// It uses its own memory and no lock. A command list stores the commands in the
// private memory of its handle and, if they do not fit, in chunks.
// CommandListExecute processes them like calls of the immediate context. After
// it returns nothing of the list is used, even if the GPU has not finished.
//
// When a deferred context executes a list, the list's commands are copied into
// the recording. A list therefore uses memory for each execution of a nested
// list: a list that executes another one twice is twice as large. The chunks of
// a list are limited to 1 GiB; a recording that needs more is dropped with
// E_OUTOFMEMORY.
package umd

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Bounds of the byte count width of a linear packet, as reported by the
// miniport.
const (
	minLengthBits = 9
	maxLengthBits = 32
)

// An adapter is the object of an adapter handle.
type adapter struct {
	info    privdata.Adapter
	options Options
	maxCopy uint64 // maximum size of one COPY packet, in bytes
}

// OpenAdapter is the entry point of the driver, an umddi.OpenAdapterFunc. It
// asks the miniport for the GPU's properties and fills in the adapter's
// functions. New returns it for the zero Options.
//
//	DDI     OpenAdapter10_2, d3d10umddi.h
//	Caller  the runtime, once for each adapter handle
//	Out     Adapter.Driver, Funcs
//	Returns OK; DXGIUnsupported for another interface version; EFail if the
//	        miniport's data does not decode or is for another register map;
//	        the result of QueryAdapterInfoCb
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

// closeAdapter closes the adapter. The runtime has destroyed its devices.
func closeAdapter(_ *ddi.Thread, h umddi.HAdapter) ddi.HRESULT {
	h.Driver = nil
	return ddi.OK
}

func getSupportedVersions(_ *ddi.Thread, _ umddi.HAdapter) ([]uint32, ddi.HRESULT) {
	return []uint32{umddi.Interface}, ddi.OK
}

// getCaps reports free-threaded creation and, unless Options.EmulatedLists is
// set, command lists.
func getCaps(_ *ddi.Thread, h umddi.HAdapter, typ umddi.CapsType) (uint32, ddi.HRESULT) {
	if typ != umddi.CapsThreading {
		return 0, ddi.DXGIUnsupported
	}
	if h.Driver.(*adapter).options.EmulatedLists {
		return umddi.CapsFreeThreaded, ddi.OK
	}
	return umddi.CapsFreeThreaded | umddi.CapsCommandListsBuild2, ddi.OK
}

// maxCopy returns the maximum size of one COPY packet in bytes: the largest
// count that the GPU accepts, rounded down to keep the pieces of a longer copy
// aligned.
func maxCopy(info privdata.Adapter) uint64 {
	return (1<<info.LengthBits - 1) &^ (subresourceAlign - 1)
}
