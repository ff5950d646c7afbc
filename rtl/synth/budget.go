package synth

import (
	"fmt"
	"strings"
)

// LimitLUT is the most LUTs of the configuration default on ECP5, carries and LUT RAMs
// counted. With it the GPU and a link fit into an LFE5U-25F, which has 24288.
const LimitLUT = 18000

// budgets returns the part of LimitLUT that an instance of each block of the configuration
// default may take. Its sum over the instances is at most LimitLUT.
func budgets() map[string]int {
	return map[string]int{
		"gpu": 2000, "cp": 5000, "fence": 400, "dma": 1400, "pcie": 730, "perf": 700,
		"intc": 450, "noc_initiator": 400, "noc_reads": 20, "noc_writes": 20, "noc_beats": 20,
		"regram": 420, "watchdog": 380, "ident": 300, "mem": 150, "reset": 10,
	}
}

// limit sets the budgets in the blocks of r, and returns what exceeds one. A block without a
// part of the budget is a finding, so no block is left out.
func (e Expectation) limit(r *Report) []Finding {
	var out []Finding
	add := func(format string, args ...any) {
		out = append(out, Finding{Size, fmt.Sprintf(format, args...)})
	}
	if e.LUT != 0 && r.Total.LUT > e.LUT {
		add("%d LUTs, want at most %d", r.Total.LUT, e.LUT)
	}
	for i, b := range r.Blocks {
		if e.Budgets == nil {
			break
		}
		name, _, _ := strings.Cut(b.Name, "(")
		most, ok := e.Budgets[name]
		r.Blocks[i].Budget = most
		switch {
		case !ok:
			add("%s has no part of the budget; it takes %d LUTs", b.Name, b.LUT)
		case b.LUT > most:
			add("%s takes %d LUTs, want at most %d", b.Name, b.LUT, most)
		}
	}
	return out
}
