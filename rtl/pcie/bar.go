package pcie

import (
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// issueRead puts the read of the dword at addr on the register bus.
func (m *Module) issueRead() {
	m.reg = regbus.Req{Op: regbus.Read, Off: offset(m.addr)}
	m.state = stateRegRead
}

// readRegister takes the answer to a register read. A beat is complete with its
// upper half or with the last dword of the request.
func (m *Module) readRegister(rsp regbus.Rsp) {
	switch {
	case rsp.Retry:
		m.issueRead()
	case !rsp.Hit:
		m.refuse(idreg.ErrUnmapped, 0)
		m.complete(port.CplAbort, true, 0)
	default:
		upper := m.addr&4 != 0
		data := m.cpl.Data | uint64(rsp.Data)
		if upper {
			data = m.cpl.Data | uint64(rsp.Data)<<32
		}
		m.left = (m.left - 1) & 0x3f
		m.addr = behind(m.addr)
		m.cpl.Data = data
		if upper || m.left == 0 {
			m.complete(port.CplSuccess, m.left == 0, data)
		} else {
			m.issueRead()
		}
	}
}

// behind returns the address of the next dword of a request, none of which crosses
// a multiple of the longest one.
func behind(addr uint64) uint64 {
	const within = 4*port.MaxLen - 1
	return addr&^within | (addr+4)&within
}

// next goes on behind a completion that was taken.
func (m *Module) next() {
	if m.cpl.Last {
		m.state = stateIdle
	} else {
		m.cpl.Data = 0
		m.issueRead()
	}
}

// writeRegister looks at the half of the beat that upper selects. A half that is
// not wholly enabled has no effect; one with some bytes enabled is an error.
func (m *Module) writeRegister() {
	enable, data := m.beat.Enable&0xf, uint32(m.beat.Data)
	addr := m.addr &^ 7
	if m.upper {
		enable, data = m.beat.Enable>>4, uint32(m.beat.Data>>32)
		addr |= 4
	}
	m.addr = addr
	switch enable {
	case 0:
		m.nextHalf()
	case 0xf:
		m.reg = regbus.Req{Op: regbus.Write, Off: offset(addr), Data: data}
		m.state = stateRegWrite
	default:
		m.refuse(idreg.ErrPartial, 0)
		m.nextHalf()
	}
}

// nextHalf goes on behind a half of a beat of a register write.
func (m *Module) nextHalf() {
	switch {
	case !m.upper:
		m.upper = true
		m.state = stateRegDword
	case m.beat.Last:
		m.state = stateIdle
	default:
		m.addr = behind(m.addr)
		m.state = stateRegBeat
	}
}

// tickRead moves the beats of an aperture read from VRAM to the target port.
func (m *Module) tickRead(cplReady bool, vram VRAM) {
	if m.state == stateVRAMRead {
		m.headerUp = m.headerUp && !vram.ReadReady
		if m.full && cplReady {
			m.full = false
			if m.cpl.Last {
				m.state = stateIdle
			}
		}
		if vram.Cpl.Status != port.CplNone && !m.full {
			m.cpl = vram.Cpl
			m.cpl.Tag = m.req.Tag
			m.full = true
		}
	}
}

// tickWrite moves the beats of an aperture write from the target port to VRAM
// through two registers.
func (m *Module) tickWrite(got bool, beat port.Beat, vram VRAM) {
	m.headerUp = m.headerUp && !vram.ReqReady
	if vram.BeatReady {
		m.out0 = m.out1
		m.out1 = port.Beat{}
	}
	if got {
		m.lastIn = beat.Last
		if m.out0.Valid {
			m.out1 = beat
		} else {
			m.out0 = beat
		}
	}
	if m.lastIn && !m.headerUp && !m.out0.Valid {
		m.state = stateIdle
	}
}
