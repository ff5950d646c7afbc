package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// maxPagingBuffers is the maximum number of paging buffers.
const maxPagingBuffers = 16

// pagingBuffer is memory that DxgkDdiBuildPagingBuffer writes.
type pagingBuffer struct {
	lent
	ops []pagingOp // that are in it
}

// A pager builds paging buffers. An operation is appended to the open buffer if
// it fits. Finished buffers stay in built until flush, so that they are
// submitted after Patch.
type pager struct {
	size, private uint32 // sizes of a buffer, in bytes

	all   []*pagingBuffer
	free  []*pagingBuffer
	built []*submission
	open  *submission // the last of built, if it may be extended
	waits marks       // of the next operations
	line  line
}

// release frees the buffers of a stopped device.
func (p *pager) release(k *Kernel) {
	for _, b := range p.all {
		k.freePages(b.whole)
	}
	p.all, p.free = nil, nil
}

// pagingNode returns the node for paging buffers.
func (k *Kernel) pagingNode() *node { return &k.nodes[k.caps.PagingNode] }

// PagingMemory returns the bytes of the PC's memory, in pages, that paging buffers have. The
// kernel makes them when it needs them, up to a fixed number, and keeps them until Stop.
func (k *Kernel) PagingMemory() (bytes uint64) {
	for _, b := range k.paging.all {
		bytes += inPages(b.whole.Bytes)
	}
	return bytes
}

// page builds one paging operation for a.
//
//	Effect  one or more paging buffers are built or extended; a.uses, a.writes
//	        and a.paged become the number of the last of them
//	Returns StatusSuccess; StatusDeviceRemoved; by Bugcheck 0x10E/0xB for an
//	        illegal status, 0x10E/0xE for a MAP that fails, 0x10E/3 for an UNMAP, and 0x10E/0x12 for more bytes than the buffer has
func (k *Kernel) page(t *ddi.Thread, a *allocation, op kmddi.BuildPagingBuffer) ddi.Status {
	op.Allocation = a.driver
	a.queued++ // while this waits, others must not take a for unused
	defer func() { a.queued-- }()
	waited := false
	for {
		fresh := k.paging.open == nil
		if fresh {
			if s := k.openPaging(t); s.Failed() {
				return s
			}
		}
		open := k.paging.open
		ops, end := &open.paging.ops, open.arg.DmaBufferSubmissionEndOffset
		*ops = append(*ops, k.pagingOp(a, &op))
		s, progress := k.build(t, &op)
		if s != ddi.StatusSuccess && open.arg.DmaBufferSubmissionEndOffset == end {
			*ops = (*ops)[:len(*ops)-1] // the buffer has nothing of it
		}
		switch {
		case s == ddi.StatusSuccess:
			(*ops)[len(*ops)-1].done = true
			m := k.paging.open.mark
			a.uses.add(m)
			a.writes.add(m)
			a.paged = m.number
			return s
		case s == ddi.StatusInsufficientDMABuffer && (progress || !fresh):
			k.paging.open = nil
		case s == ddi.StatusAllocationBusy && !waited:
			waited = true
			k.flush()
			k.kick(t)
			if s := k.idle(t); s.Failed() {
				return s
			}
		default:
			k.bugcheck(buildPaging, CodeMemory, pagingCode(op.Operation, s), "operation %d returned %v, progress %v, waited %v",
				op.Operation, s, progress, waited)
		}
	}
}

// pagingCode returns the first parameter of the bugcheck for a status of BuildPagingBuffer. A MAP or an
// UNMAP that fails has its own one.
func pagingCode(op kmddi.PagingOperation, s ddi.Status) uint32 {
	switch {
	case s == ddi.StatusInsufficientDMABuffer || s == ddi.StatusAllocationBusy:
	case op == kmddi.PagingMapApertureSegment:
		return MemoryMap
	case op == kmddi.PagingUnmapApertureSegment:
		return MemoryUnmap
	}
	return MemoryPaging
}

// buildPaging is the function of the miniport that writes paging buffers.
const buildPaging = "DxgkDdiBuildPagingBuffer"

