package dxgkrnl

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// checkPaging reports operations of a completed paging buffer whose destination has
// wrong bytes. It needs Config.Peek.
func (k *Kernel) checkPaging(t *ddi.Thread, s *submission) {
	if s.paging == nil || k.peek == nil || k.err != nil {
		return
	}
	for _, o := range s.paging.ops {
		if !k.canCompare(s, o) {
			continue
		}
		if found := k.compareContent(o); found != "" {
			k.report(t, "paging-content", buildPaging, fmt.Sprintf("node %d: fence %d: %v: %s", s.line.node.ordinal, s.arg.SubmissionFenceID, o, found), s.serial)
			return
		}
	}
}

// canCompare reports whether nothing that writes the source or the destination of an
// operation was submitted since it was built.
func (k *Kernel) canCompare(s *submission, o pagingOp) bool {
	a, seg := o.of, k.memorySegment(o)
	switch {
	case !o.done || o.locked || o.serial != a.pagings || a.locks > 0 || a.destroyed || o.size == 0:
		return false
	case seg == nil || !seg.memory() || !seg.desc.Flags.CPUVisible:
		return false
	case o.changes != a.changes:
		return false
	case o.source.SegmentID != kmddi.SegmentNone && o.destination.SegmentID != kmddi.SegmentNone:
		return false // what is at the source may be gone
	case o.destination.SegmentID != kmddi.SegmentNone:
		return a.segment == seg && a.address() == o.destination.Address
	}
	return a.segment == nil && seg.inserted == o.inserted
}

// compareContent returns the first wrong byte of a destination, or "".
func (k *Kernel) compareContent(o pagingOp) string {
	seg := k.memorySegment(o)
	at, host := o.destination, false
	if at.SegmentID == kmddi.SegmentNone {
		at, host = o.source, true
	}
	if uint64(cap(k.peeked)) < o.size {
		k.peeked = make([]byte, o.size)
	}
	local := k.peeked[:o.size]
	if !k.peek(seg.desc.BAR, seg.desc.BAROffset+at.Address-seg.desc.BaseAddress, local) {
		return ""
	}
	got, want := local, o.of.pages.Bytes[:o.size]
	if host {
		got, want = want, got
	}
	if o.operation == kmddi.PagingFill {
		return wrongFill(got, o.pattern)
	}
	if i := difference(got, want); i >= 0 {
		return wrongByte(i, got[i], want[i])
	}
	return ""
}

// wrongFill returns the first byte that does not have the pattern, or "".
func wrongFill(got []byte, pattern uint32) string {
	for i, v := range got {
		if want := byte(pattern >> (8 * (i % 4))); v != want {
			return wrongByte(i, v, want)
		}
	}
	return ""
}

func wrongByte(i int, got, want byte) string {
	return fmt.Sprintf("byte %#x of the destination is %#02x, want %#02x", i, got, want)
}
