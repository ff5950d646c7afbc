package rv32test

// Instructions without operands (Unprivileged ISA, chapter 24; Privileged Architecture,
// chapter 5).
const (
	ECALL  = 0x00000073
	EBREAK = 0x00100073
	WFI    = 0x10500073
	MRET   = 0x30200073
)

// R returns an instruction of the format R (Unprivileged ISA, figure 2.3).
func R(op, f3, f7, rd, rs1, rs2 uint32) uint32 {
	return f7<<25 | rs2<<20 | rs1<<15 | f3<<12 | rd<<7 | op
}

// I returns an instruction of the format I.
func I(op, f3, rd, rs1, imm uint32) uint32 { return imm<<20 | rs1<<15 | f3<<12 | rd<<7 | op }

// S returns a store.
func S(op, f3, rs1, rs2, imm uint32) uint32 {
	return imm>>5<<25 | rs2<<20 | rs1<<15 | f3<<12 | imm&31<<7 | op
}

// B returns a branch.
func B(f3, rs1, rs2, imm uint32) uint32 {
	return imm>>12&1<<31 | imm>>5&63<<25 | rs2<<20 | rs1<<15 | f3<<12 | imm>>1&15<<8 | imm>>11&1<<7 | 0x63
}

// J returns a JAL.
func J(rd, imm uint32) uint32 {
	return imm>>20&1<<31 | imm>>1&0x3ff<<21 | imm>>11&1<<20 | imm>>12&0xff<<12 | rd<<7 | 0x6f
}
