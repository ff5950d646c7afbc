package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// tagLocal is set in the tags of local handles and clear in those of the
// device's handles.
const tagLocal = 0x80000000

// localBytes is the size of the private memory of a local handle. It is a cache
// line, so that contexts that record concurrently do not write to the same one.
// The memory starts like that of the device's handle, with another tag. For a
// resource, the last discard follows in localDiscard.
//
//	dword  bits   field
//	0      31..0  the table's tag, with tagLocal
//	1, 2   63..0  id; of a command list the slot in deferred.opened, and 1
//	3      31..0  number of the chunk that has the discarded contents
//	4      31..0  their offset in it, bytes
//	5      31..0  epoch of the context when the discard was last known to be the last
//	6      31..0  discardMark if there was one
const (
	localBytes   = cacheLine
	localDiscard = 12
	discardMark  = 0x43534944 // "DISC"
)

// localSizes returns the sizes of local handles of all types.
func localSizes() [4]umddi.HandleSize {
	return [...]umddi.HandleSize{
		{Type: umddi.HandleResource, Size: localBytes},
		{Type: umddi.HandleRenderTargetView, Size: localBytes},
		{Type: umddi.HandleQuery, Size: localBytes},
		{Type: umddi.HandleCommandList, Size: localBytes},
	}
}

// checkDeferredContextHandleSizes returns the number of sizes and fills in
// sizes.
//
//	DDI     PFND3D11DDI_CHECKDEFERREDCONTEXTHANDLESIZES, d3d10umddi.h
func checkDeferredContextHandleSizes(_ *ddi.Thread, _ umddi.HDevice, sizes []umddi.HandleSize) int {
	all := localSizes()
	copy(sizes, all[:])
	return len(all)
}

// calcDeferredContextHandleSize returns the size for a type, or 0 for a type
// that contexts do not open.
//
//	DDI     PFND3D11DDI_CALCDEFERREDCONTEXTHANDLESIZE, d3d10umddi.h
//	Caller  any thread
func calcDeferredContextHandleSize(_ *ddi.Thread, _ umddi.HDevice, typ umddi.HandleType, _ *ddi.Object) int {
	for _, s := range localSizes() {
		if s.Type == typ {
			return s.Size
		}
	}
	return 0
}

// openLocal opens a local handle for the table object of the device's handle
// ic. It reports false if there is none. The private memory is uninitialized.
func openLocal[T any](s *table[T], local, ic *ddi.Object) bool {
	k := s.id(ic)
	if s.at(k) == nil || len(local.Private) < localBytes {
		return false
	}
	putID(local, s.tag|tagLocal, k)
	le.PutUint32(local.Private[localDiscard+12:], 0)
	return true
}

// closeLocal closes a local handle.
func (c *deferred) closeLocal(t *ddi.Thread, local *ddi.Object, tag uint32) {
	if idIn(local, tag|tagLocal).gen == 0 {
		c.report(t, ddi.EFail)
		return
	}
	clear(local.Private[:privateBytes])
}

// opening reports a failed open to the device, as Create functions do.
func (c *deferred) opening(t *ddi.Thread, ok bool) {
	if !ok {
		c.um.SetErrorCb(t, c.dev.core, ddi.DDIDeviceRemoved)
	}
}

// The functions below are the Create and Destroy functions of a deferred
// context's table. They open an object of the device on the context, or close
// it.
//
//	DDI     PFND3D11DDI_CREATERESOURCE etc., d3d10umddi.h
//	Caller  the deferred context's thread
//	In      rt: the device's handle of the object
//	Returns through SetErrorCb of the device: DDIDeviceRemoved for a handle of an
//	        object that does not exist
//	Source  learn.microsoft.com, "Using Context-Local DDI Handles"

func openResource(t *ddi.Thread, h umddi.HDevice, _ *umddi.CreateResource, local umddi.HResource, rt umddi.HRTResource) {
	c := deferredOf(h)
	ic, ok := rt.Runtime.(umddi.HResource)
	c.opening(t, ok && openLocal(&c.dev.resources, local.Object, ic.Object))
}

func closeResource(t *ddi.Thread, h umddi.HDevice, local umddi.HResource) {
	deferredOf(h).closeLocal(t, local.Object, tagResource)
}

func openRenderTargetView(t *ddi.Thread, h umddi.HDevice, _ *umddi.CreateRenderTargetView, local umddi.HRenderTargetView, rt umddi.HRTRenderTargetView) {
	c := deferredOf(h)
	ic, ok := rt.Runtime.(umddi.HRenderTargetView)
	c.opening(t, ok && openLocal(&c.dev.views, local.Object, ic.Object))
}

func closeRenderTargetView(t *ddi.Thread, h umddi.HDevice, local umddi.HRenderTargetView) {
	deferredOf(h).closeLocal(t, local.Object, tagView)
}

func openQuery(t *ddi.Thread, h umddi.HDevice, _ umddi.CreateQuery, local umddi.HQuery, rt umddi.HRTQuery) {
	c := deferredOf(h)
	ic, ok := rt.Runtime.(umddi.HQuery)
	c.opening(t, ok && openLocal(&c.dev.queries, local.Object, ic.Object))
}

func closeQuery(t *ddi.Thread, h umddi.HDevice, local umddi.HQuery) {
	deferredOf(h).closeLocal(t, local.Object, tagQuery)
}

// openCommandList stores the device's handle of the list, whose private memory
// has the commands.
func openCommandList(t *ddi.Thread, h umddi.HDevice, _ *umddi.CreateCommandList, local umddi.HCommandList, rt umddi.HRTCommandList) {
	c := deferredOf(h)
	ic, ok := rt.Runtime.(umddi.HCommandList)
	if !ok || listPhase(ic.Object) != listExecutable || len(local.Private) < localBytes {
		c.opening(t, false)
		return
	}
	putID(local.Object, tagList|tagLocal, id{uint32(len(c.opened)), 1})
	c.opened = append(c.opened, ic.Object)
}

func closeCommandList(t *ddi.Thread, h umddi.HDevice, local umddi.HCommandList) {
	deferredOf(h).closeLocal(t, local.Object, tagList)
}
