// Package reset carries out the whole reset and the function-level reset.
package reset

import "math"

// Signals are what a reset is to the blocks.
//
//	Pending   a reset is under way: nothing that the engines offer is granted
//	Whole     it ends in this clock: the registers that a driver programs and
//	          the engines are reset. Also set with Function
//	Function  a function-level reset ends in this clock: all registers of the
//	          function are reset
type Signals struct {
	Pending  bool
	Whole    bool
	Function bool
}

// State is which resets are under way.
type State struct {
	Whole    bool
	Function bool
}

// Module remembers the resets that were asked for until they end.
//
//	In      whole, function bool, pulses that ask for a reset; signals, what Now
//	        has decided in this clock
//	Out     State, for Now
//	Timing  1 clock from a pulse to State; a reset ends in the first clock in
//	        which nothing is in flight but reads of the host
//	Reset   none under way
//	Order   both are one reset if the second is asked for before the first one
//	        ends; one that is asked for in the clock of the end follows it
//	Paths   Now, from quiet to the blocks
//	Size    2 bits
//	Source  PCIe 3.0 §6.6.2, docs/design.md#resets
type Module struct {
	state State
}

// Now returns what the blocks are told in this clock. quiet is whether the
// engines owe nobody a beat, read nothing of VRAM and no register is accessed.
func Now(s State, quiet bool) Signals {
	pending := s.Whole || s.Function
	end := pending && quiet
	return Signals{Pending: pending, Whole: end, Function: end && s.Function}
}

// State returns the resets that are under way.
func (m *Module) State() State { return m.state }

// Tick is one rising clock edge.
func (m *Module) Tick(whole, function bool, now Signals) {
	if now.Whole {
		m.state = State{}
	}
	m.state.Whole = m.state.Whole || whole
	m.state.Function = m.state.Function || function
}

// Reset forgets the resets.
func (m *Module) Reset() { *m = Module{} }

// IdleFor returns 0 while a reset is under way.
func (m *Module) IdleFor() uint64 {
	if m.state.Whole || m.state.Function {
		return 0
	}
	return math.MaxUint64
}

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(uint64) {}
