package core

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// Each instruction without memory does what the specification says (Unprivileged ISA, 2.4).
// The values are worked out from its text: arithmetic wraps at 32 bits, SLT compares signed
// and SLTU unsigned values, a shift uses the low five bits of its amount, and an immediate has
// 12 bits and a sign.
func TestOperations(t *testing.T) {
	const minus = 0xffffffff
	for _, tt := range []struct {
		name       string
		word       uint32
		a, b, want uint32
	}{
		{"ADD", rv32test.R(0x33, 0, 0, 3, 1, 2), 7, 8, 15},
		{"ADD wraps", rv32test.R(0x33, 0, 0, 3, 1, 2), minus, 2, 1},
		{"SUB", rv32test.R(0x33, 0, 0x20, 3, 1, 2), 7, 8, minus},
		{"SUB wraps", rv32test.R(0x33, 0, 0x20, 3, 1, 2), 0x80000000, 1, 0x7fffffff},
		{"SLL", rv32test.R(0x33, 1, 0, 3, 1, 2), 0x80000003, 4, 0x30},
		{"SLL by 32 is by 0", rv32test.R(0x33, 1, 0, 3, 1, 2), 5, 32, 5},
		{"SLL by 31", rv32test.R(0x33, 1, 0, 3, 1, 2), 3, 0xffffffff, 0x80000000},
		{"SLT", rv32test.R(0x33, 2, 0, 3, 1, 2), minus, 0, 1},
		{"SLT of the least and the greatest", rv32test.R(0x33, 2, 0, 3, 1, 2), 0x80000000, 0x7fffffff, 1},
		{"SLT of equals", rv32test.R(0x33, 2, 0, 3, 1, 2), 5, 5, 0},
		{"SLT greater", rv32test.R(0x33, 2, 0, 3, 1, 2), 0x7fffffff, 0x80000000, 0},
		{"SLTU", rv32test.R(0x33, 3, 0, 3, 1, 2), minus, 0, 0},
		{"SLTU below", rv32test.R(0x33, 3, 0, 3, 1, 2), 0x7fffffff, 0x80000000, 1},
		{"SLTU of equals", rv32test.R(0x33, 3, 0, 3, 1, 2), minus, minus, 0},
		{"XOR", rv32test.R(0x33, 4, 0, 3, 1, 2), 0xff00ff00, 0x0ff00ff0, 0xf0f0f0f0},
		{"SRL", rv32test.R(0x33, 5, 0, 3, 1, 2), 0x80000000, 31, 1},
		{"SRL by 33 is by 1", rv32test.R(0x33, 5, 0, 3, 1, 2), 0x80000000, 33, 0x40000000},
		{"SRA", rv32test.R(0x33, 5, 0x20, 3, 1, 2), 0x80000000, 4, 0xf8000000},
		{"SRA of a positive", rv32test.R(0x33, 5, 0x20, 3, 1, 2), 0x40000000, 30, 1},
		{"OR", rv32test.R(0x33, 6, 0, 3, 1, 2), 0xff00ff00, 0x0ff00ff0, 0xfff0fff0},
		{"AND", rv32test.R(0x33, 7, 0, 3, 1, 2), 0xff00ff00, 0x0ff00ff0, 0x0f000f00},
		{"ADDI", rv32test.I(0x13, 0, 3, 1, 0x7ff), 1, 0, 0x800},
		{"ADDI negative", rv32test.I(0x13, 0, 3, 1, 0x800), 0, 0, 0xfffff800},
		{"SLTI", rv32test.I(0x13, 2, 3, 1, 0xfff), 0xfffffffe, 0, 1},
		{"SLTI not", rv32test.I(0x13, 2, 3, 1, 0xfff), 0, 0, 0},
		{"SLTIU with a sign", rv32test.I(0x13, 3, 3, 1, 0xfff), 0xfffffffe, 0, 1},
		{"SLTIU 1, which tests for 0", rv32test.I(0x13, 3, 3, 1, 1), 0, 0, 1},
		{"XORI -1, which inverts", rv32test.I(0x13, 4, 3, 1, 0xfff), 0x12345678, 0, 0xedcba987},
		{"ORI", rv32test.I(0x13, 6, 3, 1, 0x801), 0x10, 0, 0xfffff811},
		{"ANDI", rv32test.I(0x13, 7, 3, 1, 0xff0), 0x12345678, 0, 0x12345670},
		{"SLLI", rv32test.I(0x13, 1, 3, 1, 31), 3, 0, 0x80000000},
		{"SRLI", rv32test.I(0x13, 5, 3, 1, 4), 0x80000000, 0, 0x08000000},
		{"SRAI", rv32test.I(0x13, 5, 3, 1, 0x400|4), 0x80000000, 0, 0xf8000000},
		{"SRAI by 0", rv32test.I(0x13, 5, 3, 1, 0x400), 0x80000001, 0, 0x80000001},
		{"LUI", 0xfffff<<12 | 3<<7 | 0x37, 1, 1, 0xfffff000},
		{"AUIPC", 0x12345<<12 | 3<<7 | 0x17, 0, 0, 0x12345000},
	} {
		r := newRig(t, small, tt.word)
		r.set(1, tt.a)
		r.set(2, tt.b)
		r.at(4)
		assert.Equal(t, tt.want, r.x(3), tt.name)
		assert.Equal(t, []uint32{0, tt.a, tt.b}, []uint32{r.x(0), r.x(1), r.x(2)}, "%s: other registers", tt.name)
	}
}

