// Package rv32test has random programs for RISC-V processors, and QEMU to compare with.
package rv32test

import (
	"math/rand/v2"
	"slices"
)

// Places in the memory of a random program.
const (
	HandlerAt = 0x40
	CodeAt    = 0x100
	dataAt    = 0x2000
	Size      = 0x4000 // of the memory, bytes
)

// A Kind is what a random program may do.
type Kind int

// Kinds of programs.
const (
	ForQEMU  Kind = iota // what QEMU does as the specification says
	ForModel             // all but reads of mcycle
	Full
)

// A Program is a random program that never ends: an image of the memory, with a handler that
// continues after the instruction of an exception.
type Program struct {
	r     *rand.Rand
	Words [Size / 4]uint32
	at    uint32 // word
	kind  Kind

	starts []uint32 // addresses with which groups of instructions begin
	jumps  []func() // set the targets of jumps

	previous map[uint32]uint32 // by pc: the register that just got mstatus, with MPP
}

// NewProgram returns the program of a seed.
func NewProgram(seed uint64, kind Kind) *Program {
	p := &Program{r: rand.New(rand.NewPCG(seed, 0x7276)), kind: kind, previous: map[uint32]uint32{}}
	for i := range p.Words {
		p.Words[i] = p.r.Uint32()
	}
	p.put(I(0x13, 0, 1, 0, HandlerAt), I(0x73, 1, 0, 1, 0x305))              // mtvec
	p.put(2<<12|1<<7|0x37, I(0x13, 0, 1, 1, 0x800), I(0x73, 1, 0, 1, 0x300)) // mstatus
	for d := uint32(2); d < 32; d++ {
		if p.at < HandlerAt/4-1 {
			p.put(I(0x13, 0, d, 0, p.r.Uint32()&0xfff))
		}
	}
	p.put(J(0, CodeAt-4*p.at))
	p.handler()
	p.at = CodeAt / 4
	for p.at < dataAt/4-16 {
		p.starts = append(p.starts, 4*p.at)
		p.random()
	}
	for p.at < dataAt/4 {
		p.starts = append(p.starts, 4*p.at)
		p.put(J(0, CodeAt-4*p.at))
	}
	for _, set := range p.jumps {
		set()
	}
	return p
}

func (p *Program) put(words ...uint32) {
	for _, w := range words {
		p.Words[p.at] = w
		p.at++
	}
}

// handler returns to the instruction after that of an exception. After a fetch outside of the
// memory it restarts the code.
func (p *Program) handler() {
	p.at = HandlerAt / 4
	p.put(
		I(0x73, 1, 0, 0, 0x343),   // mtval, x0: what it has of an illegal instruction is free
		I(0x73, 1, 31, 31, 0x340), // mscratch, x31
		I(0x73, 2, 31, 0, 0x342),  // mcause
		I(0x13, 0, 31, 31, 0xfff), // cause - 1
		B(0, 31, 0, 24),           // fetch
		I(0x73, 2, 31, 0, 0x341),  // mepc
		I(0x13, 0, 31, 31, 4),
		I(0x73, 1, 0, 31, 0x341),
		I(0x73, 1, 31, 31, 0x340),
		MRET,
		I(0x13, 0, 31, 0, CodeAt),
		I(0x73, 1, 0, 31, 0x341),
		I(0x73, 1, 31, 31, 0x340),
		MRET,
	)
}

func (p *Program) n(n int) uint32 { return uint32(p.r.IntN(n)) }

// reg returns a register; a small set is more likely, so that values meet.
func (p *Program) reg() uint32 {
	if p.n(3) == 0 {
		return p.n(32)
	}
	return p.n(8)
}

// base returns a register that is not x0.
func (p *Program) base() uint32 { return 1 + p.n(31) }

