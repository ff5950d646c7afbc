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
	fillBytes      = 4 * (1 + pkt.FillBody)
	fill2DBytes    = 4 * (1 + pkt.Fill2DBody)
	timestampBytes = 4 * (1 + pkt.TimestampBody)
	predicateBytes = 4 * (1 + pkt.PredicateBody)

	setStateBase  = 8
	copySrc       = 4
	copyDst       = 12
	fillDst       = 4
	timestampAddr = 4
	predicateAddr = 4
)

// A batch is the work recorded since the last submission: packets in the
// command buffer, the allocations they use, and the locations of their
// addresses. The three buffers are owned by the kernel and replaced at every
// submission. All fields but id must be used only on the immediate context's
// thread.
//
// An operation is one group of packets that sets all the state it uses. The
// kernel may therefore split the batch before any group.
type batch struct {
	ctx     ddi.KMHandle
	cmd     []byte
	allocs  []umddi.AllocationList
	patches []umddi.PatchLocation

	// id numbers batches from 1. Destroy functions read it on any thread; serial is a copy.
	id       atomic.Uint64
	serial   uint64
	nCmd     int // bytes
	nAllocs  int
	nPatches int
	group    int // start of the open group, in bytes
}

// start begins the first batch.
func (b *batch) start(c *umddi.CreateContext) {
	b.ctx, b.cmd, b.allocs, b.patches = c.Context, c.CommandBuffer, c.AllocationList, c.PatchLocationList
	b.serial = 1
	b.id.Store(1)
}

// next begins the next batch in the current buffers.
func (b *batch) next() {
	b.nCmd, b.nAllocs, b.nPatches = 0, 0, 0
	b.serial++
	b.id.Store(b.serial)
}

// room reports whether a group of n bytes with the given number of addresses in
// x, y and z fits in the buffers. y and z may be nil.
func (b *batch) room(n, addresses int, x, y, z *allocation) bool {
	added := 0
	if !b.uses(x) {
		added++
	}
	if y != nil && y != x && !b.uses(y) {
		added++
	}
	if z != nil && z != x && z != y && !b.uses(z) {
		added++
	}
	return n <= len(b.cmd)-b.nCmd && addresses <= len(b.patches)-b.nPatches && added <= len(b.allocs)-b.nAllocs
}

// uses reports whether a is in the allocation list.
func (b *batch) uses(a *allocation) bool { return a.batch == b.serial }

// index returns the index of a in the allocation list and marks it written if
// write is set.
func (b *batch) index(a *allocation, write bool) uint32 {
	if a.batch != b.serial {
		a.batch, a.index = b.serial, uint32(b.nAllocs)
		b.allocs[b.nAllocs] = umddi.AllocationList{Allocation: a.handle}
		b.nAllocs++
	}
	if write {
		b.allocs[a.index].WriteOperation = true
	}
	return a.index
}

// patch adds a patch location: the address field at bytes after the end of the
// recorded packets becomes the address of byte off of a.
func (b *batch) patch(at int, a *allocation, off uint32, write bool) {
	b.patches[b.nPatches] = umddi.PatchLocation{
		AllocationIndex:  b.index(a, write),
		AllocationOffset: off,
		PatchOffset:      uint32(b.nCmd + at),
		SplitOffset:      uint32(b.group),
	}
	b.nPatches++
}

// setState appends a SET_STATE packet for a surface.
func (b *batch) setState(which pkt.Surface, s surface) error {
	b.patch(setStateBase, s.alloc, s.offset, which == pkt.Dest)
	return b.append(pkt.SetState{
		Surface: which, Pitch: s.pitch, Format: s.format, X1: uint16(s.width), Y1: uint16(s.height),
	}.Append(b.cmd[:b.nCmd]))
}

// append stores the command buffer returned by a packet's Append. The room was
// checked before, so it was extended in place.
func (b *batch) append(cmd []byte, err error) error {
	b.nCmd = len(cmd)
	return err
}

// A surface is a subresource in an allocation, as used by 2D packets.
type surface struct {
	alloc  *allocation
	format pkt.Format
	subresource
}

// begin opens a group of n bytes with the given number of addresses in x and y;
// y may be nil. If it does not fit, begin submits the batch. EOutOfMemory means
// that it does not fit in an empty batch either.
func (d *device) begin(t *ddi.Thread, n, addresses int, x, y *allocation) ddi.HRESULT {
	return d.open(t, n, addresses, x, y, nil)
}

// beginWork is begin for work subject to predication. It also reserves room for
// the packet that skip appends, and returns the allocation to pass to skip.
func (d *device) beginWork(t *ddi.Thread, n, addresses int, x, y *allocation) (*allocation, ddi.HRESULT) {
	if d.predicate.query.gen == 0 {
		return nil, d.open(t, n, addresses, x, y, nil)
	}
	q := d.predicateAlloc()
	if q == nil {
		return nil, d.open(t, n, addresses, x, y, nil)
	}
	return q, d.open(t, n+predicateBytes, addresses+1, x, y, q)
}

