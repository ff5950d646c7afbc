package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a short COPY or FILL spends most of its time in the DMA engine. So when the
// engine has taken its descriptor, the packet trails: the node takes the next packet if
// that is a COPY or FILL too, checks it, and sends its descriptors after that of the trailing
// one. Nothing of this can be seen but the time. Until the trailing packet retires, the next
// one does not end or fault, and every other packet waits. The engine writes in the order of
// the descriptors, but reads ahead, so a COPY waits if it may read something that the
// trailing packet writes. If a descriptor fails, the engine cancels those after it. The
// body and the header of the trailing packet stay in the file for the registers of the fault.
// A preemption forgets a packet after the trailing one if nothing of it was sent.

// shortLog2 is log2 of the bytes from which a packet does not trail. A shorter one has one
// descriptor.
const shortLog2 = pieceLog2

// trail is the packet before the current one while its descriptor is in flight.
type trail struct {
	overlaps bool // the node has one
	aperture bool // there is an aperture

	active bool
	copies bool   // it is a COPY, otherwise a FILL
	second bool   // its body is in slotSecond
	ended  bool   // its descriptor has ended
	at     uint32 `w:"20"` // position of the packet after it, or of the stream if no packet trails
	dest   uint16 // address of the first byte that it writes, modulo 64 KiB
	length uint16 `w:"12"` // bytes that it writes
	mapped bool   // they are in the aperture
	clash  bool   // the current packet may read what it writes
	holds  bool   // the header in the file waits for its end
}

// Reset sets the registers to their power-on values.
func (x *trail) Reset() { *x = trail{overlaps: x.overlaps, aperture: x.aperture} }

// handshake records the end of the descriptor and reports whether it failed. Descriptors end in
// order, so the first one to end belongs to the trailing packet.
func (x *trail) handshake(d DMA) (fails bool) {
	ends := x.active && !x.ended && (d.Done || d.Err || d.WriteErr)
	x.ended = x.ended || ends
	fails = ends && !d.Done
	if x.aperture {
		fails = ends && (d.Err || d.WriteErr)
	}
	return fails
}

// retires reports whether the trailing packet retires in a clock in which no header is taken.
func (x *trail) retires() bool { return x.active && x.ended }

// position returns the position of the packet after the one that retires. current is the
// position of the stream.
func (x *trail) position(current uint32) uint32 {
	at := current
	if x.overlaps {
		at = x.at
	}
	return at
}

// follows reports whether the node takes a header while a packet trails.
func (x *trail) follows(dword uint32) bool { return !x.active || linear(uint8(dword>>24)) }

// linear reports whether a packet is a COPY or FILL.
func linear(op uint8) bool { return op == pkt.OpCopy || op == pkt.OpFill }

// takesSecond reports whether the body of the next packet goes to slotSecond.
func (x *trail) takesSecond() bool { return x.active && !x.second }

// touches reports whether the trailing packet may write one of the bytes from row on. It
// compares addresses modulo 64 KiB, or modulo a page if one of them is in the aperture, since
// several pages there may be the same memory.
func (x *trail) touches(row uint64, bytes uint32, mapped bool) bool {
	const mask = 1<<shortLog2 - 1
	distance := uint16(row) - x.dest // from the first byte written to row
	high, low := uint8(distance>>shortLog2), distance&mask
	alias := x.aperture && (mapped || x.mapped)
	end := (low + uint16(bytes)&mask) & (2*mask + 1)
	inside := (high == 0 || alias) && low < x.length
	before := (high == 1<<(16-shortLog2)-1 || alias) && end > mask && end&mask != 0
	return !short(bytes) || inside || before
}

// short reports whether a packet may trail.
func short(bytes uint32) bool { return bytes>>shortLog2 == 0 }

// canTrail reports whether the current packet becomes the trailing one, instead of waiting
// for its descriptor in flight.
func (m *Module) canTrail() bool {
	failed := m.issue.readErr || m.issue.writeErr
	return m.trail.overlaps && !m.trail.active && linear(m.decode.op()) && short(m.walk.bytes) && !failed
}

// trails makes the current packet the trailing one.
func (m *Module) trails() {
	m.trail.active, m.trail.ended = true, false
	m.trail.copies = m.decode.op() == pkt.OpCopy
	m.trail.second = m.file.second
	m.trail.dest, m.trail.length = uint16(m.walk.row), uint16(m.walk.bytes)&(1<<shortLog2-1)
	if m.trail.aperture {
		m.trail.mapped = m.walk.space.mapped(m.walk.row)
	}
	m.issue.state = issueIdle
	m.startPacket()
}

// prepared reports whether the current packet, whose body is complete, can be checked while
// another one trails: it has no mistake and is not empty, so it does not end at once.
func (m *Module) prepared() bool {
	return m.decode.cause == cpreg.CauseNone && m.walk.bytes != 0
}

// park makes the current packet wait in decodeCheck for the end of the trailing one. Its fault
// is then that of the outcome.
func (m *Module) park(o outcome) {
	m.decode.cause, m.decode.bad = o.cause, o.bad
	m.decode.state = decodeCheck
}

// unsent reports whether a packet trails and the current one can be forgotten: the engine has
// taken no descriptor of it, and its body is not the end of an indirect buffer, which would
// then seem to have ended. In a clock that takes a dword this is not known yet.
func (m *Module) unsent() bool {
	n := m.issue.inFlight
	return m.trail.active && (n == 0 || n == 1 && !m.trail.ended) && !m.ring.ended()
}

// forget forgets the current packet, of which nothing was done.
func (m *Module) forget() {
	m.decode.state = decodeNext
	m.walk.state = walkIdle
	m.issue.state = issueIdle
	m.issue.offered = false
}

// blame forgets the current packet, because the descriptor of the trailing one has failed. The
// trailing one becomes the current one again, which faults when nothing is in flight.
func (m *Module) blame() {
	m.forget()
	m.decode.opcode = pkt.OpFill
	if m.trail.copies {
		m.decode.opcode = pkt.OpCopy
	}
	m.file.second = m.trail.second
	m.trail.active = false
	m.decode.state = decodeExec
	m.issue.state = issueDrain
}
