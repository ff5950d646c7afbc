package core

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// Exceptions have the codes of table 3.6 of the Privileged Architecture, the address of the
// instruction in mepc and the address that was at fault in mtval (3.1.14 to 3.1.16). The
// instruction changes nothing.
func TestExceptions(t *testing.T) {
	const start, vector = 0x100, 0x300
	outside := uint32(MinBytes)
	for _, tt := range []struct {
		name        string
		word        uint32
		base        uint32 // x1
		cause, tval uint32
	}{
		{"JAL to an address that is no multiple of 4", rv32test.J(3, 6), 0, 0, start + 6},
		{"JALR to one", rv32test.I(0x67, 0, 3, 1, 0), 0x202, 0, 0x202},
		{"BEQ to one", rv32test.B(0, 0, 0, 0x42), 0, 0, start + 0x42},
		{"a word of zeros", 0, 0, 2, 0},
		{"a word of ones", 0xffffffff, 0, 2, 0},
		{"a shift with wrong upper bits", rv32test.R(0x13, 1, 1, 3, 1, 2), 0, 2, 0},
		{"an operation with wrong upper bits", rv32test.R(0x33, 0, 1, 3, 1, 2), 0, 2, 0},
		{"an AND with the bit of a SUB", rv32test.R(0x33, 7, 0x20, 3, 1, 2), 0, 2, 0},
		{"a CSR that does not exist", rv32test.I(0x73, 2, 3, 0, 0x180), 0, 2, 0},
		{"a write of a CSR that is read only", rv32test.I(0x73, 1, 3, 0, 0xf11), 0, 2, 0},
		{"CSRRS of one with a register that has 0", rv32test.I(0x73, 2, 3, 1, 0xf14), 0, 2, 0},
		{"the debugger's CSR", rv32test.I(0x73, 2, 3, 0, 0x7b2), 0, 2, 0},
		{"SRET", 0x10200073, 0, 2, 0},
		{"EBREAK", rv32test.EBREAK, 0, 3, 0},
		{"LH misaligned", rv32test.I(0x03, 1, 3, 1, 1), 0x200, 4, 0x201},
		{"LHU misaligned", rv32test.I(0x03, 5, 3, 1, 3), 0x200, 4, 0x203},
		{"LW misaligned", rv32test.I(0x03, 2, 3, 1, 2), 0x200, 4, 0x202},
		{"LW outside, misaligned", rv32test.I(0x03, 2, 3, 1, 1), outside, 4, outside + 1},
		{"LB outside", rv32test.I(0x03, 0, 3, 1, 0), outside, 5, outside},
		{"LW far outside", rv32test.I(0x03, 2, 3, 1, 0), 0x80000000, 5, 0x80000000},
		{"SH misaligned", rv32test.S(0x23, 1, 1, 2, 1), 0x200, 6, 0x201},
		{"SW misaligned", rv32test.S(0x23, 2, 1, 2, 3), 0x200, 6, 0x203},
		{"SB outside", rv32test.S(0x23, 0, 1, 2, 1), outside, 7, outside + 1},
		{"ECALL", rv32test.ECALL, 0, 11, 0},
	} {
		r := newRig(t, small, rv32test.I(0x13, 0, 5, 0, vector), rv32test.I(0x73, 1, 0, 5, 0x305), rv32test.I(0x73, 6, 0, 8, 0x300), rv32test.J(0, start-12))
		r.load(start, tt.word)
		r.set(1, tt.base)
		r.set(2, 0x11223344)
		r.set(3, 77)
		r.at(start)
		done := r.m.instret
		r.at(vector)
		assert.EqualValues(t, tt.cause, r.row(rowCause), tt.name)
		assert.EqualValues(t, tt.tval, r.row(rowTVal), tt.name)
		assert.EqualValues(t, start, r.row(rowEPC), tt.name)
		assert.EqualValues(t, 77, r.x(3), tt.name)
		assert.Equal(t, []bool{false, true}, []bool{r.m.mie, r.m.mpie}, "%s: mstatus.MIE and MPIE", tt.name)
		assert.Equal(t, done, r.m.instret, "%s: minstret", tt.name)
		for i := range uint32(32) {
			assert.Zero(t, r.m.ram.Word(0x200/4+i), tt.name)
		}
	}
}

