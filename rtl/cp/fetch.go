package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// only returns the completion if it has the tag.
func only(cpl port.Completion, tag uint8) port.Completion {
	var c port.Completion
	if cpl.Tag&3 == tag {
		c = cpl
	}
	return c
}

// readable reports whether the buffer in work may be read: in a packet that has started
// also when RUN is 0. There is one read on offer at a time, because an offer may
// not change.
func (m *Module) readable() bool {
	inside := m.state == stateBody || m.state == stateSkip
	reads := m.state == stateRead || m.req.Kind != port.None
	checked := inside || m.inIB || !m.fresh
	return (m.run || inside) && checked && !m.resetting && m.ringBad == ringGood && !reads
}

// ringMask is the size of the ring in dwords, less one.
func (m *Module) ringMask() uint32 { return ^(^uint32(0) << m.ringLog2) >> 2 & 0x3ffff }

// readWindow returns what may be read of the buffer in work; of the ring what was checked
// when RUN was set: the host may write the ring's registers while a packet that RUN has
// left behind is still fetched.
func (m *Module) readWindow() window {
	w := window{Enable: m.readable(), Base: m.readBase, End: m.wptr, Mask: m.readMask}
	if m.inIB {
		w.Base, w.End, w.Mask = m.ibBase, m.ibEnd, pkt.MaxIndirect
	}
	return w
}

// stream returns the stream of the buffer in work.
func (m *Module) stream() stream {
	s := m.ring
	if m.inIB {
		s = m.ib
	}
	return s
}

// next returns the base of the buffer in work and the position in it that its stream
// asks for, or in a clock with an access those that the register at off names, for there
// is one adder.
func (m *Module) next(w window, accessed bool, off uint16) (base uint64, at uint32) {
	s := m.stream()
	base, at = w.Base, s.at
	ahead, mask := s.have, w.Mask
	if accessed {
		base, at = m.located(off)
		ahead, mask = 0, pkt.MaxIndirect
	}
	return base, (at + uint32(ahead)) & mask
}

// asks reports whether the stream of the buffer in work asks for what is at next.
func (m *Module) asks(w window, next uint32) bool {
	s := m.stream()
	return s.issues(w, next)
}

// request returns the read of the buffer in work at next.
func (m *Module) request(w window, base uint64, next uint32) port.Request {
	tag := uint8(tagRing)
	if m.inIB {
		tag = tagIB
	}
	return port.Request{Kind: port.MemRead, Tag: tag, Len: span(w, next), Addr: m.sum(base, uint64(next)<<2)}
}

// located returns the buffer and the position in it that a register names: of IB_ADDR,
// of FAULT_BAD if that is the next dword, or of the packet in work.
func (m *Module) located(off uint16) (base uint64, at uint32) {
	ib := off == cpreg.IBLo || off == cpreg.IBHi
	next := ib || off == cpreg.FaultBad || off == cpreg.FaultBadH
	base, at = m.readBase, m.rptr
	if ib || m.inIB {
		base, at = m.ibBase, m.ibDone
	}
	if next {
		at = m.ring.at
	}
	if next && (ib || m.inIB) {
		at = m.ib.at
	}
	return base, at
}

// sum returns an address in reach and n, in the memory of the address.
func (m *Module) sum(addr, n uint64) uint64 { return addr&pkt.Host | (addr+n)&m.addrMask }

// within returns what there is room for of an address that is still to be checked.
func (m *Module) within(addr uint64) uint64 { return addr & (pkt.Host | m.addrMask) }

// takes reports whether the decoder takes a dword if there is one.
func (m *Module) takes() bool {
	next := m.state == stateNext && m.run && !m.interrupts() && (m.inIB || !m.fresh)
	return (next || m.state == stateBody || m.state == stateSkip) && m.ringBad == ringGood && !m.resetting
}

// failed reports whether the buffer in work cannot be read on.
func (m *Module) failed() bool {
	s := m.stream()
	return s.failed()
}
