package d3d11

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// missingThunk returns the name of the first missing thunk, or "".
func missingThunk(k *kmt.Thunks) string {
	return missing(entry{"QueryAdapterInfo", k.QueryAdapterInfo != nil},
		entry{"CreateDevice", k.CreateDevice != nil}, entry{"DestroyDevice", k.DestroyDevice != nil},
		entry{"CreateContext", k.CreateContext != nil}, entry{"DestroyContext", k.DestroyContext != nil},
		entry{"CreateAllocation", k.CreateAllocation != nil}, entry{"DestroyAllocation", k.DestroyAllocation != nil},
		entry{"Lock", k.Lock != nil}, entry{"Unlock", k.Unlock != nil},
		entry{"SetAllocationPriority", k.SetAllocationPriority != nil},
		entry{"OfferAllocations", k.OfferAllocations != nil}, entry{"ReclaimAllocations", k.ReclaimAllocations != nil}, entry{"Render", k.Render != nil},
		entry{"Present", k.Present != nil}, entry{"WaitForIdle", k.WaitForIdle != nil})
}

// An entry is a required entry of a table.
type entry struct {
	name    string // as in the WDK, or the name of a thunk
	present bool
}

// missing returns the name of the first missing entry, or "".
func missing(all ...entry) string {
	for _, e := range all {
		if !e.present {
			return e.name
		}
	}
	return ""
}

// deviceEntries are the entries required in a device's table.
func deviceEntries(f *umddi.DeviceFuncs) []entry {
	return append([]entry{
		{"pfnCalcPrivateResourceSize", f.CalcPrivateResourceSize != nil},
		{"pfnCalcPrivateRenderTargetViewSize", f.CalcPrivateRenderTargetViewSize != nil},
		{"pfnCalcPrivateQuerySize", f.CalcPrivateQuerySize != nil},
		{"pfnStagingResourceMap", f.StagingResourceMap != nil},
		{"pfnStagingResourceUnmap", f.StagingResourceUnmap != nil},
		{"pfnQueryGetData", f.QueryGetData != nil},
		{"pfnFlush", f.Flush != nil},
		{"pfnCheckFormatSupport", f.CheckFormatSupport != nil},
		{"pfnCheckMultisampleQualityLevels", f.CheckMultisampleQualityLevels != nil},
	}, contextEntries(f)...)
}

// contextEntries are the entries required for immediate and deferred contexts.
func contextEntries(f *umddi.DeviceFuncs) []entry {
	return []entry{
		{"pfnCreateResource", f.CreateResource != nil},
		{"pfnDestroyResource", f.DestroyResource != nil},
		{"pfnDynamicResourceMapDiscard", f.DynamicResourceMapDiscard != nil},
		{"pfnDynamicResourceUnmap", f.DynamicResourceUnmap != nil},
		{"pfnDynamicIABufferMapDiscard", f.DynamicIABufferMapDiscard != nil},
		{"pfnDynamicIABufferMapNoOverwrite", f.DynamicIABufferMapNoOverwrite != nil},
		{"pfnDynamicIABufferUnmap", f.DynamicIABufferUnmap != nil},
		{"pfnDynamicConstantBufferMapDiscard", f.DynamicConstantBufferMapDiscard != nil},
		{"pfnDynamicConstantBufferUnmap", f.DynamicConstantBufferUnmap != nil},
		{"pfnResourceUpdateSubresourceUP", f.ResourceUpdateSubresourceUP != nil},
		{"pfnResourceCopy", f.ResourceCopy != nil},
		{"pfnResourceCopyRegion", f.ResourceCopyRegion != nil},
		{"pfnCreateRenderTargetView", f.CreateRenderTargetView != nil},
		{"pfnDestroyRenderTargetView", f.DestroyRenderTargetView != nil},
		{"pfnClearRenderTargetView", f.ClearRenderTargetView != nil},
		{"pfnCreateQuery", f.CreateQuery != nil},
		{"pfnDestroyQuery", f.DestroyQuery != nil},
		{"pfnQueryEnd", f.QueryEnd != nil},
		{"pfnIaSetTopology", f.IaSetTopology != nil},
		{"pfnIaSetVertexBuffers", f.IaSetVertexBuffers != nil},
		{"pfnIaSetIndexBuffer", f.IaSetIndexBuffer != nil},
		{"pfnVsSetConstantBuffers", f.VsSetConstantBuffers != nil},
		{"pfnHsSetConstantBuffers", f.HsSetConstantBuffers != nil},
		{"pfnDsSetConstantBuffers", f.DsSetConstantBuffers != nil},
		{"pfnGsSetConstantBuffers", f.GsSetConstantBuffers != nil},
		{"pfnPsSetConstantBuffers", f.PsSetConstantBuffers != nil},
		{"pfnCsSetConstantBuffers", f.CsSetConstantBuffers != nil},
		{"pfnSetRenderTargets", f.SetRenderTargets != nil},
		{"pfnSetViewports", f.SetViewports != nil},
		{"pfnSetScissorRects", f.SetScissorRects != nil},
		{"pfnDestroyDevice", f.DestroyDevice != nil},
	}
}

