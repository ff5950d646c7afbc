package fwtest

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32"
)

// Registers of the calling convention.
const (
	ra, sp, t0, a0, a1 = 1, 2, 5, 10, 11
)

// temporaries are the registers that a C function may change.
var temporaries = []int{ra, t0, 6, 7, a0, a1, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31}

// A watcher gives other values to registers at the begin of a trap, and compares them when the
// handler returns.
type watcher struct {
	t      *testing.T
	m      *Model
	inside bool
	before [32]uint32 // of the program
	set    [32]uint32 // at the begin of the handler
	seen   map[uint32]int
}

// step is called before each instruction.
func (w *watcher) step(pending uint32) uint32 {
	p := &w.m.cpu
	switch {
	case p.TVec != 0 && p.PC == p.TVec && !w.inside:
		w.inside, w.before = true, p.X
		w.seen[p.Cause]++
		for _, i := range temporaries {
			if i != a0 || p.Cause>>31 != 0 {
				p.X[i] = 0x55aa_0000 + uint32(i)
			}
		}
		w.set = p.X
	case w.inside && p.PC == p.EPC:
		w.leave()
	}
	return pending
}

// leave compares the registers. A probe that faults gets 1 in a1.
func (w *watcher) leave() {
	p := &w.m.cpu
	if p.Cause>>31 == 0 {
		w.set[a1], w.before[a1] = 1, 1
	}
	assert.Equal(w.t, w.set, p.X, "registers after a trap with the cause %#x", p.Cause)
	p.X, w.inside = w.before, false
}

// A handler returns with the registers as they were, and the boot continues.
func TestRegistersInTraps(t *testing.T) {
	m := NewModel(memory, Faults{})
	w := watcher{t: t, m: m, seen: map[uint32]int{}}
	m.faults.Interrupt = w.step
	o := options()
	o.Blocks = 0
	_, err := firmware.Load(m, firmware.Default(), o)
	require.NoError(t, err)
	assert.Equal(t, map[uint32]int{rv32.LoadFault: 3, rv32.StoreFault: 1, 1<<31 | 7: 1}, w.seen)
}

// After an exception that no test expects, all registers are those of the program. t0 is in
// mscratch.
func TestRegistersAfterTrap(t *testing.T) {
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	program := append([]byte(nil), image.Program...)
	binary.LittleEndian.PutUint32(program[find(t, program, 0x00752023):], 0x00000073)
	m := NewModel(memory, Faults{})
	var before [32]uint32
	var last rv32.Processor
	m.faults.Interrupt = func(pending uint32) uint32 {
		if m.cpu.Cause == rv32.Call && m.cpu.PC == m.cpu.TVec {
			before = m.cpu.X
		}
		last = m.cpu
		return pending
	}
	_, err = firmware.Load(m, firmware.Append(nil, image.Header, program), options())
	require.ErrorIs(t, err, firmware.ErrTrap)
	assert.Equal(t, before[t0], last.Scratch)
	last.X[t0] = before[t0]
	assert.Equal(t, before, last.X)
	assert.NotZero(t, before[sp])
}

// Variables begin as 0: words of the test of the memory do not remain in them. The flag of the
// timer interrupt is a byte, whose word has zeros.
func TestVariables(t *testing.T) {
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	m := NewModel(memory, Faults{})
	_, err = firmware.Load(m, firmware.Default(), options())
	require.NoError(t, err)
	var words []uint32
	for at := image.Size; at < image.Memory; at += 4 {
		words = append(words, binary.LittleEndian.Uint32(m.cpu.Memory[at:]))
	}
	at := slices.Index(words, 0x44332211)
	require.GreaterOrEqual(t, at, 0, "of the test of bytes")
	words = words[at : at+6]
	assert.Contains(t, words, uint32(memory), "the size of the memory")
	assert.Contains(t, words, uint32(1<<31|7), "the cause of the interrupt")
	assert.Contains(t, words, uint32(1), "the flag")
	assert.Contains(t, words, uint32(0), "the high half of the time")
}