func (p *Program) random() {
	switch k := p.n(32); {
	case k < 6:
		f7 := uint32(0)
		f3 := p.n(8)
		if f3 == 0 || f3 == 5 {
			f7 = p.n(2) * 0x20
		}
		p.put(R(0x33, f3, f7, p.reg(), p.reg(), p.reg()))
	case k < 12:
		p.immediate()
	case k == 12:
		p.put(p.r.Uint32()&^0x7f | 0x37)
	case k == 13:
		p.put(p.r.Uint32()&^0x7f | 0x17)
	case k < 18:
		p.memory()
	case k < 22:
		p.branch()
	case k < 24:
		p.jump()
	case k < 28:
		p.csr()
	case k == 28:
		words := []uint32{ECALL, EBREAK, 0x0000000f, 0x0ff0000f, 0x0000100f, WFI, MRET}
		if p.kind == ForQEMU {
			words = words[:5] // a WFI would wait for ever, and an MRET goes to an address of QEMU's user mode
		}
		w := words[p.n(len(words))]
		if w == WFI {
			p.status(2, 0x80, 0x304) // an interrupt ends it
		}
		p.put(w)
	case k == 29:
		p.illegal()
	default:
		p.value()
	}
}

// value gives a register a value with many equal bits.
func (p *Program) value() {
	d := p.base()
	p.put(p.n(1<<20)<<12|d<<7|0x37, I(0x13, 0, d, d, p.n(1<<12)))
	if p.n(2) == 0 {
		p.put(I(0x13, 5, d, d, p.n(2)*0x400|p.n(32)))
	}
}

func (p *Program) immediate() {
	f3, imm := p.n(8), p.n(1<<12)
	if f3 == 1 {
		imm &= 31
	} else if f3 == 5 {
		imm = p.n(2)*0x400 | imm&31
	}
	p.put(I(0x13, f3, p.reg(), p.reg(), imm))
}

// memory is a load or a store, usually of the data.
func (p *Program) memory() {
	b, size := p.base(), p.n(3)
	addr := dataAt + 4 + p.n(dataAt-64)
	if p.n(16) == 0 {
		addr = Size + p.r.Uint32()>>p.n(12)<<1 // outside
		if addr < Size {
			addr += Size
		}
	}
	mask := uint32(1)<<size - 1
	if p.kind == ForQEMU || p.n(8) != 0 {
		addr &^= mask
	}
	imm := p.n(64)
	if p.kind == ForQEMU {
		imm &^= mask
	}
	low := (addr - imm) & 0xfff
	high := addr - imm - low
	if low >= 0x800 {
		high += 0x1000
	}
	p.put(high|b<<7|0x37, I(0x13, 0, b, b, low))
	if p.n(2) == 0 {
		p.put(S(0x23, size, b, p.reg(), imm))
		return
	}
	if size != 2 && p.n(2) == 0 {
		size |= 4
	}
	p.put(I(0x03, size, p.reg(), b, imm))
}

// odd returns what makes an address of an instruction wrong, usually nothing.
func (p *Program) odd(n int) uint32 {
	if p.n(8) == 0 {
		return p.n(n)
	}
	return 0
}

// later calls set for the word that is put next, when all code is there: to is the address of
// an instruction after it with which a group begins.
func (p *Program) later(set func(at *uint32, pc, to uint32)) {
	word := p.at
	p.jumps = append(p.jumps, func() {
		i, _ := slices.BinarySearch(p.starts, 4*word+1)
		set(&p.Words[word], 4*word, p.starts[min(i+int(p.n(6)), len(p.starts)-1)])
	})
}

// branch skips a few instructions, and now and then it goes to an address that is no
// multiple of 4.
func (p *Program) branch() {
	f3, a, b, odd := []uint32{0, 1, 4, 5, 6, 7}[p.n(6)], p.reg(), p.reg(), p.odd(3)&2
	p.later(func(at *uint32, pc, to uint32) { *at = B(f3, a, b, to-pc+odd) })
	p.put(0)
}

// jump is a JAL, or a JALR to an address after it.
func (p *Program) jump() {
	d, b, back, odd := p.reg(), p.base(), p.n(1024), p.odd(4)
	if p.n(2) == 0 {
		p.later(func(at *uint32, pc, to uint32) { *at = J(d, to-pc+odd&2) })
		p.put(0)
		return
	}
	p.put(b<<7|0x17, I(0x13, 0, b, b, back))
	p.later(func(at *uint32, pc, to uint32) { *at = I(0x67, 0, d, b, (to-(pc-8)-back+odd)&0xfff) })
	p.put(0)
}

