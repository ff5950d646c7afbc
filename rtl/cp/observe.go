package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Executed returns a number, modulo 32, that changes with each packet of the trace. It is 0 after a
// reset. Without a trace it is always 0.
func (m *Module) Executed() uint8 { return m.trace.next }

// Newest returns the newest packet of the trace, outside of any clock: its header and the address
// of the header. It reports false if there is none.
func (m *Module) Newest() (header uint32, addr uint64, ok bool) {
	entry := uint32(m.trace.next-1) & (traceSlots - 1)
	return uint32(m.trace.what.Word(entry)), m.trace.where.Word(entry) &^ tracereg.Valid, m.trace.count != 0
}

// Current returns the address of the header of the current packet, outside of any clock. It is 0
// without a trace.
func (m *Module) Current() uint64 {
	entry := uint32(m.trace.next)
	if m.trail.active {
		entry++
	}
	return m.trace.where.Word(entry&(traceSlots-1)) &^ tracereg.Valid
}

// Faulting returns the cause of a fault as in FAULT_INFO, and the address in FAULT_LO and
// FAULT_HI, outside of any clock. cause is CauseNone without a fault.
func (m *Module) Faulting() (cause uint32, addr uint64) {
	if m.decode.state != decodeFault {
		return uint32(cpreg.CauseNone), 0
	}
	return m.peek(cpreg.FaultInfo), uint64(m.peek(cpreg.FaultHi))<<32 | uint64(m.peek(cpreg.FaultLo))
}

// peek returns a register of the node, outside of any clock.
func (m *Module) peek(off uint16) uint32 {
	want := m.wanted(true, false, off)
	v := m.read(off, m.ring.request(want).Addr, want.left)
	if l := m.looks(off, regbus.Read); l.Valid {
		word := m.file.ram.Word(fileAt | uint32(l.At))
		if l.High {
			word >>= 32
		}
		v |= uint32(word)
	}
	return v
}
