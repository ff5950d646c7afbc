package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A deferred is a deferred context. All of it belongs to the context's thread,
// which CreateCommandList and RecycleCreateDeferredContext run on as well. It
// shares no cache line with another, as two of them record at the same time.
type deferred struct {
	_ [cacheLine]byte
	recording
	context
	funcs  *umddi.DeviceFuncs // the table that was filled
	epoch  uint32             // counts the lists with maps that were executed
	opened []*ddi.Object      // command lists that are open, by the slot in the local handle
	phase  phase
	_      [cacheLine]byte
}

// A phase is what a deferred context may be used for.
type phase uint8

const (
	recordingPhase phase = iota
	closedPhase          // a list has been made of it, or it was abandoned
)

// deferredOf returns the context behind a handle.
func deferredOf(h umddi.HDevice) *deferred { return h.Driver.(*deferred) }

// addListFuncs adds what drivers with command lists have to a device's table.
func addListFuncs(f *umddi.DeviceFuncs) {
	f.CalcPrivateCommandListSize = calcPrivateCommandListSize
	f.CreateCommandList = createCommandList
	f.RecycleCreateCommandList = recycleCreateCommandList
	f.DestroyCommandList = destroyCommandList
	f.RecycleDestroyCommandList = recycleDestroyCommandList
	f.CommandListExecute = commandListExecute
	f.CalcPrivateDeferredContextSize = calcPrivateDeferredContextSize
	f.CreateDeferredContext = createDeferredContext
	f.RecycleCreateDeferredContext = recycleCreateDeferredContext
	f.CheckDeferredContextHandleSizes = checkDeferredContextHandleSizes
	f.CalcDeferredContextHandleSize = calcDeferredContextHandleSize
}

// deferredFuncs returns the table of a deferred context. What it may not have is
// nil.
//
//	Source  learn.microsoft.com, "Excluding DDI Functions for Deferred Contexts"
func deferredFuncs() umddi.DeviceFuncs {
	return umddi.DeviceFuncs{
		CreateResource:          openResource,
		DestroyResource:         closeResource,
		CreateRenderTargetView:  openRenderTargetView,
		DestroyRenderTargetView: closeRenderTargetView,
		CreateQuery:             openQuery,
		DestroyQuery:            closeQuery,
		CreateCommandList:       openCommandList,
		DestroyCommandList:      closeCommandList,

		DynamicResourceMapDiscard:       deferMapDiscard,
		DynamicResourceUnmap:            deferUnmap,
		DynamicIABufferMapDiscard:       deferMapDiscard,
		DynamicIABufferMapNoOverwrite:   deferMapNoOverwrite,
		DynamicIABufferUnmap:            deferUnmap,
		DynamicConstantBufferMapDiscard: deferMapDiscard,
		DynamicConstantBufferUnmap:      deferUnmap,

		ResourceUpdateSubresourceUP: deferUpdateSubresourceUP,
		ResourceCopy:                deferCopy,
		ResourceCopyRegion:          deferCopyRegion,
		ClearRenderTargetView:       deferClear,
		QueryBegin:                  deferQueryBegin,
		QueryEnd:                    deferQueryEnd,
		SetPredication:              deferSetPredication,
		CommandListExecute:          deferExecute,

		IaSetTopology:        iaSetTopology,
		IaSetVertexBuffers:   iaSetVertexBuffers,
		IaSetIndexBuffer:     iaSetIndexBuffer,
		VsSetConstantBuffers: setConstantBuffers(vertexShader),
		HsSetConstantBuffers: setConstantBuffers(hullShader),
		DsSetConstantBuffers: setConstantBuffers(domainShader),
		GsSetConstantBuffers: setConstantBuffers(geometryShader),
		PsSetConstantBuffers: setConstantBuffers(pixelShader),
		CsSetConstantBuffers: setConstantBuffers(computeShader),
		SetRenderTargets:     setRenderTargets,
		SetViewports:         setViewports,
		SetScissorRects:      setScissorRects,

		RecycleCommandList:  recycleCommandList,
		AbandonCommandList:  abandonCommandList,
		RelocateDeviceFuncs: relocateDeviceFuncs,
		DestroyDevice:       destroyDeferredContext,
	}
}

