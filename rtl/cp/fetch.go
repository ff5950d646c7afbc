package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A want is the next request of the stream.
type want struct {
	win    window
	next   uint32 // position of the first dword
	left   uint32 // dwords from there to the end of the buffer
	issues bool   // the stream requests them unless something prevents it
}

// fetched returns cpl if it belongs to the stream.
func fetched(cpl port.Completion) port.Completion {
	if cpl.Tag&3 == tagRead {
		cpl.Status = port.CplNone
	}
	return cpl
}

// Design note: in an indirect buffer the dwords to skip are known to be inside, so the node
// takes those that the stream already has or awaits and then moves over the rest, which it does
// not read. In the ring they may be after WPTR, so the node takes each of them, as a node
// that cannot be preempted does everywhere.

// nearLog2 is log2 of the dwords after the position of the stream that it may hold after its
// next request.
const nearLog2 = 6

// skips reports whether the node skips dwords of an indirect buffer that it need not read.
func (m *Module) skips() bool {
	return m.regs.caps.Has(caps.Preemption) && m.decode.state == decodeSkip && m.ring.inIB
}

// jumps reports whether the stream moves over the dwords to skip.
func (m *Module) jumps() bool { return m.skips() && m.ring.stream.empty() && !m.regs.resetting }

// readable reports whether the stream may read its buffer. Inside a packet it may, even
// while RUN is 0, but not what the node skips. Only one read is offered at a time, because an
// offer must not change.
func (m *Module) readable() bool {
	inside := m.decode.state == decodeBody || m.decode.state == decodeSkip
	reads := m.sync.state == syncRead || m.ring.req.Kind != port.None
	checked := inside || m.ring.inIB || !m.ring.fresh
	over := m.skips() && (m.decode.left>>nearLog2 != 0 || m.ring.stream.empty())
	return (m.regs.run || inside) && checked && !m.regs.resetting && m.ring.bad == ringGood && !reads && !over
}

// window returns what the stream may read if enable is set.
func (r *ring) window(enable bool) window {
	w := window{Enable: enable, Base: r.buffer, End: r.wptr, Mask: r.mask}
	if r.inIB {
		w.End, w.Mask = r.ibEnd, pkt.MaxIndirect
	}
	return w
}

// weighs reports whether the next dword can be taken and is one that may count dwords after
// itself in the indirect buffer, or a header whose address is needed.
func (m *Module) weighs() bool {
	header := m.decode.state == decodeNext
	counts := m.ring.inIB && (header || m.decode.state == decodeBody && m.decode.op() == pkt.OpPredicate)
	return m.file.ready && (counts || header && m.trace.caps.Has(caps.Trace))
}

// wanted returns the next request of the stream. It has one adder and one subtractor. In a
// clock with a register access they compute the address and count for the register at off,
// and when a dword is weighed, its own position.
func (m *Module) wanted(accessed, weighs bool, off uint16) want {
	w := want{win: m.ring.window(m.readable())}
	at, ahead, mask := m.ring.stream.at, m.ring.stream.have, w.win.Mask
	if accessed || weighs {
		ahead = 0
	}
	if accessed {
		at, mask = m.ring.located(off), pkt.MaxIndirect
	}
	w.next = (at + uint32(ahead)) & mask
	end, endMask := w.win.End, w.win.Mask
	if accessed && off == cpreg.IBLeft {
		end, endMask = m.ring.ibEnd, pkt.MaxIndirect
	}
	w.left = (end - w.next) & endMask
	w.issues = m.ring.stream.issues(w.win, w.next, w.left)
	return w
}

// request returns the read for a want.
func (r *ring) request(w want) port.Request {
	tag := uint8(tagRing)
	if r.inIB {
		tag = tagIB
	}
	return port.Request{Kind: port.MemRead, Tag: tag, Len: span(w.win, w.next, w.left), Addr: r.space.add(w.win.Base, uint64(w.next)<<2)}
}

// located returns the position that a register names: FAULT_ADDR the current packet, IB_LEFT
// the position in the indirect buffer, IB_ADDR the one where a preemption left an indirect
// buffer. All others name the next dword.
func (r *ring) located(off uint16) uint32 {
	at := r.stream.at
	switch off {
	case cpreg.FaultLo, cpreg.FaultHi, cpreg.IBLeft:
		at = r.rptr
		if r.inIB || off == cpreg.IBLeft {
			at = r.ibDone
		}
	case cpreg.IBLo, cpreg.IBHi:
		if r.caps.Has(caps.Preemption) && !r.inIB && r.ibDone != r.ibEnd {
			at = r.ibDone
		}
	default:
	}
	return at
}

// takes reports whether the decoder takes a dword if one is available.
func (m *Module) takes() bool {
	d := m.decode.state
	next := d == decodeNext && m.regs.run && !m.regs.interrupts() && (m.ring.inIB || !m.ring.fresh)
	return (next || d == decodeBody || d == decodeSkip) && m.ring.bad == ringGood && !m.regs.resetting
}
