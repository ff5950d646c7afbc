// Package umd is a small user-mode display driver: serialised, with copies and clears
// by the GPU and everything else by the CPU. The runtime emulates command lists.
package umd

import (
	"encoding/binary"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/privdata"
)

// A device is the driver's side of a Direct3D device and of its immediate context.
// The kernel's three buffers hold the commands since the last submission.
type device struct {
	arg       umddi.CreateDevice // callbacks and handles of the runtime
	maxPacket uint64             // bytes that one packet may move
	resources map[*ddi.Object]*resource
	views     map[*ddi.Object]umddi.CreateRenderTargetView

	kernel                   umddi.CreateContext // the context and its buffers
	bytes, nAllocs, nPatches int                 // recorded in the buffers
}

// OpenAdapter is the entry point of the driver.
func OpenAdapter(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	private := make([]byte, privdata.AdapterBytes)
	if hr := arg.Callbacks.QueryAdapterInfoCb(t, arg.RTAdapter, private); hr.Failed() {
		return hr
	}
	arg.Adapter.Driver = privdata.MaxPacket(private)
	*arg.Funcs = umddi.AdapterFuncs{
		CreateDevice:         createDevice,
		CloseAdapter:         func(*ddi.Thread, umddi.HAdapter) ddi.HRESULT { return ddi.OK },
		GetSupportedVersions: func(*ddi.Thread, umddi.HAdapter) ([]uint32, ddi.HRESULT) { return []uint32{umddi.Interface}, ddi.OK },
		GetCaps:              func(*ddi.Thread, umddi.HAdapter, umddi.CapsType) (uint32, ddi.HRESULT) { return 0, ddi.OK },
	}
	return ddi.OK
}

func createDevice(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
	d := &device{arg: *arg, maxPacket: h.Driver.(uint64), resources: map[*ddi.Object]*resource{}, views: map[*ddi.Object]umddi.CreateRenderTargetView{}}
	if hr := arg.KTCallbacks.CreateContextCb(t, arg.RTDevice, &d.kernel); hr.Failed() {
		return hr
	}
	*arg.DXGIFuncs = umddi.DXGIBaseFuncs{Present: d.present}
	*arg.DeviceFuncs = umddi.DeviceFuncs{
		CreateResource: d.createResource, DestroyResource: d.destroyResource,
		StagingResourceMap: d.mapResource, StagingResourceUnmap: d.unmapResource,
		DynamicResourceMapDiscard: d.mapResource, DynamicResourceUnmap: d.unmapResource,
		DynamicIABufferMapDiscard: d.mapResource, DynamicIABufferMapNoOverwrite: d.mapResource, DynamicIABufferUnmap: d.unmapResource,
		DynamicConstantBufferMapDiscard: d.mapResource, DynamicConstantBufferUnmap: d.unmapResource,
		ResourceUpdateSubresourceUP: d.update, ResourceCopy: d.copyResource, ResourceCopyRegion: d.copyRegion,
		CreateRenderTargetView: d.createView, DestroyRenderTargetView: d.destroyView, ClearRenderTargetView: d.clearView,
		CreateQuery: d.createQuery, DestroyQuery: d.destroyQuery, QueryEnd: d.endQuery, QueryGetData: d.queryData,
		CheckFormatSupport: checkFormatSupport, CheckMultisampleQualityLevels: checkMultisample,
		Flush: d.flush, DestroyDevice: d.destroyDevice,
	}
	withoutState(arg.DeviceFuncs)
	return ddi.OK
}