// csr reads or writes a CSR. mepc is written only by the handler, and mtvec not at all.
func (p *Program) csr() {
	f3 := 1 + p.n(3) + 4*p.n(2)
	if p.kind != ForQEMU && p.n(4) == 0 {
		p.counter()
		return
	}
	switch p.n(8) {
	case 0, 1, 2:
		p.put(I(0x73, f3, p.reg(), p.reg(), []uint32{0x340, 0x342, 0x343}[p.n(3)]))
	case 3:
		d := p.base()
		p.put(I(0x73, 6+p.n(2), d, p.n(2)*8, 0x300)) // mstatus.MIE
		p.previous[4*p.at] = d
		p.put(I(0x13, 7, d, d, 0x88))
	case 4:
		p.status(1+p.n(3), []uint32{0, 8, 0x80, 0x88}[p.n(4)], 0x300+4*p.n(2))
	case 5:
		p.put(I(0x73, 2, p.reg(), 0, []uint32{0x301, 0x304, 0x305, 0x341, 0x344, 0xf14, 0x310}[p.n(7)]))
	case 6:
		p.put(I(0x73, f3, p.reg(), p.reg(), []uint32{0x000, 0x100, 0x180, 0x7b2, 0x800, 0xfff, 0x3ff}[p.n(7)]))
	default:
		// Read-only. QEMU allows CSRRS and CSRRC with a register that is 0 now.
		p.put(I(0x73, []uint32{1, 5, 6, 7}[p.n(4)], p.reg(), 1+p.n(31), 0xf11+p.n(4)))
	}
}

// counter reads a counter, or writes it, so that its lower half wraps soon.
func (p *Program) counter() {
	b, counter, upper := p.base(), 2*p.n(2), 0x80*p.n(2)
	switch p.n(3) {
	case 0:
		if p.kind == Full || counter == 2 {
			p.put(I(0x73, 2, b, 0, 0xb00+counter+upper))
		}
	case 1:
		p.put(I(0x13, 0, b, 0, 0xfc0|p.n(64)), I(0x73, 1, 0, b, 0xb00+counter+upper))
	default:
		p.put(I(0x13, 0, b, 0, 0xff0|p.n(16)), I(0x73, 1, 0, b, 0xb00+counter), I(0x73, 1, 0, b, 0xb80+counter))
	}
}

// status writes mstatus or mie. mstatus.MPP keeps the value that it must have.
func (p *Program) status(f3, v, csr uint32) {
	b := p.base()
	if f3 == 1 {
		p.put(2<<12|b<<7|0x37, I(0x13, 0, b, b, 0x800|v))
	} else {
		p.put(I(0x13, 0, b, 0, v))
	}
	p.put(I(0x73, f3, 0, b, csr))
}

// illegal is a word that is no instruction.
func (p *Program) illegal() {
	for {
		w := p.r.Uint32()
		switch p.n(4) {
		case 0:
			w = w&^0x707f | 0x33 | p.n(8)<<12
			w |= 0x04000000
		case 1:
			w = w&^0x707f | 0x63 | (2+p.n(2))<<12
		case 2:
			w = w&^0x707f | 0x03 | []uint32{3, 6, 7}[p.n(3)]<<12
		default:
		}
		if !specified(w) {
			p.put(w)
			return
		}
	}
}

// specified reports whether a word has one of the opcodes of RV32I, and none of the forms that
// are certainly no instruction.
func specified(w uint32) bool {
	f3 := w >> 12 & 7
	switch w & 0x7f {
	case 0x33:
		return w>>25&0x5f == 0 // bit 26 is set in the words made above
	case 0x63:
		return f3 != 2 && f3 != 3
	case 0x03:
		return f3 != 3 && f3 < 6
	case 0x23:
		return f3 < 3
	case 0x67:
		return f3 == 0
	case 0x37, 0x17, 0x6f, 0x13, 0x0f, 0x73:
		return true
	default:
		return false
	}
}