// An instruction outside of the memory is an access fault there, and not at the jump.
func TestFetchOutside(t *testing.T) {
	r := newRig(t, small, rv32test.I(0x13, 0, 5, 0, 0x300), rv32test.I(0x73, 1, 0, 5, 0x305), 2<<12|1<<7|0x37, rv32test.I(0x67, 0, 3, 1, 4))
	r.at(0x300)
	assert.EqualValues(t, []uint32{1, 0x2004, 0x2004, 16}, []uint32{r.row(rowCause), r.row(rowEPC), r.row(rowTVal), r.x(3)})
}

// MRET returns to mepc with MIE as it was (Privileged Architecture, 3.1.6.1).
func TestMRET(t *testing.T) {
	r := newRig(t, small, rv32test.I(0x13, 0, 5, 0, 0x300), rv32test.I(0x73, 1, 0, 5, 0x341), rv32test.MRET)
	r.load(0x300, rv32test.MRET)
	r.at(8)
	r.m.mpie = true
	r.at(0x300)
	assert.Equal(t, []bool{true, true}, []bool{r.m.mie, r.m.mpie})
}

// program that enables interrupts and counts in x1; its handler counts in x2, saves mcause in
// x3 and clears mie.
func interrupted(enables uint32) []uint32 {
	words := make([]uint32, 0x40)
	copy(words, []uint32{
		rv32test.I(0x13, 0, 5, 0, 0x80), rv32test.I(0x73, 1, 0, 5, 0x305),
		enables<<12 | 6<<7 | 0x37, rv32test.I(0x13, 5, 6, 6, 12), rv32test.I(0x73, 1, 0, 6, 0x304),
		rv32test.I(0x73, 6, 0, 8, 0x300),
		rv32test.I(0x13, 0, 1, 1, 1), rv32test.J(0, 0x1ffffc),
	})
	copy(words[0x20:], []uint32{
		rv32test.I(0x13, 0, 2, 2, 1), rv32test.I(0x73, 2, 3, 0, 0x342), rv32test.I(0x73, 1, 0, 0, 0x304), rv32test.MRET,
	})
	return words
}

// An interrupt is taken between instructions if it is enabled: external, software, timer in
// this order (Privileged Architecture, 3.1.9).
func TestInterrupts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		enables uint32
		irq     Interrupts
		cause   uint32
	}{
		{"software", 0x888, Interrupts{Software: true}, 1<<31 | 3},
		{"timer", 0x888, Interrupts{Timer: true}, 1<<31 | 7},
		{"external", 0x888, Interrupts{External: true}, 1<<31 | 11},
		{"all", 0x888, Interrupts{true, true, true}, 1<<31 | 11},
		{"software and timer", 0x888, Interrupts{Software: true, Timer: true}, 1<<31 | 3},
		{"all, the timer enabled", 0x080, Interrupts{true, true, true}, 1<<31 | 7},
		{"all, software enabled", 0x008, Interrupts{true, true, true}, 1<<31 | 3},
		{"others", 0x080, Interrupts{Software: true, External: true}, 0},
	} {
		r := newRig(t, small, interrupted(tt.enables)...)
		r.run(30)
		count := r.x(1)
		assert.NotZero(t, count, tt.name)
		r.irq = tt.irq
		r.run(30)
		assert.Equal(t, tt.cause, r.x(3), tt.name)
		assert.EqualValues(t, min(tt.cause, 1), r.x(2), "%s: times", tt.name)
		assert.Greater(t, r.x(1), count, "%s: the program continues", tt.name)
	}
}

// No interrupt is taken while mstatus.MIE is off, and none in a handler.
func TestMasked(t *testing.T) {
	r := newRig(t, small, interrupted(0x888)...)
	r.load(20, rv32test.I(0x13, 0, 0, 0, 0))
	r.irq = Interrupts{true, true, true}
	r.run(40)
	assert.Zero(t, r.x(2))
}

