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

// watch counts the clocks in which the program neither writes KICK nor sleeps. There is one place
// that clears the count: a flip-flop with a reset does that.
func (m *Module) watch(r regbus.Req, s core.State) {
	age := uint64(m.host.age) + 1 // never 0, so it never equals a LIMIT of 0
	rests := !m.host.run || m.host.hung || s.Asleep || s.Halted
	limits := r.Op == regbus.Write && r.Off == mcureg.Base+mcureg.Limit
	m.host.hangs = !rests && age == uint64(m.host.limit)
	m.host.age = uint32(age)
	if rests || limits || m.host.hangs || m.access.kicks() {
		m.host.age = 0
	}
	if m.host.hangs {
		m.host.hung = true
	}
}

// registers serves the register bus.
func (m *Module) registers(r regbus.Req, halted bool, was before) {
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
		m.register(r, write, was.loading)
	case r.Off&^(mcureg.DebugSize-1) == mcureg.DebugBase:
		m.host.rsp.Hit = m.debug.access(r, write, halted)
	default:
	}
	if read {
		m.host.rsp.Data = was.value
	}
}

// value returns what a register reads that is not in the RAM, and 0 for others. It is an OR of
// terms of which at most one is not 0: that takes less logic than a choice. The value is not used if the
// access is to be retried.
func (m *Module) value(off uint16, s core.State, pc uint32) uint32 {
	const info = mcureg.Windows<<8 | mcureg.Breakpoints<<12 | mcureg.Watchpoints<<16
	return when(off == mcureg.Base+mcureg.Info, m.memory|info) |
		when(off == mcureg.Base+mcureg.Ctl, bit(m.host.run)) |
		when(off == mcureg.Base+mcureg.Status, bit(s.Asleep)|bit(s.Halted)<<1|bit(m.host.hung)<<2) |
		when(off == mcureg.Base+mcureg.LoadAddr, uint32(m.loader.at)<<2) |
		when(off == mcureg.Base+mcureg.CRC, ^m.loader.crc) |
		when(off == mcureg.DebugBase+mcureg.DebugCtl, bit(m.debug.halt)|bit(m.debug.catch)<<3) |
		when(off == mcureg.DebugBase+mcureg.DebugStatus, bit(s.Halted)|uint32(s.Cause)<<4) |
		when(off == mcureg.DebugBase+mcureg.Data, m.debug.data) |
		when(off == mcureg.DebugBase+mcureg.PC, pc)
}

// when returns v if on, else 0.
func when(on bool, v uint32) uint32 {
	if on {
		return v
	}
	return 0
}

// copied writes a register that the RAM has for reads only.
func (m *Module) copied(r regbus.Req) {
	switch r.Off {
	case mcureg.Base + mcureg.Limit:
		m.host.limit = r.Data
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
func (m *Module) register(r regbus.Req, write, loading bool) {
	m.host.rsp.Hit = true
	switch r.Off {
	case mcureg.Base + mcureg.Info, mcureg.Base + mcureg.Status:
	case mcureg.Base + mcureg.Ctl:
		if write {
			m.host.run = r.Data&mcureg.CtlRun != 0
			m.host.hung = m.host.hung && m.host.run
		}
	case mcureg.Base + mcureg.LoadAddr, mcureg.Base + mcureg.LoadData, mcureg.Base + mcureg.CRC:
		m.host.rsp.Retry = loading
		if write && !m.host.run && !loading {
			m.loader.access(r)
		}
	case mcureg.Base + mcureg.Doorbell:
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
