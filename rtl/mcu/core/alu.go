package core

// A sum is what the adder returns.
type sum struct {
	value uint32
	equal bool // a and b are equal; of a difference
	below bool // a < b, signed or not as the instruction says; of a difference
}

// add adds or subtracts the operands of an instruction. A comparison and a branch subtract.
func add(ir, a, b uint32) sum {
	f3, op := funct3(ir), opcode(ir)
	minus := op == opBranch || op == opReg && funct7(ir) != 0 || (op == opReg || op == opImm) && f3>>1 == 1
	y, in := b, uint64(0)
	if minus {
		y, in = ^b, 1
	}
	s := ((uint64(a)<<1 | 1) + (uint64(y)<<1 | in)) >> 1 // one adder, whose bit 0 makes the carry
	unsigned := f3&1 != 0 && op != opBranch || f3&2 != 0 && op == opBranch
	below := s>>32 == 0
	if !unsigned && (a^b)>>31 != 0 {
		below = a>>31 != 0
	}
	return sum{uint32(s), uint32(s) == 0, below}
}

// taken reports whether a branch is taken.
func taken(ir uint32, s sum) bool {
	holds := s.equal
	if funct3(ir)&4 != 0 {
		holds = s.below
	}
	return holds != (funct3(ir)&1 != 0)
}

// shifted returns v, shifted by one bit.
func shifted(ir, v uint32) uint32 {
	if funct3(ir) == 1 {
		return v << 1
	}
	return ir>>30&1&(v>>31)<<31 | v>>1
}

// misaligned reports whether the address of a load or store is no multiple of its size.
func misaligned(ir, addr uint32) bool {
	return funct3(ir)&3 == 1 && addr&1 != 0 || funct3(ir)&3 == 2 && addr&3 != 0
}

// lanes returns the enables of the bytes that a store writes.
func lanes(ir, addr uint32) uint8 {
	switch funct3(ir) & 3 {
	case 0:
		return 1 << (addr & 3) & 15
	case 1:
		return 3 << (addr & 2) & 15
	default:
		return 15
	}
}

// spread returns the value of a store in each place of a word where it may be.
func spread(ir, v uint32) uint32 {
	switch funct3(ir) & 3 {
	case 0:
		return v&0xff | v&0xff<<8 | v&0xff<<16 | v&0xff<<24
	case 1:
		return v&0xffff | v&0xffff<<16
	default:
		return v
	}
}

// pick returns the value of a load from the word that has its address.
func pick(ir, addr, word uint32) uint32 {
	half := uint16(word)
	if addr&2 != 0 {
		half = uint16(word >> 16)
	}
	b := uint8(half)
	if addr&1 != 0 {
		b = uint8(half >> 8)
	}
	signed := funct3(ir)&4 == 0
	switch funct3(ir) & 3 {
	case 0:
		if signed && b>>7 != 0 {
			return 0xffffff00 | uint32(b)
		}
		return uint32(b)
	case 1:
		if signed && half>>15 != 0 {
			return 0xffff0000 | uint32(half)
		}
		return uint32(half)
	default:
		return word
	}
}
