package kmddi

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// RenderKmOperation is DXGK_RENDERKM_OPERATION.
type RenderKmOperation uint32

// The operations. A driver skips GDIOpEscape.
const (
	GDIOpBitBlt         RenderKmOperation = 1 // DXGK_GDIOP_BITBLT
	GDIOpColorFill      RenderKmOperation = 2 // DXGK_GDIOP_COLORFILL
	GDIOpAlphaBlend     RenderKmOperation = 3 // DXGK_GDIOP_ALPHABLEND
	GDIOpStretchBlt     RenderKmOperation = 4 // DXGK_GDIOP_STRETCHBLT
	GDIOpEscape         RenderKmOperation = 5 // DXGK_GDIOP_ESCAPE
	GDIOpTransparentBlt RenderKmOperation = 6 // DXGK_GDIOP_TRANSPARENTBLT
	GDIOpClearTypeBlend RenderKmOperation = 7 // DXGK_GDIOP_CLEARTYPEBLEND
)

// The raster operations that only write the color or the source.
const (
	GDIROPSrcCopy uint16 = 1 // DXGK_GDIROP_SRCCOPY of DXGK_GDIROP_BITBLT
	GDIROPPatCopy uint16 = 1 // DXGK_GDIROPCF_PATCOPY of DXGK_GDIROP_COLORFILL
)

// GDIArgBitBlt is DXGK_GDIARG_BITBLT: a copy of SrcRect of one surface to DstRect of another
// or of the same. The two have one size and may exceed their surfaces. Only SubRects are
// written, in their order. They are in elements of the destination, inside DstRect and inside the surface.
type GDIArgBitBlt struct {
	SrcRect, DstRect   Rect
	SrcAllocationIndex uint32 // of the allocation list
	DstAllocationIndex uint32 // of the allocation list
	SubRects           []Rect
	Rop                uint16 // DXGK_GDIROP_BITBLT
	Rop3               uint16
	SrcPitch, DstPitch uint32 // bytes; for staging surfaces, which do not exist here
}

// GDIArgColorFill is DXGK_GDIARG_COLORFILL: SubRects get a color, see GDIArgBitBlt.
type GDIArgColorFill struct {
	DstRect            Rect
	DstAllocationIndex uint32 // of the allocation list
	SubRects           []Rect
	Color              uint32 // in the format of the surface, from the lowest byte on
	Rop                uint16 // DXGK_GDIROP_COLORFILL
	Rop3               uint16
}

// RenderKmCommand is DXGK_RENDERKM_COMMAND. BitBlt or ColorFill is valid, as OpCode says.
type RenderKmCommand struct {
	OpCode      RenderKmOperation
	CommandSize uint32 // bytes to the next command, a multiple of 8
	BitBlt      GDIArgBitBlt
	ColorFill   GDIArgColorFill
}

// Sizes of the structures in 64-bit code, in bytes.
const (
	renderKmHeader = 8
	bitBltBytes    = 72
	colorFillBytes = 40
	rectBytes      = 16
)

var le = binary.LittleEndian

// Append appends the command in the layout of the header for 64-bit code, with its CommandSize.
// The sub-rectangles follow the argument. pSubRects is their offset from the start of the
// command, in bytes, since a pointer would need an address space.
func (c RenderKmCommand) Append(b []byte) []byte {
	var arg [bitBltBytes]byte
	var rects []Rect
	p := arg[:]
	switch c.OpCode {
	case GDIOpBitBlt:
		rects = c.BitBlt.SubRects
		c.BitBlt.put(p)
	case GDIOpColorFill:
		rects, p = c.ColorFill.SubRects, arg[:colorFillBytes]
		c.ColorFill.put(p)
	default:
		p = nil
	}
	b = le.AppendUint32(b, uint32(c.OpCode))
	b = le.AppendUint32(b, uint32(renderKmHeader+len(p)+rectBytes*len(rects)))
	b = append(b, p...)
	for _, r := range rects {
		var q [rectBytes]byte
		r.put(q[:])
		b = append(b, q[:]...)
	}
	return b
}

func (a GDIArgBitBlt) put(p []byte) {
	a.SrcRect.put(p)
	a.DstRect.put(p[16:])
	le.PutUint32(p[32:], a.SrcAllocationIndex)
	le.PutUint32(p[36:], a.DstAllocationIndex)
	le.PutUint32(p[40:], uint32(len(a.SubRects)))
	le.PutUint64(p[48:], renderKmHeader+bitBltBytes)
	le.PutUint16(p[56:], a.Rop)
	le.PutUint16(p[58:], a.Rop3)
	le.PutUint32(p[60:], a.SrcPitch)
	le.PutUint32(p[64:], a.DstPitch)
}

