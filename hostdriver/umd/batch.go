package umd

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Sizes of the packets in use, and offsets of their address fields, in bytes.
const (
	setStateBytes  = 4 * (1 + pkt.SetStateBody)
	copyBytes      = 4 * (1 + pkt.CopyBody)
	copy2DBytes    = 4 * (1 + pkt.Copy2DBody)
	fill2DBytes    = 4 * (1 + pkt.Fill2DBody)
	timestampBytes = 4 * (1 + pkt.TimestampBody)

	setStateBase  = 8
	copySrc       = 4
	copyDst       = 12
	timestampAddr = 4
)

// A batch is what is recorded since the last submission: packets in the command
// buffer, the allocations they use and where their addresses go. The three
// buffers are the kernel's and change at every submission. All but id belong to
// the immediate context's thread.
//
// An operation is one group of packets that sets all the state it uses, so that
// the kernel may split the batch in front of any group.
type batch struct {
	ctx     ddi.KMHandle
	cmd     []byte
	allocs  []umddi.AllocationList
	patches []umddi.PatchLocation

	// id numbers the batches from 1. Destroy functions read it on any thread.
	id       atomic.Uint64
	nCmd     int // bytes
	nAllocs  int
	nPatches int
	group    int // start of the open group, in bytes
}

// start begins the first batch.
func (b *batch) start(c *umddi.CreateContext) {
	b.ctx, b.cmd, b.allocs, b.patches = c.Context, c.CommandBuffer, c.AllocationList, c.PatchLocationList
	b.id.Store(1)
}

// next begins the next batch in the buffers at hand.
func (b *batch) next() {
	b.nCmd, b.nAllocs, b.nPatches = 0, 0, 0
	b.id.Add(1)
}

// room reports whether a group of n bytes with the given number of addresses in
// x and y fits behind what is recorded. y may be nil.
func (b *batch) room(n, addresses int, x, y *allocation) bool {
	added := 0
	if !b.uses(x) {
		added++
	}
	if y != nil && y != x && !b.uses(y) {
		added++
	}
	return n <= len(b.cmd)-b.nCmd && addresses <= len(b.patches)-b.nPatches && added <= len(b.allocs)-b.nAllocs
}

// uses reports whether a is in the allocation list.
func (b *batch) uses(a *allocation) bool { return a.batch == b.id.Load() }

// index returns the place of a in the allocation list and marks it written if
// write is set.
func (b *batch) index(a *allocation, write bool) uint32 {
	if !b.uses(a) {
		a.batch, a.index = b.id.Load(), uint32(b.nAllocs)
		b.allocs[b.nAllocs] = umddi.AllocationList{Allocation: a.handle}
		b.nAllocs++
	}
	if write {
		b.allocs[a.index].WriteOperation = true
	}
	return a.index
}

// patch adds a patch location: the address field at bytes behind the end of
// what is recorded becomes the address of byte off of a.
func (b *batch) patch(at int, a *allocation, off uint32, write bool) {
	b.patches[b.nPatches] = umddi.PatchLocation{
		AllocationIndex:  b.index(a, write),
		AllocationOffset: off,
		PatchOffset:      uint32(b.nCmd + at),
		SplitOffset:      uint32(b.group),
	}
	b.nPatches++
}

// setState appends a SET_STATE of a surface.
func (b *batch) setState(which pkt.Surface, s surface) error {
	b.patch(setStateBase, s.alloc, s.offset, which == pkt.Dest)
	return b.append(pkt.SetState{
		Surface: which, Pitch: s.pitch, Format: s.format, X1: uint16(s.width), Y1: uint16(s.height),
	}.Append(b.cmd[:b.nCmd]))
}

// append takes the command buffer as a packet's Append left it. The room was
// checked, so it has grown in place.
func (b *batch) append(cmd []byte, err error) error {
	b.nCmd = len(cmd)
	return err
}

// A surface is a subresource in an allocation, as 2D packets see it.
type surface struct {
	alloc  *allocation
	format pkt.Format
	subresource
}

// begin opens a group of n bytes with the given number of addresses in x and y;
// y may be nil. If there is no room for it, what is recorded is submitted.
// EOutOfMemory means that not even an empty batch has the room.
func (d *device) begin(t *ddi.Thread, n, addresses int, x, y *allocation) ddi.HRESULT {
	b := &d.batch
	if !b.room(n, addresses, x, y) {
		if hr := d.submit(t); hr.Failed() {
			return hr
		}
		if !b.room(n, addresses, x, y) {
			return ddi.EOutOfMemory
		}
	}
	b.group = b.nCmd
	return ddi.OK
}

