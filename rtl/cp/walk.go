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
	walkPlace               // checks what the clips left
	walkLow                 // checks the first byte of a range, or the base of a surface
	walkScale               // turns elements into bytes
	walkPitch               // reads the pitch
	walkMul                 // multiplies a row number by the pitch
	walkRange               // checks the end of a range
	walkGuard               // looks for a window around a range
	walkWindow              // sets a window
	walkImmediate           // reads the immediate operand
)

// Design note: the ranges of a packet are checked one after the other, the source first, by
// one set of adders: first the address as the packet names it, of a 2D packet the base of
// the surface, then the end of the range from its last row on. The same states lead to
// the last row and then to the first one.

// walk turns the operands of a packet into addresses, and checks them. When it has passed,
// row is the address of the first byte that the packet writes, or reads if it writes none,
// and src its source operand.
type walk struct {
	space    space
	caps     caps.Set
	byteMask uint32 // bits of bytes

	state  walkState `w:"4"`
	writes bool      // the destination is in work
	again  bool      // the rectangle has been clipped, and its corners are turned into addresses
	edge   uint8     `w:"2"`  // clip: x0, y0, x1, y1; then 0 the last row of a range, 1 the first
	x0, x1 uint16    `w:"15"` // columns left after clipping
	y0, y1 uint16    `w:"15"` // rows not yet sent: the first and the last one
	scale  uint8     `w:"3"`  // doublings to come
	mul    uint16    `w:"15"` // row number, as far as it is not multiplied
	add    uint64    `w:"35"` // corner, offset or pitch, shifted; the pitch of the destination
	row    uint64    // address in work: of a range, then of the row that is written
	src    uint64    // source operand: an address to read, or an immediate
	bytes  uint32    // of a row or of a linear packet
	guard  guard
}

// Reset sets the registers to their values after power on.
func (w *walk) Reset() { *w = walk{space: w.space, caps: w.caps, byteMask: w.byteMask} }

// A packet is what the walk unit is told of the packet in work.
type packet struct {
	op      uint8
	guarded bool   // it reaches memory in windows only
	format  uint8  // of the destination surface
	attr    uint8  // Writable and Index of SET_WINDOW
	rows    uint32 // rows that it sent before a preemption
}

// packet returns the packet in work.
func (m *Module) packet() packet {
	return packet{
		op: m.decode.op(), guarded: m.regs.protect && m.ring.inIB, format: m.file.dst.format, attr: m.decode.attr,
		rows: m.issue.before(),
	}
}

// start prepares for a packet.
func (w *walk) start(op uint8) {
	w.writes = !readsFirst(op)
	w.again = false
	w.edge = 0
	w.scale = 2
}

// step is a clock of the unit. word was read from the file, and half is the half of it that
// the state needs.
func (w *walk) step(p packet, word uint64, half uint32, ready, inside bool) outcome {
	var o outcome
	switch w.state {
	case walkPlace:
		o = w.placed(p)
	case walkScale, walkMul:
		w.accumulate(p.op)
	case walkRange:
		o = w.checkRange(p, inside)
	case walkGuard:
		if w.caps.Has(caps.Protection) {
			o = w.checkGuard(p)
		}
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

// read is a clock in a state that needs a word of the file.
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
	case walkWindow:
		if w.caps.Has(caps.Protection) {
			o = w.setWindow(p.attr, word)
		}
	case walkImmediate:
		o = ended(passed)
	default:
	}
	return o
}

// checkLow checks the address of the range in work, or the base of its surface.
func (w *walk) checkLow(p packet, addr uint64) outcome {
	var o outcome
	switch {
	case w.caps.Has(caps.Protection) && p.op == pkt.OpSetWindow:
		w.src = addr
		w.state = walkWindow
	case !w.space.contains(addr):
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

// inside reports whether the bytes from row on are in its memory: all bytes of a range, or
// of a ring, of which mask is the number of dwords less one, the last one.
func (w *walk) inside(mask uint32, ring bool) bool {
	last, bytes := w.space.last(w.row), w.bytes
	if ring {
		bytes = mask<<2 | 3
	}
	first := w.row & w.space.sumMask
	end := first + uint64(bytes)
	whole := !ring && end&last == 0 && (end>>1)&^last == 0
	return first&^last == 0 && (end&^last == 0 || whole)
}

// checkRange goes on if the range in work ends in memory.
func (w *walk) checkRange(p packet, inside bool) outcome {
	var o outcome
	if w.caps.Has(caps.Protection) && w.edge == 0 {
		w.guard.bottom = w.row
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

// passRange goes on when the range in work has passed: from the source of a copy to its
// destination, and after the last range to the immediate if there is one.
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

// A move says how src and row move in a clock.
type move struct {
	settles bool   // src becomes row
	loads   bool   // src becomes the word that was read
	begins  bool   // row becomes the word that was read
	adds    bool   // row moves on by the distance
	rows    bool   // the next row: row moves on by the distance, and src by the word that was read
	copies  bool   // there is a source to move
	by      uint64 // the distance, in bytes
}

// moves returns the moves of the state. ring says that the ring unit needs the word in row.
func (w *walk) moves(ready, ring bool) move {
	return move{
		settles: w.state == walkRange && !w.writes,
		loads:   w.state == walkImmediate && ready,
		begins:  (w.state == walkLow || ring) && ready,
		adds:    w.state == walkScale && w.scale == 0 || w.state == walkMul && w.mul&1 != 0,
		by:      w.add,
	}
}

// move moves src and row. Each has one adder: written in the states, every one would be
// an adder of its own. That the choice between a sum and a value is made before the sum
// costs nothing, for a cell has the one and the other.
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
