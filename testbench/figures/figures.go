// Package figures measures the device and its emulator and compares the figures
// with their targets. Clocks are exact, because the emulator is the RTL; the speed
// of the emulator depends on this machine.
//
// It also compares the speed of the Go RTL with that of its Verilog under
// Verilator. Stimuli are recorded at the ports and replayed on both sides
// alternately:
//
//	workload ── wire ── recorder ── stimuli ──┬── GPU in Go
//	                                          └── Verilated model, a process
//
// Both sides sample the outputs in the same clocks and fold them into a digest.
// Equal digests show that both did the same work.
package figures

import (
	"fmt"
	"strings"
)

// A Figure is a measured number.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Want  string  `json:"want,omitempty"` // target; "" if there is none
	Holds bool    `json:"holds"`          // the target is reached, or there is none
}

// A bound is a target: a lower bound if least is true, otherwise an upper one.
type bound struct {
	least bool
	v     float64
}

func (b bound) String() string {
	if b.least {
		return fmt.Sprintf("at least %g", b.v)
	}
	return fmt.Sprintf("at most %g", b.v)
}

func (b bound) holds(v float64) bool { return b.least && v >= b.v || !b.least && v <= b.v }

// withTarget returns a figure that has a target.
func withTarget(name string, v float64, unit string, b bound) Figure {
	return Figure{name, v, unit, b.String(), b.holds(v)}
}

// withoutTarget returns a figure that has no target.
func withoutTarget(name string, v float64, unit string) Figure {
	return Figure{Name: name, Value: v, Unit: unit, Holds: true}
}

// Text formats figures as a table.
func Text(all []Figure) string {
	var b strings.Builder
	for _, f := range all {
		line := fmt.Sprintf("%-60s %10.3f %-14s", f.Name, f.Value, f.Unit)
		if f.Want != "" {
			line += fmt.Sprintf(" target %-14s %s", f.Want, verdict(f.Holds))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
