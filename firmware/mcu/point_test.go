package mcu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// Each of four breakpoints halts, a fifth is refused, and one that is cleared is free again.
func TestBreakpoints(t *testing.T) {
	_, d := start(t, append([]uint32{addi(3, 0, 0), addi(3, 3, 1)}, counting()...)...)
	require.NoError(t, d.Reset())
	for _, at := range []uint32{4, 8, 12, 16, 8} {
		require.NoError(t, d.SetBreakpoint(at))
	}
	assert.EqualError(t, d.SetBreakpoint(20), "mcu: breakpoint or watchpoint: breakpoint at 0x14, want at most 4 breakpoints")
	assert.ErrorIs(t, d.SetBreakpoint(6), mcu.ErrPoint)
	assert.EqualError(t, d.SetBreakpoint(0x8000_0004), "mcu: breakpoint or watchpoint: breakpoint at 0x80000004, outside of the memory of 0x4000 bytes")
	for _, want := range []uint32{4, 8, 12, 16, 8} {
		require.NoError(t, d.Resume())
		cause, pc := stopped(t, d)
		assert.Equal(t, mcu.Breakpoint, cause)
		assert.Equal(t, want, pc)
	}
	require.NoError(t, d.ClearBreakpoint(12))
	require.NoError(t, d.ClearBreakpoint(0x1000))
	require.NoError(t, d.SetBreakpoint(20))
	for _, want := range []uint32{16, 20, 8} {
		require.NoError(t, d.Resume())
		_, pc := stopped(t, d)
		assert.Equal(t, want, pc)
	}
}

// A breakpoint at address 0 is not a free one.
func TestBreakpointAtZero(t *testing.T) {
	_, d := start(t, addi(1, 1, 1), jal(^uint32(3)))
	require.NoError(t, d.Halt())
	require.NoError(t, d.SetPC(4))
	require.NoError(t, d.SetBreakpoint(0))
	require.NoError(t, d.SetBreakpoint(4))
	for _, want := range []uint32{0, 4, 0} {
		require.NoError(t, d.Resume())
		_, pc := stopped(t, d)
		assert.Equal(t, want, pc)
	}
}

// A register with an address that is not enabled is free.
func TestBreakpointsThatAreOff(t *testing.T) {
	r, d := start(t, counting()...)
	for i := range uint32(mcureg.Breakpoints) {
		require.NoError(t, r.Write(mcureg.DebugBase+mcureg.Break+4*i, 0x40))
	}
	require.NoError(t, d.SetBreakpoint(4))
	_, pc := stopped(t, d)
	assert.EqualValues(t, 4, pc)
}

func TestWatchpoint(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Reset())
	require.NoError(t, d.SetRegister(1, 0))
	require.NoError(t, d.SetWatchpoint(0x102, 2))
	require.NoError(t, d.SetWatchpoint(0x100, 4), "the same word")
	for turn := range 3 {
		require.NoError(t, d.Resume())
		cause, pc := stopped(t, d)
		assert.Equal(t, mcu.Watchpoint, cause)
		assert.EqualValues(t, 8, pc, "after the store")
		assert.EqualValues(t, turn+1, register(t, d, 1))
	}
	for _, tt := range []struct{ addr, size uint32 }{{0x104, 4}, {0x101, 4}, {0x100, 8}, {0x100, 0}, {0x103, 2}, {0x100, 0xffffffff}} {
		assert.ErrorIs(t, d.SetWatchpoint(tt.addr, tt.size), mcu.ErrPoint, "%#x, %d bytes", tt.addr, tt.size)
	}
	require.NoError(t, d.ClearWatchpoint())
	require.NoError(t, d.SetWatchpoint(0x104, 4))
	require.NoError(t, d.Resume())
	_, pc := stopped(t, d)
	assert.EqualValues(t, 12, pc)
}

// A store of the debugger is none of the program's.
func TestWatchpointIsTheProgram(t *testing.T) {
	_, d := start(t, jal(0))
	require.NoError(t, d.Halt())
	require.NoError(t, d.SetWatchpoint(0x100, 4))
	_, err := d.WriteMemory(0x100, []byte{1, 2, 3, 4})
	require.NoError(t, err)
	require.NoError(t, d.Resume())
	for range 20 {
		cause, err := d.State()
		require.NoError(t, err)
		require.Equal(t, mcu.None, cause)
	}
}