// withoutState sets the entries that have nothing to do: objects need no private memory,
// and since nothing draws, the state of the pipeline has no effect.
func withoutState(f *umddi.DeviceFuncs) {
	constants := func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource) {}
	f.VsSetConstantBuffers, f.HsSetConstantBuffers, f.DsSetConstantBuffers = constants, constants, constants
	f.GsSetConstantBuffers, f.PsSetConstantBuffers, f.CsSetConstantBuffers = constants, constants, constants
	f.IaSetTopology = func(*ddi.Thread, umddi.HDevice, umddi.Topology) {}
	f.IaSetVertexBuffers = func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource, []uint32, []uint32) {}
	f.IaSetIndexBuffer = func(*ddi.Thread, umddi.HDevice, umddi.HResource, dxgi.Format, uint32) {}
	f.SetRenderTargets = func(*ddi.Thread, umddi.HDevice, []umddi.HRenderTargetView) {}
	f.SetViewports = func(*ddi.Thread, umddi.HDevice, []umddi.Viewport) {}
	f.SetScissorRects = func(*ddi.Thread, umddi.HDevice, []umddi.Rect) {}
	f.CalcPrivateResourceSize = func(*ddi.Thread, umddi.HDevice, *umddi.CreateResource) int { return 0 }
	f.CalcPrivateRenderTargetViewSize = func(*ddi.Thread, umddi.HDevice, *umddi.CreateRenderTargetView) int { return 0 }
	f.CalcPrivateQuerySize = func(*ddi.Thread, umddi.HDevice, umddi.CreateQuery) int { return 0 }
}

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

func checkMultisample(_ *ddi.Thread, _ umddi.HDevice, _ dxgi.Format, count uint32) uint32 {
	return 1 / max(1, count) // one level of one sample
}

// report reports a failure. One that the running function may not report removes the device.
func (d *device) report(t *ddi.Thread, hr ddi.HRESULT, may ...ddi.HRESULT) {
	if hr.Failed() && !slices.Contains(may, hr) {
		hr = ddi.DDIDeviceRemoved
	}
	if hr.Failed() {
		d.arg.UMCallbacks.SetErrorCb(t, d.arg.RTCoreLayer, hr)
	}
}

// index returns the index of an allocation that the recorded work uses, or -1.
func (d *device) index(alloc ddi.KMHandle) int {
	return slices.IndexFunc(d.kernel.AllocationList[:d.nAllocs], func(a umddi.AllocationList) bool { return a.Allocation == alloc })
}

// patch makes the address field at an offset of the next packet that of a byte of alloc.
func (d *device) patch(field int, alloc ddi.KMHandle, at uint64, write bool) {
	i := d.index(alloc)
	if i < 0 {
		i, d.nAllocs = d.nAllocs, d.nAllocs+1
		d.kernel.AllocationList[i] = umddi.AllocationList{Allocation: alloc}
	}
	if write {
		d.kernel.AllocationList[i].WriteOperation = true
	}
	d.kernel.PatchLocationList[d.nPatches] = umddi.PatchLocation{
		AllocationIndex: uint32(i), AllocationOffset: uint32(at), PatchOffset: uint32(d.bytes + field), SplitOffset: uint32(d.bytes),
	}
	d.nPatches++
}

// move records a copy of n bytes from src to dst, or if src is 0 a fill with value.
func (d *device) move(t *ddi.Thread, dst ddi.KMHandle, to uint64, src ddi.KMHandle, from, n, value uint64) ddi.HRESULT {
	for n > 0 {
		if k := d.kernel; len(k.CommandBuffer)-d.bytes < 4*(1+pkt.CopyBody) || len(k.AllocationList)-d.nAllocs < 2 || len(k.PatchLocationList)-d.nPatches < 2 {
			if hr := d.submit(t, 0); hr.Failed() {
				return hr
			}
		}
		piece := min(n, d.maxPacket)
		var p pkt.Packet = pkt.Fill{Bytes: uint32(piece), Value: value}
		field := 4
		if src != 0 {
			d.patch(field, src, from, false)
			p, field = pkt.Copy{Bytes: uint32(piece)}, 12
		}
		d.patch(field, dst, to, true)
		cmd, _ := p.Append(d.kernel.CommandBuffer[:d.bytes]) // any address and length is legal
		d.bytes = len(cmd)
		to, from, n = to+piece, from+piece, n-piece
	}
	return ddi.OK
}