// Each clock at which an interrupt begins and ends leaves the program as it would be
// without it, but for the handler: it counts on.
func TestInterruptAtEachClock(t *testing.T) {
	for at := range 60 {
		r := newRig(t, small, interrupted(0x888)...)
		r.run(8)
		for range at {
			r.tick()
		}
		r.irq.Timer = true
		r.until("the handler", func() bool { return r.x(2) == 1 })
		r.irq.Timer = false
		before := r.x(1)
		r.run(43)
		assert.InDelta(t, before+20, r.x(1), 1, "clock %d", at)
		assert.EqualValues(t, 1, r.x(2), "clock %d", at)
	}
}

// WFI waits for an interrupt that is enabled in mie, also if MIE is off (Privileged
// Architecture, 3.3.3).
func TestWFI(t *testing.T) {
	for _, mie := range []uint32{0, 8} {
		r := newRig(t, small, interrupted(0x080)...)
		r.load(20, rv32test.I(0x73, 6, 0, mie, 0x300), rv32test.WFI, rv32test.I(0x13, 0, 1, 1, 1), rv32test.J(0, 0))
		r.until("sleep", func() bool { return r.m.State().Asleep })
		r.irq = Interrupts{Software: true, External: true}
		for range 1000 {
			r.tick()
			assert.True(t, r.m.State().Asleep)
		}
		r.irq.Timer = true
		r.until("the end of the sleep", func() bool { return r.x(1) == 1 })
		assert.EqualValues(t, mie/8, r.x(2), "the handler runs if MIE is on")
	}
}

// mcycle counts clocks and minstret instructions, in 64 bits. A value that is written is that
// after the instruction (Unprivileged ISA, chapter 9; Privileged Architecture, 3.1.10).
func TestCounters(t *testing.T) {
	nop := rv32test.I(0x13, 0, 0, 0, 0)
	r := newRig(t, small,
		rv32test.I(0x73, 1, 0, 1, 0xb02), nop, nop, rv32test.I(0x73, 2, 3, 0, 0xb02), // minstret
		rv32test.I(0x73, 1, 0, 1, 0xb00), nop, nop, rv32test.I(0x73, 2, 4, 0, 0xb00), // mcycle
		rv32test.I(0x73, 1, 0, 1, 0xb82), rv32test.I(0x73, 1, 0, 2, 0xb02), nop, nop, rv32test.I(0x73, 2, 5, 0, 0xb02), rv32test.I(0x73, 2, 6, 0, 0xb82),
		rv32test.I(0x73, 1, 0, 1, 0xb80), rv32test.I(0x73, 1, 0, 2, 0xb00), nop, nop, rv32test.I(0x73, 2, 7, 0, 0xb00), rv32test.I(0x73, 2, 8, 0, 0xb80),
	)
	r.set(1, 100)
	r.set(2, 0xffffffff)
	r.at(80)
	assert.EqualValues(t, 102, r.x(3), "minstret after two instructions")
	assert.EqualValues(t, 100+3+3+3, r.x(4), "mcycle after two instructions of three clocks, in the third clock of the next one")
	assert.EqualValues(t, []uint32{1, 101}, []uint32{r.x(5), r.x(6)}, "minstret carries")
	assert.EqualValues(t, []uint32{2 + 3 + 3 + 3 - 1, 101}, []uint32{r.x(7), r.x(8)}, "mcycle carries, which takes 2 clocks")
}

// A counter that wraps while its upper half is being incremented is incremented again.
func TestCarryTwice(t *testing.T) {
	for k := range uint32(12) {
		r := newRig(t, small,
			rv32test.I(0x73, 1, 0, 0, 0xb80), rv32test.I(0x73, 1, 0, 1, 0xb00), rv32test.I(0x73, 1, 0, 2, 0xb00),
			rv32test.I(0x13, 0, 0, 0, 0), rv32test.I(0x13, 0, 0, 0, 0), rv32test.I(0x13, 0, 0, 0, 0), rv32test.I(0x73, 2, 3, 0, 0xb80))
		r.set(1, 0xfffffffc) // wraps in the clock in which the next value is written
		r.set(2, -k)
		r.at(28)
		wraps := uint32(1)
		if k > 0 {
			wraps++
		}
		assert.Equal(t, wraps, r.x(3), "%d clocks before a wrap", k)
	}
}