// A result for x0 is dropped.
func TestX0(t *testing.T) {
	for _, word := range []uint32{rv32test.I(0x13, 0, 0, 1, 5), rv32test.R(0x33, 0, 0, 0, 1, 1), 0x37 | 1<<12, 0x17 | 1<<12, rv32test.I(0x03, 2, 0, 0, 0), rv32test.I(0x73, 2, 0, 0, 0x301)} {
		r := newRig(t, small, word)
		r.set(1, 9)
		r.at(4)
		assert.Zero(t, r.x(0), "%08x", word)
		assert.Zero(t, uint32(r.m.right.Word(0)), "%08x", word)
	}
}

// Jumps and branches go where the specification says (Unprivileged ISA, 2.5).
func TestJumps(t *testing.T) {
	const start = 0x100
	for _, tt := range []struct {
		name string
		word uint32
		a, b uint32
		pc   uint32
		link uint32 // x3
	}{
		{"JAL", rv32test.J(3, 0x200), 0, 0, start + 0x200, start + 4},
		{"JAL back", rv32test.J(3, 0x1fff00), 0, 0, 0, start + 4},
		{"JAL the farthest within", rv32test.J(3, 0x1000), 0, 0, start + 0x1000, start + 4},
		{"JALR", rv32test.I(0x67, 0, 3, 1, 0x10), 0x200, 0, 0x210, start + 4},
		{"JALR clears bit 0", rv32test.I(0x67, 0, 3, 1, 1), 0x200, 0, 0x200, start + 4},
		{"JALR negative", rv32test.I(0x67, 0, 3, 1, 0xffc), 0x200, 0, 0x1fc, start + 4},
		{"JALR to its own register", rv32test.I(0x67, 0, 1, 1, 0), 0x240, 0, 0x240, 0},
		{"BEQ", rv32test.B(0, 1, 2, 0x40), 5, 5, start + 0x40, 0},
		{"BEQ not", rv32test.B(0, 1, 2, 0x40), 5, 6, start + 4, 0},
		{"BNE", rv32test.B(1, 1, 2, 0x40), 5, 6, start + 0x40, 0},
		{"BNE not", rv32test.B(1, 1, 2, 0x40), 6, 6, start + 4, 0},
		{"BLT", rv32test.B(4, 1, 2, 0x40), 0x80000000, 0x7fffffff, start + 0x40, 0},
		{"BLT not", rv32test.B(4, 1, 2, 0x40), 0x7fffffff, 0x80000000, start + 4, 0},
		{"BLT of equals", rv32test.B(4, 1, 2, 0x40), 1, 1, start + 4, 0},
		{"BGE", rv32test.B(5, 1, 2, 0x40), 0x7fffffff, 0x80000000, start + 0x40, 0},
		{"BGE of equals", rv32test.B(5, 1, 2, 0x40), 1, 1, start + 0x40, 0},
		{"BGE not", rv32test.B(5, 1, 2, 0x40), 0x80000000, 0x7fffffff, start + 4, 0},
		{"BLTU", rv32test.B(6, 1, 2, 0x40), 0x7fffffff, 0x80000000, start + 0x40, 0},
		{"BLTU not", rv32test.B(6, 1, 2, 0x40), 0x80000000, 0x7fffffff, start + 4, 0},
		{"BGEU", rv32test.B(7, 1, 2, 0x40), 0x80000000, 0x7fffffff, start + 0x40, 0},
		{"BGEU of equals", rv32test.B(7, 1, 2, 0x40), 3, 3, start + 0x40, 0},
		{"BGEU not", rv32test.B(7, 1, 2, 0x40), 0x7fffffff, 0x80000000, start + 4, 0},
		{"a branch back", rv32test.B(0, 0, 0, 0x1f00), 0, 0, 0, 0},
		{"a branch with bit 11", rv32test.B(0, 0, 0, 0x800), 0, 0, start + 0x800, 0},
	} {
		r := newRig(t, small, rv32test.J(0, start))
		r.load(start, tt.word)
		r.at(start)
		r.set(1, tt.a)
		r.set(2, tt.b)
		r.until("the end of the jump", func() bool { return r.m.state == stateFetch })
		r.tick()
		assert.Equal(t, tt.pc, r.m.PC(), tt.name)
		assert.Equal(t, tt.link, r.x(3), tt.name)
	}
}

