package umd

import (
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A device is the object of a device handle and includes the immediate context.
type device struct {
	adapter *adapter
	memory  Memory
	rt      umddi.HRTDevice
	kt      *umddi.DeviceCallbacks   // owned by the runtime, which may change the fields
	dxgi    *umddi.DXGIBaseCallbacks // likewise

	resources table[resource]
	views     table[view]
	queries   table[query]
	chains    table[chain] // chains of command lists

	// Deferred contexts read the fields above. The immediate context writes those below.
	_ [cacheLine]byte
	context
	predicate  predicate
	batch      batch
	uploads    uploads
	locker     locker
	renderArg  umddi.Render
	presentArg umddi.PresentCB

	mu      sync.Mutex     // guards retired
	retired []ddi.KMHandle // to free after the next submission
}

// cacheLine is the size of a CPU cache line, in bytes.
const cacheLine = 64

// createDevice creates a device with one context on node 0.
//
//	DDI     PFND3D10DDI_CREATEDEVICE, d3d10umddi.h
//	Out     Device.Driver, DeviceFuncs, DXGIFuncs
//	Returns OK; DXGIUnsupported for another interface version; the result of
//	        CreateContextCb. On failure nothing is kept
func createDevice(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
	if arg.Interface != umddi.Interface {
		return ddi.DXGIUnsupported
	}
	a := h.Driver.(*adapter)
	d := &device{
		adapter: a, memory: a.options.Memory, rt: arg.RTDevice, kt: arg.KTCallbacks, dxgi: arg.DXGICallbacks,
	}
	d.context = context{dev: d, core: arg.RTCoreLayer, um: arg.UMCallbacks}
	d.resources.tag, d.views.tag, d.queries.tag, d.chains.tag = tagResource, tagView, tagQuery, tagList
	d.uploads.init()
	c := &umddi.CreateContext{NodeOrdinal: 0}
	if hr := d.kt.CreateContextCb(t, d.rt, c); hr.Failed() {
		return hr
	}
	d.batch.start(c)
	arg.Device.Driver = d
	*arg.DeviceFuncs = deviceFuncs()
	if !a.options.EmulatedLists {
		addListFuncs(arg.DeviceFuncs)
	}
	*arg.DXGIFuncs = umddi.DXGIBaseFuncs{Present: present, SetResourcePriority: setResourcePriority, OfferResources: offerResources, ReclaimResources: reclaimResources}
	return ddi.OK
}

// deviceFuncs returns the functions of a device without command lists.
func deviceFuncs() umddi.DeviceFuncs {
	return umddi.DeviceFuncs{
		CalcPrivateResourceSize: calcPrivateResourceSize,
		CreateResource:          createResource,
		DestroyResource:         destroyResource,

		StagingResourceMap:              stagingResourceMap,
		StagingResourceUnmap:            resourceUnmap,
		DynamicResourceMapDiscard:       mapDiscard,
		DynamicResourceUnmap:            resourceUnmap,
		DynamicIABufferMapDiscard:       mapDiscard,
		DynamicIABufferMapNoOverwrite:   mapNoOverwrite,
		DynamicIABufferUnmap:            resourceUnmap,
		DynamicConstantBufferMapDiscard: mapDiscard,
		DynamicConstantBufferUnmap:      resourceUnmap,
		ResourceIsStagingBusy:           resourceIsStagingBusy,

		ResourceUpdateSubresourceUP: resourceUpdateSubresourceUP,
		ResourceCopy:                resourceCopy,
		ResourceCopyRegion:          resourceCopyRegion,
		ClearRenderTargetView:       clearRenderTargetView,

		CalcPrivateRenderTargetViewSize: calcPrivateRenderTargetViewSize,
		CreateRenderTargetView:          createRenderTargetView,
		DestroyRenderTargetView:         destroyRenderTargetView,
		CalcPrivateQuerySize:            calcPrivateQuerySize,
		CreateQuery:                     createQuery,
		DestroyQuery:                    destroyQuery,
		QueryBegin:                      queryBegin,
		QueryEnd:                        queryEnd,
		QueryGetData:                    queryGetData,
		SetPredication:                  setPredication,

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

		Flush:                         flush,
		CheckFormatSupport:            checkFormatSupport,
		CheckMultisampleQualityLevels: checkMultisampleQualityLevels,
		RelocateDeviceFuncs:           relocateDeviceFuncs,
		DestroyDevice:                 destroyDevice,
	}
}

func deviceOf(h umddi.HDevice) *device { return h.Driver.(*device) }

// first returns hr if it is a failure, else next.
func first(hr, next ddi.HRESULT) ddi.HRESULT {
	if hr.Failed() {
		return hr
	}
	return next
}

// flush submits the recorded work.
//
//	DDI     PFND3D10DDI_FLUSH, d3d10umddi.h
//	Effect  RenderCb if anything is recorded; DeallocateCb for destroyed
//	        allocations, in any case
func flush(t *ddi.Thread, h umddi.HDevice) {
	d := deviceOf(h)
	d.report(t, d.submit(t))
}

// checkFormatSupport supports every format that has a layout.
func checkFormatSupport(_ *ddi.Thread, _ umddi.HDevice, f dxgi.Format) uint32 {
	info, ok := f.Info()
	switch {
	case !ok:
		return 0
	case info.Renderable():
		return umddi.FormatTexture2D | umddi.FormatCopy | umddi.FormatRenderTarget
	}
	return umddi.FormatTexture2D | umddi.FormatCopy
}

// checkMultisampleQualityLevels supports one sample per element with one
// quality level.
func checkMultisampleQualityLevels(_ *ddi.Thread, _ umddi.HDevice, f dxgi.Format, count uint32) uint32 {
	if _, ok := f.Info(); !ok || count != 1 {
		return 0
	}
	return 1
}

// relocateDeviceFuncs does nothing, since the driver does not keep the table.
func relocateDeviceFuncs(*ddi.Thread, umddi.HDevice, *umddi.DeviceFuncs) {}

// destroyDevice frees all remaining objects of the device. Recorded work that
// was not submitted is dropped.
func destroyDevice(t *ddi.Thread, h umddi.HDevice) {
	d := deviceOf(h)
	h.Driver = nil
	d.batch.next()
	hr := first(d.uploads.close(t, d), d.freeRetired(t))
	for _, r := range d.resources.drain() {
		hr = first(hr, d.releaseResource(t, r))
	}
	for _, q := range d.queries.drain() {
		hr = first(hr, d.free(t, q.alloc))
	}
	for _, c := range d.chains.drain() {
		c.free(d.memory)
	}
	hr = first(hr, d.free(t, d.uploads.instances...))
	d.report(t, first(hr, d.kt.DestroyContextCb(t, d.rt, d.batch.ctx)))
}
