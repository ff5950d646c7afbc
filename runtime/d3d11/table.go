package d3d11

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func thunksComplete(k *kmt.Thunks) bool {
	return k.QueryAdapterInfo != nil && k.CreateDevice != nil && k.DestroyDevice != nil &&
		k.CreateContext != nil && k.DestroyContext != nil &&
		k.CreateAllocation != nil && k.DestroyAllocation != nil &&
		k.Lock != nil && k.Unlock != nil && k.Render != nil && k.Present != nil && k.WaitForIdle != nil
}

// funcsComplete says whether a device's table has what each driver must have.
func funcsComplete(f *umddi.DeviceFuncs) bool {
	return f.CalcPrivateResourceSize != nil && f.CalcPrivateRenderTargetViewSize != nil &&
		f.CalcPrivateQuerySize != nil && f.StagingResourceMap != nil && f.StagingResourceUnmap != nil &&
		f.QueryGetData != nil && f.Flush != nil &&
		f.CheckFormatSupport != nil && f.CheckMultisampleQualityLevels != nil &&
		contextFuncsComplete(f)
}

// contextFuncsComplete says whether a table has what both kinds of contexts use.
func contextFuncsComplete(f *umddi.DeviceFuncs) bool {
	return f.CreateResource != nil && f.DestroyResource != nil &&
		f.DynamicResourceMapDiscard != nil && f.DynamicResourceUnmap != nil &&
		f.DynamicIABufferMapDiscard != nil && f.DynamicIABufferMapNoOverwrite != nil &&
		f.DynamicIABufferUnmap != nil &&
		f.DynamicConstantBufferMapDiscard != nil && f.DynamicConstantBufferUnmap != nil &&
		f.ResourceUpdateSubresourceUP != nil && f.ResourceCopy != nil && f.ResourceCopyRegion != nil &&
		f.CreateRenderTargetView != nil && f.DestroyRenderTargetView != nil && f.ClearRenderTargetView != nil &&
		f.CreateQuery != nil && f.DestroyQuery != nil && f.QueryEnd != nil &&
		f.IaSetTopology != nil && f.IaSetVertexBuffers != nil && f.IaSetIndexBuffer != nil &&
		f.VsSetConstantBuffers != nil && f.HsSetConstantBuffers != nil && f.DsSetConstantBuffers != nil &&
		f.GsSetConstantBuffers != nil && f.PsSetConstantBuffers != nil && f.CsSetConstantBuffers != nil &&
		f.SetRenderTargets != nil && f.SetViewports != nil && f.SetScissorRects != nil &&
		f.DestroyDevice != nil
}

// listFuncsComplete says whether a device's table has the functions of command
// lists.
func listFuncsComplete(f *umddi.DeviceFuncs) bool {
	return f.CalcPrivateCommandListSize != nil && f.CreateCommandList != nil &&
		f.RecycleCreateCommandList != nil && f.DestroyCommandList != nil &&
		f.RecycleDestroyCommandList != nil && f.CommandListExecute != nil &&
		f.CalcPrivateDeferredContextSize != nil && f.CreateDeferredContext != nil &&
		f.RecycleCreateDeferredContext != nil &&
		f.CheckDeferredContextHandleSizes != nil && f.CalcDeferredContextHandleSize != nil
}

// deferredFuncsComplete says whether a deferred context's table has all that
// the driver's device offers.
func (d *Device) deferredFuncsComplete(f *umddi.DeviceFuncs) bool {
	return contextFuncsComplete(f) && (!d.predicates || f.SetPredication != nil && f.QueryBegin != nil) &&
		f.CreateCommandList != nil && f.DestroyCommandList != nil && f.RecycleCommandList != nil &&
		f.CommandListExecute != nil && f.AbandonCommandList != nil
}

// readHandleSizes asks the driver, twice, for the sizes of context-local
// handles. It is false if the answers do not fit each other.
func (d *Device) readHandleSizes() bool {
	k := d.immediate.call
	n := d.funcs.CheckDeferredContextHandleSizes(k.begin(0), d.h, nil)
	if k.end() != ddi.OK || n < 0 || n > maxPrivate {
		return false
	}
	d.localSizes = make([]umddi.HandleSize, n)
	again := d.funcs.CheckDeferredContextHandleSizes(k.begin(0), d.h, d.localSizes)
	if k.end() != ddi.OK || again != n {
		return false
	}
	for _, s := range d.localSizes {
		if !privateSize(s.Size) {
			return false
		}
	}
	return true
}

// localSize asks for the size of context-local handles of an object that has
// just been created. One that is not among those of readHandleSizes breaks the
// contract.
//
//	DDI     pfnCalcDeferredContextHandleSize
func (k *call) localSize(typ umddi.HandleType, o *ddi.Object) (int, ddi.HRESULT) {
	d := k.dev
	if !d.native {
		return 0, ddi.OK
	}
	n := d.funcs.CalcDeferredContextHandleSize(k.begin(0), d.h, typ, o)
	if hr := k.end(); hr != ddi.OK {
		return 0, hr
	}
	if !slices.Contains(d.localSizes, umddi.HandleSize{Type: typ, Size: n}) {
		return 0, k.broken()
	}
	return n, ddi.OK
}
