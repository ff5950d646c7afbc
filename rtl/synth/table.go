package synth

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// String returns the report as a table, with the placement, the goals and whether
// they hold, the memories, and the findings.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s, with %d KiB of VRAM\n", r.Config, r.Target, r.VRAMBytes>>10)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "block\tinstances\tLUT\tbudget\tFF\tcarry\tblock RAM\tLUT RAM\tDSP\tother\t")
	row := func(name string, n any, budget int, c Cells) {
		most := "-"
		if budget != 0 {
			most = strconv.Itoa(budget)
		}
		fmt.Fprintf(w, "%s\t%v\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, n, c.LUT, most, c.FF, c.Carry, c.RAM, c.LUTRAM, c.DSP, c.Other)
	}
	for _, x := range r.Blocks {
		row(x.Name, x.Instances, x.Budget, x.Cells)
	}
	row("whole", "", r.Budget, r.Total)
	w.Flush()
	for _, m := range r.Memories {
		fmt.Fprintf(&b, "memory %s: %s\n", m.Name, m.Storage)
	}
	if p := r.Placement; p != nil {
		fmt.Fprintf(&b, "%s: %d logic cells, and %d that connect it to pins; %d block RAMs\n", p.Device, p.Cells, p.PinCells, p.RAM)
		if !p.Fits {
			fmt.Fprintf(&b, "does not fit: the device has %d logic cells and %d block RAMs; no clock measured\n", DeviceCells, DeviceRAM)
		}
		for _, g := range p.Goals {
			fmt.Fprintf(&b, "goal %s: %s\n", g.Name, g)
		}
	}
	all := r.Refused()
	for _, f := range all {
		fmt.Fprintf(&b, "REFUSED %s\n", f)
	}
	if len(all) == 0 {
		b.WriteString("gate: no latch, no undriven or multiply driven net, no loop, no warning, memories as expected, no budget exceeded\n")
	}
	return b.String()
}

// String returns the verdict, the measured value and the limit.
func (g Goal) String() string {
	verdict := "holds"
	if !g.Holds {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s, %.5g, want %.5g", verdict, g.Got, g.Want)
}

// Refused returns all findings, including those of the placement and its missed goals.
func (r *Report) Refused() []Finding {
	out := append([]Finding{}, r.Findings...)
	if r.Placement == nil {
		return out
	}
	out = append(out, r.Placement.Findings...)
	for _, g := range r.Placement.Goals {
		if !g.Holds {
			out = append(out, Finding{g.kind, fmt.Sprintf("%s: %.5g, want %.5g", g.Name, g.Got, g.Want)})
		}
	}
	return out
}
