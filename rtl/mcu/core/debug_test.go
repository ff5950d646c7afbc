package core

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// counting is a program that counts in x1, three instructions a turn.
func counting() []uint32 {
	return []uint32{rv32test.I(0x13, 0, 1, 1, 1), rv32test.S(0x23, 2, 0, 1, 0x100), rv32test.J(0, 0x1ffff8)}
}

// halted returns the cause of a halt; the core must be halted.
func (r *rig) halted() Cause {
	r.t.Helper()
	r.until("a halt", func() bool { return r.m.State().Halted })
	return r.m.State().Cause
}

// exec has a halted core execute an instruction.
func (r *rig) exec(word uint32) Cause {
	r.t.Helper()
	r.halted()
	r.dbg.Exec, r.dbg.Word = true, word
	r.tick()
	return r.halted()
}

// A core that is halted stays so, and its counters stop.
func TestHalt(t *testing.T) {
	r := newRig(t, small, counting()...)
	r.run(10)
	r.ctl.Halt = true
	assert.Equal(t, Requested, r.halted())
	r.ctl.Halt = false
	pc, x1, cycle := r.m.PC(), r.x(1), r.m.cycle
	for range 100 {
		r.tick()
	}
	assert.Equal(t, []uint32{pc, x1, cycle}, []uint32{r.m.PC(), r.x(1), r.m.cycle})
	r.ctl.Resume = true
	r.run(30)
	assert.Equal(t, x1+10, r.x(1))
}

// A step executes one instruction, without interrupts.
func TestStep(t *testing.T) {
	r := newRig(t, small, interrupted(0x888)...)
	r.run(8)
	r.ctl.Halt = true
	r.halted()
	r.ctl.Halt = false
	r.irq = Interrupts{true, true, true}
	for _, want := range []uint32{0x1c, 0x18, 0x1c, 0x18} {
		if r.m.PC() == want {
			continue
		}
		r.ctl.Resume, r.ctl.Step = true, true
		r.tick()
		assert.Equal(t, Stepped, r.halted())
		assert.Equal(t, want, r.m.PC())
	}
	assert.Zero(t, r.x(2))
	r.ctl.Resume = true
	r.until("the handler", func() bool { return r.x(2) == 1 })
}

// A step over WFI does not wait, and one of an exception ends at its handler.
func TestStepOverOthers(t *testing.T) {
	r := newRig(t, small, rv32test.I(0x13, 0, 5, 0, 0x300), rv32test.I(0x73, 1, 0, 5, 0x305), rv32test.WFI, rv32test.ECALL)
	r.load(0x300, rv32test.MRET)
	r.ctl.Halt = true
	r.halted()
	r.ctl.Halt = false
	for _, want := range []uint32{4, 8, 12, 0x300, 12} {
		r.ctl.Resume, r.ctl.Step = true, true
		r.tick()
		require.Equal(t, Stepped, r.halted())
		require.Equal(t, want, r.m.PC())
	}
}

// A breakpoint halts before its instruction, and the core can be resumed there.
func TestBreakpoint(t *testing.T) {
	r := newRig(t, small, counting()...)
	for turn := range 4 {
		r.until("a halt", func() bool {
			r.dbg.Stop = r.m.PC() == 4
			return r.m.State().Halted
		})
		assert.Equal(t, Stopped, r.m.State().Cause)
		assert.EqualValues(t, 4, r.m.PC())
		assert.EqualValues(t, turn+1, r.x(1))
		assert.EqualValues(t, turn, r.m.ram.Word(0x40))
		r.ctl.Resume = true
		r.tick()
	}
}

// A watchpoint halts after the store, with its address.
func TestWatchpoint(t *testing.T) {
	r := newRig(t, small, counting()...)
	r.until("a halt", func() bool {
		addr, ok := r.m.Stored()
		r.dbg.Stop = ok && addr == 0x100
		return r.m.State().Halted
	})
	assert.EqualValues(t, []uint32{8, 1, 1}, []uint32{r.m.PC(), r.x(1), uint32(r.m.ram.Word(0x40))})
}

// EBREAK halts if a debugger catches it, at its own address.
func TestCatch(t *testing.T) {
	r := newRig(t, small, rv32test.I(0x13, 0, 1, 1, 1), rv32test.EBREAK)
	r.dbg.Catch = true
	assert.Equal(t, Break, r.halted())
	assert.EqualValues(t, 4, r.m.PC())
	assert.Zero(t, r.row(rowEPC))
}

// Instructions of the debugger read and write all that the core has, and pc stays.
func TestExec(t *testing.T) {
	r := newRig(t, small, counting()...)
	r.run(10)
	r.ctl.Halt = true
	r.halted()
	pc, done := r.m.PC(), r.m.instret

	sent := uint32(0)
	get := func(word uint32) uint32 {
		r.halted()
		r.dbg.Exec, r.dbg.Word = true, word
		for r.tick(); !r.m.State().Halted; r.tick() {
			if v, ok := r.m.Sent(); ok {
				sent = v
			}
		}
		return sent
	}
	assert.Equal(t, r.x(1), get(rv32test.I(0x73, 1, 0, 1, 0x7b2)), "csrw dscratch0, x1")
	r.dbg.Data = 0x12345678
	assert.Equal(t, Executed, r.exec(rv32test.I(0x73, 2, 9, 0, 0x7b2)), "csrr x9, dscratch0")
	assert.EqualValues(t, 0x12345678, r.x(9))
	r.set(8, 0x100)
	assert.Equal(t, Executed, r.exec(rv32test.I(0x03, 2, 9, 8, 0)), "lw x9, 0(x8)")
	assert.EqualValues(t, r.m.ram.Word(0x40), r.x(9))
	r.exec(rv32test.S(0x23, 2, 8, 1, 0x10))
	assert.EqualValues(t, r.x(1), r.m.ram.Word(0x44))
	r.exec(rv32test.I(0x73, 1, 0, 1, 0x343))
	assert.EqualValues(t, r.x(1), r.row(rowTVal))
	assert.Equal(t, Executed, r.exec(9<<7|0x17), "auipc x9, 0")
	assert.EqualValues(t, []uint32{pc, pc, done}, []uint32{r.x(9), r.m.PC(), r.m.instret})

	for _, word := range []uint32{0, rv32test.I(0x03, 2, 9, 8, 1), rv32test.ECALL, rv32test.I(0x03, 2, 9, 2, 0)} {
		r.set(2, 0x70000000)
		assert.Equal(t, Failed, r.exec(word), "%08x", word)
		assert.Equal(t, pc, r.m.PC())
		assert.Zero(t, r.row(rowCause))
	}
	assert.Equal(t, Executed, r.exec(rv32test.WFI))
	assert.Equal(t, Executed, r.exec(rv32test.J(9, 0x1ffffc)), "a jump")
	assert.Equal(t, []uint32{pc - 4, pc + 4}, []uint32{r.m.PC(), r.x(9)})
	assert.Equal(t, Executed, r.exec(rv32test.I(0x67, 0, 0, 8, 4)), "a jump to a register")
	assert.EqualValues(t, 0x104, r.m.PC())
}

// Without the option the inputs of a debugger do nothing.
func TestNoDebug(t *testing.T) {
	r := newRig(t, Config{Bytes: MinBytes}, counting()...)
	r.ctl.Halt, r.dbg.Stop, r.dbg.Catch = true, true, true
	r.run(30)
	assert.EqualValues(t, 10, r.x(1))
}
