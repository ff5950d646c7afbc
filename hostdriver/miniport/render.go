package miniport

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// maxCommand is the size of the largest command buffer, in bytes. It bounds
// the time and the memory that a Render takes.
const maxCommand = 1 << 20

// retried is the bit of MultipassOffset that says that the call before wrote
// nothing. The rest is an offset into the command, a multiple of 4.
const retried = 1

// unpatched is what an address field holds until the address is known. It is
// in no memory, so that a packet with it faults.
const unpatched = uint64(0x7fffffff00000000)

// render checks a command buffer and translates it into a DMA buffer.
//
// A command is made of the GPU's own packets, with address fields that are
// left to patches. It and the patch list are copied once, and the copy alone
// is looked at. See validator for the rules; whatever breaks one changes
// nothing.
//
// Each SplitOffset begins a portion, which the kernel may submit by itself,
// and with MultipassOffset does: a DMA buffer gets as many whole portions as
// fit, in bytes and in patches. If none fits in what is left of a buffer,
// nothing is written and the kernel gets to call again with a whole one; a
// portion that does not fit in that either is refused.
//
//	DDI     DxgkDdiRender, d3dkmddi.h
//	Caller  the kernel, PASSIVE_LEVEL; one thread at a time for a context
//	Out     DmaBuffer[:DmaBufferUsed]: the packets; addresses of allocations in
//	        a segment are filled in, others fault if not patched
//	        PatchLocationListOut[:PatchesUsed]: every address in them, offsets
//	        from the start of DmaBuffer; SlotID is 0, slots are not used
//	Returns StatusSuccess
//	        StatusInsufficientDMABuffer: to be continued at MultipassOffset
//	        StatusInvalidUserBuffer: memory that cannot be read, a length that
//	        is not a multiple of 4, a packet that runs past the end
//	        StatusIllegalInstruction: an unknown opcode, a wrong length, a
//	        reserved bit, a 2D packet without SET_STATE in the buffer
//	        StatusPrivilegedInstruction: INDIRECT, FENCE, or WRITE_REG to what
//	        is no scratch register
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

// portionAt returns the portion that begins at an offset of the command, and
// false if none does.
func (v *validator) portionAt(off uint32) (int, bool) {
	for i, p := range v.portions[:len(v.portions)-1] {
		if p.start == off {
			return i, true
		}
	}
	return 0, false
}

// fit returns the portion behind the last one that fits, counted from first,
// in so many bytes and patches.
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

// prepatch fills the address fields of list in, as far as the addresses are
// known: the kernel need not call Patch if nothing moves.
func prepatch(dma []byte, list []kmddi.PatchLocation, allocs []kmddi.AllocationList) {
	for _, p := range list {
		addr := unpatched
		if al := allocs[p.AllocationIndex]; al.SegmentID != kmddi.SegmentNone {
			addr = al.PhysicalAddress + uint64(p.AllocationOffset)
		}
		le.PutUint64(dma[p.PatchOffset:], addr)
	}
}