// Loads and stores of the memory move the bytes that the specification says, the lowest one
// first (Unprivileged ISA, 2.6).
func TestMemory(t *testing.T) {
	const word = 0x8081f2f3 // at 0x100
	for _, tt := range []struct {
		name  string
		ins   uint32
		want  uint32 // x3
		after uint32 // the word
	}{
		{"LW", rv32test.I(0x03, 2, 3, 1, 0), word, word},
		{"LH", rv32test.I(0x03, 1, 3, 1, 0), 0xfffff2f3, word},
		{"LH upper", rv32test.I(0x03, 1, 3, 1, 2), 0xffff8081, word},
		{"LHU", rv32test.I(0x03, 5, 3, 1, 0), 0xf2f3, word},
		{"LHU upper", rv32test.I(0x03, 5, 3, 1, 2), 0x8081, word},
		{"LB 0", rv32test.I(0x03, 0, 3, 1, 0), 0xfffffff3, word},
		{"LB 1", rv32test.I(0x03, 0, 3, 1, 1), 0xfffffff2, word},
		{"LB 2", rv32test.I(0x03, 0, 3, 1, 2), 0xffffff81, word},
		{"LB 3", rv32test.I(0x03, 0, 3, 1, 3), 0xffffff80, word},
		{"LBU 0", rv32test.I(0x03, 4, 3, 1, 0), 0xf3, word},
		{"LBU 3", rv32test.I(0x03, 4, 3, 1, 3), 0x80, word},
		{"LW of a lower address", rv32test.I(0x03, 2, 3, 4, 0xffc), word, word},
		{"SW", rv32test.S(0x23, 2, 1, 2, 0), 0, 0x11223344},
		{"SH", rv32test.S(0x23, 1, 1, 2, 0), 0, 0x80813344},
		{"SH upper", rv32test.S(0x23, 1, 1, 2, 2), 0, 0x3344f2f3},
		{"SB 0", rv32test.S(0x23, 0, 1, 2, 0), 0, 0x8081f244},
		{"SB 1", rv32test.S(0x23, 0, 1, 2, 1), 0, 0x808144f3},
		{"SB 2", rv32test.S(0x23, 0, 1, 2, 2), 0, 0x8044f2f3},
		{"SB 3", rv32test.S(0x23, 0, 1, 2, 3), 0, 0x4481f2f3},
		{"SW at a lower address", rv32test.S(0x23, 2, 4, 2, 0xffc), 0, 0x11223344},
	} {
		r := newRig(t, small, tt.ins)
		r.load(0x100, word)
		r.set(1, 0x100)
		r.set(2, 0x11223344)
		r.set(4, 0x104)
		r.at(4)
		assert.Equal(t, tt.want, r.x(3), tt.name)
		assert.Equal(t, tt.after, uint32(r.m.ram.Word(0x40)), tt.name)
	}
}

