package miniport

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// pagingStep is a divisor of the size of each piece of a transfer, so that all
// pieces but the last keep the alignment.
const pagingStep = 4096

// maxPaging is the maximum size of an operation, in bytes: that of the largest
// allocation. The number of its pieces fits in MultipassOffset.
const maxPaging = 1 << 40

// buildPagingBuffer writes the packets of a paging operation: COPY for a
// transfer and FILL for a fill, one packet for each piece of at most the
// packet's maximum length. A discard and an operation on 0 bytes need no
// packet, nor does the CPU when it changes the table of the aperture.
//
//	DDI     DxgkDdiBuildPagingBuffer, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL, scheduler class
//	In      MultipassOffset: number of pieces already written
//	Effect  MAP and UNMAP have an effect when it returns
//	Out     DmaBuffer[:DmaBufferUsed]; DmaBufferPrivateData: a place, not stopped
//	Returns only StatusSuccess or StatusInsufficientDMABuffer: the system
//	        bugchecks on others (0x10E/0xB, 0xE, 3). An unknown operation, more than
//	        2^40 bytes or a range outside of its memory writes nothing and
//	        marks the ring of the paging node as failed
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_buildpagingbuffer
func buildPagingBuffer(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
	}
	place{}.put(arg.DmaBufferPrivateData)
	if arg.Operation == kmddi.PagingMapApertureSegment || arg.Operation == kmddi.PagingUnmapApertureSegment {
		if err := a.translate(t, arg); err != nil {
			a.fail(uint32(a.caps.nodes-1), err)
		}
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
	}
	var packet func(b []byte, off uint64, bytes uint32) ([]byte, error)
	srcOK, dstOK := a.inMemory(arg.Source, arg.Size), a.inMemory(arg.Destination, arg.Size)
	switch arg.Operation {
	case kmddi.PagingDiscardContent:
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
	case kmddi.PagingTransfer:
		packet = func(b []byte, off uint64, bytes uint32) ([]byte, error) {
			return pkt.Copy{Src: addressAt(arg.Source, off), Dst: addressAt(arg.Destination, off), Bytes: bytes}.Append(b)
		}
	case kmddi.PagingFill:
		srcOK = true // there is no source
		value := uint64(arg.FillPattern)<<32 | uint64(arg.FillPattern)
		packet = func(b []byte, off uint64, bytes uint32) ([]byte, error) {
			return pkt.Fill{Dst: addressAt(arg.Destination, off), Bytes: bytes, Value: value}.Append(b)
		}
	}
	if packet == nil || !srcOK || !dstOK || arg.Size > maxPaging {
		a.fail(uint32(a.caps.nodes-1), fmt.Errorf("%w: paging operation %d of %d bytes, %#x to %#x",
			ErrArgument, arg.Operation, arg.Size, arg.Source.Address, arg.Destination.Address))
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
	}
	return a.pagingPieces(arg, packet)
}

// pagingPieces writes a packet for each piece, from MultipassOffset on. A piece of memory that
// is not contiguous ends with its page.
func (a *adapter) pagingPieces(arg kmddi.BuildPagingBuffer, packet func([]byte, uint64, uint32) ([]byte, error)) (kmddi.BuildPagingBufferOut, ddi.Status) {
	const packetBytes = 4 * (1 + max(pkt.CopyBody, pkt.FillBody))
	step := a.caps.maxLength() + 1 - pagingStep
	if arg.Source.MDL != nil || arg.Destination.MDL != nil {
		step = gartreg.PageBytes
	}
	b := arg.DmaBuffer[:0:len(arg.DmaBuffer)]
	piece := arg.MultipassOffset
	for ; uint64(piece)*step < arg.Size; piece++ {
		if cap(b)-len(b) < packetBytes {
			return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(len(b)), MultipassOffset: piece}, ddi.StatusInsufficientDMABuffer
		}
		off := uint64(piece) * step
		next, err := packet(b, off, uint32(min(step, arg.Size-off)))
		if err != nil {
			a.fail(uint32(a.caps.nodes-1), fmt.Errorf("%w: paging: %w", ErrArgument, err))
			return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
		}
		b = next
	}
	return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(len(b))}, ddi.StatusSuccess
}

// addressAt returns the GPU address of the byte at off in a location.
func addressAt(l kmddi.PagingLocation, off uint64) uint64 {
	switch {
	case l.SegmentID != kmddi.SegmentNone:
		return l.Address + off
	case l.MDL != nil:
		return pkt.Host | l.MDL[off/gartreg.PageBytes] + off%gartreg.PageBytes
	}
	return pkt.Host | l.Address + off
}

// inMemory reports whether the n bytes of a location are in its memory.
func (a *adapter) inMemory(l kmddi.PagingLocation, n uint64) bool {
	if l.SegmentID == kmddi.SegmentNone && l.MDL != nil {
		return n <= uint64(len(l.MDL))*gartreg.PageBytes &&
			!slices.ContainsFunc(l.MDL, func(page uint64) bool {
				return page%gartreg.PageBytes != 0 || !a.caps.reachable(page, gartreg.PageBytes)
			})
	}
	if l.SegmentID == kmddi.SegmentNone && l.Address >= pkt.Host {
		return false
	}
	return n <= pkt.Host-l.Address&^pkt.Host
}
