package miniport

import (
	"fmt"

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
// packet.
//
//	DDI     DxgkDdiBuildPagingBuffer, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL, scheduler class
//	In      MultipassOffset: number of pieces already written
//	Out     DmaBuffer[:DmaBufferUsed]; DmaBufferPrivateData: a place, not stopped
//	Returns only StatusSuccess or StatusInsufficientDMABuffer: the system
//	        bugchecks on others (0x10E/0xB). An unknown operation, more than
//	        2^40 bytes or a range that ends above 2^63 writes nothing and
//	        marks the ring of the paging node as failed
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_buildpagingbuffer
func buildPagingBuffer(_ *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
	a, ok := adapterOf(h)
	if !ok || !a.running {
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
	}
	place{}.put(arg.DmaBufferPrivateData)
	var packet func(b []byte, off uint64, bytes uint32) ([]byte, error)
	src, srcOK := pagingAddress(arg.Source, arg.Size)
	dst, dstOK := pagingAddress(arg.Destination, arg.Size)
	switch arg.Operation {
	case kmddi.PagingDiscardContent:
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
	case kmddi.PagingTransfer:
		packet = func(b []byte, off uint64, bytes uint32) ([]byte, error) {
			return pkt.Copy{Src: src + off, Dst: dst + off, Bytes: bytes}.Append(b)
		}
	case kmddi.PagingFill:
		srcOK = true // there is no source
		value := uint64(arg.FillPattern)<<32 | uint64(arg.FillPattern)
		packet = func(b []byte, off uint64, bytes uint32) ([]byte, error) {
			return pkt.Fill{Dst: dst + off, Bytes: bytes, Value: value}.Append(b)
		}
	}
	if packet == nil || !srcOK || !dstOK || arg.Size > maxPaging {
		a.fail(uint32(a.caps.nodes-1), fmt.Errorf("%w: paging operation %d of %d bytes, %#x to %#x",
			ErrArgument, arg.Operation, arg.Size, arg.Source.Address, arg.Destination.Address))
		return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
	}
	return a.pagingPieces(arg, packet)
}

// pagingPieces writes a packet for each piece, from MultipassOffset on.
func (a *adapter) pagingPieces(arg kmddi.BuildPagingBuffer, packet func([]byte, uint64, uint32) ([]byte, error)) (kmddi.BuildPagingBufferOut, ddi.Status) {
	const packetBytes = 4 * (1 + max(pkt.CopyBody, pkt.FillBody))
	step := a.caps.maxLength() + 1 - pagingStep
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

// pagingAddress returns the GPU address of a location. It reports false if the
// n bytes from there exceed the memory of the location.
func pagingAddress(l kmddi.PagingLocation, n uint64) (uint64, bool) {
	addr := l.Address
	if l.SegmentID == kmddi.SegmentNone {
		if addr >= pkt.Host {
			return 0, false
		}
		addr |= pkt.Host
	}
	return addr, n <= pkt.Host-addr&^pkt.Host
}