// calcPrivateDeferredContextSize returns 0: the context is behind the handle.
func calcPrivateDeferredContextSize(*ddi.Thread, umddi.HDevice, uint32) int { return 0 }

// createDeferredContext makes a deferred context.
//
//	DDI     PFND3D11DDI_CREATEDEFERREDCONTEXT, d3d10umddi.h
//	Caller  any thread, which is the context's from then on
//	Out     Context.Driver, ContextFuncs
//	Returns through SetErrorCb of the device: EOutOfMemory; nothing is kept
func createDeferredContext(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) {
	d := deviceOf(h)
	d.report(t, d.newDeferred(arg), ddi.EOutOfMemory)
}

func (d *device) newDeferred(arg *umddi.CreateDeferredContext) ddi.HRESULT {
	// The size of whole cache lines, which are the context's alone.
	head := d.memory.Alloc(listBytes)
	if head == nil {
		return ddi.EOutOfMemory
	}
	c := &deferred{context: context{dev: d, deferred: true, core: arg.RTCoreLayer, um: arg.UMCallbacks}}
	c.head, c.chunks, c.cache.memory = head[:headBytes], newChunks(), d.memory
	arg.Context.Driver = c
	c.fill(arg.ContextFuncs)
	c.begin()
	return ddi.OK
}

// fill fills the context's table.
func (c *deferred) fill(f *umddi.DeviceFuncs) {
	*f = deferredFuncs()
	c.funcs = f
}

// recycleCreateDeferredContext makes a context new again after a list was made
// of it, or it was abandoned. The table is filled once more if it is another, or
// has been emptied.
//
//	DDI     PFND3D11DDI_RECYCLECREATEDEFERREDCONTEXT, d3d10umddi.h
//	Caller  the deferred context's thread
//	Returns OK; EOutOfMemory if the handle has no context yet and there is no
//	        memory for one; DDIDeviceRemoved for a context of another device
func recycleCreateDeferredContext(_ *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) ddi.HRESULT {
	d := deviceOf(h)
	c, ok := arg.Context.Driver.(*deferred)
	if !ok {
		return d.newDeferred(arg)
	}
	if c.dev != d {
		return ddi.DDIDeviceRemoved
	}
	if arg.ContextFuncs != c.funcs || c.funcs.DestroyDevice == nil {
		c.fill(arg.ContextFuncs)
	}
	c.core, c.um = arg.RTCoreLayer, arg.UMCallbacks
	if len(c.chunks) > 0 {
		c.abandon()
	}
	if len(c.opened) > 0 {
		clear(c.opened)
		c.opened = c.opened[:0]
	}
	c.clearState()
	c.phase = recordingPhase
	c.begin()
	return ddi.OK
}

// abandonCommandList drops what is recorded. The context can then be unbound,
// its handles closed, and it be recycled or destroyed.
//
//	DDI     PFND3D11DDI_ABANDONCOMMANDLIST, d3d10umddi.h
//	Caller  the deferred context's thread
//	Effect  the chunks go to the context's cache
func abandonCommandList(_ *ddi.Thread, h umddi.HDevice) {
	c := deferredOf(h)
	c.abandon()
	c.phase = closedPhase
}

// destroyDeferredContext ends a deferred context: DestroyDevice of its table.
// The lists that were made of it stay.
func destroyDeferredContext(_ *ddi.Thread, h umddi.HDevice) {
	c := deferredOf(h)
	h.Driver = nil
	c.abandon()
	c.cache.drop()
	c.cache.memory.Free(c.head[:listBytes])
	c.head = nil
}