func (d *device) open(t *ddi.Thread, n, addresses int, x, y, z *allocation) ddi.HRESULT {
	b := &d.batch
	if !b.room(n, addresses, x, y, z) {
		if hr := d.split(t); hr.Failed() {
			return hr
		}
		if !b.room(n, addresses, x, y, z) {
			return ddi.EOutOfMemory
		}
	}
	b.group = b.nCmd
	return ddi.OK
}

// skip makes the next packet, of n bytes, depend on the predicate in q. If q is
// nil, it does nothing.
func (d *device) skip(q *allocation, n int) error {
	if q == nil {
		return nil
	}
	b := &d.batch
	b.patch(predicateAddr, q, queryResult, false)
	return b.append(pkt.Predicate{Dwords: uint16(n / 4), NonZero: d.predicate.value}.Append(b.cmd[:b.nCmd]))
}

// encoded converts the error of a packet encoder to a result. Arguments are
// checked before, so an error is a bug in this driver.
func encoded(err error) ddi.HRESULT {
	if err != nil {
		return ddi.EFail
	}
	return ddi.OK
}

// recordCopy2D records a copy of a rectangle between surfaces of the same
// format.
func (d *device) recordCopy2D(t *ddi.Thread, dst, src surface, p pkt.Copy2D) ddi.HRESULT {
	q, hr := d.beginWork(t, 2*setStateBytes+copy2DBytes, 2, dst.alloc, src.alloc)
	if hr.Failed() {
		return hr
	}
	b := &d.batch
	if err := b.setState(pkt.Source, src); err != nil {
		return encoded(err)
	}
	if err := b.setState(pkt.Dest, dst); err != nil {
		return encoded(err)
	}
	if err := d.skip(q, copy2DBytes); err != nil {
		return encoded(err)
	}
	return encoded(b.append(p.Append(b.cmd[:b.nCmd])))
}

// recordFill2D records a fill of an entire surface.
func (d *device) recordFill2D(t *ddi.Thread, dst surface, value uint64) ddi.HRESULT {
	q, hr := d.beginWork(t, setStateBytes+fill2DBytes, 1, dst.alloc, nil)
	if hr.Failed() {
		return hr
	}
	b := &d.batch
	if err := b.setState(pkt.Dest, dst); err != nil {
		return encoded(err)
	}
	if err := d.skip(q, fill2DBytes); err != nil {
		return encoded(err)
	}
	p := pkt.Fill2D{W: uint16(dst.width), H: uint16(dst.height), Value: value}
	return encoded(b.append(p.Append(b.cmd[:b.nCmd])))
}

// recordCopy records a copy of n bytes, in pieces of at most the maximum size.
func (d *device) recordCopy(t *ddi.Thread, dst *allocation, dstOff uint64, src *allocation, srcOff, n uint64) ddi.HRESULT {
	for most := d.adapter.maxCopy; n > 0; {
		piece := min(n, most)
		q, hr := d.beginWork(t, copyBytes, 2, dst, src)
		if hr.Failed() {
			return hr
		}
		if err := d.skip(q, copyBytes); err != nil {
			return encoded(err)
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

// recordFill records a fill of 8 bytes at off in dst with 0, regardless of
// predication.
func (d *device) recordFill(t *ddi.Thread, dst *allocation, off uint32) ddi.HRESULT {
	if hr := d.begin(t, fillBytes, 1, dst, nil); hr.Failed() {
		return hr
	}
	b := &d.batch
	b.patch(fillDst, dst, off, true)
	return encoded(b.append(pkt.Fill{Bytes: 8}.Append(b.cmd[:b.nCmd])))
}

// recordTimestamp records a write of 8 bytes at the start of dst after all
// earlier work, regardless of predication.
func (d *device) recordTimestamp(t *ddi.Thread, dst *allocation) ddi.HRESULT {
	if hr := d.begin(t, timestampBytes, 1, dst, nil); hr.Failed() {
		return hr
	}
	b := &d.batch
	b.patch(timestampAddr, dst, 0, true)
	return encoded(b.append(pkt.Timestamp{}.Append(b.cmd[:b.nCmd])))
}

// submit submits the batch to the kernel, if anything is recorded, and frees
// destroyed allocations. It always begins the next batch. A batch that the
// kernel refuses is lost, and the device with it, because the calls that
// recorded it have already succeeded.
//
//	DDI     pfnRenderCb, d3dumddi.h; then pfnPerformAmortizedProcessingCb
//	Caller  the immediate context's thread
//	Returns DDIDeviceRemoved if a batch is lost; else the result of UnlockCb or
//	        DeallocateCb
func (d *device) submit(t *ddi.Thread) ddi.HRESULT {
	hr, submitted := d.uploads.close(t, d), d.batch.nCmd > 0
	if submitted {
		if !hr.Failed() {
			hr = d.render(t)
		}
		if hr.Failed() {
			hr = ddi.DDIDeviceRemoved
		}
		d.batch.next()
	}
	hr = first(hr, d.freeRetired(t))
	if submitted && !hr.Failed() && d.um.PerformAmortizedProcessingCb != nil {
		d.um.PerformAmortizedProcessingCb(t, d.core)
	}
	return hr
}

// render calls RenderCb and stores the returned buffers.
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
