package miniport

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// maxCommand is the maximum size of a command buffer, in bytes. It bounds the
// time and the memory that a Render takes.
const maxCommand = 1 << 20

// retried is the bit of MultipassOffset that is set if the previous call wrote
// nothing. The other bits are an offset in the command, a multiple of 4.
const retried = 1

// unpatched is the content of an address field until the address is known. It
// is not mapped, so a packet with it faults.
const unpatched = uint64(0x7fffffff00000000)

// render checks a command buffer and translates it to a DMA buffer.
//
// A command consists of packets of the GPU, with address fields to be patched.
// The command and the patch list are copied once, and only the copy is used.
// See validator for the rules. An invalid command changes nothing.
//
// Each SplitOffset starts a portion, which the kernel may submit separately. A
// DMA buffer gets as many portions as fit, in bytes and in patches; rendering
// continues at MultipassOffset. If no portion fits in the rest of a buffer,
// nothing is written and the kernel calls again with an empty one. A portion
// that does not fit in an empty buffer is refused.
//
//	DDI     DxgkDdiRender, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL; one thread at a time for a context
//	Out     DmaBuffer[:DmaBufferUsed]: the packets; addresses of allocations in
//	        a segment are filled in, others fault if not patched
//	        PatchLocationListOut[:PatchesUsed]: every address in them, offsets
//	        from the start of DmaBuffer; SlotID is 0, slots are not used
//	        DmaBufferPrivateData: a place, not stopped
//	Returns StatusSuccess
//	        StatusInsufficientDMABuffer: to be continued at MultipassOffset
//	        StatusInvalidUserBuffer: memory that cannot be read, a length that
//	        is not a multiple of 4, a packet that runs past the end
//	        StatusIllegalInstruction: an unknown opcode, a wrong length, a
//	        reserved bit, a 2D packet without SET_STATE in the buffer
//	        StatusPrivilegedInstruction: INDIRECT, FENCE, SIGNAL, or WRITE_REG to a
//	        register that is not a scratch register
//	        StatusInvalidHandle: an allocation that is nil or another device's
//	        StatusInvalidParameter: anything else
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_render
func render(_ *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
	c, ok := contextOf(h)
	if !ok {
		return kmddi.RenderOut{}, ddi.StatusInvalidHandle
	}
	v := &c.check
	v.reset(c.device, arg.AllocationList)
	if s := v.fetch(arg.Command, arg.PatchLocationListIn); s != ddi.StatusSuccess {
		return kmddi.RenderOut{}, s
	}
	if s := v.validate(); s != ddi.StatusSuccess {
		return kmddi.RenderOut{}, s
	}
	first, ok := v.portionAt(arg.MultipassOffset &^ retried)
	if !ok {
		return kmddi.RenderOut{}, ddi.StatusInvalidParameter
	}
	end := v.fit(first, len(arg.DmaBuffer), len(arg.PatchLocationListOut))
	switch {
	case end == len(v.portions)-1:
		return v.emit(first, end, arg), ddi.StatusSuccess
	case end > first:
		return v.emit(first, end, arg), ddi.StatusInsufficientDMABuffer
	case arg.MultipassOffset&retried == 0:
		return kmddi.RenderOut{MultipassOffset: arg.MultipassOffset | retried}, ddi.StatusInsufficientDMABuffer
	}
	return kmddi.RenderOut{}, ddi.StatusInvalidParameter
}

// portionAt returns the portion that starts at an offset of the command. It
// reports false if there is none.
func (v *validator) portionAt(off uint32) (int, bool) {
	for i, p := range v.portions[:len(v.portions)-1] {
		if p.start == off {
			return i, true
		}
	}
	return 0, false
}

// fit returns the end of the portions, counted from first, that fit in the
// given numbers of bytes and patches.
func (v *validator) fit(first, bytes, patches int) int {
	from, end := v.portions[first], first
	for end < len(v.portions)-1 {
		to := v.portions[end+1]
		if int(to.start-from.start) > bytes || to.patch-from.patch > patches {
			break
		}
		end++
	}
	return end
}

// emit writes the portions [first, end), which fit.
func (v *validator) emit(first, end int, arg kmddi.Render) kmddi.RenderOut {
	place{}.put(arg.DmaBufferPrivateData)
	from, to := v.portions[first], v.portions[end]
	used := to.start - from.start
	copy(arg.DmaBuffer, v.cmd[from.start:to.start])
	out := arg.PatchLocationListOut[:to.patch-from.patch]
	for i, p := range v.patches[from.patch:to.patch] {
		out[i] = kmddi.PatchLocation{
			AllocationIndex: p.AllocationIndex, DriverID: p.DriverID, AllocationOffset: p.AllocationOffset,
			PatchOffset: p.PatchOffset - from.start, SplitOffset: p.SplitOffset - from.start,
		}
	}
	prepatch(arg.DmaBuffer[:used], out, arg.AllocationList)
	res := kmddi.RenderOut{DmaBufferUsed: used, PatchesUsed: uint32(len(out))}
	if end < len(v.portions)-1 {
		res.MultipassOffset = to.start
	}
	return res
}

// prepatch fills in the address fields of list whose addresses are known, so
// that the kernel need not call Patch if nothing moves.
func prepatch(dma []byte, list []kmddi.PatchLocation, allocs []kmddi.AllocationList) {
	for _, p := range list {
		addr := unpatched
		if al := allocs[p.AllocationIndex]; al.SegmentID != kmddi.SegmentNone {
			addr = al.PhysicalAddress + uint64(p.AllocationOffset)
		}
		le.PutUint64(dma[p.PatchOffset:], addr)
	}
}
