package mcu_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// interrupted is a program that enables interrupts and sleeps. Its handler says mcause.
func interrupted(enable uint32, more func(p *program)) *program {
	p := newProgram()
	more(p)
	p.li(1, enable)
	p.add(rv32test.I(0x73, 1, 0, 1, 0x304), rv32test.I(0x73, 6, 0, 8, 0x300), rv32test.WFI)
	return p
}

// A doorbell is the software interrupt until it is cleared, the time reaches the compare value
// for that of the timer, and an event that is chosen is the external one.
func TestInterrupts(t *testing.T) {
	r := newRig(t)
	r.start(interrupted(0x888, func(*program) {}), 200)
	assert.EqualValues(t, none, r.says(6))
	assert.EqualValues(t, mcureg.StatusAsleep, r.get(mcureg.Base+mcureg.Status))
	r.set(mcureg.Base+mcureg.Doorbell, 1<<9)
	r.run(100)
	assert.EqualValues(t, 1<<31|3, r.says(6))

	r = newRig(t)
	r.start(interrupted(0x888, func(p *program) {
		p.put(2, mcureg.Local+mcureg.CompareHi, 0)
		p.put(2, mcureg.Local+mcureg.CompareLo, 3000)
	}), 0)
	for r.now < 2990 {
		r.run(1)
	}
	assert.EqualValues(t, none, r.says(6))
	r.run(100)
	assert.EqualValues(t, 1<<31|7, r.says(6))

	r = newRig(t)
	r.Events = 0x101
	r.start(interrupted(0x888, func(p *program) { p.put(2, mcureg.Local+mcureg.Events, 0x402) }), 300)
	assert.EqualValues(t, none, r.says(6), "events that are not chosen")
	r.Events = 0x501
	r.run(100)
	assert.EqualValues(t, 1<<31|11, r.says(6))
}

// The program sees the doorbells that rang, and clears them. The time is that of the GPU.
func TestDoorbellAndTime(t *testing.T) {
	r := newRig(t)
	r.now = 5<<32 | 1000
	r.set(mcureg.Base+mcureg.Doorbell, 0x8001)
	r.set(mcureg.Base+mcureg.Doorbell, 0x10)
	p := newProgram()
	for i, at := range []uint32{mcureg.LocalDoorbell, mcureg.TimeLo, mcureg.TimeHi} {
		p.lw(1, mcureg.Local+at)
		p.say(uint32(i), 1)
	}
	p.put(2, mcureg.Local+mcureg.LocalDoorbell, 0x8000)
	p.lw(1, mcureg.Local+mcureg.LocalDoorbell)
	p.say(3, 1)
	r.start(p, 400)
	assert.Equal(t, []uint32{0x8011, 5, 0x11}, []uint32{r.says(0), r.says(2), r.says(3)})
	assert.Less(t, r.says(1)-1000, uint32(2000))
}

// The compare value of the timer is all ones after a reset, and the program reads what it wrote.
func TestCompare(t *testing.T) {
	r := newRig(t)
	r.run(1)
	for range 2 {
		p := newProgram()
		for i, at := range []uint32{mcureg.CompareLo, mcureg.CompareHi} {
			p.lw(1, mcureg.Local+at)
			p.say(uint32(i), 1)
			p.put(2, mcureg.Local+at, 0x1234_5678<<i)
			p.lw(1, mcureg.Local+at)
			p.say(uint32(2+i), 1)
		}
		r.start(p, 600)
		assert.Equal(t, []uint32{0xffff_ffff, 0xffff_ffff, 0x1234_5678, 0x2468_acf0}, []uint32{r.says(0), r.says(1), r.says(2), r.says(3)})
		r.tick(regbus.Req{}, reset.Signals{Whole: true})
		r.run(64)
	}
}

// An access to a register of the program takes 3 clocks after the 3 of its instruction. One to a
// register that the RAM has takes 5.
func TestTiming(t *testing.T) {
	for _, tt := range []struct {
		name   string
		off    uint32
		clocks uint32
	}{
		{"time", mcureg.TimeHi, 3},
		{"doorbells", mcureg.LocalDoorbell, 3},
		{"events", mcureg.Events, 3},
		{"mail word", mcureg.Mail, 5},
		{"compare value", mcureg.CompareHi, 5},
		{"base of window 7", mcureg.FreeLo, 5},
	} {
		r, p := newRig(t), newProgram()
		p.li(30, mcureg.Local)
		for _, a := range [][2]uint32{{1, mcureg.TimeLo}, {2, tt.off}, {3, mcureg.TimeLo}} {
			p.add(rv32test.I(0x03, 2, a[0], 30, a[1]))
		}
		p.add(0x40000000 | 1<<20 | 3<<15 | 3<<7 | 0x33) // SUB x3, x3, x1
		p.say(0, 3)
		r.start(p, 300)
		assert.Equal(t, 3+3+3+tt.clocks, r.says(0), tt.name)
	}
}

// A doorbell rings at each clock around the clear of another one: it stays set.
func TestDoorbellAtEachClock(t *testing.T) {
	for wait := range 60 {
		r := newRig(t)
		r.set(mcureg.Base+mcureg.Doorbell, 1)
		p := newProgram()
		p.put(2, mcureg.Local+mcureg.LocalDoorbell, 1)
		p.lw(1, mcureg.Local+mcureg.LocalDoorbell)
		p.say(0, 1)
		p.put(2, mcureg.Local+mcureg.LocalDoorbell, 0)
		p.lw(1, mcureg.Local+mcureg.LocalDoorbell)
		p.say(1, 1)
		r.start(p, wait)
		r.tick(regbus.Req{Op: regbus.Write, Off: mcureg.Base + mcureg.Doorbell, Data: 2}, reset.Signals{})
		r.run(300)
		assert.EqualValues(t, 2, r.says(1), "after %d clocks", wait)
		assert.Zero(t, r.says(0)&1, "after %d clocks", wait)
	}
}

// A clock more of LIMIT is a clock more until the event.
func TestLimitExact(t *testing.T) {
	until := func(limit uint32) (n uint32) {
		r := newRig(t)
		r.set(mcureg.Base+mcureg.Limit, limit)
		r.start(newProgram(), 0)
		for r.Hangs == 0 {
			require.Less(t, n, limit+10)
			r.run(1)
			n++
		}
		return n
	}
	first := until(500)
	assert.InDelta(t, 500, first, 3, "the host's write of CTL takes clocks too")
	for _, limit := range []uint32{501, 502, 512, 1025} {
		assert.Equal(t, first+limit-500, until(limit))
	}
}

// After a reset the timer is not due before the end of time.
func TestNeverDue(t *testing.T) {
	r := newRig(t)
	r.now = math.MaxUint64 - 2000
	r.start(interrupted(0x80, func(*program) {}), 300)
	assert.EqualValues(t, none, r.says(6))
	assert.EqualValues(t, mcureg.StatusAsleep, r.get(mcureg.Base+mcureg.Status))
}
