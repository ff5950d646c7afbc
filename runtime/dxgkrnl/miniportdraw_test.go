package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// renderKm translates one command. A rectangle is a range of bytes, from Left to Right. A color of
// hangColor makes an operation that hangs.
func (m *miniport) renderKm(t *ddi.Thread, _ kmddi.HContext, arg kmddi.Render) (out kmddi.RenderOut, s ddi.Status) {
	if s = m.call(t, 0, "RenderKm"); s.Failed() {
		return out, s
	}
	b := make([]byte, arg.Command.Size())
	arg.Command.Read(0, b)
	arg.Command.Read(0, b) // memory of the kernel may be read twice
	c, s := kmddi.DecodeRenderKmCommand(b)
	if s.Failed() {
		return out, s
	}
	rects := append(c.ColorFill.SubRects, c.BitBlt.SubRects...)
	for i := int(arg.MultipassOffset); i < len(rects); i++ {
		if int(out.DmaBufferUsed)+opBytes > len(arg.DmaBuffer) {
			out.MultipassOffset = uint32(i)
			return out, ddi.StatusInsufficientDMABuffer
		}
		r := rects[i]
		op, at := uint32(opFill), out.DmaBufferUsed
		list := func(index uint32, field int, off int32) {
			arg.PatchLocationListOut[out.PatchesUsed] = kmddi.PatchLocation{
				AllocationIndex: index, AllocationOffset: uint32(off), PatchOffset: at + uint32(field), SplitOffset: at,
			}
			out.PatchesUsed++
		}
		if c.OpCode == kmddi.GDIOpBitBlt {
			op = opCopy
			list(c.BitBlt.SrcAllocationIndex, srcAt, r.Left+c.BitBlt.SrcRect.Left-c.BitBlt.DstRect.Left)
			list(c.BitBlt.DstAllocationIndex, dstAt, r.Left)
		} else {
			list(c.ColorFill.DstAllocationIndex, dstAt, r.Left)
		}
		if c.ColorFill.Color == hangColor {
			op = opHang
		}
		copy(arg.DmaBuffer[at:], encodeOp(op, uint32(r.Right-r.Left), 0, 0, uint64(c.ColorFill.Color&0xff)))
		out.DmaBufferUsed += opBytes
	}
	return out, ddi.StatusSuccess
}

// hangColor is the color of a fill that hangs.
const hangColor = 0xbadc0de
