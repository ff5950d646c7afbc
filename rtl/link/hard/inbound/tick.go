package inbound

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
)

// Tick is one rising clock edge.
func (m *Module) Tick(p receive.Packet, up bool, issue Issue, free, failed, expires, reqReady, dataReady bool) {
	m.refused = false
	m.late = m.late || expires
	word := uint16(m.table.Out())
	looks, updates := m.state == stateLook && !issue.Valid, m.state == stateUpdate && !issue.Valid
	m.remember(issue, looks, updates)
	moves, empty := m.moves(), !m.out.beat
	m.out.cpl = port.CplNone
	if dataReady {
		m.out.beat = false
	}
	switch m.state {
	case stateIdle:
		m.idle(p, up)
	case stateHead:
		m.header(p.Data)
	case stateJudge:
		m.judge()
	case stateData:
		m.data(p.Data, moves, empty)
	case stateSingle, stateRun, stateRunWrite, stateRunData:
		m.runs(p.Data, reqReady)
	case stateLook:
		if looks {
			m.state = stateMatch
		}
	case stateMatch:
		m.match(word)
	case stateUpdate:
		if updates {
			m.state = stateDone
		}
	case stateSweep:
		m.expire(up)
	case stateDone:
		m.state = stateIdle
	default:
		m.request(free, failed, reqReady)
	}
}

// remember keeps a read of the GPU, or what is left of one.
func (m *Module) remember(issue Issue, looks, updates bool) {
	tag, word := m.tag(), uint16(m.epoch)<<11|uint16(m.lower>>2)<<6|uint16(m.chunk)
	if updates {
		word = uint16(m.lo>>14&3)<<11 | uint16(m.lower>>2)<<6 | uint16(m.chunk)
	}
	at, enable := tag, uint8(0)
	if issue.Valid {
		at, word = issue.Tag, uint16(m.epoch)<<11|uint16(issue.Lower)<<6|uint16(issue.Len)
		m.due |= uint64(1) << issue.Tag
		m.old &^= uint64(1) << issue.Tag
	}
	if issue.Valid || updates {
		enable = 3
	}
	m.table.Tick(looks, uint32(tag), enable, uint32(at), uint64(word))
}

// tag returns the tag of the GPU in a completion.
func (m *Module) tag() uint8 { return uint8(m.lo>>8) & 63 }

// idle begins a packet or a sweep.
func (m *Module) idle(p receive.Packet, up bool) {
	if m.late || !up && m.due != 0 {
		m.state, m.sweep, m.late = stateSweep, 0, false
	} else if up && p.There {
		m.state, m.at, m.form, m.left, m.short = stateHead, 0, p.Form, p.Size, false
		m.masked = p.Form == 0
	}
}

// expire ends one read that is old, or any without a session.
func (m *Module) expire(up bool) {
	bit := uint64(1) << m.sweep
	if m.due&bit != 0 && (!up || m.old&bit != 0) {
		m.out.cpl, m.out.last, m.out.tag = port.CplAbort, true, m.sweep
		m.due &^= bit
		m.lost = true
	}
	m.old = m.old&^bit | m.due&bit
	m.sweep = (m.sweep + 1) & 63
	if m.sweep == 0 {
		m.state = stateIdle
		if m.lost {
			m.epoch = (m.epoch + 1) & 3
		}
		m.lost = false
	}
}

// pads reports whether a header of 12 bytes gets the upper half of its address.
func (m *Module) pads() bool { return m.at == 8 && !m.wide }

// present reports whether a byte of the header is in the packet.
func (m *Module) present() bool {
	group := m.mask >> 1
	switch m.at {
	case 0:
		group = 0
	case 1, 2, 3:
		group = m.mask
	case 4, 5:
	case 6:
		group = m.mask >> 2
	case 7:
		group = m.mask >> 3
	case 12:
		group = m.mask >> 4
	case 13:
		group = m.mask >> 5
	case 14:
		group = m.mask >> 6
	default:
		group = m.mask >> 7
	}
	return m.form == 0 || group&1 != 0
}

// template returns a byte of the header that is not in the packet.
func (m *Module) template() uint8 {
	completion := m.form == 3
	switch m.at {
	case 0:
		if completion {
			return 0x4a
		} else if m.form == 2 {
			return 0x40
		}
		return 0
	case 3:
		return 1
	case 4:
		if completion {
			return 1
		}
		return 0
	case 7:
		if completion {
			return 4
		}
		return 0xf
	default:
		return 0
	}
}

// header collects a byte of the header. A header of 12 bytes gets four zeros after its
// eighth, so that its last four are at the same place as in one of 16.
func (m *Module) header(b uint8) {
	takes := !m.masked || !m.pads() && m.present()
	if takes && m.left == 0 {
		m.short = true
	} else if takes {
		m.left--
	}
	if !m.masked {
		m.mask, m.masked = b, true
		return
	}
	if m.pads() {
		m.hi, m.lo, m.at = m.hi<<32|m.lo>>32, m.lo<<32, 12
		return
	}
	if !m.present() {
		b = m.template()
	}
	if m.at == 0 {
		m.wide = b&0x20 != 0
	}
	m.hi, m.lo = m.hi<<8|m.lo>>56, m.lo<<8|uint64(b)
	if m.at == 15 {
		m.state = stateJudge
	}
	m.at = (m.at + 1) & 15
}
