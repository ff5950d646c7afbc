package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// split submits a full batch while recording, and refreshes the state for the
// next batch.
func (d *device) split(t *ddi.Thread) ddi.HRESULT {
	hr := d.submit(t)
	if !hr.Failed() {
		d.refresh(t)
	}
	return hr
}

// refresh makes the runtime set all pipeline state again, so that the driver
// starts a batch with the runtime's state instead of the state left by the
// previous batch. During CommandListExecute that is the earlier state, which
// ends with the call. The GPU needs no packets for it: each group sets its
// surfaces and its predicate itself.
//
//	DDI     pfnStateIaPrimitiveTopologyCb etc., d3d10umddi.h; nil callbacks are
//	        skipped
//	Order   after pfnPerformAmortizedProcessingCb, which submit calls
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
