package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A deferred is a deferred context. It must be used only on the context's
// thread, which also runs CreateCommandList and RecycleCreateDeferredContext.
// Deferred contexts share no cache line, since they may record concurrently.
type deferred struct {
	_ [cacheLine]byte
	recording
	context
	funcs  *umddi.DeviceFuncs // the table that was filled in
	epoch  uint32             // number of executed lists with maps
	opened []*ddi.Object      // open command lists, by the slot in the local handle
	phase  phase
	_      [cacheLine]byte
}

// A phase determines which functions a deferred context accepts.
type phase uint8

const (
	recordingPhase phase = iota
	closedPhase          // its list was created or abandoned
)

// deferredOf returns the deferred context of a handle.
func deferredOf(h umddi.HDevice) *deferred { return h.Driver.(*deferred) }

// addListFuncs adds the command-list functions to a device's table.
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

// deferredFuncs returns the table of a deferred context. Excluded functions are
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
		RelocateDeviceFuncs: relocateDeferredFuncs,
		DestroyDevice:       destroyDeferredContext,
	}
}

// calcPrivateDeferredContextSize returns 0: the driver allocates the context.
func calcPrivateDeferredContextSize(*ddi.Thread, umddi.HDevice, uint32) int { return 0 }

// createDeferredContext creates a deferred context.
//
//	DDI     PFND3D11DDI_CREATEDEFERREDCONTEXT, d3d10umddi.h
//	Caller  any thread; it becomes the context's thread
//	Out     Context.Driver, ContextFuncs
//	Returns through SetErrorCb of the device: EOutOfMemory; nothing is kept
func createDeferredContext(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) {
	d := deviceOf(h)
	d.report(t, d.newDeferred(arg), ddi.EOutOfMemory)
}

func (d *device) newDeferred(arg *umddi.CreateDeferredContext) ddi.HRESULT {
	// The size is a multiple of the cache line, so that contexts share no line.
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

// fill fills in the context's table.
func (c *deferred) fill(f *umddi.DeviceFuncs) {
	*f = deferredFuncs()
	c.funcs = f
}

// relocateDeferredFuncs notes where the context's table is.
func relocateDeferredFuncs(_ *ddi.Thread, h umddi.HDevice, f *umddi.DeviceFuncs) {
	deferredOf(h).funcs = f
}

// recycleCreateDeferredContext resets a context after its list was created or
// abandoned. It fills in the table again if the runtime replaced or cleared it.
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

// abandonCommandList drops the recording. The runtime may then unbind
// everything, close the handles, and recycle or destroy the context.
//
//	DDI     PFND3D11DDI_ABANDONCOMMANDLIST, d3d10umddi.h
//	Caller  the deferred context's thread
//	Effect  the chunks are returned to the context's cache
func abandonCommandList(_ *ddi.Thread, h umddi.HDevice) {
	c := deferredOf(h)
	c.abandon()
	c.phase = closedPhase
}

// destroyDeferredContext destroys a deferred context: DestroyDevice of its
// table. Lists created from it remain valid.
func destroyDeferredContext(_ *ddi.Thread, h umddi.HDevice) {
	c := deferredOf(h)
	h.Driver = nil
	c.abandon()
	c.cache.drop()
	c.cache.memory.Free(c.head[:listBytes])
	c.head = nil
}