// listEntries are the command-list entries required in a device's table.
func listEntries(f *umddi.DeviceFuncs) []entry {
	return []entry{
		{"pfnCalcPrivateCommandListSize", f.CalcPrivateCommandListSize != nil},
		{"pfnCreateCommandList", f.CreateCommandList != nil},
		{"pfnRecycleCreateCommandList", f.RecycleCreateCommandList != nil},
		{"pfnDestroyCommandList", f.DestroyCommandList != nil},
		{"pfnRecycleDestroyCommandList", f.RecycleDestroyCommandList != nil},
		{"pfnCommandListExecute", f.CommandListExecute != nil},
		{"pfnCalcPrivateDeferredContextSize", f.CalcPrivateDeferredContextSize != nil},
		{"pfnCreateDeferredContext", f.CreateDeferredContext != nil},
		{"pfnRecycleCreateDeferredContext", f.RecycleCreateDeferredContext != nil},
		{"pfnCheckDeferredContextHandleSizes", f.CheckDeferredContextHandleSizes != nil},
		{"pfnCalcDeferredContextHandleSize", f.CalcDeferredContextHandleSize != nil},
	}
}

// missingDeferred returns the first required entry that a deferred context's
// table lacks, or "".
func (d *Device) missingDeferred(f *umddi.DeviceFuncs) string {
	return missing(append(contextEntries(f),
		entry{"pfnSetPredication", !d.predicates || f.SetPredication != nil},
		entry{"pfnQueryBegin", !d.predicates || f.QueryBegin != nil},
		entry{"pfnCreateCommandList", f.CreateCommandList != nil},
		entry{"pfnDestroyCommandList", f.DestroyCommandList != nil},
		entry{"pfnRecycleCommandList", f.RecycleCommandList != nil},
		entry{"pfnCommandListExecute", f.CommandListExecute != nil},
		entry{"pfnAbandonCommandList", f.AbandonCommandList != nil})...)
}

// readHandleSizes asks the driver twice for the sizes of context-local handles.
// It reports false if the answers are inconsistent.
func (d *Device) readHandleSizes() bool {
	k := d.immediate.call
	n := d.funcs.CheckDeferredContextHandleSizes(k.begin("pfnCheckDeferredContextHandleSizes", 0), d.h, nil)
	if k.end() != ddi.OK {
		return false
	}
	if !privateSize(n) {
		k.contractBroken("returned %d sizes, want 0 to %d", n, maxPrivate)
		return false
	}
	d.localSizes = make([]umddi.HandleSize, n)
	again := d.funcs.CheckDeferredContextHandleSizes(k.begin("pfnCheckDeferredContextHandleSizes", 0), d.h, d.localSizes)
	if k.end() != ddi.OK {
		return false
	}
	if again != n {
		k.contractBroken("returned %d sizes, then %d", n, again)
		return false
	}
	for _, s := range d.localSizes {
		if !privateSize(s.Size) {
			k.contractBroken("returned a handle size of %d, want 0 to %d", s.Size, maxPrivate)
			return false
		}
	}
	return true
}

// localSize asks for the size of context-local handles of a new object. A size
// that readHandleSizes did not return breaks the contract.
//
//	DDI     pfnCalcDeferredContextHandleSize
func (k *call) localSize(typ umddi.HandleType, o *ddi.Object) (int, ddi.HRESULT) {
	d := k.dev
	if !d.native {
		return 0, ddi.OK
	}
	n := d.funcs.CalcDeferredContextHandleSize(k.begin("pfnCalcDeferredContextHandleSize", 0), d.h, typ, o)
	if hr := k.end(); hr != ddi.OK {
		return 0, hr
	}
	if !slices.Contains(d.localSizes, umddi.HandleSize{Type: typ, Size: n}) {
		return 0, k.contractBroken("returned %d, which pfnCheckDeferredContextHandleSizes did not", n)
	}
	return n, ddi.OK
}
