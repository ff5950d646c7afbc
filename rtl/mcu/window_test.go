package mcu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// An access through a window reaches the address of its base and the offset, in VRAM and in host
// memory, and carries into the high half. Bytes and halves are written alone.
func TestWindows(t *testing.T) {
	for _, base := range []uint64{0x100, 0x8000, onHost, onHost | 0xff_ffff_f000, onHost | 0x12_ffff_ff00} {
		r := newRig(t)
		r.window(2, base, 0x200|mcureg.SizeWrite)
		const at = mcureg.Through + 2*mcureg.WindowMax
		r.memory[base+0x1fc], r.memory[base+0x1f8] = 0x1234_5678, 0x9abc_def0
		p := newProgram()
		p.lw(1, at+0x1fc)
		p.say(0, 1)
		p.lw(1, at+0x1f8)
		p.say(1, 1)
		p.put(2, at+0x104, 0xcafe_f00d)
		p.put(0, at+0x105, 0x77)
		p.put(1, at+0x106, 0x1122)
		r.start(p, 1000)
		assert.Equal(t, []uint32{0x1234_5678, 0x9abc_def0, none}, []uint32{r.says(0), r.says(1), r.says(6)}, "%#x", base)
		assert.EqualValues(t, 0x1122_770d, r.memory[base+0x104], "%#x", base)
	}
}

// An access that a window does not allow is an access fault, and reaches no memory.
func TestWindowFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window uint16
		base   uint64
		size   uint32
		at     uint32
		write  bool
		cause  uint32
	}{
		{"a write to a window for reads", 1, 0, 0x100, 0, true, putBad},
		{"a read past the end", 1, 0, 0x100, 0x100, false, loadBad},
		{"a write past the end", 1, 0, 0x100 | 1, 0x100, true, putBad},
		{"the last byte of the address space of a window", 1, 0, 0x100, mcureg.WindowMax - 4, false, loadBad},
		{"a closed window", 1, 0, 0, 0, false, loadBad},
		{"after VRAM", 1, vramBytes - 4, 0x100 | 1, 4, false, loadBad},
		{"after host memory", 1, onHost | 1<<hostBits - 4, 0x100 | 1, 4, true, putBad},
		{"a host address that is too wide", 1, onHost | 1<<hostBits, 0x100, 0, false, loadBad},
		{"from VRAM to the host", 1, onHost - 4, 0x100 | 1, 4, true, putBad},
		{"past the last address", 1, 1<<64 - 4, 0x100, 4, false, loadBad},
		{"a write to the free window", 7, 0, 0, 0, true, putBad},
	} {
		r := newRig(t)
		if tt.window < 7 {
			r.window(tt.window, tt.base, tt.size)
		}
		p := newProgram()
		at := mcureg.Through + uint32(tt.window)*mcureg.WindowMax + tt.at
		if tt.write {
			p.put(2, at, 1)
		} else {
			p.lw(1, at)
		}
		r.start(p, 300)
		assert.Equal(t, []uint32{tt.cause, at}, []uint32{r.says(6), r.says(7)}, tt.name)
		assert.Empty(t, r.reads, tt.name)
		assert.Empty(t, r.memory, tt.name)
	}
}

// The program moves the free window, and reads through it alone. A read that fails and a write
// that is refused are access faults.
func TestFreeWindow(t *testing.T) {
	r := newRig(t)
	r.memory[onHost|0x12_3456_7000] = 42
	p := newProgram()
	p.put(2, mcureg.Local+mcureg.FreeLo, 0x3456_7000-0x40)
	p.put(2, mcureg.Local+mcureg.FreeHi, 0x8000_0012)
	p.lw(1, mcureg.Through+7*mcureg.WindowMax+0x40)
	p.say(0, 1)
	p.lw(2, mcureg.Local+mcureg.FreeHi)
	p.say(1, 2)
	p.lw(1, mcureg.Through+7*mcureg.WindowMax+0x44)
	r.start(p, 500)
	assert.Equal(t, []uint32{42, 0x8000_0012, loadBad}, []uint32{r.says(0), r.says(1), r.says(6)}, "the last read fails")
	at := uint16(mcureg.Base + mcureg.Window + 7*mcureg.Stride)
	assert.EqualValues(t, 0x3456_7000-0x40, r.get(at))
	r.set(at, 0)
	assert.EqualValues(t, 0x3456_7000-0x40, r.get(at), "the host does not move it")

	r = newRig(t)
	r.window(0, 0, 0x100|1)
	r.refuse = true
	p = newProgram()
	p.put(2, mcureg.Through, 1)
	r.start(p, 300)
	assert.EqualValues(t, putBad, r.says(6), "refused")
}
