package cp

import (
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

// fetches reports whether the buffers may be read: in a packet that has started
// also when RUN is 0. There is one read on offer at a time, because an offer may
// not change.
func (m *Module) fetches() bool {
	inside := m.state == stateBody || m.state == stateSkip
	reads := m.state == stateRead || m.req.Kind != port.None
	return (m.run || inside) && !m.resetting && m.ringBad == operandNone && !reads
}

// ringMask is the size of the ring in dwords, less one.
func (m *Module) ringMask() uint32 { return (1<<m.ringLog2 - 1) >> 2 & 0x3ffff }

// ringWindow returns what may be read of the ring, which was checked when RUN
// was set: the host may write the ring's registers while a packet that RUN has
// left behind is still fetched. The indirect buffer goes first.
func (m *Module) ringWindow() window {
	enable := m.fetches() && !m.ib.issues(m.ibWindow())
	return window{Enable: enable, Base: m.readBase, End: m.wptr & m.readMask, Mask: m.readMask}
}

// ibWindow returns what may be read of the indirect buffer.
func (m *Module) ibWindow() window {
	return window{Enable: m.fetches() && m.inIB, Base: m.ibBase, End: m.ibEnd, Mask: pkt.MaxIndirect}
}

// request returns the read of the indirect buffer, or of the ring.
func (m *Module) request(ib bool, ibWin, ringWin window) port.Request {
	w, next, tag := ringWin, m.ring.next, uint8(tagRing)
	if ib {
		w, next, tag = ibWin, m.ib.next, uint8(tagIB)
	}
	return port.Request{Kind: port.MemRead, Tag: tag, Len: span(w, next), Addr: m.sum(w.Base, uint64(next)<<2)}
}

// sum returns an address in reach and n, in the memory of the address.
func (m *Module) sum(addr, n uint64) uint64 { return addr&pkt.Host | (addr+n)&m.addrMask }

// within returns what there is room for of an address that is still to be checked.
func (m *Module) within(addr uint64) uint64 { return addr & (pkt.Host | m.addrMask) }

// head returns the next dword of the buffer in work, if its beat was read.
func (m *Module) head() (dword uint32, valid bool) {
	beat, upper := m.beats.Out(), m.ring.upper(m.readBase)
	if m.inIB {
		upper = m.ib.upper(m.ibBase)
	}
	dword = uint32(beat)
	if upper {
		dword = uint32(beat >> 32)
	}
	return dword, m.ready && m.readIB == m.inIB
}

// reads reports whether the beat of the next dword is there and is read in the
// next clock.
func (m *Module) reads() bool {
	count := m.ring.count
	if m.inIB {
		count = m.ib.count
	}
	return count != 0 && (!m.ready || m.readIB != m.inIB)
}

// takes reports whether the decoder takes a dword if there is one.
func (m *Module) takes() bool {
	next := m.state == stateNext && m.run && !m.interrupts()
	return (next || m.state == stateBody || m.state == stateSkip) && m.ringBad == operandNone && !m.resetting
}

// failed reports whether the buffer in work cannot be read on.
func (m *Module) failed() bool {
	f := m.ring.failed()
	if m.inIB {
		f = m.ib.failed()
	}
	return f
}

// at returns the position of the next dword to take.
func (m *Module) at() uint32 {
	at := m.ring.at
	if m.inIB {
		at = m.ib.at
	}
	return at
}
