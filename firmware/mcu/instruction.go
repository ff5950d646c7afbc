package mcu

import "github.com/hilgpu/hilgpu/rtl/abi/mcureg"

// Opcodes (Unprivileged ISA 20191213, table 24.1).
const (
	opLoad   = 0x03
	opStore  = 0x23
	opJALR   = 0x67
	opSystem = 0x73
)

// Values of funct3 (Unprivileged ISA 20191213, chapter 24).
const (
	f3CSRRW = 1
	f3CSRRS = 2
)

// immediate returns an instruction of the format I (Unprivileged ISA 20191213, figure 2.3).
func immediate(op, f3, rd, rs1, imm uint32) uint32 {
	return imm<<20 | rs1<<15 | f3<<12 | rd<<7 | op
}

// send returns an instruction that writes a register to DATA.
func send(rs uint32) uint32 { return writeCSR(mcureg.Scratch, rs) }

// receive returns an instruction that reads a register from DATA.
func receive(rd uint32) uint32 { return readCSR(rd, mcureg.Scratch) }

// readCSR returns a CSRRS of x0.
func readCSR(rd, csr uint32) uint32 { return immediate(opSystem, f3CSRRS, rd, 0, csr) }

// writeCSR returns a CSRRW to x0.
func writeCSR(csr, rs uint32) uint32 { return immediate(opSystem, f3CSRRW, 0, rs, csr) }

// jump returns a JALR to x0.
func jump(rs uint32) uint32 { return immediate(opJALR, 0, 0, rs, 0) }

// load returns a load without sign of a width of 1, 2 or 4 bytes.
func load(width, rd, base, offset uint32) uint32 {
	return immediate(opLoad, map[uint32]uint32{1: 4, 2: 5, 4: 2}[width], rd, base, offset)
}

// store returns a store of a width of 1, 2 or 4 bytes.
func store(width, rs, base, offset uint32) uint32 {
	return offset>>5<<25 | rs<<20 | base<<15 | width/2<<12 | offset&31<<7 | opStore
}

// stores returns the base register and the offset of a store, and false for another
// instruction.
func stores(ins uint32) (base, offset uint32, ok bool) {
	return ins >> 15 & 31, uint32(int32(ins)>>25<<5) | ins>>7&31, ins&0x7f == opStore
}
