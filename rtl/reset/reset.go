// Package reset sequences the whole-device reset and the function-level reset.
package reset

import "math"

// Signals are the reset inputs of the blocks.
//
//	Pending   a reset is pending: no offer of the engines is granted
//	Whole     it ends in this clock: the registers that a driver programs and
//	          the engines are reset. Also set with Function
//	Function  a function-level reset ends in this clock: all registers of the
//	          function are reset
type Signals struct {
	Pending  bool
	Whole    bool
	Function bool
}

// State has the pending resets.
type State struct {
	Whole    bool
	Function bool
}

// Module holds reset requests until the resets are done.
//
//	In      whole, function bool, pulses that request a reset; signals, the
//	        result of Now in this clock
//	Out     State, for Now
//	Timing  1 clock from a pulse to State; a reset ends in the first clock in
//	        which nothing is in flight except reads of host memory
//	Reset   none pending
//	Order   two resets merge if the second is requested before the first ends;
//	        one requested in the clock of the end follows it
//	Paths   Now, from quiet to the blocks
//	Size    2 bits
//	Source  PCIe 3.0 §6.6.2, docs/design.md#resets
type Module struct {
	state State
}

// Now returns the reset inputs of the blocks in this clock. quiet reports whether
// the engines owe no beat, read nothing from VRAM and no register is accessed.
func Now(s State, quiet bool) Signals {
	pending := s.Whole || s.Function
	end := pending && quiet
	return Signals{Pending: pending, Whole: end, Function: end && s.Function}
}

// State returns the pending resets.
func (m *Module) State() State { return m.state }

// Tick is one rising clock edge.
func (m *Module) Tick(whole, function bool, now Signals) {
	if now.Whole {
		m.state = State{}
	}
	m.state.Whole = m.state.Whole || whole
	m.state.Function = m.state.Function || function
}

// Reset drops the pending resets.
func (m *Module) Reset() { *m = Module{} }

// IdleFor returns 0 while a reset is pending, and math.MaxUint64 otherwise.
func (m *Module) IdleFor() uint64 {
	if m.state.Whole || m.state.Function {
		return 0
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(uint64) {}