// If pc is at a breakpoint after a halt, the cause is the watchpoint only if the instruction
// before pc stored to its word.
func TestBreakpointAndWatchpoint(t *testing.T) {
	for _, tt := range []struct {
		name  string
		point uint32
		watch uint32
		want  mcu.Cause
		pc    uint32
	}{
		{"only a breakpoint after another store", 12, 0x200, mcu.Breakpoint, 12},
		{"only a breakpoint after no store", 4, 0x100, mcu.Breakpoint, 4},
		{"only the watchpoint", 0, 0x100, mcu.Watchpoint, 8},
		{"both", 8, 0x100, mcu.Watchpoint, 8},
		{"the next store is the watchpoint", 8, 0x104, mcu.Breakpoint, 8},
	} {
		_, d := start(t, counting()...)
		require.NoError(t, d.Reset(), tt.name)
		require.NoError(t, d.SetRegister(8, 0x100))
		require.NoError(t, d.SetBreakpoint(tt.point))
		require.NoError(t, d.SetWatchpoint(tt.watch, 4))
		require.NoError(t, d.Resume())
		cause, pc := stopped(t, d)
		assert.Equal(t, tt.want, cause, tt.name)
		assert.Equal(t, tt.pc, pc, tt.name)
		assert.EqualValues(t, 0x100, register(t, d, 8))
		require.NoError(t, d.ClearBreakpoint(tt.point))
		cause, _ = stopped(t, d)
		assert.Equal(t, tt.want, cause, "%s: the cause is that of the halt", tt.name)
	}
}

// A step over a store to the word of the watchpoint is its cause, also when the address is in a
// register that the debugger borrows and the offset is negative.
func TestStepOverWatchpoint(t *testing.T) {
	for _, base := range []uint32{7, 8, 9} {
		_, d := start(t, addi(base, 0, 0x110), addi(1, 1, 1), sw(1, base, ^uint32(15)), sw(1, base, 0), rv32test.I(0x03, 2, 16, base, 0xff0), jal(0))
		require.NoError(t, d.Reset())
		require.NoError(t, d.SetWatchpoint(0x100, 4))
		for i, want := range []mcu.Cause{mcu.Stepped, mcu.Stepped, mcu.Watchpoint, mcu.Stepped, mcu.Stepped, mcu.Stepped} {
			require.NoError(t, d.Step())
			cause, pc := stopped(t, d)
			assert.Equal(t, want, cause, "step %d with x%d", i, base)
			assert.EqualValues(t, min(4*(i+1), 20), pc)
		}
		require.NoError(t, d.SetPC(8))
		require.NoError(t, d.Step())
		require.NoError(t, d.ClearWatchpoint())
		require.NoError(t, d.Step())
		cause, _ := stopped(t, d)
		assert.Equal(t, mcu.Stepped, cause, "without the watchpoint")
	}
}

// A step of an instruction that cannot be read takes its exception.
func TestStepOutside(t *testing.T) {
	_, d := start(t, jal(0))
	require.NoError(t, d.Halt())
	require.NoError(t, d.SetWatchpoint(0x100, 4))
	require.NoError(t, d.SetCSR(0x305, 0x40))
	require.NoError(t, d.SetPC(0x70000000))
	require.NoError(t, d.Step())
	cause, pc := stopped(t, d)
	assert.Equal(t, mcu.Stepped, cause)
	assert.EqualValues(t, 0x40, pc)
	mepc, err := d.CSR(0x341)
	require.NoError(t, err)
	assert.EqualValues(t, 0x70000000, mepc)
}

// EBREAK halts at its address while a debugger is there.
func TestBreak(t *testing.T) {
	_, d := start(t, addi(1, 1, 1), rv32test.EBREAK, jal(0))
	require.NoError(t, d.Reset())
	require.NoError(t, d.Resume())
	cause, pc := stopped(t, d)
	assert.Equal(t, mcu.Break, cause)
	assert.EqualValues(t, 4, pc)
}
