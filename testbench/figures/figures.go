// Package figures measures what the device and its emulation reach, and says
// whether that is what they have to: clocks, which are exact because the emulator
// is the RTL, and the speed of the emulation, which is this machine's.
//
// It also measures the RTL in Go against its own Verilog under Verilator: the same
// stimuli, recorded at the ports, replayed by turns in one run.
//
//	workload ── wire ── recorder ── stimuli ──┬── GPU in Go
//	                                          └── Verilated model, a process
//
// Both sides look at the outputs in the same clocks and fold them into a digest,
// which must be the same: it shows that both did the same work.
package figures

import (
	"fmt"
	"strings"
)

// A Figure is a number that was measured.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Want  string  `json:"want,omitempty"` // what it has to be, "" if it is only told
	Holds bool    `json:"holds"`          // it is what it has to be
}

// A bound is what a figure has to reach: at least, or at most, so much.
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

// against returns a figure that has a target.
func against(name string, v float64, unit string, b bound) Figure {
	return Figure{name, v, unit, b.String(), b.holds(v)}
}

// told returns a figure that has none.
func told(name string, v float64, unit string) Figure {
	return Figure{Name: name, Value: v, Unit: unit, Holds: true}
}

// Text returns figures as a table.
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
