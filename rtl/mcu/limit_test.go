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

// A program that is silent for LIMIT clocks is halted, with one event. One that writes KICK in
// time, sleeps, or is halted is not.
func TestLimit(t *testing.T) {
	r := newRig(t)
	r.set(mcureg.Base+mcureg.Limit, 500)
	r.start(newProgram(), 0)
	for n := 0; r.Hangs == 0; n++ {
		require.Less(t, n, 600)
		r.run(1)
	}
	r.run(1000)
	assert.Equal(t, 1, r.Hangs)
	assert.EqualValues(t, mcureg.StatusHung|mcureg.StatusHalted, r.get(mcureg.Base+mcureg.Status))
	r.set(ctl, 0)
	assert.EqualValues(t, 0, r.get(mcureg.Base+mcureg.Status))

	r = newRig(t)
	r.set(mcureg.Base+mcureg.Limit, 500)
	p := newProgram()
	p.li(2, mcureg.Local+mcureg.Kick)
	p.add(rv32test.S(0x23, 2, 2, 0, 0), rv32test.J(0, 0x1ffffc))
	r.start(p, 2000)
	assert.Zero(t, r.Hangs, "a program that kicks")

	r = newRig(t)
	r.set(mcureg.Base+mcureg.Limit, 500)
	r.start(interrupted(0, func(*program) {}), 2000)
	assert.Zero(t, r.Hangs, "a program that sleeps")
	assert.EqualValues(t, mcureg.StatusAsleep, r.get(mcureg.Base+mcureg.Status))
}

// Only a write of KICK is a sign of life: a read of it, as of each other register of the program, is not.
func TestLimitOfReads(t *testing.T) {
	for at := uint32(mcureg.TimeLo); at < mcureg.Mail+4*mcureg.Mails; at += 4 {
		r := newRig(t)
		r.set(mcureg.Base+mcureg.Limit, 500)
		p := newProgram()
		p.li(10, mcureg.Local)
		p.add(rv32test.I(0x03, 2, 11, 10, at), rv32test.J(0, 0x1ffffc)) // lw x11, at(x10); j -4
		r.start(p, 2000)
		assert.Equal(t, 1, r.Hangs, "a program that reads %#x", at)
	}
}

// LIMIT is exact, and counts from its write, also from one below the clocks that have passed.
func TestLimitInClocks(t *testing.T) {
	hang := func(r *rig, most int) int {
		t.Helper()
		for n := 0; ; n++ {
			require.LessOrEqual(t, n, most, "no hang")
			if r.Hangs != 0 {
				return n
			}
			r.run(1)
		}
	}
	first := 0
	for _, limit := range []uint32{1, 2, 3, 100, 300} {
		r := newRig(t)
		r.start(newProgram(), 100)
		r.set(mcureg.Base+mcureg.Limit, 500)
		r.run(400)
		require.Zero(t, r.Hangs)
		r.set(mcureg.Base+mcureg.Limit, limit)
		n := hang(r, 400)
		if limit == 1 {
			first = n
			continue
		}
		assert.EqualValues(t, limit-1, n-first, "LIMIT %d", limit)
	}
}

// A whole-device reset in the clock in which the program has been silent for LIMIT clocks leaves no event.
func TestLimitInReset(t *testing.T) {
	r := newRig(t)
	r.set(mcureg.Base+mcureg.Limit, 300)
	r.start(newProgram(), 0)
	for n := 0; !r.AtLimit(); n++ {
		require.Less(t, n, 400)
		r.run(1)
	}
	r.tick(regbus.Req{}, reset.Signals{Whole: true})
	assert.False(t, r.Hang())
	r.run(400)
	assert.Zero(t, r.Hangs)
}

// A LIMIT of 0 halts no program, also when the count of the clocks begins again.
func TestNoLimit(t *testing.T) {
	r := newRig(t)
	r.start(newProgram(), 100)
	r.Age(math.MaxUint32 - 10)
	r.run(100)
	assert.Zero(t, r.Hangs)
	assert.Zero(t, r.get(mcureg.Base+mcureg.Status))
}
