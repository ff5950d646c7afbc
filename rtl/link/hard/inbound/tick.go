package inbound

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
)

// Tick is one rising clock edge.
func (m *Module) Tick(p receive.Packet, up bool, issue Issue, answered, failed, expires, reqReady, dataReady bool) {
	m.refused = false
	m.late = m.late || expires
	word := uint16(m.table.Out())
	free := !issue.Valid
	looks, updates := (m.state == stateLook || m.state == stateSweep) && free, m.state == stateUpdate && free
	matches, steps := m.state == stateMatch && free, m.state == stateExpire && free
	mine := m.due>>m.place(issue)&1 != 0
	aborts := steps && mine && (!up || word&seen != 0)
	fits := m.match(word, mine)
	m.remember(issue, looks, updates, aborts || matches && fits && m.ends(word), steps, word)
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
		m.state = stateLook // again, if a read was issued, which may have the same tag
		if matches {
			m.complete(word, fits)
		}
	case stateUpdate:
		if updates {
			m.state = stateDone
		}
	case stateSweep:
		if looks {
			m.state = stateExpire
		}
	case stateExpire:
		m.state = stateSweep // again, if the word may have changed
		if steps {
			m.expire(aborts)
		}
	case stateDone:
		m.state = stateIdle
	default:
		m.request(answered, failed, reqReady)
	}
}

// seen is the bit of a read that was in flight at the last time-out. The word of a read has
// also a part of its tag in bits 12..11, the dword of the next address in 10..6, and the
// dwords that are due in 5..0.
const seen = 1 << 13

// place returns the tag of the read that this clock is about.
func (m *Module) place(issue Issue) uint8 {
	if issue.Valid {
		return issue.Tag
	}
	return m.looked()
}

// looked returns the tag of the read that is looked up.
func (m *Module) looked() uint8 {
	if m.state == stateSweep || m.state == stateExpire {
		return m.sweep
	}
	return m.tag()
}

// remember keeps a read of the GPU, or what is left of one.
func (m *Module) remember(issue Issue, looks, updates, ends, steps bool, word uint16) {
	epoch, low, length := uint8(m.lo>>14)&3, uint16(m.lower>>2), m.chunk
	at, enable := m.place(issue), uint8(0)
	bit := uint64(1) << at
	if issue.Valid {
		epoch, low, length = issue.Epoch, uint16(issue.Lower), issue.Len
		m.due |= bit
	} else if ends {
		m.due &^= bit
	}
	what := uint16(epoch)<<11 | low<<6 | uint16(length)
	if steps {
		what = word | seen
	}
	if issue.Valid || updates || steps {
		enable = 3
	}
	m.table.Tick(looks, uint32(m.looked()), enable, uint32(at), uint64(what))
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

// expire ends one read that is old, or any without a session. The tags of the reads that are
// issued from then on differ for the host from those of the reads that end.
func (m *Module) expire(aborts bool) {
	if aborts {
		m.out.cpl, m.out.last, m.out.tag = port.CplAbort, true, m.sweep
		if !m.lost {
			m.epoch = (m.epoch + 1) & 3
		}
		m.lost = true
	}
	m.sweep = (m.sweep + 1) & 63
	m.state = stateSweep
	if m.sweep == 0 {
		m.state, m.lost = stateIdle, false
	}
}

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
	case 8:
		group = m.mask >> 4
	case 9:
		group = m.mask >> 5
	case 10:
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

// header collects a byte of the header. The last four of 12 bytes are at the same place as
// those of 16.
func (m *Module) header(b uint8) {
	takes := !m.masked || m.present()
	if takes && m.left == 0 {
		m.short = true
	} else if takes {
		m.left--
	}
	if !m.masked {
		m.mask, m.masked = b, true
		return
	}
	if !m.present() {
		b = m.template()
	}
	if m.at == 0 {
		m.wide = b&0x20 != 0
	}
	if m.at < 8 {
		m.hi, m.lo = m.hi<<8|uint64(b), 0
	} else {
		m.lo = m.lo<<8 | uint64(b)
	}
	if m.at == 15 || m.at == 11 && !m.wide {
		m.state = stateJudge
	}
	m.at = (m.at + 1) & 15
}
