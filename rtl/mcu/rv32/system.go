package rv32

// system does an instruction of the opcode SYSTEM.
func (p *Processor) system(i instruction, a, next, pending uint32) (uint32, *trap) {
	switch {
	case i.funct3() == 0b100:
		return 0, &trap{Illegal, 0}
	case i.funct3() != 0:
		return next, p.modify(i, a, pending)
	}
	switch uint32(i) {
	case 0x00000073: // ECALL
		return 0, &trap{Call, 0}
	case 0x00100073: // EBREAK
		return 0, &trap{Breakpoint, 0}
	case 0x10500073: // WFI
		p.Waits = true
		return next, nil
	case 0x30200073: // MRET
		p.MIE, p.MPIE = p.MPIE, true
		return p.EPC, nil
	}
	return 0, &trap{Illegal, 0}
}

// modify reads a CSR, and writes it unless the instruction is a CSRRS or CSRRC without bits.
func (p *Processor) modify(i instruction, a, pending uint32) *trap {
	c := i.csr()
	writes := i.funct3()&2 == 0 || i.rs1() != 0
	old, ok := p.value(c, pending)
	if !ok || writes && c>>10 == 3 {
		return &trap{Illegal, 0}
	}
	if i.funct3()&4 != 0 {
		a = i.rs1()
	}
	v := a
	switch i.funct3() & 3 {
	case 2:
		v = old | a
	case 3:
		v = old &^ a
	}
	if writes {
		p.set(c, v)
	}
	p.X[i.rd()] = old
	return nil
}

// value returns a CSR (Privileged Architecture, tables 2.5 and 2.6), and false if there is none.
// mcycle is 0, since the model has no clocks.
func (p *Processor) value(c, pending uint32) (uint32, bool) {
	switch c {
	case 0x300: // mstatus
		return 3<<11 | number(p.MPIE)<<7 | number(p.MIE)<<3, true
	case 0x301: // misa
		return 1<<30 | 1<<('I'-'A'), true
	case 0x304:
		return p.IE, true
	case 0x305:
		return p.TVec, true
	case 0x340:
		return p.Scratch, true
	case 0x341:
		return p.EPC, true
	case 0x342:
		return p.Cause, true
	case 0x343:
		return p.TVal, true
	case 0x344: // mip
		return pending, true
	case 0xb02:
		return uint32(p.Instret), true
	case 0xb82:
		return uint32(p.Instret >> 32), true
	}
	return 0, zero(c)
}

// zero reports whether a CSR exists and reads 0.
func zero(c uint32) bool {
	switch {
	case c == 0x310, c == 0x320: // mstatush, mcountinhibit
	case c == 0xb00, c == 0xb80: // mcycle
	case c >= 0x323 && c <= 0x33f, c >= 0xb03 && c <= 0xb1f, c >= 0xb83 && c <= 0xb9f: // events
	case c >= 0xf11 && c <= 0xf15: // vendor, architecture, implementation, hart, configuration
	default:
		return false
	}
	return true
}

// set writes a CSR. A write of minstret takes effect after its instruction has been counted.
func (p *Processor) set(c, v uint32) {
	switch c {
	case 0x300:
		p.MIE, p.MPIE = v>>3&1 != 0, v>>7&1 != 0
	case 0x304:
		p.IE = v & (External | Timer | Software)
	case 0x305:
		p.TVec = v &^ 3
	case 0x340:
		p.Scratch = v
	case 0x341:
		p.EPC = v &^ 3
	case 0x342:
		p.Cause = v
	case 0x343:
		p.TVal = v
	case 0xb02:
		p.Instret = p.Instret>>32<<32 | uint64(v) - 1
	case 0xb82:
		p.Instret = uint64(v)<<32 | p.Instret&0xffffffff - 1
	}
}
