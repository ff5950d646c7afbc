package stress

import (
	"fmt"
	"strings"
)

// String describes the state in a line, the seed first.
func (r Round) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: round %d: %d frames, %d submissions, %d preemptions, %d paging buffers; ",
		r.Seed, r.Round, r.Frames, r.DMABuffers, r.Preemptions, r.PagingBuffers)
	fmt.Fprintf(&b, "%d hangs", r.Hangs)
	for _, f := range faults {
		if n := r.Injected[f]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, f)
		}
	}
	fmt.Fprintf(&b, "; %d node resets, %d adapter resets; devices lost: %d guilty, %d with the adapter or to a lost preemption, %d without memory; ",
		r.NodeResets, r.Recoveries, r.Guilty, r.Others, r.Refused)
	if r.Cycles > 0 {
		fmt.Fprintf(&b, "%d clocks; ", r.Cycles)
	}
	fmt.Fprintf(&b, "digest %s", r.Digest)
	return b.String()
}
