package breaks

import (
	"slices"

	"github.com/hilgpu/hilgpu/testbench"
)

// A Break is a driver that breaks its contract at one place.
type Break struct {
	Name     string // unique
	Pitfall  int    // number in Pitfalls, or 0
	Mistake  string // one of Pitfall.Mistakes, or "" if the pitfall has none
	Doc      string // what the driver does, as a sentence
	Rule     string // that names it
	Function string // that the violation names
	Own      bool   // the drivers of this GPU are changed, since the small ones lack the feature
	Work     string // the workload that shows it
	Seed     uint64 // testbench.Options.Seed
	Hangs    bool   // a call never returns

	Drivers func(base testbench.Drivers) testbench.Drivers
}

// All returns the breaks. Names are unique.
func All() []Break {
	return slices.Concat(families(), userBreaks(), listBreaks(), miniportBreaks(), twiceBreaks(), accessBreaks(), apertureBreaks(), unmapBreaks(), preemptBreaks(), sharedBreaks(), abandonedBreaks(), capabilityBreaks(), discardBreaks(), drawBreaks())
}