// An instruction that was stored is executed: FENCE.I has nothing left to do.
func TestFenceI(t *testing.T) {
	r := newRig(t, small, rv32test.S(0x23, 2, 0, 1, 8), 0x0000100f, 0)
	r.set(1, rv32test.I(0x13, 0, 3, 0, 77))
	r.at(12)
	assert.EqualValues(t, 77, r.x(3))
}

// CSR instructions return the old value, and write, set or clear bits (Unprivileged ISA,
// chapter 9).
func TestCSR(t *testing.T) {
	const old = 0xf0f0f0f0
	for _, tt := range []struct {
		name      string
		f3, s     uint32
		want, now uint32
	}{
		{"CSRRW", 1, 1, old, 0x0ff00ff0},
		{"CSRRS", 2, 1, old, 0xfff0fff0},
		{"CSRRC", 3, 1, old, 0xf000f000},
		{"CSRRS with x0", 2, 0, old, old},
		{"CSRRC with x0", 3, 0, old, old},
		{"CSRRW with x0", 1, 0, old, 0},
		{"CSRRWI", 5, 21, old, 21},
		{"CSRRSI", 6, 15, old, 0xf0f0f0ff},
		{"CSRRCI", 7, 31, old, 0xf0f0f0e0},
		{"CSRRCI with 0", 7, 0, old, old},
	} {
		r := newRig(t, small, rv32test.I(0x73, tt.f3, 3, tt.s, 0x340))
		r.set(1, 0x0ff00ff0)
		r.set(rowScratch, old)
		r.at(4)
		assert.EqualValues(t, tt.want, r.x(3), tt.name)
		assert.EqualValues(t, tt.now, r.row(rowScratch), tt.name)
	}
}

// Each CSR keeps the bits that it has (Privileged Architecture, chapter 3).
func TestRegisters(t *testing.T) {
	for _, tt := range []struct {
		name         string
		csr          uint32
		begins, ones uint32
	}{
		{"mstatus", 0x300, 0x1800, 0x1888},
		{"misa", 0x301, 0x40000100, 0x40000100},
		{"mie", 0x304, 0, 0x888},
		{"mtvec", 0x305, 0, 0xfffffffc},
		{"mstatush", 0x310, 0, 0},
		{"mcountinhibit", 0x320, 0, 0},
		{"mhpmevent3", 0x323, 0, 0},
		{"mhpmevent31", 0x33f, 0, 0},
		{"mscratch", 0x340, 0, 0xffffffff},
		{"mepc", 0x341, 0, 0xfffffffc},
		{"mcause", 0x342, 0, 0xffffffff},
		{"mtval", 0x343, 0, 0xffffffff},
		{"mip", 0x344, 0, 0},
		{"mhpmcounter3", 0xb03, 0, 0},
		{"mhpmcounter31h", 0xb9f, 0, 0},
		{"mcycleh", 0xb80, 0, 0xffffffff},
		{"minstreth", 0xb82, 0, 0xffffffff},
	} {
		r := newRig(t, small, rv32test.I(0x73, 1, 3, 1, tt.csr), rv32test.I(0x73, 1, 4, 2, tt.csr), rv32test.I(0x73, 1, 5, 0, tt.csr), rv32test.I(0x73, 2, 6, 0, tt.csr))
		r.set(1, 0xffffffff)
		r.at(16)
		assert.Equal(t, tt.begins, r.x(3), tt.name)
		assert.Equal(t, tt.ones, r.x(4), tt.name)
		assert.Equal(t, tt.begins, r.x(6), tt.name)
	}
	for _, csr := range []uint32{0xf11, 0xf12, 0xf13, 0xf14, 0xf15} {
		r := newRig(t, small, rv32test.I(0x73, 2, 3, 0, csr), rv32test.I(0x73, 6, 4, 0, csr))
		r.set(3, 1)
		r.set(4, 1)
		r.at(8)
		assert.Equal(t, []uint32{0, 0}, []uint32{r.x(3), r.x(4)}, "%x", csr)
	}
}

