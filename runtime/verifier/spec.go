package verifier

import (
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// results is a set of errors that a function may report through SetErrorCb.
type results uint8

const (
	removed results = 1 << iota // DDIDeviceRemoved
	memory                      // EOutOfMemory
	busy                        // DDIStillDrawing
)

var resultOf = []ddi.HRESULT{ddi.DDIDeviceRemoved, ddi.EOutOfMemory, ddi.DDIStillDrawing}

func (s results) has(hr ddi.HRESULT) bool {
	for i, r := range resultOf {
		if r == hr {
			return s&(1<<i) != 0
		}
	}
	return false
}

// String lists the results.
func (s results) String() string {
	var names []string
	for i, r := range resultOf {
		if s&(1<<i) != 0 {
			names = append(names, r.Error())
		}
	}
	if names == nil {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// A place is the set of threads on which a function may run.
type place uint8

const (
	onContext place = iota // the context's thread
	free                   // any thread with CapsFreeThreaded, else the immediate context's
	always                 // any thread
)

// A spec is the specification of a driver function.
type spec struct {
	place        place
	immediate    results // errors it may report on the immediate context
	deferred     results // errors it may report on a deferred context
	excluded     bool    // absent on deferred contexts
	deferredOnly bool    // absent on immediate contexts
	implicit     bool    // may change any object of its context
	optional     bool    // may be nil in a table
	lists        bool    // required by CapsCommandListsBuild2
}

// defaultSpec is for functions of the adapter and functions without a spec.
var defaultSpec = spec{place: always, excluded: true, optional: true}

// specs are the functions of a context's table, by their WDK names.
//
//	Source  "Handling Errors"; "Excluding DDI Functions for Deferred Contexts";
//	        documentation of umddi.DeviceFuncs
var specs = makeSpecs()

func makeSpecs() map[string]*spec {
	m := map[string]*spec{}
	add := func(s spec, names ...string) {
		for _, n := range names {
			m["pfn"+n] = &s
		}
	}
	add(spec{place: always, excluded: true}, "CalcPrivateResourceSize", "CalcPrivateRenderTargetViewSize", "CalcPrivateQuerySize")
	add(spec{place: free, immediate: removed | memory, deferred: removed | memory}, "CreateResource", "CreateRenderTargetView", "CreateQuery")
	add(spec{place: free, immediate: removed, deferred: removed}, "DestroyResource", "DestroyRenderTargetView", "DestroyQuery")
	add(spec{immediate: removed | memory, excluded: true}, "StagingResourceMap")
	add(spec{immediate: removed, excluded: true}, "StagingResourceUnmap")
	add(spec{immediate: removed, excluded: true, optional: true}, "ResourceIsStagingBusy")
	add(spec{immediate: removed | memory, deferred: removed | memory}, "DynamicResourceMapDiscard", "DynamicIABufferMapDiscard",
		"DynamicIABufferMapNoOverwrite", "DynamicConstantBufferMapDiscard", "ResourceUpdateSubresourceUP", "ResourceCopy",
		"ResourceCopyRegion", "ClearRenderTargetView")
	add(spec{immediate: removed, deferred: removed | memory}, "DynamicResourceUnmap", "DynamicIABufferUnmap", "DynamicConstantBufferUnmap",
		"QueryBegin", "QueryEnd", "SetPredication", "IaSetTopology", "IaSetVertexBuffers", "IaSetIndexBuffer", "VsSetConstantBuffers",
		"HsSetConstantBuffers", "DsSetConstantBuffers", "GsSetConstantBuffers", "PsSetConstantBuffers", "CsSetConstantBuffers",
		"SetRenderTargets", "SetViewports", "SetScissorRects")
	add(spec{immediate: removed | busy, excluded: true}, "QueryGetData")
	add(spec{immediate: removed, excluded: true, implicit: true}, "Flush")
	add(spec{excluded: true}, "CheckFormatSupport", "CheckMultisampleQualityLevels")
	add(spec{immediate: removed, deferred: removed, optional: true}, "RelocateDeviceFuncs")
	add(spec{immediate: removed, deferred: removed, implicit: true}, "DestroyDevice", "Present")

	add(spec{immediate: removed, excluded: true, optional: true}, "SetResourcePriority", "ReclaimResources")
	add(spec{immediate: removed, excluded: true, optional: true, implicit: true}, "OfferResources")

	add(spec{place: always, excluded: true, lists: true}, "CalcPrivateCommandListSize", "CalcPrivateDeferredContextSize",
		"CalcDeferredContextHandleSize")
	add(spec{excluded: true, lists: true}, "CheckDeferredContextHandleSizes")
	add(spec{place: free, immediate: removed | memory, deferred: removed | memory, implicit: true, lists: true}, "CreateCommandList")
	add(spec{place: free, immediate: removed, excluded: true, implicit: true, lists: true}, "RecycleCreateCommandList", "RecycleCreateDeferredContext")
	add(spec{place: free, immediate: removed, deferred: removed, lists: true}, "DestroyCommandList")
	add(spec{place: free, immediate: removed, excluded: true, lists: true}, "RecycleDestroyCommandList")
	add(spec{place: free, immediate: removed | memory, excluded: true, lists: true}, "CreateDeferredContext")
	add(spec{immediate: removed | memory, deferred: removed | memory, implicit: true, lists: true}, "CommandListExecute")
	add(spec{deferred: removed, deferredOnly: true}, "RecycleCommandList")
	add(spec{deferred: removed, deferredOnly: true, implicit: true}, "AbandonCommandList")
	return m
}

// specOf returns the spec of f.
func specOf(f *Func) *spec {
	if s := specs[f.Name]; s != nil {
		return s
	}
	return &defaultSpec
}

// mayReport returns the errors that the call fr may report.
func mayReport(fr *frame) results {
	if fr.ctx != nil && fr.ctx.deferred {
		return fr.spec.deferred
	}
	s := fr.spec.immediate
	if strings.HasSuffix(fr.f.Name, "ResourceMap") || strings.Contains(fr.f.Name, "BufferMap") || strings.HasSuffix(fr.f.Name, "MapDiscard") {
		if flags, ok := fr.args[len(fr.args)-1].(umddi.MapFlags); ok && flags&umddi.MapDoNotWait != 0 {
			s |= busy
		}
	}
	return s
}