// Without counters they read 0, and writes are ignored.
func TestNoCounters(t *testing.T) {
	for _, csr := range []uint32{0xb00, 0xb02, 0xb80, 0xb82} {
		r := newRig(t, Config{Bytes: MinBytes}, rv32test.I(0x73, 1, 3, 1, csr), rv32test.I(0x73, 2, 4, 0, csr))
		for _, i := range []uint32{1, 3, 4} {
			r.set(i, 0xffffffff)
		}
		r.at(8)
		assert.Equal(t, []uint32{0, 0}, []uint32{r.x(3), r.x(4)}, "%x", csr)
	}
}

// Instructions take the clocks that Module tells.
func TestTiming(t *testing.T) {
	for _, tt := range []struct {
		name   string
		word   uint32
		clocks uint64
	}{
		{"ADD", rv32test.R(0x33, 0, 0, 3, 1, 2), 3},
		{"LUI", 3<<7 | 0x37, 3},
		{"AUIPC", 3<<7 | 0x17, 4},
		{"JAL", rv32test.J(0, 4), 4},
		{"JALR", rv32test.I(0x67, 0, 0, 1, 4), 3},
		{"BEQ taken", rv32test.B(0, 0, 0, 4), 4},
		{"BNE not taken", rv32test.B(1, 0, 0, 4), 3},
		{"LW", rv32test.I(0x03, 2, 3, 1, 0), 4},
		{"SW", rv32test.S(0x23, 2, 1, 2, 0x40), 4},
		{"SLLI by 0", rv32test.I(0x13, 1, 3, 1, 0), 3},
		{"SLLI by 1", rv32test.I(0x13, 1, 3, 1, 1), 4},
		{"SRAI by 31", rv32test.I(0x13, 5, 3, 1, 0x400|31), 34},
		{"CSRRW", rv32test.I(0x73, 1, 3, 1, 0x340), 5},
		{"FENCE", 0x0000000f, 3},
	} {
		r := newRig(t, small, tt.word)
		r.at(0)
		at := r.clock
		r.at(4)
		assert.Equal(t, tt.clocks, r.clock-at, tt.name)
	}
}

// An access outside of the memory waits for its answer, as long as that takes.
func TestBus(t *testing.T) {
	for _, wait := range []int{0, 1, 7} {
		var got []Request
		left := wait
		r := newRig(t, small,
			rv32test.S(0x23, 0, 1, 2, 1), rv32test.S(0x23, 1, 1, 2, 2), rv32test.S(0x23, 2, 1, 2, 4),
			rv32test.I(0x03, 2, 3, 1, 8), rv32test.I(0x03, 0, 4, 1, 9), rv32test.I(0x03, 5, 6, 1, 10))
		r.slave = func(q Request) Answer {
			if left > 0 {
				left--
				return Answer{Data: 0xdeadbeef}
			}
			left = wait
			got = append(got, q)
			return Answer{Done: true, Data: 0x89abcdef}
		}
		r.set(1, 0x40000000)
		r.set(2, 0x11223344)
		r.at(24)
		assert.Equal(t, []Request{
			{true, 2, 0x40000001, 0x44444444}, {true, 12, 0x40000002, 0x33443344}, {true, 15, 0x40000004, 0x11223344},
			{true, 0, 0x40000008, got[3].Data}, {true, 0, 0x40000009, got[4].Data}, {true, 0, 0x4000000a, got[5].Data},
		}, got)
		assert.Equal(t, []uint32{0x89abcdef, 0xffffffcd, 0x89ab}, []uint32{r.x(3), r.x(4), r.x(6)})
	}
}
