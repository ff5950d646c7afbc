package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

var pagingNames = [...]string{"transfer", "fill", "discard", 5: "map", 6: "unmap"}

func (m *miniport) buildPaging(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status) {
	if s := m.call(t, 0, "BuildPagingBuffer %s %d to %d", pagingNames[arg.Operation], arg.Source.SegmentID, arg.Destination.SegmentID); s.Failed() {
		return out, s
	}
	if m.build != nil {
		if out, s, done := m.build(arg); done {
			return out, s
		}
	}
	if arg.NumberOfPages > 0 {
		return m.buildMapping(arg)
	}
	piece := m.piece
	if arg.Source.MDL != nil || arg.Destination.MDL != nil {
		piece = 4096
	}
	address := func(l kmddi.PagingLocation, off uint64) uint64 {
		switch {
		case l.SegmentID != 0:
			return l.Address + off
		case l.MDL != nil:
			return l.MDL[off/4096] + hostBase
		}
		return l.Address + hostBase + off
	}
	b := arg.DmaBuffer[:0]
	off := uint64(arg.MultipassOffset) * piece
	for ; off < arg.Size; off += piece {
		if cap(b)-len(b) < opBytes {
			return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(len(b)), MultipassOffset: uint32(off / piece)}, ddi.StatusInsufficientDMABuffer
		}
		n := uint32(min(piece, arg.Size-off))
		if arg.Operation == kmddi.PagingFill {
			b = append(b, encodeOp(opFill, n, 0, address(arg.Destination, off), uint64(arg.FillPattern))...)
		} else {
			b = append(b, encodeOp(opCopy, n, address(arg.Source, off), address(arg.Destination, off), 0)...)
		}
	}
	return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(len(b))}, ddi.StatusSuccess
}

// buildMapping writes entries of the aperture at once, or commands that do, and a flush at the
// end.
func (m *miniport) buildMapping(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status) {
	b := arg.DmaBuffer[:0]
	for i := uint64(arg.MultipassOffset); i <= arg.NumberOfPages; i++ {
		if cap(b)-len(b) < opBytes {
			return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(len(b)), MultipassOffset: uint32(i)}, ddi.StatusInsufficientDMABuffer
		}
		page, op := arg.DummyPage, encodeOp(opFlush, 0, 0, 0, 0)
		if i < arg.NumberOfPages {
			if arg.Operation == kmddi.PagingMapApertureSegment {
				page = arg.MDL[i]
			}
			op = encodeOp(opMap, uint32(arg.OffsetInPages+i), page, 0, 0)
		}
		if m.maps {
			m.gpu.command(op)
		} else {
			b = append(b, op...)
		}
	}
	return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(len(b))}, ddi.StatusSuccess
}