// submit submits what is recorded if it uses alloc, or in any case if alloc is 0. If the
// kernel refuses it, the work is lost.
func (d *device) submit(t *ddi.Thread, alloc ddi.KMHandle) ddi.HRESULT {
	if d.bytes == 0 || alloc != 0 && d.index(alloc) < 0 {
		return ddi.OK
	}
	arg := umddi.Render{Context: d.kernel.Context, CommandLength: uint32(d.bytes), NumAllocations: uint32(d.nAllocs), NumPatchLocations: uint32(d.nPatches)}
	d.bytes, d.nAllocs, d.nPatches = 0, 0, 0
	if hr := d.arg.KTCallbacks.RenderCb(t, d.arg.RTDevice, &arg); hr.Failed() {
		return ddi.DDIDeviceRemoved
	}
	d.kernel.CommandBuffer, d.kernel.AllocationList, d.kernel.PatchLocationList = arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList
	return ddi.OK
}

func (d *device) flush(t *ddi.Thread, _ umddi.HDevice) { d.report(t, d.submit(t, 0)) }

func (d *device) present(t *ddi.Thread, arg umddi.Present) ddi.HRESULT {
	if hr := d.submit(t, 0); hr.Failed() {
		return hr
	}
	src, dst := d.resources[arg.SurfaceToPresent.Object], d.resources[arg.DstResource.Object]
	p := umddi.PresentCB{SrcAllocation: src.alloc, DstAllocation: dst.alloc, DXGIContext: arg.DXGIContext, Context: d.kernel.Context}
	return d.arg.DXGICallbacks.PresentCb(t, d.arg.RTDevice, &p)
}

func (d *device) destroyDevice(t *ddi.Thread, _ umddi.HDevice) {
	d.report(t, d.arg.KTCallbacks.DestroyContextCb(t, d.arg.RTDevice, d.kernel.Context))
}

// A resource is an allocation with all subresources, or that of a query.
type resource struct {
	alloc   ddi.KMHandle
	element uint32 // bytes
	mips    uint32
	subs    []subresource
}

// A subresource has rows without padding.
type subresource struct {
	offset      uint64 // in the allocation
	pitch, rows uint32
}

func (s subresource) bytes() uint64 { return uint64(s.pitch) * uint64(s.rows) }

// area returns the offset of a box of a subresource, its bytes per row, and its rows.
func (r *resource) area(sub uint32, box *umddi.Box) (at uint64, row, rows uint32) {
	s := r.subs[sub]
	if box == nil {
		return s.offset, s.pitch, s.rows
	}
	at = s.offset + uint64(box.Top)*uint64(s.pitch) + uint64(box.Left*r.element)
	return at, (box.Right - box.Left) * r.element, box.Bottom - box.Top
}

func (d *device) allocate(t *ddi.Thread, rt umddi.HRTResource, a privdata.Allocation, primary bool) (ddi.KMHandle, ddi.HRESULT) {
	if a.Bytes > 1<<32 { // a patch location has an offset of 32 bits
		return 0, ddi.EOutOfMemory
	}
	info := []umddi.AllocationInfo{{PrivateDriverData: a.Encode(), Primary: primary}}
	hr := d.arg.KTCallbacks.AllocateCb(t, d.arg.RTDevice, &umddi.Allocate{Resource: rt, AllocationInfo: info})
	return info[0].Allocation, hr
}

func (d *device) free(t *ddi.Thread, alloc ddi.KMHandle) {
	d.report(t, d.submit(t, alloc))
	d.report(t, d.arg.KTCallbacks.DeallocateCb(t, d.arg.RTDevice, &umddi.Deallocate{Allocations: []ddi.KMHandle{alloc}}))
}

