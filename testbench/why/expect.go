package why

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// An expectation is a fault that the command expects.
type expectation struct {
	Point
	node, cause, address uint64
}

// expects reports whether the command expected a fault of the hardware.
func (b *builder) expects(e *eventlog.Event) bool {
	for i, x := range b.expected {
		if x.node == e.Fields[0] && x.cause == e.Fields[2] && x.address == e.Fields[3] {
			b.expected = slices.Delete(b.expected, i, i+1)
			b.wanted++
			return true
		}
	}
	return false
}

// onPurpose adds the faults that the command made on purpose, and those that it expected in vain.
func (r *Run) onPurpose(a *Answer) {
	if r.wanted > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("faults that the command made on purpose, and that are left out: %d", r.wanted))
	}
	if a.Missing == "" {
		return
	}
	for _, x := range r.expected {
		a.Notes = append(a.Notes, fmt.Sprintf("the command expected the fault %s of node %d at %s, at clock %d, and it did not happen",
			causeName(x.cause), x.node, pkt.FormatAddr(x.address), x.Time))
	}
}
