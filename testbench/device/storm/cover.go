package storm

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// A coverage counts how often bins were hit.
type coverage struct {
	all  []Bin
	hits map[Bin]uint64
}

func newCoverage(all []Bin) *coverage { return &coverage{all, map[Bin]uint64{}} }

// hit counts one hit for each bin.
func (c *coverage) hit(bs []Bin) {
	for _, b := range bs {
		c.hits[b]++
	}
}

// missing returns the bins without a hit.
func (c *coverage) missing() []Bin {
	var m []Bin
	for _, b := range c.all {
		if c.hits[b] == 0 {
			m = append(m, b)
		}
	}
	return m
}

// A Count is a bin and its number of hits.
type Count struct {
	Bin
	Hits uint64 `json:"hits"`
}

// A Report is the result of a run.
type Report struct {
	Board   string   `json:"board"`
	Seed    uint64   `json:"seed"`
	Clocks  uint64   `json:"clocks"` // clocks of the board
	Rounds  int      `json:"rounds"`
	Packets uint64   `json:"packets"` // packets retired
	Covered int      `json:"covered"` // bins with a hit
	Total   int      `json:"total"`
	Bins    []Count  `json:"bins"`
	Missing []Bin    `json:"missing"`
	Listing []string `json:"listing,omitempty"` // packets of a round that differs, one a line
}

func (s *storm) report(clocks uint64) *Report {
	r := &Report{Board: s.Board, Seed: s.Seed, Clocks: clocks, Rounds: s.rounds, Packets: s.packets, Missing: s.cover.missing(), Listing: s.listing}
	for _, b := range s.cover.all {
		r.Bins = append(r.Bins, Count{b, s.cover.hits[b]})
	}
	r.Total, r.Covered = len(r.Bins), len(r.Bins)-len(r.Missing)
	return r
}

// Text returns the report as a table: a line for each packet, operand and outcome, with
// the hits in each state, or MISSING for a bin without a hit.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %-24s %-11s %9s %9s %9s\n", "packet", "operand", "outcome", refmodel.InRing, refmodel.InIndirect, refmodel.Guarded)
	type key struct{ packet, operand, outcome string }
	rows := map[key][refmodel.Places]string{}
	var order []key
	for _, c := range r.Bins {
		k := key{c.Packet, c.Operand, c.Outcome}
		row, ok := rows[k]
		if !ok {
			order = append(order, k)
		}
		for p := range refmodel.Places {
			if p.String() != c.State {
				continue
			}
			row[p] = fmt.Sprint(c.Hits)
			if c.Hits == 0 {
				row[p] = "MISSING"
			}
		}
		rows[k] = row
	}
	for _, k := range order {
		row := rows[k]
		fmt.Fprintf(&b, "%-12s %-24s %-11s %9s %9s %9s\n", k.packet, k.operand, k.outcome, row[refmodel.InRing], row[refmodel.InIndirect], row[refmodel.Guarded])
	}
	fmt.Fprintf(&b, "%d of %d bins hit, %d packets in %d rounds, %d clocks, seed %d on %s\n",
		r.Covered, r.Total, r.Packets, r.Rounds, r.Clocks, r.Seed, r.Board)
	return b.String()
}
