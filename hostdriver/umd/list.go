package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// listBytes is the size of the private memory of a command list. The first
// three dwords are those of the table of chains.
//
//	dword  bits   field
//	0      31..0  tagList
//	1, 2   63..0  id of the chain, 0 if the list has never had one
//	3      31..0  phase of the handle
//	4      31..0  bytes of commands in dwords 8 to 63
//	5      31..0  flags
//	6, 7          unused
//	8..63         the first commands
const (
	listBytes  = 256
	listHeader = 32
	headBytes  = listBytes - listHeader
)

// Phases of a command-list handle: the states of the diagram in "Supporting
// Command Lists". Uninitialized memory has none of these values.
const (
	listExecutable = 0x4e525247 // "GRRN": green
	listRetired    = 0x314b4c42 // "BLK1": RecycleDestroyCommandList was called
	listCached     = 0x324b4c42 // "BLK2": RecycleCommandList was called
)

// Flags of a command list.
const (
	listPredicated = 1 << iota // predication is set at its end
	listMaps                   // it maps resources
)

// listPhase returns the phase of the list of a device's handle, 0 if the
// private memory is not that of a list.
func listPhase(o *ddi.Object) uint32 {
	if o == nil || len(o.Private) != listBytes || le.Uint32(o.Private) != tagList {
		return 0
	}
	return le.Uint32(o.Private[12:])
}

func setListPhase(o *ddi.Object, p uint32) { le.PutUint32(o.Private[12:], p) }

func listFlags(o *ddi.Object) uint32 { return le.Uint32(o.Private[20:]) }

// listHead returns the commands in private memory.
func listHead(o *ddi.Object) []byte {
	n := min(le.Uint32(o.Private[16:]), headBytes)
	return o.Private[listHeader : listHeader+n]
}

// listChunks returns the chunks of an executable list, or nil.
func (d *device) listChunks(o *ddi.Object) [][]byte {
	if k := d.chains.id(o); k.gen != 0 {
		if ch := d.chains.at(k); ch != nil {
			return ch.chunks
		}
	}
	return nil
}

func calcPrivateCommandListSize(*ddi.Thread, umddi.HDevice, *umddi.CreateCommandList) int {
	return listBytes
}

// createCommandList creates a list of the commands recorded in a deferred
// context.
//
//	DDI     PFND3D11DDI_CREATECOMMANDLIST, d3d10umddi.h
//	Caller  the deferred context's thread
//	In      the private memory is uninitialized
//	Effect  the commands that fit are copied to the private memory; the list
//	        takes over the remaining chunks. The context then records nothing
//	        until RecycleCreateDeferredContext
//	Returns through SetErrorCb: EOutOfMemory if the recording was lost for lack
//	        of memory; DDIDeviceRemoved for a context that is not recording.
//	        Then there is no list
func createCommandList(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateCommandList, list umddi.HCommandList, _ umddi.HRTCommandList) {
	d := deviceOf(h)
	if len(list.Private) != listBytes {
		d.report(t, ddi.EFail)
		return
	}
	putID(list.Object, tagList, id{})
	setListPhase(list.Object, 0)
	if hr := d.finish(arg, list.Object); hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
	}
}

// recycleCreateCommandList does the same with a handle passed to
// RecycleCommandList before. Its private memory is as the driver left it.
//
//	DDI     PFND3D11DDI_RECYCLECREATECOMMANDLIST, d3d10umddi.h
//	Returns OK, EOutOfMemory, DDIDeviceRemoved as CreateCommandList reports them;
//	        DDIDeviceRemoved also for a handle that is not cached
func recycleCreateCommandList(_ *ddi.Thread, h umddi.HDevice, arg *umddi.CreateCommandList, list umddi.HCommandList, _ umddi.HRTCommandList) ddi.HRESULT {
	if listPhase(list.Object) != listCached {
		return ddi.DDIDeviceRemoved
	}
	hr := deviceOf(h).finish(arg, list.Object)
	if hr.Failed() && hr != ddi.EOutOfMemory {
		return ddi.DDIDeviceRemoved
	}
	return hr
}

// finish moves the recording of a context to the list handle o.
func (d *device) finish(arg *umddi.CreateCommandList, o *ddi.Object) ddi.HRESULT {
	if arg.DeferredContext.Root == nil {
		return ddi.EFail
	}
	c, ok := arg.DeferredContext.Driver.(*deferred)
	if !ok || c.dev != d || c.phase != recordingPhase {
		return ddi.EFail
	}
	if c.lost {
		return ddi.EOutOfMemory
	}
	c.phase = closedPhase
	c.end()
	copy(o.Private[listHeader:], c.head[:c.inHead])
	le.PutUint32(o.Private[16:], uint32(c.inHead))
	le.PutUint32(o.Private[20:], c.flags)
	if len(c.chunks) > 0 {
		ch := d.chains.get(o)
		if ch == nil {
			ch = &chain{newChunks()}
			d.chains.put(o, ch)
		}
		ch.chunks, c.chunks = c.chunks, ch.chunks
	}
	setListPhase(o, listExecutable)
	return ddi.OK
}

// destroyCommandList destroys a list in any phase.
//
//	DDI     PFND3D11DDI_DESTROYCOMMANDLIST, d3d10umddi.h
//	Caller  any thread, but not while another uses the list
//	Order   the GPU may not have finished the commands of the list: they are in
//	        a command buffer and do not need the list
//	Returns through SetErrorCb: DDIDeviceRemoved for an invalid handle
func destroyCommandList(t *ddi.Thread, h umddi.HDevice, list umddi.HCommandList) {
	d := deviceOf(h)
	switch listPhase(list.Object) {
	case listExecutable, listRetired, listCached:
	default:
		d.report(t, ddi.EFail)
		return
	}
	if d.chains.id(list.Object).gen != 0 {
		if ch := d.chains.remove(list.Object); ch != nil {
			ch.free(d.memory)
		}
	}
	setListPhase(list.Object, 0)
}

// recycleDestroyCommandList retires a list. It keeps all of its memory.
//
//	DDI     pfnRecycleDestroyCommandList, d3d10umddi.h
//	Caller  any thread, but not while another uses the list
//	Returns through SetErrorCb: DDIDeviceRemoved for a handle that is not an
//	        executable list
func recycleDestroyCommandList(t *ddi.Thread, h umddi.HDevice, list umddi.HCommandList) {
	if listPhase(list.Object) != listExecutable {
		deviceOf(h).report(t, ddi.EFail)
		return
	}
	setListPhase(list.Object, listRetired)
}

// recycleCommandList returns the chunks of a retired list to the context's
// cache. The handle keeps its place in the table of chains.
//
//	DDI     PFND3D11DDI_RECYCLECOMMANDLIST, d3d10umddi.h
//	Caller  the deferred context's thread
//	Returns through SetErrorCb: DDIDeviceRemoved for a handle that is not a
//	        retired list
func recycleCommandList(t *ddi.Thread, h umddi.HDevice, list umddi.HCommandList) {
	c := deferredOf(h)
	if listPhase(list.Object) != listRetired {
		c.report(t, ddi.EFail)
		return
	}
	if k := c.dev.chains.id(list.Object); k.gen != 0 {
		if ch := c.dev.chains.at(k); ch != nil {
			c.cache.put(ch.chunks)
			ch.chunks = ch.chunks[:0]
		}
	}
	setListPhase(list.Object, listCached)
}