func (d *device) createResource(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateResource, h umddi.HResource, rt umddi.HRTResource) {
	r := &resource{element: 1, mips: arg.MipLevels}
	if info, ok := arg.Format.Info(); ok && arg.ResourceDimension == umddi.Texture2D {
		r.element = uint32(info.Bytes)
	}
	a := privdata.Allocation{Host: arg.Usage == umddi.UsageStaging || arg.Usage == umddi.UsageDynamic}
	for i := range arg.ArraySize * arg.MipLevels {
		mip := arg.MipInfoList[i%arg.MipLevels]
		s := subresource{a.Bytes, mip.TexelWidth * r.element, max(1, mip.TexelHeight)}
		r.subs, a.Bytes = append(r.subs, s), (s.offset+s.bytes()+15)&^15 // a map must return a multiple of 16
	}
	var hr ddi.HRESULT
	if r.alloc, hr = d.allocate(t, rt, a, arg.Primary); hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
		return
	}
	for i := 0; i < len(arg.InitialDataUP) && !hr.Failed(); i++ {
		hr = d.write(t, r, uint32(i), nil, arg.InitialDataUP[i].SysMem, arg.InitialDataUP[i].RowPitch)
	}
	if d.resources[h.Object] = r; hr.Failed() { // the runtime does not destroy it
		d.destroy(t, h.Object)
	}
	d.report(t, hr, ddi.EOutOfMemory)
}

func (d *device) destroyResource(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource) {
	d.destroy(t, h.Object)
}

func (d *device) destroy(t *ddi.Thread, o *ddi.Object) {
	d.free(t, d.resources[o].alloc)
	delete(d.resources, o)
}

// lock maps an allocation after the recorded work, unless IgnoreSync is set.
func (d *device) lock(t *ddi.Thread, arg umddi.Lock) ([]byte, ddi.HRESULT) {
	if !arg.IgnoreSync {
		if hr := d.submit(t, arg.Allocation); hr.Failed() {
			return nil, hr
		}
	}
	hr := d.arg.KTCallbacks.LockCb(t, d.arg.RTDevice, &arg)
	return arg.Data, hr
}

func (d *device) unlock(t *ddi.Thread, alloc ddi.KMHandle) ddi.HRESULT {
	return d.arg.KTCallbacks.UnlockCb(t, d.arg.RTDevice, &umddi.Unlock{Allocations: []ddi.KMHandle{alloc}})
}

func (d *device) mapResource(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource, sub uint32, typ umddi.Map, flags umddi.MapFlags) (m umddi.Mapped) {
	r := d.resources[h.Object]
	s := r.subs[sub]
	data, hr := d.lock(t, umddi.Lock{Allocation: r.alloc, DoNotWait: flags&umddi.MapDoNotWait != 0, IgnoreSync: typ == umddi.MapWriteNoOverwrite})
	if d.report(t, hr, ddi.EOutOfMemory, ddi.DDIStillDrawing); !hr.Failed() {
		m = umddi.Mapped{Data: data[s.offset:][:s.bytes()], RowPitch: s.pitch, DepthPitch: uint32(s.bytes())}
	}
	return m
}

func (d *device) unmapResource(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource, _ uint32) {
	d.report(t, d.unlock(t, d.resources[h.Object].alloc))
}

// write copies rows of data to a box of a subresource.
func (d *device) write(t *ddi.Thread, r *resource, sub uint32, box *umddi.Box, data []byte, pitch uint32) ddi.HRESULT {
	memory, hr := d.lock(t, umddi.Lock{Allocation: r.alloc})
	if hr.Failed() {
		return hr
	}
	at, row, rows := r.area(sub, box)
	for y := range uint64(rows) {
		copy(memory[at+y*uint64(r.subs[sub].pitch):][:row], data[y*uint64(pitch):])
	}
	return d.unlock(t, r.alloc)
}

func (d *device) update(t *ddi.Thread, _ umddi.HDevice, h umddi.HResource, sub uint32, box *umddi.Box, data []byte, rowPitch, _ uint32) {
	d.report(t, d.write(t, d.resources[h.Object], sub, box, data, rowPitch), ddi.EOutOfMemory)
}

