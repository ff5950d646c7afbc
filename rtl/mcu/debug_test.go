package mcu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// Each of four breakpoints that are set at once halts at its own instruction.
func TestFourBreakpoints(t *testing.T) {
	r := newRig(t)
	for i := range uint16(4) {
		r.set(debug+mcureg.Break+4*i, 4*uint32(i+1)|mcureg.PointEnable)
	}
	r.load(0, 0x13, 0x13, 0x13, 0x13, 0x13, rv32test.J(0, 0))
	r.set(ctl, mcureg.CtlRun)
	for i := range uint32(4) {
		r.run(30)
		assert.EqualValues(t, mcureg.DebugHalted|mcureg.CausePoint<<4, r.get(debug+mcureg.DebugStatus))
		assert.Equal(t, 4*(i+1), r.get(debug+mcureg.PC))
		r.set(debug+mcureg.DebugCtl, mcureg.CtlResume)
	}
	r.run(30)
	assert.Zero(t, r.get(debug+mcureg.DebugStatus)&mcureg.DebugHalted)
}

// A jump out of the memory is an access fault, with a breakpoint at the address that is equal in the
// bits of the memory.
func TestBreakpointAlias(t *testing.T) {
	r, p := newRig(t), newProgram()
	r.set(debug+mcureg.Break, 0x104|mcureg.PointEnable)
	p.li(1, 8<<10|0x104)
	p.add(rv32test.I(0x67, 0, 0, 1, 0))
	r.start(p, 300)
	assert.Equal(t, []uint32{1, 8<<10 | 0x104}, []uint32{r.says(6), r.says(7)})
	assert.Zero(t, r.get(debug+mcureg.DebugStatus))
}

// A breakpoint above the memory stops nothing. Its register keeps the address.
func TestBreakpointOutside(t *testing.T) {
	r := newRig(t)
	r.load(0, rv32test.I(0x13, 0, 1, 1, 1), rv32test.J(0, 0x1ffffc))
	for i, at := range []uint32{8 << 10, 64 << 10, 1 << 31, 4 | 8<<10} {
		r.set(debug+mcureg.Break+4*uint16(i), at|mcureg.PointEnable)
		assert.Equal(t, at|mcureg.PointEnable, r.get(debug+mcureg.Break+4*uint16(i)))
	}
	r.set(ctl, mcureg.CtlRun)
	r.run(100)
	assert.Zero(t, r.get(debug+mcureg.DebugStatus))
	r.set(debug+mcureg.Break, 4|mcureg.PointEnable)
	r.run(100)
	assert.EqualValues(t, mcureg.DebugHalted|mcureg.CausePoint<<4, r.get(debug+mcureg.DebugStatus))
}

// The debugger halts, steps, stops at a breakpoint and after a store, and executes instructions.
func TestDebug(t *testing.T) {
	r := newRig(t)
	loop := []uint32{rv32test.I(0x13, 0, 1, 1, 1), rv32test.S(0x23, 2, 0, 1, 0x100), rv32test.J(0, 0x1ffff8)}
	r.load(0, loop...)
	halt := func(cause uint32) {
		t.Helper()
		r.run(30)
		assert.Equal(t, mcureg.DebugHalted|cause<<4, r.get(debug+mcureg.DebugStatus))
	}
	x1 := func() uint32 {
		r.set(debug+mcureg.Exec, rv32test.I(0x73, 1, 0, 1, mcureg.Scratch))
		halt(mcureg.CauseExec)
		return r.get(debug + mcureg.Data)
	}
	r.set(debug+mcureg.DebugCtl, mcureg.CtlHalt)
	r.set(ctl, mcureg.CtlRun)
	halt(mcureg.CauseHalt)
	assert.Zero(t, r.get(debug+mcureg.PC))
	r.set(debug+mcureg.DebugCtl, mcureg.CtlResume|mcureg.CtlStep)
	halt(mcureg.CauseStep)
	assert.EqualValues(t, 4, r.get(debug+mcureg.PC))
	before := x1()
	for i := range uint16(4) {
		r.set(debug+mcureg.Break+4*i, 8|mcureg.PointEnable)
		r.set(debug+mcureg.DebugCtl, mcureg.CtlResume)
		halt(mcureg.CausePoint)
		assert.EqualValues(t, 8, r.get(debug+mcureg.PC))
		r.set(debug+mcureg.Break+4*i, 8)
	}
	assert.Equal(t, before+3, x1())
	r.set(debug+mcureg.Watch, 0x100|mcureg.PointEnable)
	r.set(debug+mcureg.DebugCtl, mcureg.CtlResume)
	halt(mcureg.CausePoint)
	assert.EqualValues(t, 8, r.get(debug+mcureg.PC), "after the store")
	r.set(debug+mcureg.Watch, 0x104|mcureg.PointEnable)
	r.set(debug+mcureg.Data, 0x55)
	r.set(debug+mcureg.Exec, rv32test.I(0x73, 2, 1, 0, mcureg.Scratch))
	halt(mcureg.CauseExec)
	assert.EqualValues(t, 0x55, x1())
	r.set(debug+mcureg.Exec, rv32test.I(0x03, 2, 2, 0, 0x2)) // misaligned
	halt(mcureg.CauseFault)
	r.set(debug+mcureg.DebugCtl, mcureg.CtlResume)
	r.run(30)
	assert.Zero(t, r.get(debug+mcureg.DebugStatus)&mcureg.DebugHalted)
	r.set(debug+mcureg.Exec, 0)
	r.run(30)
	assert.Zero(t, r.get(debug+mcureg.DebugStatus)&mcureg.DebugHalted, "EXEC does nothing while it runs")
}
