package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// ringState is the state of the ring unit.
type ringState uint8

const (
	ringIdle  ringState = iota
	ringLeave           // the indirect buffer has ended, and the INDIRECT with it
	ringBase            // RING_BASE is checked
	ringEnd             // the end of the ring is checked
	ringCopy            // the ring's registers are copied for the fault
)

// Reasons why the ring cannot be read.
const (
	ringGood = iota
	ringBadBase
	ringBadSize
	ringBadWptr
)

// ring holds the buffer that is read and the position in it: the ring, or the indirect buffer
// that one of its packets started. The host may write the ring's registers at any time, so
// the ring is checked when RUN is set and after each indirect buffer, and then read as
// checked.
type ring struct {
	space space
	caps  caps.Set

	state    ringState `w:"3"`
	log2     uint8     `w:"5"` // RING_SIZE
	wptr     uint32    `w:"18"`
	wptrHigh bool      // WPTR has a bit above those of wptr
	rptr     uint32    `w:"18"`
	fresh    bool      // the ring must be checked before it is read
	bad      uint8     `w:"2"`  // reason why it cannot be read
	mask     uint32    `w:"18"` // dwords of the checked ring, minus one

	stream stream
	req    port.Request // the offered read
	buffer uint64       // start of the buffer being read
	kept   uint8        `w:"7"` // dwords of the ring that stay prefetched during an indirect buffer
	toRing bool         // the stream moves to RPTR, keeps the kept dwords and drops the rest
	toIB   bool         // the stream moves to the start of the indirect buffer
	inIB   bool
	ibEnd  uint32 `w:"20"` // dwords of the indirect buffer
	ibDone uint32 `w:"20"` // retired dwords of the indirect buffer
}

// Reset sets the registers to their power-on values.
func (r *ring) Reset() { *r = ring{space: r.space, caps: r.caps} }

// setWptr writes WPTR.
func (r *ring) setWptr(v uint32) {
	r.wptr = v & 0x3ffff
	r.wptrHigh = v&^0x3ffff != 0
}

// restart requests a check of the ring and forgets an indirect buffer left by a preemption.
func (r *ring) restart() {
	r.fresh = true
	r.kept = 0
	if !r.inIB {
		r.ibEnd, r.ibDone = 0, 0
	}
}

// leaveFault clears the state of a fault.
func (r *ring) leaveFault() {
	r.bad = ringGood
	r.inIB = false
	r.ibEnd, r.ibDone = 0, 0
}

// outside reports whether WPTR is outside the ring.
func (r *ring) outside() bool { return r.wptrHigh || r.wptr&^r.mask != 0 }

// seeks reports whether the stream moves in this clock. It returns the new position and the
// number of held dwords from there that the stream keeps.
func (r *ring) seeks() (seeks bool, to uint32, kept uint8) {
	seeks, to, kept = r.toRing || r.toIB, r.rptr, r.kept
	if r.toIB {
		to, kept = 0, 0
	}
	return seeks, to, kept
}

// endSeek ends the move, and checks that WPTR is inside the ring while the ring is read.
func (r *ring) endSeek(run bool) {
	r.toRing, r.toIB = false, false
	if r.bad == ringGood && run && !r.fresh && r.outside() {
		r.bad = ringBadWptr
	}
}

// offersRead reports whether a read for the sync unit is offered.
func (r *ring) offersRead() bool { return r.req.Kind != port.None && r.req.Tag == tagRead }

// ended reports whether everything in the indirect buffer was taken.
func (r *ring) ended() bool { return r.inIB && r.stream.at == r.ibEnd }

// enter starts the indirect buffer of the given bytes at addr.
func (r *ring) enter(addr uint64, bytes uint32) {
	r.inIB = true
	r.kept = r.stream.have
	if r.fresh {
		r.kept = 0
	}
	r.buffer = addr
	r.ibEnd = bytes >> 2 & pkt.MaxIndirect
	r.ibDone = 0
	r.toIB = true
}

// retire moves the retired position to the packet after a complete one.
func (r *ring) retire(at uint32) {
	if r.inIB {
		r.ibDone = at
	} else {
		r.rptr = at & 0x3ffff
	}
}

// check checks RING_BASE, as read from the file, and RING_SIZE.
func (r *ring) check(base uint64) outcome {
	r.mask = ^(^uint32(0) << r.log2) >> 2 & 0x3ffff
	r.state = ringEnd
	switch {
	case base&0xfff != 0:
		r.bad = ringBadBase
	case r.log2 < cpreg.MinRingLog2 || r.log2 > cpreg.MaxRingLog2:
		r.bad = ringBadSize
	case !r.space.untranslated(base):
		r.bad = ringBadBase
	default:
	}
	return r.outcome()
}

// checkEnd starts to read the ring at base if the ring is inside memory and WPTR is inside
// the ring.
func (r *ring) checkEnd(base uint64, inside bool) outcome {
	switch {
	case !inside:
		r.bad = ringBadBase
	case r.outside():
		r.bad = ringBadWptr
	default:
		r.buffer = base
		r.rptr &= r.mask
		r.fresh = false
		r.toRing = true
		r.state = ringIdle
	}
	return r.outcome()
}

// outcome returns the outcome of the ring's check.
func (r *ring) outcome() outcome {
	var o outcome
	if r.bad != ringGood {
		o = ended(badRing)
	}
	return o
}

// leave ends the indirect buffer and requests a check of the ring, which may have moved.
func (r *ring) leave(run bool) {
	r.rptr = (r.rptr + (1 + pkt.IndirectBody)) & r.mask
	r.state = ringIdle
	if run {
		r.state = ringBase
	}
}

// operand returns the refused register of a ring that cannot be read.
func (r *ring) operand() operand {
	bad := operandWord0
	switch r.bad {
	case ringBadBase:
		bad = operandPair2
	case ringBadSize:
		bad = operandLeft
	default:
	}
	return bad
}