func (a GDIArgColorFill) put(p []byte) {
	a.DstRect.put(p)
	le.PutUint32(p[16:], a.DstAllocationIndex)
	le.PutUint32(p[20:], uint32(len(a.SubRects)))
	le.PutUint64(p[24:], renderKmHeader+colorFillBytes)
	le.PutUint32(p[32:], a.Color)
	le.PutUint16(p[36:], a.Rop)
	le.PutUint16(p[38:], a.Rop3)
}

func (r Rect) put(p []byte) {
	for i, v := range [...]int32{r.Left, r.Top, r.Right, r.Bottom} {
		le.PutUint32(p[4*i:], uint32(v))
	}
}

// DecodeRenderKmCommand decodes the command at the start of b, in the layout of Append. The
// next one begins CommandSize bytes later. Between the parts of a command may be other bytes.
// It returns StatusInvalidUserBuffer if a part is not inside the command or the command not
// inside b, and StatusIllegalInstruction for an operation that is not GDIOpBitBlt,
// GDIOpColorFill or GDIOpEscape. The argument of a GDIOpEscape is not decoded.
//
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_renderkm, "Return value"
func DecodeRenderKmCommand(b []byte) (RenderKmCommand, ddi.Status) {
	if len(b) < renderKmHeader {
		return RenderKmCommand{}, ddi.StatusInvalidUserBuffer
	}
	c := RenderKmCommand{OpCode: RenderKmOperation(le.Uint32(b)), CommandSize: le.Uint32(b[4:])}
	if c.CommandSize < renderKmHeader || c.CommandSize%8 != 0 || uint64(c.CommandSize) > uint64(len(b)) {
		return RenderKmCommand{}, ddi.StatusInvalidUserBuffer
	}
	b = b[:c.CommandSize]
	ok := true
	switch c.OpCode {
	case GDIOpBitBlt:
		ok = c.BitBlt.get(b)
	case GDIOpColorFill:
		ok = c.ColorFill.get(b)
	case GDIOpEscape:
	default:
		return RenderKmCommand{}, ddi.StatusIllegalInstruction
	}
	if !ok {
		return RenderKmCommand{}, ddi.StatusInvalidUserBuffer
	}
	return c, ddi.StatusSuccess
}

func (a *GDIArgBitBlt) get(b []byte) (ok bool) {
	if len(b) < renderKmHeader+bitBltBytes {
		return false
	}
	p := b[renderKmHeader:]
	a.SrcRect, a.DstRect = rectAt(p), rectAt(p[16:])
	a.SrcAllocationIndex, a.DstAllocationIndex = le.Uint32(p[32:]), le.Uint32(p[36:])
	a.Rop, a.Rop3 = le.Uint16(p[56:]), le.Uint16(p[58:])
	a.SrcPitch, a.DstPitch = le.Uint32(p[60:]), le.Uint32(p[64:])
	a.SubRects, ok = subRects(b, renderKmHeader+bitBltBytes, le.Uint32(p[40:]), le.Uint64(p[48:]))
	return ok
}

func (a *GDIArgColorFill) get(b []byte) (ok bool) {
	if len(b) < renderKmHeader+colorFillBytes {
		return false
	}
	p := b[renderKmHeader:]
	a.DstRect, a.DstAllocationIndex = rectAt(p), le.Uint32(p[16:])
	a.Color, a.Rop, a.Rop3 = le.Uint32(p[32:]), le.Uint16(p[36:]), le.Uint16(p[38:])
	a.SubRects, ok = subRects(b, renderKmHeader+colorFillBytes, le.Uint32(p[20:]), le.Uint64(p[24:]))
	return ok
}

// subRects returns n rectangles at an offset of a command, which must be after its argument.
func subRects(b []byte, after uint64, n uint32, at uint64) ([]Rect, bool) {
	if n == 0 {
		return nil, true
	}
	if at < after || at%4 != 0 || at > uint64(len(b)) || uint64(n) > (uint64(len(b))-at)/rectBytes {
		return nil, false
	}
	all := make([]Rect, n)
	for i := range all {
		all[i] = rectAt(b[at+rectBytes*uint64(i):])
	}
	return all, true
}

func rectAt(p []byte) Rect {
	return Rect{int32(le.Uint32(p)), int32(le.Uint32(p[4:])), int32(le.Uint32(p[8:])), int32(le.Uint32(p[12:]))}
}
