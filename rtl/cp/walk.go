package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// walkState is the state of the walk unit.
type walkState uint8

const (
	walkIdle      walkState = iota
	walkCorner              // reads a rectangle's corner
	walkClip                // clips one edge of the rectangle
	walkPlace               // checks whether the clips left anything
	walkLow                 // checks the first byte of a range, or the base of a surface
	walkScale               // converts elements to bytes
	walkPitch               // reads the pitch
	walkMul                 // multiplies a row number by the pitch
	walkRange               // checks the end of a range
	walkGuard               // tries windows for a range
	walkWindow              // sets a window
	walkImmediate           // reads the immediate operand
)

// Design note: the ranges of a packet are checked in order, source first, with one set of
// adders. First comes the address in the packet, or the base of the surface for a 2D packet,
// and then the end of the range, counted from its last row. The same states compute the
// last row and then the first one.

// walk converts the operands of a packet to addresses and checks them. When it has passed,
// row is the address of the first byte to write, or to read if the packet writes none, and
// src is the source operand.
type walk struct {
	space    space
	caps     caps.Set
	byteMask uint32 // bits of bytes

	state  walkState `w:"4"`
	writes bool      // the current range is the destination
	again  bool      // the rectangle is clipped; its corners are converted to addresses
	edge   uint8     `w:"2"`  // clip: x0, y0, x1, y1; then 0 the last row of a range, 1 the first
	x0, x1 uint16    `w:"15"` // columns left after clipping
	y0, y1 uint16    `w:"15"` // first and last row not yet sent
	scale  uint8     `w:"3"`  // remaining doublings
	mul    uint16    `w:"15"` // bits of the row number still to multiply
	add    uint64    `w:"35"` // corner, offset or pitch, shifted; the pitch of the destination
	row    uint64    // address in the current range, then of the row that is written
	src    uint64    // source operand: an address to read, or an immediate
	bytes  uint32    // length of a row or of a linear packet
	guard  guard
}

// Reset sets the registers to their power-on values.
func (w *walk) Reset() { *w = walk{space: w.space, caps: w.caps, byteMask: w.byteMask} }

// A packet holds the properties of the current packet that the walk unit needs.
type packet struct {
	op      uint8
	guarded bool   // windows limit its accesses
	format  uint8  // format of the destination surface
	rows    uint32 // rows sent before a preemption
}

// packet returns the properties of the current packet.
func (m *Module) packet() packet {
	return packet{
		op: m.decode.op(), guarded: m.regs.protect && m.ring.inIB, format: m.file.dst.format,
		rows: m.issue.before() & rowMask,
	}
}

// start prepares for a packet.
func (w *walk) start(op uint8) {
	w.writes = !readsFirst(op)
	w.again = false
	w.edge = 0
	w.scale = 2
	w.guard.phase = 0
}

// step runs a clock of the unit. word was read from the file, and half is the half of it that
// the state needs.
// inside is set if the bytes from row are in memory, and end is the byte after them.
func (w *walk) step(p packet, word uint64, half uint32, ready, inside bool, end uint64) outcome {
	var o outcome
	switch w.state {
	case walkPlace:
		o = w.placed(p)
	case walkScale, walkMul:
		w.accumulate(p.op)
	case walkRange:
		o = w.checkRange(p, inside, end)
	default:
		if ready {
			o = w.read(p, word, half)
		}
	}
	if o.end != working {
		w.state = walkIdle
	}
	return o
}

// read runs a clock in a state that needs a word of the file.
func (w *walk) read(p packet, word uint64, half uint32) outcome {
	var o outcome
	switch w.state {
	case walkCorner:
		w.corner(half)
	case walkClip:
		w.clip(half)
	case walkLow:
		o = w.checkLow(p, word)
	case walkPitch:
		w.setPitch(half)
		w.state = walkMul
	case walkGuard:
		if w.caps.Has(caps.Protection) {
			o = w.stepGuard(p, word)
		}
	case walkWindow:
		if w.caps.Has(caps.Protection) {
			o = w.stepWindow(word)
		}
	case walkImmediate:
		o = ended(passed)
	default:
	}
	return o
}

