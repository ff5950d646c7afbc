package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// fetched returns the completion if it is one of the ring or of an indirect buffer.
func fetched(cpl port.Completion) port.Completion {
	if cpl.Tag&3 == tagRead {
		cpl.Status = port.CplNone
	}
	return cpl
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
// last, when RUN was set or an indirect buffer had ended: the host may write the ring's registers while a packet that RUN has
// left behind is still fetched.
func (m *Module) readWindow() window {
	w := window{Enable: m.readable(), Base: m.buffer, End: m.wptr, Mask: m.readMask}
	if m.inIB {
		w.End, w.Mask = m.ibEnd, pkt.MaxIndirect
	}
	return w
}

// weighs reports whether the dword that is there may be taken and may count what is
// behind it in the indirect buffer.
func (m *Module) weighs() bool {
	counts := m.state == stateNext || m.state == stateBody && m.op() == pkt.OpPredicate
	return m.inIB && m.ready && counts
}

// next returns the position in the buffer that the stream asks for, or in a clock with
// an access the one that the register at off names, and if a dword is weighed its own:
// there is one adder.
func (m *Module) next(w window, accessed, weighs bool, off uint16) uint32 {
	at, ahead, mask := m.stream.at, m.stream.have, w.Mask
	if accessed || weighs {
		ahead = 0
	}
	if accessed {
		at, mask = m.located(off), pkt.MaxIndirect
	}
	return (at + uint32(ahead)) & mask
}

// behind returns the dwords from next on to the end of the buffer in work, or of the
// indirect buffer.
func (m *Module) behind(w window, next uint32, ib bool) uint32 {
	end, mask := w.End, w.Mask
	if ib {
		end, mask = m.ibEnd, pkt.MaxIndirect
	}
	return (end - next) & mask
}

// request returns the read of the buffer in work at next, which has left dwords there.
func (m *Module) request(w window, next, left uint32) port.Request {
	tag := uint8(tagRing)
	if m.inIB {
		tag = tagIB
	}
	return port.Request{Kind: port.MemRead, Tag: tag, Len: span(w, next, left), Addr: m.sum(w.Base, uint64(next)<<2)}
}

// located returns the position that a register names: for FAULT_ADDR of the packet in
// work, for IB_LEFT in the indirect buffer, for IB_ADDR in one that was left, and otherwise
// of the next dword.
func (m *Module) located(off uint16) uint32 {
	at := m.stream.at
	switch off {
	case cpreg.FaultLo, cpreg.FaultHi, cpreg.IBLeft:
		at = m.rptr
		if m.inIB || off == cpreg.IBLeft {
			at = m.ibDone
		}
	case cpreg.IBLo, cpreg.IBHi:
		if m.preemption && !m.inIB && m.ibDone != m.ibEnd {
			at = m.ibDone
		}
	default:
	}
	return at
}

// ended reports whether everything in the indirect buffer was taken.
func (m *Module) ended() bool { return m.inIB && m.stream.at == m.ibEnd }

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
func (m *Module) failed() bool { return m.stream.failed() }
