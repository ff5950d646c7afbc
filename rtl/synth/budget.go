package synth

import (
	"fmt"
	"strings"
)

// LimitLUT is the most LUTs of the configuration default on ECP5, carries and LUT RAMs
// counted: three quarters of the 24288 of an LFE5U-25F.
const LimitLUT = 18000

// partsLUT is the most that the parts of the blocks may add up to. A block alone takes more
// than in the whole, where synthesis also removes logic across the borders of the blocks,
// and its size changes a little with the names and the order of its Verilog.
const partsLUT = LimitLUT * 21 / 20

// budgets returns the part of partsLUT that an instance of each block of the configuration
// default may take.
func budgets() map[string]int {
	return map[string]int{
		"gpu": 2340, "cp": 5360, "fence": 410, "dma": 1410, "pcie": 720, "perf": 670,
		"intc": 435, "noc_initiator": 395, "noc_reads": 10, "noc_writes": 12, "noc_beats": 5,
		"regram": 400, "watchdog": 365, "ident": 290, "mem": 142, "reset": 5,
	}
}

// mcuLUT is the most LUTs of the microcontroller on iCE40, with its debug unit.
const mcuLUT = 2950

// mcuBudgets returns the most LUTs of the processor, and of the rest of the microcontroller: the master on
// the register bus, windows, loader, timer, the registers of the host and the debug unit.
func mcuBudgets() map[string]int { return map[string]int{"mcu": 1430, "core": 1500} }

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