func (d *device) copyResource(t *ddi.Thread, _ umddi.HDevice, dst, src umddi.HResource) {
	to, from := d.resources[dst.Object], d.resources[src.Object]
	last := to.subs[len(to.subs)-1]
	d.report(t, d.move(t, to.alloc, 0, from.alloc, 0, last.offset+last.bytes(), 0))
}

// copyRegion copies row by row, or all rows at once if they have no gaps.
func (d *device) copyRegion(t *ddi.Thread, _ umddi.HDevice, dst umddi.HResource, dstSub, x, y, _ uint32, src umddi.HResource, srcSub uint32, box *umddi.Box) {
	to, from := d.resources[dst.Object], d.resources[src.Object]
	toPitch, fromPitch := uint64(to.subs[dstSub].pitch), uint64(from.subs[srcSub].pitch)
	read, width, height := from.area(srcSub, box)
	write, row, rows := to.subs[dstSub].offset+uint64(y)*toPitch+uint64(x*to.element), uint64(width), uint64(height)
	if row == toPitch && row == fromPitch {
		row, rows = row*rows, 1
	}
	hr := ddi.OK
	for ; rows > 0 && !hr.Failed(); rows-- {
		hr = d.move(t, to.alloc, write, from.alloc, read, row, 0)
		write, read = write+toPitch, read+fromPitch
	}
	d.report(t, hr)
}

func (d *device) createView(_ *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateRenderTargetView, h umddi.HRenderTargetView, _ umddi.HRTRenderTargetView) {
	d.views[h.Object] = *arg
}

func (d *device) destroyView(_ *ddi.Thread, _ umddi.HDevice, h umddi.HRenderTargetView) {
	delete(d.views, h.Object)
}

// clearView fills a mip level of each slice of the view.
func (d *device) clearView(t *ddi.Thread, _ umddi.HDevice, h umddi.HRenderTargetView, color [4]float32) {
	v, hr := d.views[h.Object], ddi.OK
	r := d.resources[v.Resource.Object]
	info, _ := v.Format.Info()
	for i := v.FirstArraySlice; i < v.FirstArraySlice+v.ArraySize && !hr.Failed(); i++ {
		s := r.subs[i*r.mips+v.MipSlice]
		hr = d.move(t, r.alloc, s.offset, 0, 0, s.bytes(), info.Pattern(color))
	}
	d.report(t, hr)
}

// createQuery allocates memory that the GPU fills at each end of the query.
func (d *device) createQuery(t *ddi.Thread, _ umddi.HDevice, _ umddi.CreateQuery, h umddi.HQuery, _ umddi.HRTQuery) {
	alloc, hr := d.allocate(t, umddi.HRTResource{}, privdata.Allocation{Bytes: 8, Host: true}, false)
	if d.report(t, hr, ddi.EOutOfMemory); !hr.Failed() {
		d.resources[h.Object] = &resource{alloc: alloc}
	}
}

func (d *device) destroyQuery(t *ddi.Thread, _ umddi.HDevice, h umddi.HQuery) { d.destroy(t, h.Object) }

func (d *device) endQuery(t *ddi.Thread, _ umddi.HDevice, h umddi.HQuery) {
	d.report(t, d.move(t, d.resources[h.Object].alloc, 0, 0, 0, 8, 0))
}

// queryData sets the result of an EVENT query, the only type without SetPredication,
// when the GPU no longer uses the query's memory.
func (d *device) queryData(t *ddi.Thread, _ umddi.HDevice, h umddi.HQuery, data []byte, flags umddi.GetDataFlags) {
	alloc, hr := d.resources[h.Object].alloc, ddi.DDIStillDrawing
	if flags&umddi.DoNotFlush == 0 || d.index(alloc) < 0 {
		if _, hr = d.lock(t, umddi.Lock{Allocation: alloc, DoNotWait: true}); !hr.Failed() {
			hr = d.unlock(t, alloc)
		}
	}
	if d.report(t, hr, ddi.DDIStillDrawing); !hr.Failed() && len(data) >= 4 {
		binary.LittleEndian.PutUint32(data, 1)
	}
}
