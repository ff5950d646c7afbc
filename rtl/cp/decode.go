package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// decodeState is the state of the decoder, STATUS.STATE.
type decodeState uint8

const (
	decodeNext   decodeState = iota // waits for a header
	decodeBody                      // waits for dwords of a body
	decodeSkip                      // skips dwords
	decodeCheck                     // checks the complete packet and starts it
	decodeExec                      // another unit executes the packet
	decodeRetire                    // only the scratch write is outstanding
	decodeClear                     // clears the file after a reset
	decodeFault                     // stopped
)

// Design note: each dword of a body is checked when it arrives, and the first refused one is
// recorded; a reserved bit takes precedence over misalignment. In every packet, dwords that
// can be out of range follow those that can be reserved or misaligned, so this gives the
// documented order of the causes. The layouts are in table.go, which is generated from the
// table of package pkt.

// decode takes a packet from the buffer and checks it.
type decode struct {
	caps     caps.Set
	nodes    uint32
	maxBytes uint32 // longest linear packet
	byteMask uint32 // bits of a row's or a linear packet's bytes

	state  decodeState `w:"3"`
	cause  uint8       `w:"4"` // cause of the fault; in a body, of the first refused dword
	bad    operand     `w:"5"` // the refused operand
	opcode uint8       // opcode of the current packet
	left   uint16      // dwords of its body still to take, or dwords to skip
	n      uint8       `w:"3"` // place of the next dword in the body's slot
	flag   bool        // Resume, Surface, NonZero, IRQ or Node
	attr   uint8       `w:"3"` // Format of a surface, or Writable and Index of a window
}

// Reset sets the registers to their power-on values.
func (d *decode) Reset() {
	*d = decode{caps: d.caps, nodes: d.nodes, maxBytes: d.maxBytes, byteMask: d.byteMask, state: decodeClear}
}

// op returns the opcode of the current packet, which must be valid.
func (d *decode) op() uint8 { return d.opcode & 0x1f }

// header checks the header of a packet. beyond is set if the body ends after the end of the
// indirect buffer.
func (d *decode) header(dword uint32, inIB, beyond bool) outcome {
	var cause uint8
	op, body := uint8(dword>>24), uint16(dword)
	want, known := bodyOf(op, d.caps)
	d.opcode, d.left, d.n = op, body, 0
	d.cause = cpreg.CauseNone
	switch {
	case !known:
		cause = cpreg.CauseOpcode
	case dword&pkt.HeaderReserved != 0:
		cause = cpreg.CauseReserved
	case op != pkt.OpNOP && body != want || beyond:
		cause = cpreg.CauseLength
	case inIB && privileged(op):
		cause = cpreg.CausePrivilege
	default:
	}
	d.state = decodeBody
	if op == pkt.OpNOP {
		d.state = decodeSkip
		if body == 0 {
			d.state = decodeRetire
		}
	}
	o := refuse(cause, operandHeader)
	if cause == cpreg.CauseNone {
		o.end = working
	}
	return o
}

// keep checks a dword of the body, which goes to the file, and records its flags and small
// fields. beyond is set if its value counts dwords after the end of the indirect buffer.
func (d *decode) keep(dword uint32, beyond bool) {
	op, n := d.op(), d.n
	cause, bad := d.dwordCause(dword, beyond)
	if d.cause == cpreg.CauseNone || d.cause == cpreg.CauseAlign && cause == cpreg.CauseReserved {
		d.cause, d.bad = cause, bad
	}
	d.left--
	if d.left == 0 {
		d.state = decodeCheck
	}
	flag, flags := flagOf(op, n, dword)
	if flags {
		d.flag = flag
	}
	attr, attrs := attrOf(op, n, dword)
	if attrs {
		d.attr = attr
	}
	if limitOf(op, n) == limitBuffer {
		d.left = uint16(dword)
	}
	d.n = nextPlace(op, n)
}

// dwordCause returns the cause if a dword of the body is refused, and the operand.
func (d *decode) dwordCause(dword uint32, beyond bool) (cause uint8, bad operand) {
	op, n := d.op(), d.n
	limit := limitOf(op, n)
	cause, bad = d.limitCause(limit, dword, beyond), wordAt(n)
	switch {
	case dword&^usedBits(op, n, d.caps) != 0:
		cause = cpreg.CauseReserved
	case n == 0 && dword&alignMask(op) != 0:
		cause, bad = cpreg.CauseAlign, pairAt(0)
		if limit == limitScratch {
			bad = wordAt(n)
		}
	case limit == limitBuffer:
		bad = operandLeft
	default:
	}
	return cause, bad
}

// scratchOff is SCRATCH0 in BAR0; the other scratch registers follow it.
const scratchOff = idreg.Base + idreg.Scratch0

// limitCause returns the cause if a dword of the body is out of range.
func (d *decode) limitCause(limit limit, dword uint32, beyond bool) uint8 {
	var out bool
	cause := uint8(cpreg.CauseState)
	switch limit {
	case limitCoords:
		out = far(dword)
	case limitFormat:
		out = dword&7 > uint32(pkt.Format128)
	case limitLength:
		out, cause = dword&^d.maxBytes != 0, cpreg.CauseLength
	case limitScratch:
		out, cause = dword&0xffff&^0xc != scratchOff, cpreg.CauseRegister
	case limitBuffer:
		out, cause = beyond, cpreg.CauseLength
	case limitNodes:
		out = d.nodes == 1 && dword&1 != 0
	default:
	}
	if !out {
		cause = cpreg.CauseNone
	}
	return cause
}

// far reports whether one of a pair of coordinates is out of range.
func far(p uint32) bool { return outside(uint16(p)) || outside(uint16(p>>16)) }

// outside reports whether a coordinate is above pkt.MaxCoord, a power of two. It tests bits,
// because each of the many comparisons would be a carry chain.
func outside(c uint16) bool {
	return c&^(2*pkt.MaxCoord-1) != 0 || c&pkt.MaxCoord != 0 && c&(pkt.MaxCoord-1) != 0
}

// low and high return the coordinates of a pair, 15 bits each.
func low(p uint32) uint16  { return uint16(p) & 0x7fff }
func high(p uint32) uint16 { return uint16(p>>16) & 0x7fff }

// verdict returns the cause and the operand if the packet, whose body is complete, is refused.
func (d *decode) verdict(src, dst surface) (cause uint8, bad operand) {
	cause, bad = d.cause, d.bad
	if cause == cpreg.CauseNone && usesSurfaces(d.op()) {
		cause, bad = surfaceCause(copies(d.op()), src, dst)
	}
	return cause, bad
}

// surfaceCause returns the cause if a 2D packet is refused because of the surfaces' state.
func surfaceCause(copies bool, src, dst surface) (cause uint8, bad operand) {
	bad = operandFormat
	wrong := dst.format > uint8(pkt.Format64)
	if copies {
		wrong = src.format != dst.format
	}
	switch {
	case copies && !src.set:
		wrong, bad = true, operandNone
	case !dst.set:
		wrong, bad = true, operandOne
	default:
	}
	if wrong {
		cause = cpreg.CauseState
	}
	return cause, bad
}

// skip drops a dword.
func (d *decode) skip() {
	d.left--
	if d.left == 0 {
		d.state = decodeRetire
	}
}

// stop stops the decoder on a fault.
func (d *decode) stop(cause uint8, bad operand) {
	d.cause = cause
	d.bad = bad
	d.state = decodeFault
}
