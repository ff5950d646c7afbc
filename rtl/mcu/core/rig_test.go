package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A rig is a core with a program and a bus that the test answers.
type rig struct {
	t     *testing.T
	m     Module
	irq   Interrupts
	ctl   Control
	dbg   Debug
	slave func(r Request) Answer // nil: each access fails
	clock uint64
}

// newRig returns a core that has read words at 0 and is about to start.
func newRig(t *testing.T, c Config, words ...uint32) *rig {
	t.Helper()
	r := &rig{t: t, m: New(c)}
	r.load(0, words...)
	return r
}

// load writes words to the memory of a core that is held.
func (r *rig) load(at uint32, words ...uint32) {
	for i, w := range words {
		r.m.Tick(Interrupts{}, Answer{}, Control{Hold: true}, Debug{}, Load{true, uint16(at/4) + uint16(i), w})
	}
}

func (r *rig) tick() {
	a := Answer{}
	if q := r.m.Request(); q.Valid {
		a = Answer{Done: true, Fault: true}
		if r.slave != nil {
			a = r.slave(q)
		}
	}
	r.m.Tick(r.irq, a, r.ctl, r.dbg, Load{})
	r.clock++
	r.ctl.Resume, r.ctl.Step, r.dbg.Exec = false, false, false
}

// until ticks until a condition holds, at most 10,000 clocks.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	for range 10_000 {
		if holds() {
			return
		}
		r.tick()
	}
	require.Fail(r.t, "never", what)
}

// at runs until the instruction at pc is about to be decoded: all before it is complete.
func (r *rig) at(pc uint32) {
	r.t.Helper()
	r.until("the address", func() bool { return r.m.state == stateDecode && r.m.pc == pc })
}

// run executes n instructions that complete.
func (r *rig) run(n int) {
	r.t.Helper()
	for range n {
		r.tick()
		r.until("a complete instruction", func() bool { return r.m.retired })
	}
	r.tick()
}

// x returns a register.
func (r *rig) x(i uint32) uint32 { return uint32(r.m.left.Word(i)) }

// set gives a register a value, as if the program had.
func (r *rig) set(i, v uint32) {
	r.m.left.SetWord(i, uint64(v))
	r.m.right.SetWord(i, uint64(v))
}

// row returns a CSR that is a row.
func (r *rig) row(i uint32) uint32 { return uint32(r.m.right.Word(i)) }

var small = Config{Bytes: MinBytes, Counters: true, Debug: true}
