// Package rv32 is a model of a RISC-V processor for RV32I with Zicsr and Zifencei in machine
// mode, written from the specification and without clocks. Tests compare the processor in RTL
// with it.
package rv32

import "math/bits"

// Causes of exceptions (Privileged Architecture, table 3.6).
const (
	MisalignedFetch = 0
	FetchFault      = 1
	Illegal         = 2
	Breakpoint      = 3
	MisalignedLoad  = 4
	LoadFault       = 5
	MisalignedStore = 6
	StoreFault      = 7
	Call            = 11
)

// Bits of mie and mip (3.1.9), in the order in which interrupts are taken.
const (
	External = 1 << 11
	Software = 1 << 3
	Timer    = 1 << 7
)

// A Bus is the memory outside of that of a processor. An access of size bytes, 1, 2 or 4, is
// within a word; false is an access fault.
type Bus interface {
	Read(addr, size uint32) (value uint32, ok bool)
	Write(addr, size, value uint32) (ok bool)
}

// A Processor is the state of one. The zero value is that after reset, without memory.
type Processor struct {
	X      [32]uint32
	PC     uint32
	Memory []byte // at address 0
	Bus    Bus    // nil: every access fails

	MIE, MPIE                       bool // of mstatus
	IE                              uint32
	TVec, Scratch, EPC, Cause, TVal uint32
	Instret                         uint64
	Waits                           bool // the last instruction was a WFI
}

// A trap is an exception.
type trap struct{ cause, value uint32 }

// Interrupt takes an interrupt of pending, bits as in mip, and reports whether one is enabled.
// It ends a wait if one is enabled in IE.
func (p *Processor) Interrupt(pending uint32) bool {
	ready := pending & p.IE
	if ready != 0 {
		p.Waits = false
	}
	if !p.MIE {
		return false
	}
	for _, bit := range []uint32{External, Software, Timer} {
		if ready&bit != 0 {
			p.enter(1<<31|uint32(bits.TrailingZeros32(bit)), 0)
			return true
		}
	}
	return false
}

// Execute executes an instruction, or takes its exception. The instruction may read pending as
// mip.
func (p *Processor) Execute(pending uint32) {
	x, pc := p.X, p.PC
	next, t := p.execute(pending)
	if t != nil {
		p.X, p.PC = x, pc
		p.enter(t.cause, t.value)
		return
	}
	p.X[0] = 0
	p.PC = next
	p.Instret++
}

// enter takes an exception or an interrupt.
func (p *Processor) enter(cause, value uint32) {
	p.EPC, p.Cause, p.TVal = p.PC, cause, value
	p.MPIE, p.MIE = p.MIE, false
	p.PC = p.TVec
}

// execute executes the instruction at PC and returns the address of the next one. After an
// exception the registers may have any values.
func (p *Processor) execute(pending uint32) (next uint32, t *trap) {
	if uint64(p.PC)+4 > uint64(len(p.Memory)) {
		return 0, &trap{FetchFault, p.PC}
	}
	w, _ := p.read(p.PC, 4)
	i := instruction(w)
	next = p.PC + 4
	a, b := p.X[i.rs1()], p.X[i.rs2()]
	switch i.opcode() {
	case 0b0110111: // LUI
		p.X[i.rd()] = i.immU()
	case 0b0010111: // AUIPC
		p.X[i.rd()] = p.PC + i.immU()
	case 0b1101111: // JAL
		p.X[i.rd()] = next
		next = p.PC + i.immJ()
	case 0b1100111: // JALR
		if i.funct3() != 0 {
			return 0, &trap{Illegal, 0}
		}
		p.X[i.rd()] = next
		next = (a + i.immI()) &^ 1
	case 0b1100011: // branches
		taken, ok := branch(i.funct3(), a, b)
		if !ok {
			return 0, &trap{Illegal, 0}
		}
		if taken {
			next = p.PC + i.immB()
		}
	case 0b0000011:
		t = p.load(i, a+i.immI())
	case 0b0100011:
		t = p.store(i, a+i.immS(), b)
	case 0b0010011:
		t = p.operate(i, a, i.immI(), true)
	case 0b0110011:
		t = p.operate(i, a, b, false)
	case 0b0001111: // FENCE, FENCE.I
		if i.funct3() > 1 {
			t = &trap{Illegal, 0}
		}
	case 0b1110011:
		next, t = p.system(i, a, next, pending)
	default:
		t = &trap{Illegal, 0}
	}
	if t == nil && next&3 != 0 {
		t = &trap{MisalignedFetch, next}
	}
	return next, t
}

// branch reports whether a branch is taken, and whether it is one.
func branch(f3, a, b uint32) (taken, ok bool) {
	switch f3 {
	case 0b000:
		return a == b, true
	case 0b001:
		return a != b, true
	case 0b100:
		return int32(a) < int32(b), true
	case 0b101:
		return int32(a) >= int32(b), true
	case 0b110:
		return a < b, true
	case 0b111:
		return a >= b, true
	}
	return false, false
}

// operate does an operation with a register or an immediate.
func (p *Processor) operate(i instruction, a, b uint32, immediate bool) *trap {
	f3, f7 := i.funct3(), i.funct7()
	switch {
	case immediate && f3 != 0b001 && f3 != 0b101:
		f7 = 0
	case f7 == 0, f7 == 0b0100000 && (f3 == 0b101 || f3 == 0b000):
	default:
		return &trap{Illegal, 0}
	}
	var v uint32
	switch f3 {
	case 0b000:
		v = a + b
		if f7 != 0 {
			v = a - b
		}
	case 0b001:
		v = a << (b & 31)
	case 0b010:
		v = number(int32(a) < int32(b))
	case 0b011:
		v = number(a < b)
	case 0b100:
		v = a ^ b
	case 0b101:
		v = a >> (b & 31)
		if f7 != 0 {
			v = uint32(int32(a) >> (b & 31))
		}
	case 0b110:
		v = a | b
	case 0b111:
		v = a & b
	}
	p.X[i.rd()] = v
	return nil
}

func number(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
