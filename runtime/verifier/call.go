package verifier

import (
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// enterFunction checks the entry of a driver function.
func (k *Checker) enterFunction(fr, outer *frame) {
	switch fr.f.Name {
	case "OpenAdapter10_2", "pfnCloseAdapter", "pfnGetSupportedVersions", "pfnGetCaps":
		return
	case "pfnCreateDevice":
		k.openDevice(fr)
		return
	}
	if fr.begun = k.checkContext(fr); !fr.begun {
		return
	}
	c := fr.ctx
	fr.legal = mayReport(fr)
	fr.predicated = fr.ctx.bound.predicate != nil
	c.device.calls++
	fr.number = c.device.calls
	c.device.running++
	if outer != nil && !outer.driver() {
		k.checkInside(fr, outer)
	}
	k.checkState(fr)
	k.begin(fr)
	k.domains(fr)
	if fr.spec.implicit {
		if fr.target == nil && !c.deferred {
			k.compareRetired(fr)
		}
		if fr.target != nil {
			fr.beginImplicit(fr.target)
		} else {
			fr.beginImplicit(c)
		}
	}
}

// checkInside checks a driver function that the runtime calls from a callback.
func (k *Checker) checkInside(fr, outer *frame) {
	if outer.refresh == nil {
		k.fail(fr, "reentered", "called in %s", outer.f.Name)
		return
	}
	fr.inRefresh = true
	if want := outer.refresh.function; fr.f.Name != want || fr.ctx != outer.ctx {
		k.fail(fr, "refresh-function", "called on %v in %s, want %s on %v", fr.ctx, outer.f.Name, want, outer.ctx)
	}
}

// begin checks the arguments of a function and updates the state it changes on
// entry.
func (k *Checker) begin(fr *frame) {
	args, name := fr.args, fr.f.Name
	switch name {
	case "pfnCreateResource":
		k.createResource(fr)
	case "pfnCreateRenderTargetView":
		k.createView(fr)
	case "pfnCreateQuery":
		k.createQuery(fr)
	case "pfnCreateCommandList":
		k.createList(fr)
	case "pfnRecycleCreateCommandList":
		k.recycleCreateList(fr)
	case "pfnDestroyResource":
		k.destroy(fr, args[1].(umddi.HResource).Object, umddi.HandleResource)
	case "pfnDestroyRenderTargetView":
		k.destroy(fr, args[1].(umddi.HRenderTargetView).Object, umddi.HandleRenderTargetView)
	case "pfnDestroyQuery":
		k.destroy(fr, args[1].(umddi.HQuery).Object, umddi.HandleQuery)
	case "pfnDestroyCommandList":
		k.destroy(fr, args[1].(umddi.HCommandList).Object, umddi.HandleCommandList)
	case "pfnRecycleDestroyCommandList":
		k.retireList(fr)
	case "pfnRecycleCommandList":
		k.recycleList(fr)
	case "pfnCommandListExecute":
		k.execute(fr)
	case "pfnCreateDeferredContext":
		k.createContext(fr, true)
	case "pfnRecycleCreateDeferredContext":
		k.createContext(fr, false)
	case "pfnDestroyDevice":
		k.destroyContext(fr)
	case "pfnCalcDeferredContextHandleSize":
		k.calcLocal(fr)
	case "pfnCheckDeferredContextHandleSizes":
		beginSizes(fr)
	case "pfnRelocateDeviceFuncs":
		k.beforeRelocate(fr)
	default:
		k.beginWork(fr)
	}
}

// beginWork checks the arguments of a function that records, maps or binds.
func (k *Checker) beginWork(fr *frame) {
	args, name := fr.args, fr.f.Name
	switch {
	case name == "pfnSetResourcePriority":
		k.use(fr, args[0].(umddi.SetResourcePriority).Resource.Object, umddi.HandleResource)
	case strings.Contains(name, "Set") && name != "pfnSetPredication":
		k.set(fr)
	case name == "pfnSetPredication":
		k.useOptional(fr, args[1].(umddi.HQuery).Object, umddi.HandleQuery)
		fr.ctx.bound.predicate = args[1].(umddi.HQuery).Object
	case strings.HasSuffix(name, "Unmap"):
		k.unmap(fr)
	case mapFamilies[name] != "":
		k.mapResource(fr)
	case name == "pfnQueryBegin", name == "pfnQueryEnd":
		k.query(fr, name == "pfnQueryBegin")
	case name == "pfnQueryGetData":
		fr.created = k.use(fr, args[1].(umddi.HQuery).Object, umddi.HandleQuery)
		fr.saved = overwrite(args[2].([]byte))
	case name == "pfnResourceUpdateSubresourceUP", name == "pfnResourceIsStagingBusy":
		k.use(fr, args[1].(umddi.HResource).Object, umddi.HandleResource)
	case name == "pfnResourceCopy":
		k.use(fr, args[1].(umddi.HResource).Object, umddi.HandleResource)
		k.use(fr, args[2].(umddi.HResource).Object, umddi.HandleResource)
	case name == "pfnResourceCopyRegion":
		k.use(fr, args[1].(umddi.HResource).Object, umddi.HandleResource)
		k.use(fr, args[6].(umddi.HResource).Object, umddi.HandleResource)
	case name == "pfnClearRenderTargetView":
		k.use(fr, args[1].(umddi.HRenderTargetView).Object, umddi.HandleRenderTargetView)
	case name == "pfnPresent":
		arg := args[0].(umddi.Present)
		k.use(fr, arg.SurfaceToPresent.Object, umddi.HandleResource)
		k.use(fr, arg.DstResource.Object, umddi.HandleResource)
	case name == "pfnOfferResources":
		k.useAll(fr, args[0].(umddi.OfferResources).Resources)
	case name == "pfnReclaimResources":
		k.useAll(fr, args[0].(umddi.ReclaimResources).Resources)
	}
}

// useAll checks the handles of resources.
func (k *Checker) useAll(fr *frame, resources []umddi.HResource) {
	for _, r := range resources {
		k.use(fr, r.Object, umddi.HandleResource)
	}
}

// leaveFunction checks the return of a driver function.
func (k *Checker) leaveFunction(fr *frame, rets []any) {
	k.checkOpened(fr, rets)
	switch fr.f.Name {
	case "pfnCreateDevice":
		k.endDevice(fr, rets)
		return
	case "pfnGetCaps":
		k.endCaps(fr, rets)
		return
	}
	if !fr.begun {
		return
	}
	fr.endImplicit()
	fr.ctx.device.running--
	k.endContent(fr)
	k.finish(fr, rets)
	if unlocks(fr) {
		fr.ctx.unmapped = use{}
		if !fr.unlocked {
			fr.ctx.unmapped = use{f: fr.f, call: fr.call}
		}
	}
	if s := fr.ctx.device.kernel; fr.rendered && s != nil {
		s.noteRendered()
	}
	if !fr.ctx.deferred && isWork(fr.f.Name) && len(fr.errors) == 0 {
		fr.ctx.work = fr.f
	}
	k.endPrivate(fr)
	k.saveRetired(fr)
}

// finish checks the results of a function and updates the state it changes on
// return.
func (k *Checker) finish(fr *frame, rets []any) {
	name := fr.f.Name
	ok := len(fr.errors) == 0 && succeeded(rets)
	if isRecycleCreate(name) {
		ok = k.checkRecycled(fr, rets) && ok
	}
	switch {
	case isCreate(name), strings.HasPrefix(name, "pfnRecycle"):
		k.finishCreation(fr, ok)
	case strings.HasPrefix(name, "pfnDestroy"):
		k.finishDestruction(fr)
	case strings.HasPrefix(name, "pfnCalc"), strings.HasPrefix(name, "pfnCheck"):
		k.finishAnswer(fr, rets)
	default:
		k.finishWork(fr, rets)
	}
}

// finishCreation is finish for the functions that create or recycle.
func (k *Checker) finishCreation(fr *frame, ok bool) {
	switch fr.f.Name {
	case "pfnCreateDeferredContext":
		k.endContext(fr, true, ok)
	case "pfnRecycleCreateDeferredContext":
		k.endContext(fr, false, ok)
	case "pfnCreateResource", "pfnCreateRenderTargetView", "pfnCreateQuery", "pfnCreateCommandList":
		k.endCreate(fr)
		k.endList(fr, ok)
	case "pfnRecycleCreateCommandList":
		k.endList(fr, ok)
	case "pfnRecycleDestroyCommandList":
		setListState(fr, objectRetired)
	case "pfnRecycleCommandList":
		setListState(fr, objectCached)
	}
}

// finishDestruction is finish for the functions that destroy.
func (k *Checker) finishDestruction(fr *frame) {
	switch fr.f.Name {
	case "pfnDestroyDevice":
		k.checkKernelLeaks(fr)
		k.endDestroy(fr.ctx)
	case "pfnDestroyResource":
		if o := fr.destroyed; o != nil && o.ctx == nil {
			o.device.orphan(o)
		}
	}
}

// finishAnswer is finish for the functions that return sizes and capabilities.
func (k *Checker) finishAnswer(fr *frame, rets []any) {
	switch name := fr.f.Name; name {
	case "pfnCheckFormatSupport":
		k.checkFormat(fr, rets[0].(uint32))
	case "pfnCheckDeferredContextHandleSizes":
		k.endSizes(fr, rets)
	case "pfnCalcDeferredContextHandleSize":
		k.endCalcLocal(fr, rets)
	case "pfnCalcPrivateResourceSize", "pfnCalcPrivateRenderTargetViewSize", "pfnCalcPrivateQuerySize", "pfnCalcPrivateCommandListSize",
		"pfnCalcPrivateDeferredContextSize":
		k.checkRange(fr, rets[0].(int))
		kind := strings.TrimSuffix(strings.TrimPrefix(name, "pfnCalcPrivate"), "Size")
		k.recordSize(fr, "pfnCreate"+kind, rets[0].(int))
	}
}

// finishWork is finish for the functions that record, execute, map and submit.
func (k *Checker) finishWork(fr *frame, rets []any) {
	switch name := fr.f.Name; name {
	case "pfnCommandListExecute":
		fr.ctx.bound = bindings{}
	case "pfnAbandonCommandList":
		fr.ctx.state = abandoned
	case "pfnPresent":
		k.checkPresented(fr, rets[0].(ddi.HRESULT))
		k.checkPresents(fr, rets[0].(ddi.HRESULT))
	case "pfnFlush":
		k.checkSubmitted(fr, fr)
		k.checkOrphans(fr)
	case "pfnQueryGetData":
		k.endGetData(fr)
	case "pfnRelocateDeviceFuncs":
		k.afterRelocate(fr)
	default:
		if mapFamilies[name] != "" && !strings.HasSuffix(name, "Unmap") {
			k.checkMapped(fr, rets)
			k.endMap(fr)
			k.checkLocked(fr)
			k.checkReadOnly(fr, rets[0].(umddi.Mapped))
			k.mapContent(fr, rets[0].(umddi.Mapped))
		}
	}
}

// A slot is the content of one slot of the pipeline.
type slot struct {
	h              *ddi.Object
	stride, offset uint32      // vertex and index buffers only
	format         dxgi.Format // index buffers only
}
