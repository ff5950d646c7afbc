package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// escape answers a tool: the value of a register, or the state of a node.
//
//	DDI     DxgkDdiEscape, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL
//	In      arg.PrivateDriverData: privdata.Escape. Neither operation needs
//	        arg.Flags.HardwareAccess
//	Out     arg.PrivateDriverData, with the result; unchanged on an error
//	Effect  reads a register; changes nothing
//	Returns StatusSuccess
//	        StatusInvalidHandle: a handle without a started adapter
//	        StatusInvalidParameter: data that does not decode, a register that the
//	        device does not have or that cannot be read, a node that it does not have
//	        the status of a failed callback
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_escape
func escape(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Escape) ddi.Status {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return ddi.StatusInvalidHandle
	}
	e, err := privdata.DecodeEscape(arg.PrivateDriverData)
	if err != nil {
		return ddi.StatusInvalidParameter
	}
	if e.Op == privdata.ReadNode {
		r, ok := a.ring(e.Argument)
		if !ok {
			return ddi.StatusInvalidParameter
		}
		submitted, reported := a.fencesOf(e.Argument, r)
		e.Result = privdata.Node{Submitted: submitted, Reported: reported, Busy: a.busy(e.Argument, r), Failed: r.Err() != nil}.Results()
	} else {
		if !a.readable(e.Argument) {
			return ddi.StatusInvalidParameter
		}
		v, s := a.regs.ReadRegister(t, e.Argument)
		if s != ddi.StatusSuccess {
			return s
		}
		e.Result = [5]uint32{v}
	}
	copy(arg.PrivateDriverData, e.Append(nil))
	return ddi.StatusSuccess
}

// fencesOf returns the last fences of a node that were submitted and reported.
func (a *adapter) fencesOf(node uint32, r *ring.Ring) (submitted, reported uint32) {
	if a.queues != nil {
		w := &a.queues.nodes[node]
		return w.job(w.next - 1).id, w.completed
	}
	return r.Submitted(), r.Completed()
}

// readable reports whether the device has a register that can be read.
func (a *adapter) readable(off uint32) bool {
	end := cpreg.Base + uint32(len(a.rings))*cpreg.Stride
	for _, e := range regmap.New().Entries() {
		if e.Off() == off {
			return off < end && e.In(a.caps.have) && e.Reg.Access != reg.WO
		}
	}
	return false
}