// build calls the miniport once with the rest of the open buffer. progress
// reports whether the driver wrote something or advanced.
func (k *Kernel) build(t *ddi.Thread, op *kmddi.BuildPagingBuffer) (s ddi.Status, progress bool) {
	open := k.paging.open
	left := open.paging.pages.Bytes[open.arg.DmaBufferSubmissionEndOffset:]
	op.DmaBuffer, op.DmaBufferPrivateData = left, open.paging.private
	k.checkLent(&open.paging.lent, buildPaging)
	k.scheduling = true
	lent := k.lendMDLs(*op)
	out, s := k.driver.BuildPagingBuffer(t, k.adapter, lent)
	k.endMDLs(lent)
	k.scheduling = false
	if s != ddi.StatusSuccess && s != ddi.StatusInsufficientDMABuffer {
		return s, false
	}
	if uint64(out.DmaBufferUsed) > uint64(len(left)) {
		k.bugcheck(buildPaging, CodeMemory, MemoryOverflow, "DmaBufferUsed is %d, want at most %d", out.DmaBufferUsed, len(left))
	}
	if out.DmaBufferUsed%4 != 0 {
		k.bugcheck(buildPaging, CodeVerifier, VerifierAlign, "DmaBufferUsed is %d, want a multiple of 4", out.DmaBufferUsed)
	}
	open.arg.DmaBufferSubmissionEndOffset += out.DmaBufferUsed
	open.paging.end(open.arg.DmaBufferSubmissionEndOffset)
	k.checkLent(&open.paging.lent, buildPaging)
	progress = out.DmaBufferUsed > 0 || out.MultipassOffset != op.MultipassOffset
	op.MultipassOffset = out.MultipassOffset
	return s, progress
}

// openPaging opens an empty paging buffer. If none is free, it submits the
// built buffers and waits.
func (k *Kernel) openPaging(t *ddi.Thread) ddi.Status {
	p := &k.paging
	if len(p.free) == 0 && len(p.all) < maxPagingBuffers {
		if l, ok := k.lend(p.size, p.private); ok {
			b := &pagingBuffer{lent: l}
			p.all, p.free = append(p.all, b), append(p.free, b)
		}
	}
	if len(p.free) == 0 {
		if len(p.all) == 0 {
			return ddi.StatusNoMemory
		}
		k.flush()
		k.kick(t)
		if s := k.wait(t, "a free paging buffer", func() bool { return len(p.free) > 0 }); s.Failed() {
			return s
		}
	}
	b := p.free[0] // the one that was not used for longest
	p.free = slices.Delete(p.free, 0, 1)
	k.beginLent(&b.lent, buildPaging)
	s := k.newSubmission(&p.line)
	clear(b.ops)
	s.paging, b.ops = b, b.ops[:0]
	s.arg.Flags.Paging = true
	s.arg.DmaBufferPhysicalAddress, s.arg.DmaBufferSize, s.arg.DmaBufferPrivateData = b.pages.Phys, p.size, b.private
	p.open, p.built = s, append(p.built, s)
	k.takeWaits()
	return ddi.StatusSuccess
}

// dependOn makes later paging operations wait until the work in the hardware that uses
// a has completed. Work that was preempted finds a at another place when it goes on.
func (k *Kernel) dependOn(a *allocation) {
	for _, m := range a.uses {
		if m = m.given(); !m.completed() {
			k.paging.waits.add(m)
		}
	}
	k.takeWaits()
}

// takeWaits moves the pending dependencies to the open buffer, if there is one.
func (k *Kernel) takeWaits() {
	p := &k.paging
	if p.open == nil {
		return
	}
	for _, m := range p.waits {
		p.open.waits.add(m)
	}
	p.waits = p.waits[:0]
}

// flush moves the built buffers to the paging node's queue.
func (k *Kernel) flush() {
	p := &k.paging
	n := k.pagingNode()
	n.waiting = append(n.waiting, p.built...)
	clear(p.built)
	p.built, p.open = p.built[:0], nil
}
