package rv32

// An instruction is a word with the fields of figures 2.3 and 2.4 of the Unprivileged ISA.
type instruction uint32

func (i instruction) field(low, n uint) uint32 { return uint32(i) >> low & (1<<n - 1) }
func (i instruction) opcode() uint32           { return i.field(0, 7) }
func (i instruction) rd() uint32               { return i.field(7, 5) }
func (i instruction) funct3() uint32           { return i.field(12, 3) }
func (i instruction) rs1() uint32              { return i.field(15, 5) }
func (i instruction) rs2() uint32              { return i.field(20, 5) }
func (i instruction) funct7() uint32           { return i.field(25, 7) }
func (i instruction) csr() uint32              { return i.field(20, 12) }

// signed extends a value of n bits by its sign.
func signed(v uint32, n uint) uint32 { return uint32(int32(v<<(32-n)) >> (32 - n)) }

func (i instruction) immI() uint32 { return signed(i.field(20, 12), 12) }
func (i instruction) immS() uint32 { return signed(i.field(25, 7)<<5|i.field(7, 5), 12) }
func (i instruction) immU() uint32 { return i.field(12, 20) << 12 }
func (i instruction) immB() uint32 {
	return signed(i.field(31, 1)<<12|i.field(7, 1)<<11|i.field(25, 6)<<5|i.field(8, 4)<<1, 13)
}
func (i instruction) immJ() uint32 {
	return signed(i.field(31, 1)<<20|i.field(12, 8)<<12|i.field(20, 1)<<11|i.field(21, 10)<<1, 21)
}
