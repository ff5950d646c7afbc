package pcie

import (
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// readRegister handles the answer to a register read. A beat is complete with its
// upper half or with the last dword of the request.
func (m *Module) readRegister(rsp regbus.Rsp, data uint32) {
	m.answer(data)
	switch {
	case rsp.Retry:
		m.state = stateRegRead
	case !rsp.Hit:
		m.cause = idreg.ErrUnmapped
		m.complete(port.CplAbort, true)
	default:
		upper := m.upper()
		m.left = (m.left - 1) & 0x3f
		m.addr = nextDword(m.addr)
		m.state = stateRegRead
		if upper || m.left == 0 {
			m.complete(port.CplSuccess, m.left == 0)
		}
	}
}

// nextDword returns the address of the next dword of a request. A request does not
// cross a multiple of the longest request.
func nextDword(addr uint64) uint64 {
	const within = 4*port.MaxLen - 1
	return addr&^within | (addr+4)&within
}

// next continues after a completion was taken.
func (m *Module) next() {
	m.state = stateRegRead
	if m.last {
		m.state = stateIdle
	}
}

// writeRegister checks a half of a beat. A half without enabled bytes has no
// effect. One with only some bytes enabled is an error.
func (m *Module) writeRegister(b port.Beat) {
	enable, _ := half(b, m.upper())
	switch enable {
	case 0:
		m.state = stateRegNext
	case 0xf:
		m.state = stateRegWrite
	default:
		m.refuseHalf(idreg.ErrPartial)
	}
}

// refuseHalf reports the half of a beat of a register write at addr.
func (m *Module) refuseHalf(cause uint8) {
	m.cause = cause & 3
	m.state = stateRegNext
}

// nextHalf continues after a half of a beat of a register write. last reports
// whether the half belongs to the last beat.
func (m *Module) nextHalf(last bool) {
	m.state = stateRegBeat
	if m.upper() && last {
		m.state = stateIdle
	}
	m.addr = nextDword(m.addr)
}

// tickRead moves the beats of an aperture read from VRAM to the target port.
func (m *Module) tickRead(cplReady bool, vram VRAM) {
	m.headerUp = m.headerUp && !vram.ReadReady
	if m.full && cplReady {
		m.full = false
		if m.last {
			m.state = stateIdle
		}
	}
	if vram.Cpl.Status != port.CplNone && !m.full {
		m.low, m.high = uint32(vram.Cpl.Data), uint32(vram.Cpl.Data>>32)
		m.status, m.last = port.CplSuccess, vram.Cpl.Last
		m.full = true
	}
}

// tickWrite ends an aperture write when VRAM takes its last beat, which is after
// it takes the header.
func (m *Module) tickWrite(last bool, vram VRAM) {
	m.headerUp = false
	if vram.BeatTaken && last {
		m.state = stateIdle
	}
}