// checkLow checks the address of the current range, or the base of its surface.
func (w *walk) checkLow(p packet, addr uint64) outcome {
	var o outcome
	switch {
	case w.caps.Has(caps.Protection) && p.op == pkt.OpSetWindow:
		w.src = addr
		w.state = walkWindow
	case !w.space.contains(addr) || w.space.mapped(addr) && !translated(p.op):
		bad := sourceOperand(p.op)
		if w.writes {
			bad = destOperand(p.op)
		}
		o = refuse(cpreg.CauseAddress, bad)
	case usesSurfaces(p.op):
		w.startRow(p.format)
	default:
		w.state = walkRange
	}
	return o
}

// inside reports whether the bytes from row are in its memory: all bytes of a range, or, for a
// ring, its last byte; mask is the ring's number of dwords minus one. end is the byte after a
// range, as an offset in its memory.
func (w *walk) inside(mask uint32, ring bool) (in bool, end uint64) {
	last, bytes := w.space.last(w.row), w.bytes
	if ring {
		bytes = mask<<2 | 3
	}
	first := w.row & w.space.sumMask &^ w.space.start(w.row)
	end = first + uint64(bytes)
	whole := !ring && end&last == 0 && (end>>1)&^last == 0
	return first&^last == 0 && (end&^last == 0 || whole), end
}

// checkRange continues if the current range ends in memory.
func (w *walk) checkRange(p packet, inside bool, end uint64) outcome {
	var o outcome
	if w.caps.Has(caps.Protection) && w.edge == 0 {
		w.guard.end = w.row&pkt.Host | w.space.start(w.row) | end
	}
	switch {
	case hasLength(p.op) && !inside:
		o = refuse(cpreg.CauseAddress, operandEnd)
	case usesSurfaces(p.op) && w.edge == 0:
		w.edge = 1
		w.state = walkCorner
	case p.guarded && p.op != pkt.OpIndirect:
		w.edge = 0
		w.guard.next = 0
		w.state = walkGuard
	default:
		w.edge = 0
		o = w.passRange(p.op)
	}
	return o
}

// passRange continues after a range has passed: from the source of a copy to its destination,
// and after the last range to the immediate, if any.
func (w *walk) passRange(op uint8) outcome {
	var o outcome
	switch {
	case !w.writes && copies(op):
		w.writes = true
		w.state = walkLow
		if usesSurfaces(op) {
			w.state = walkCorner
		}
	case hasImmediate(op):
		w.state = walkImmediate
	default:
		o = ended(passed)
	}
	return o
}

// A move describes how src and row change in a clock.
type move struct {
	settles bool   // src becomes row
	loads   bool   // src becomes the word that was read
	begins  bool   // row becomes the word that was read
	adds    bool   // row advances by the distance
	rows    bool   // next row: row advances by the distance, src by the word that was read
	copies  bool   // there is a source to advance
	by      uint64 // the distance, in bytes
}

// moves returns the move of the state. ring is set if the ring unit needs the word in row.
func (w *walk) moves(ready, ring bool) move {
	return move{
		settles: w.state == walkRange && !w.writes,
		loads:   w.state == walkImmediate && ready,
		begins:  (w.state == walkLow || ring) && ready,
		adds:    w.state == walkScale && w.scale == 0 || w.state == walkMul && w.mul&1 != 0,
		by:      w.add,
	}
}

// move changes src and row. Each has one adder; written inside the states, each use would
// become a separate adder. Selecting between a sum and a value before the addition is free,
// because one cell does both.
func (w *walk) move(v move, word uint64) {
	if v.settles || v.loads || v.rows && v.copies {
		to := word
		switch {
		case v.settles:
			to = w.row
		case !v.loads:
			to &= pkt.MaxPitch
		default:
		}
		next := w.space.add(w.src, to)
		if v.settles || v.loads {
			next = to
		}
		w.src = next
	}
	if v.begins || v.adds || v.rows {
		to := v.by
		if v.begins {
			to = w.space.truncate(word)
		}
		next := w.space.add(w.row, to)
		if v.begins {
			next = to
		}
		w.row = next
	}
}
