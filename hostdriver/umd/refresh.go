package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// split submits a full batch in the middle of recording, and refreshes what the
// next one begins with.
func (d *device) split(t *ddi.Thread) ddi.HRESULT {
	hr := d.submit(t)
	if !hr.Failed() {
		d.refresh(t)
	}
	return hr
}

// refresh has the runtime set all pipeline state once more, so that what the
// driver has of it in front of a batch is what the runtime says, and not what
// was left of the batch before. During CommandListExecute that is the state
// before it, which ends with it. The GPU needs no packets for it: a group sets
// the surfaces it uses and its predicate itself.
//
//	DDI     pfnStateIaPrimitiveTopologyCb and its like, d3d10umddi.h; a nil one
//	        is passed over
//	Order   behind pfnPerformAmortizedProcessingCb, which submit calls
//	Source  learn.microsoft.com, "State-Refresh Callback Functions"
func (d *device) refresh(t *ddi.Thread) {
	cb, all := d.um, umddi.Range{Base: 0, Count: -1}
	for _, one := range [...]func(*ddi.Thread, umddi.HRTCoreLayer){
		cb.StateIaPrimitiveTopologyCb, cb.StateIaIndexBufCb, cb.StateOmRenderTargetsCb,
		cb.StateRsViewportsCb, cb.StateRsScissorCb,
	} {
		if one != nil {
			one(t, d.core)
		}
	}
	for _, slots := range [...]func(*ddi.Thread, umddi.HRTCoreLayer, umddi.Range){
		cb.StateIaVertexBufCb, cb.StateVsConstBufCb, cb.StateHsConstBufCb, cb.StateDsConstBufCb,
		cb.StateGsConstBufCb, cb.StatePsConstBufCb, cb.StateCsConstBufCb,
	} {
		if slots != nil {
			slots(t, d.core, all)
		}
	}
}
