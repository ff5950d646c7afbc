package mcu

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// host is what the host sees and sets.
type host struct {
	run     bool
	hung    bool
	hangs   bool   // pulse
	limit   uint32 // clocks
	age     uint32 // clocks since the last KICK or sleep
	bells   uint32 // doorbells that rang
	blocks  uint32 // BLOCKS
	cleared uint8  `w:"7"` // rows of the RAM that are cleared
	rsp     regbus.Rsp
	row     bool // the data of rsp is the output of the RAM
}

// busy reports whether something changes without an input.
func (h *host) busy() bool {
	return h.clearing() || h.rsp.Hit || h.hangs || h.age != 0
}

// clearing reports whether rows of the RAM still have to be cleared.
func (h *host) clearing() bool { return h.cleared != rows }

// rowOf returns the row of a register at an offset in BAR0, and whether the RAM has its value.
func rowOf(off uint16) (row uint8, ok bool) {
	word := uint8(off>>2) & 31
	switch {
	case off&^0x7f == mcureg.Base|mcureg.Window:
		return word, word&3 != 3 && word != freeRow+2
	case off&^0x1f == mcureg.Base|mcureg.Mail, off == mcureg.Base|mcureg.Limit, off == mcureg.Base|mcureg.Blocks:
		return hostRow | word, true
	case off&^0xf == mcureg.DebugBase|mcureg.Break, off == mcureg.DebugBase|mcureg.Watch:
		return pointRow | word&7, true
	default:
		return 0, false
	}
}

// use returns what the host's access does with the RAM. Until it is cleared, nobody else has it.
func (h *host) use(r regbus.Req) rowUse {
	if h.clearing() {
		u := rowUse{host: true, enable: 15, row: h.cleared & (rows - 1)}
		if u.row&^1 == compareRow {
			u.data = math.MaxUint32
		}
		return u
	}
	row, ok := rowOf(r.Off)
	u := rowUse{host: ok && r.Op != regbus.None, read: ok && r.Op == regbus.Read, row: row, data: masked(row, r.Data)}
	locked := h.run || row&^3 == freeRow
	if ok && r.Op == regbus.Write && !(locked && (row&hostRow == 0 || row == blocksRow)) {
		u.enable = 15
	}
	return u
}

// masked returns a value for a row, with its implemented bits.
func masked(row uint8, v uint32) uint32 {
	switch {
	case row&hostRow == 0 && row&3 == 0:
		v &= mcureg.BaseLoBytes
	case row&hostRow == 0 && row&3 == 2:
		v &= mcureg.SizeBytes | mcureg.SizeWrite
	case row>>3 == pointRow>>3:
		v &= mcureg.PointAddr | mcureg.PointEnable
	default:
	}
	return v
}

// watch counts the clocks in which the program neither writes KICK nor sleeps.
func (m *Module) watch(s core.State) {
	m.host.hangs = false
	age := uint64(m.host.age) + 1 // never 0, so it never equals a LIMIT of 0
	m.host.age = uint32(age)
	if !m.host.run || m.host.hung || s.Asleep || s.Halted {
		m.host.age = 0
	} else if age == uint64(m.host.limit) {
		m.host.hung, m.host.hangs, m.host.age = true, true, 0
	}
}

// registers serves the register bus.
func (m *Module) registers(r regbus.Req, s core.State, pc uint32) {
	_, row := rowOf(r.Off)
	m.host.rsp, m.host.row = regbus.Rsp{}, false
	clearing := m.host.clearing()
	if clearing {
		m.host.cleared = (m.host.cleared + 1) & 0x7f
	}
	if r.Op == regbus.None {
		return
	}
	read, write := r.Op == regbus.Read, r.Op == regbus.Write
	switch {
	case row:
		m.host.rsp = regbus.Rsp{Hit: true, Retry: clearing}
		m.host.row = read && !clearing
		if write && !clearing {
			m.copied(r)
		}
	case r.Off&^(mcureg.Size-1) == mcureg.Base:
		m.register(r, write, s)
	case r.Off&^(mcureg.DebugSize-1) == mcureg.DebugBase:
		m.host.rsp = m.debug.access(r, write, s, pc)
	default:
	}
	if write {
		m.host.rsp.Data = 0
	}
}

// copied writes a register that the RAM has for reads only.
func (m *Module) copied(r regbus.Req) {
	switch r.Off {
	case mcureg.Base + mcureg.Limit:
		m.host.limit, m.host.age = r.Data, 0
	case mcureg.Base + mcureg.Blocks:
		if !m.host.run {
			m.host.blocks = r.Data
		}
	default:
		m.debug.point(r.Off, r.Data, m.words())
	}
}

// rings reports whether the host rings doorbells in this clock.
func rings(r regbus.Req) bool { return r.Op == regbus.Write && r.Off == mcureg.Base+mcureg.Doorbell }

// register serves the registers that are not in the RAM.
func (m *Module) register(r regbus.Req, write bool, s core.State) {
	m.host.rsp.Hit = true
	switch r.Off - mcureg.Base {
	case mcureg.Info:
		m.host.rsp.Data = m.memory | mcureg.Windows<<8 | mcureg.Breakpoints<<12 | mcureg.Watchpoints<<16
	case mcureg.Ctl:
		m.host.rsp.Data = bit(m.host.run)
		if write {
			m.host.run = r.Data&mcureg.CtlRun != 0
			m.host.hung = m.host.hung && m.host.run
		}
	case mcureg.Status:
		m.host.rsp.Data = bit(s.Asleep) | bit(s.Halted)<<1 | bit(m.host.hung)<<2
	case mcureg.LoadAddr, mcureg.LoadData, mcureg.CRC:
		m.host.rsp = m.loader.access(r, write && !m.host.run)
	case mcureg.Doorbell:
		if write {
			m.host.bells |= r.Data
		}
	default:
		m.host.rsp.Hit = false
	}
}

// bit returns 1 if v, else 0.
func bit(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}