// The CSRs that exist are those of the Privileged Architecture, tables 2.5 and 2.6, without those of
// physical memory protection and of debug mode. All others are illegal instructions.
func TestEachCSR(t *testing.T) {
	there := map[uint32]bool{}
	for _, group := range [][2]uint32{
		{0x300, 0x301}, {0x304, 0x305}, {0x310, 0x310}, {0x320, 0x320}, {0x323, 0x33f}, {0x340, 0x344},
		{0xb00, 0xb00}, {0xb02, 0xb1f}, {0xb80, 0xb80}, {0xb82, 0xb9f}, {0xf11, 0xf15},
	} {
		for csr := group[0]; csr <= group[1]; csr++ {
			there[csr] = true
		}
	}
	for csr := range uint32(1 << 12) {
		r := newRig(t, small, rv32test.I(0x73, 2, 3, 0, csr))
		r.until("an end", func() bool { return r.m.retired || r.m.state == stateValue })
		assert.Equal(t, there[csr], r.m.retired, "%#x", csr)
		if !there[csr] {
			assert.EqualValues(t, causeIllegal, r.m.cause, "%#x", csr)
		}
	}
}

// The CSRs that read 0 do so, and a write changes no row, whatever the rows of other CSRs have.
func TestZeroCSRs(t *testing.T) {
	for _, group := range [][2]uint32{{0x310, 0x310}, {0x320, 0x320}, {0x323, 0x33f}, {0xb03, 0xb1f}, {0xb83, 0xb9f}, {0xf11, 0xf15}} {
		for csr := group[0]; csr <= group[1]; csr++ {
			f3 := uint32(1) // CSRRW
			if csr>>10 == 3 {
				f3 = 2 // CSRRS of a register that is read only
			}
			r := newRig(t, small, rv32test.I(0x73, f3, 3, 0, csr))
			for i := uint32(rowScratch); i < rows; i++ {
				r.m.left.SetWord(i, 0x1234_5678)
				r.m.right.SetWord(i, 0x1234_5678)
			}
			r.set(3, 1)
			r.at(4)
			assert.Zero(t, r.x(3), "%#x", csr)
			for i := uint32(rowScratch); i < rows; i++ {
				assert.EqualValues(t, 0x1234_5678, r.row(i), "%#x", csr)
			}
		}
	}
}

// A core that is held writes nothing, not even the value that a memory has, since a GPU whose microcontroller
// rests leaves out its clocks. x0 is 0 when the core starts, whatever the memory had.
func TestHeld(t *testing.T) {
	r := newRig(t, small, rv32test.J(0, 0))
	r.m.left.SetWord(0, 5)
	r.m.right.SetWord(0, 5)
	before := r.m
	for range 3 {
		r.m.Tick(Interrupts{}, Answer{}, Control{Hold: true}, Debug{}, Load{})
	}
	assert.Equal(t, before, r.m)
	assert.EqualValues(t, 5, r.m.left.Word(0))
	r.run(2)
	assert.Zero(t, r.m.left.Word(0))
	assert.Zero(t, r.m.right.Word(0))
}
