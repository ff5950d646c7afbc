package core

// Rows of the register RAMs after x31.
const (
	rowScratch = 32
	rowEPC     = 33
	rowCause   = 34
	rowTVal    = 35
	rowTVec    = 36
	rowCycleH  = 38 // and minstreth after it
	rows       = 64
)

// A csr is a control and status register, or a group of them.
type csr uint8

const (
	csrNone    csr = iota // it does not exist
	csrZero               // reads 0, writes are ignored
	csrISA                // misa
	csrStatus             // mstatus
	csrIE                 // mie
	csrIP                 // mip
	csrRow                // mtvec, mscratch, mepc, mcause, mtval
	csrCycle              // mcycle
	csrInstret            // minstret
	csrUpper              // mcycleh, minstreth: rows too
	csrScratch            // dscratch0, only for the debugger
)

// isa is the value of misa: 32 bits, I.
const isa = 1<<30 | 1<<8

// register returns the CSR of an instruction (Privileged Architecture, tables 2.5 and 2.6).
func register(ir uint32) csr {
	low := uint8(ir>>20) & 0xff
	switch uint8(ir >> 28) {
	case 0x3:
		return machine(low)
	case 0xb:
		return counter(low)
	case 0xf:
		return identity(low)
	case 0x7:
		if low == 0xb2 {
			return csrScratch
		}
	default:
	}
	return csrNone
}

// identity returns the CSR at 0xf00 and up: mvendorid, marchid, mimpid, mhartid and mconfigptr.
func identity(low uint8) csr {
	switch low {
	case 0x11, 0x12, 0x13, 0x14, 0x15:
		return csrZero
	default:
		return csrNone
	}
}

// machine returns the CSR at 0x300 and up.
func machine(low uint8) csr {
	switch low {
	case 0x00:
		return csrStatus
	case 0x01:
		return csrISA
	case 0x04:
		return csrIE
	case 0x05, 0x40, 0x41, 0x42, 0x43:
		return csrRow
	case 0x44:
		return csrIP
	case 0x10, 0x20:
		return csrZero // mstatush, mcountinhibit
	default:
		if low>>5 == 1 && event(low) {
			return csrZero // mhpmevent3 to 31
		}
		return csrNone
	}
}

// counter returns the CSR at 0xb00 and up.
func counter(low uint8) csr {
	switch low {
	case 0x00:
		return csrCycle
	case 0x02:
		return csrInstret
	case 0x80, 0x82:
		return csrUpper
	default:
		if low>>5&3 == 0 && event(low) {
			return csrZero // mhpmcounter3 to 31
		}
		return csrNone
	}
}

// event reports whether the lower 5 bits of the number of a CSR are 3 or more: those of a counter
// of events.
func event(low uint8) bool { return low&0x1c != 0 || low&3 == 3 }

// row returns the row that is read for an instruction of the opcode SYSTEM: that of its CSR,
// mepc for MRET, and x0 for a CSR that is no row. It compares only those bits in which a CSR with a
// row differs from the others that exist; what is read for one that does not exist is not used.
func (m *Module) row(ir uint32) uint8 {
	csr := uint16(ir >> 20)
	switch {
	case funct3(ir) == 0:
		return rowEPC
	case csr&0x44 == 0x40: // 0x340 to 0x343
		return rowScratch | uint8(csr)&3
	case csr&0x865 == 0x005: // 0x305
		return rowTVec
	case csr&0x89d == 0x880 && m.cfg.Counters: // 0xb80, 0xb82
		return rowCycleH | uint8(csr>>1)&1
	default:
		return 0
	}
}

// changes reports whether an instruction writes its CSR. CSRRS and CSRRC with x0 do not.
func changes(ir uint32) bool { return funct3(ir)&2 == 0 || rs1(ir) != 0 }

// allowed reports whether the CSR of an instruction exists and may be used by it.
func (m *Module) allowed(ir uint32) bool {
	c := register(ir)
	if c == csrNone || c == csrScratch && !(m.cfg.Debug && m.debug) {
		return false
	}
	return ir>>30 != 3 || !changes(ir)
}

// read returns the value of the CSR of an instruction if it is no row, and 0 for others.
func (m *Module) read(ir uint32, irq Interrupts, scratch uint32) uint32 {
	switch register(ir) {
	case csrISA:
		return isa
	case csrStatus:
		return 3<<11 | bit(m.mpie)<<7 | bit(m.mie)<<3
	case csrIE:
		return levels(m.enable)
	case csrIP:
		return levels(pending(irq))
	case csrCycle:
		return m.cycle
	case csrInstret:
		return m.instret
	case csrScratch:
		if m.cfg.Debug {
			return scratch
		}
		return 0
	default:
		return 0
	}
}

// write writes acc to a CSR that is not a row. A value of minstret is that after the
// instruction, which is not counted then.
func (m *Module) write(c csr) {
	switch c {
	case csrStatus:
		m.mpie, m.mie = m.acc>>7&1 != 0, m.acc>>3&1 != 0
	case csrIE:
		m.enable = uint8(m.acc>>3&1 | m.acc>>7&1<<1 | m.acc>>11&1<<2)
	default:
	}
	if !m.cfg.Counters {
		return
	}
	switch c {
	case csrCycle:
		m.cycle = m.acc
	case csrInstret:
		m.instret, m.retired = m.acc, false
	case csrUpper:
		upper := uint8(m.ir>>21) & 1
		m.carry &^= 1 << upper & 3 // it was before the write
		m.retired = m.retired && upper == 0
	default:
	}
}

// kept returns the bits of acc that a row keeps. mtvec has only its direct mode, and an
// address of an instruction is a multiple of 4.
func kept(row uint8, v uint32) uint32 {
	if row == rowTVec || row == rowEPC {
		return v &^ 3
	}
	return v
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// pending returns interrupts as bits: software, timer, external.
func pending(irq Interrupts) uint8 {
	return uint8(bit(irq.Software) | bit(irq.Timer)<<1 | bit(irq.External)<<2)
}

// levels returns those bits at their places in mie and mip.
func levels(v uint8) uint32 { return uint32(v)&1<<3 | uint32(v)>>1&1<<7 | uint32(v)>>2&1<<11 }
