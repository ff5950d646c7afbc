package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
)

// maxEscape is the largest private data of an escape, in bytes.
const maxEscape = 1 << 20

// escapeThunk gives private data to the miniport, which may change them.
//
//	DDI     DxgkDdiEscape, at PASSIVE_LEVEL. With HardwareAccess all work has completed
//	        before, and no other thread is in the miniport: the second level of "Threading and
//	        Synchronization"
//	In      arg.Device and arg.Context, 0 for none. The miniport gets a copy of the data
//	Out     arg.PrivateDriverData, if the miniport returned StatusSuccess
//	Returns the status of the miniport; StatusNotSupported if it has no such function;
//	        StatusInvalidHandle; StatusInvalidParameter for a context of another device, and for
//	        more than 1 MiB of data; the status of a GPU that has stopped
func (k *Kernel) escapeThunk(t *ddi.Thread, arg *kmt.Escape) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() {
		return s
	}
	if k.driver.Escape == nil {
		return ddi.StatusNotSupported
	}
	in := kmddi.Escape{Flags: arg.Flags}
	if arg.Device != 0 {
		d, ok := k.take(t, &v, arg.Device)
		if !ok {
			return ddi.StatusInvalidHandle
		}
		in.Device = d.driver
	}
	if arg.Context != 0 {
		c, ok := k.handles.get(arg.Context).(*context)
		switch {
		case !ok || c.device.system:
			return ddi.StatusInvalidHandle
		case c.device.handle != arg.Device:
			return ddi.StatusInvalidParameter
		}
		in.Context = c.driver
	}
	if len(arg.PrivateDriverData) > maxEscape {
		return ddi.StatusInvalidParameter
	}
	if arg.Flags.HardwareAccess {
		if s := k.drain(t); s.Failed() {
			return s
		}
	}
	in.PrivateDriverData = slices.Clone(arg.PrivateDriverData)
	s := k.driver.Escape(t, k.adapter, in)
	if s == ddi.StatusSuccess {
		copy(arg.PrivateDriverData, in.PrivateDriverData)
	}
	return s
}