// encoded turns the error of a packet encoder into a result. The arguments were
// checked before, so it means that this driver is wrong.
func encoded(err error) ddi.HRESULT {
	if err != nil {
		return ddi.EFail
	}
	return ddi.OK
}

// recordCopy2D records a copy of a rectangle between surfaces of one format.
func (d *device) recordCopy2D(t *ddi.Thread, dst, src surface, p pkt.Copy2D) ddi.HRESULT {
	if hr := d.begin(t, 2*setStateBytes+copy2DBytes, 2, dst.alloc, src.alloc); hr.Failed() {
		return hr
	}
	b := &d.batch
	if err := b.setState(pkt.Source, src); err != nil {
		return encoded(err)
	}
	if err := b.setState(pkt.Dest, dst); err != nil {
		return encoded(err)
	}
	return encoded(b.append(p.Append(b.cmd[:b.nCmd])))
}

// recordFill2D records a fill of a whole surface.
func (d *device) recordFill2D(t *ddi.Thread, dst surface, value uint64) ddi.HRESULT {
	if hr := d.begin(t, setStateBytes+fill2DBytes, 1, dst.alloc, nil); hr.Failed() {
		return hr
	}
	b := &d.batch
	if err := b.setState(pkt.Dest, dst); err != nil {
		return encoded(err)
	}
	p := pkt.Fill2D{W: uint16(dst.width), H: uint16(dst.height), Value: value}
	return encoded(b.append(p.Append(b.cmd[:b.nCmd])))
}

// recordCopy records a copy of n bytes, in pieces that the GPU takes.
func (d *device) recordCopy(t *ddi.Thread, dst *allocation, dstOff uint64, src *allocation, srcOff, n uint64) ddi.HRESULT {
	for most := d.adapter.maxCopy(); n > 0; {
		piece := min(n, most)
		if hr := d.begin(t, copyBytes, 2, dst, src); hr.Failed() {
			return hr
		}
		b := &d.batch
		b.patch(copySrc, src, uint32(srcOff), false)
		b.patch(copyDst, dst, uint32(dstOff), true)
		if err := b.append(pkt.Copy{Bytes: uint32(piece)}.Append(b.cmd[:b.nCmd])); err != nil {
			return encoded(err)
		}
		dstOff, srcOff, n = dstOff+piece, srcOff+piece, n-piece
	}
	return ddi.OK
}

// recordTimestamp records a write of 8 bytes at the start of dst once all that
// is recorded before has been done.
func (d *device) recordTimestamp(t *ddi.Thread, dst *allocation) ddi.HRESULT {
	if hr := d.begin(t, timestampBytes, 1, dst, nil); hr.Failed() {
		return hr
	}
	b := &d.batch
	b.patch(timestampAddr, dst, 0, true)
	return encoded(b.append(pkt.Timestamp{}.Append(b.cmd[:b.nCmd])))
}

// submit hands the batch to the kernel, if anything is recorded, and frees what
// was destroyed. The next batch is begun in any case: a batch that the kernel
// refuses is lost, and the device with it, because the calls that recorded it
// have long succeeded.
//
//	DDI     pfnRenderCb, d3dumddi.h
//	Caller  the immediate context's thread
//	Returns DDIDeviceRemoved if a batch is lost; else what UnlockCb or
//	        DeallocateCb returned
func (d *device) submit(t *ddi.Thread) ddi.HRESULT {
	hr := d.uploads.close(t, d)
	if d.batch.nCmd > 0 {
		if !hr.Failed() {
			hr = d.render(t)
		}
		if hr.Failed() {
			hr = ddi.DDIDeviceRemoved
		}
		d.batch.next()
	}
	return first(hr, d.freeRetired(t))
}

// render calls RenderCb and takes the buffers it returns.
func (d *device) render(t *ddi.Thread) ddi.HRESULT {
	b, r := &d.batch, &d.renderArg
	*r = umddi.Render{
		Context: b.ctx, CommandLength: uint32(b.nCmd),
		NumAllocations: uint32(b.nAllocs), NumPatchLocations: uint32(b.nPatches),
	}
	hr := d.kt.RenderCb(t, d.rt, r)
	if !hr.Failed() {
		b.cmd, b.allocs, b.patches = r.NewCommandBuffer, r.NewAllocationList, r.NewPatchLocationList
	}
	return hr
}
