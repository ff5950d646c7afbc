package dxgkrnl

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// submitCommand is the function of the miniport that gives work to the GPU.
const submitCommand = "DxgkDdiSubmitCommand"

// written counts the registers that the miniport wrote, and remembers the last.
type written struct {
	count      uint64
	off, value uint32
}

func (w *written) add(off, value uint32) { *w = written{w.count + 1, off, value} }

// since describes the writes after from.
func (w written) since(from written) string {
	switch n := w.count - from.count; n {
	case 0:
		return "no register"
	case 1:
		return fmt.Sprintf("a register, %#x = %#x (WRITE_REGISTER_ULONG)", w.off, w.value)
	default:
		return fmt.Sprintf("%d registers, the last %#x = %#x (WRITE_REGISTER_ULONG)", n, w.off, w.value)
	}
}

// A pagingOp is a paging operation, or a part of one, in a paging buffer.
type pagingOp struct {
	operation           kmddi.PagingOperation
	allocation          ddi.KMHandle
	size                uint64
	source, destination kmddi.PagingLocation
	pattern             uint32

	of       *allocation
	done     bool   // the last part
	locked   bool   // an application may write the host memory meanwhile
	serial   uint64 // of the allocation's paging operations
	inserted uint64 // of the memory segment, when the operation was built
	changes  uint64 // of the allocation, when the operation was built
	mapping  uint64 // Kernel.remaps, of a MAP or UNMAP
}

// pagingOp returns the record of an operation on a.
func (k *Kernel) pagingOp(a *allocation, op *kmddi.BuildPagingBuffer) pagingOp {
	a.pagings++
	o := pagingOp{
		operation: op.Operation, allocation: a.handle, size: op.Size, source: op.Source, destination: op.Destination,
		pattern: op.FillPattern, of: a, locked: a.locks > 0, serial: a.pagings, changes: a.changes,
	}
	if op.NumberOfPages > 0 {
		k.describeAperture(&o, op)
	}
	if seg := k.memorySegment(o); seg != nil {
		o.inserted = seg.inserted
	}
	return o
}

// describeAperture gives the record of a MAP or UNMAP its ends and its size.
func (k *Kernel) describeAperture(o *pagingOp, op *kmddi.BuildPagingBuffer) {
	place := kmddi.PagingLocation{
		SegmentID: op.SegmentID, Address: k.segments[op.SegmentID-1].desc.BaseAddress + op.OffsetInPages*hal.PageSize,
	}
	o.size = op.NumberOfPages * hal.PageSize
	o.source, o.destination = kmddi.PagingLocation{Address: o.of.pages.Phys}, place
	if op.Operation == kmddi.PagingUnmapApertureSegment {
		o.source, o.destination = place, kmddi.PagingLocation{Address: op.DummyPage}
	}
	k.noteMapping(o, k.segments[op.SegmentID-1], op.OffsetInPages)
}

// memorySegment returns the memory segment of an operation, or nil.
func (k *Kernel) memorySegment(o pagingOp) *segment {
	id := max(o.source.SegmentID, o.destination.SegmentID) // one of them is 0, or both are equal
	if id == kmddi.SegmentNone || uint64(id) > uint64(len(k.segments)) {
		return nil
	}
	return k.segments[id-1]
}

// name returns the name of the operation.
func (o pagingOp) name() string {
	switch o.operation {
	case kmddi.PagingTransfer:
		return "TRANSFER"
	case kmddi.PagingDiscardContent:
		return "DISCARD_CONTENT"
	case kmddi.PagingMapApertureSegment:
		return "MAP_APERTURE_SEGMENT"
	case kmddi.PagingUnmapApertureSegment:
		return "UNMAP_APERTURE_SEGMENT"
	}
	return "FILL"
}

// String describes the operation.
func (o pagingOp) String() string {
	if o.operation == kmddi.PagingDiscardContent {
		return fmt.Sprintf("%s of allocation %#x at %s", o.name(), o.allocation, placeName(o.destination))
	}
	text := fmt.Sprintf("%s of %d bytes of allocation %#x to %s", o.name(), o.size, o.allocation, placeName(o.destination))
	if o.operation != kmddi.PagingFill {
		text += " from " + placeName(o.source)
	}
	return text
}

// placeName describes a location.
func placeName(l kmddi.PagingLocation) string {
	if l.SegmentID == kmddi.SegmentNone {
		return fmt.Sprintf("host memory %#x", l.Address)
	}
	return fmt.Sprintf("%#x in segment %d", l.Address, l.SegmentID)
}

// maxOps is the number of paging operations that a description lists.
const maxOps = 4

// workOf describes the calls of the miniport that made the work of a fence in the
// hardware. It returns "" if there is no such fence.
func (k *Kernel) workOf(node, fence uint32) string {
	for _, s := range k.nodes[node].hardware {
		if s.arg.SubmissionFenceID == fence {
			return s.work() + ", which wrote " + s.after.since(s.before) + "; since then the driver wrote " + k.written.since(s.after)
		}
	}
	return ""
}

// work describes the calls that made s.
func (s *submission) work() string {
	submitted := fmt.Sprintf("submitted by %s from %#x to %#x", submitCommand, s.arg.DmaBufferSubmissionStartOffset, s.arg.DmaBufferSubmissionEndOffset)
	if d := s.dma; d != nil {
		return fmt.Sprintf("its DMA buffer of %d bytes was written by %s, patched by %s (%d of %d locations), %s",
			d.used, d.function(), patch, s.part.end-s.part.start, d.nPatches, submitted)
	}
	var list []string
	for i, o := range s.paging.ops {
		if i == maxOps {
			list = append(list, fmt.Sprintf("%d more", len(s.paging.ops)-i))
			break
		}
		list = append(list, o.String())
	}
	return fmt.Sprintf("its paging buffer of %d bytes was written by %s (%s), %s",
		s.arg.DmaBufferSubmissionEndOffset, buildPaging, strings.Join(list, "; "), submitted)
}

// reportWork reports that the GPU did not do the work of a fence. The miniport or
// the hardware may have caused it.
func (k *Kernel) reportWork(t *ddi.Thread, e *DeviceError) {
	if e.Work == "" {
		return
	}
	rule, what := "gpu-fault", fmt.Sprintf("faulted with %v", e.Cause)
	if e.Kind == Timeout {
		rule, what = "gpu-time-out", fmt.Sprintf("made no progress in %d clocks", k.tdrDelay())
	}
	k.report(t, rule, submitCommand, fmt.Sprintf("node %d: fence %d %s: %s", e.Node, e.Fence, what, e.Work), 0)
}
