package testbench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hilgpu/hilgpu/bus/bustest"
)

// A bulk is a kind of transfer.
type bulk struct {
	name   string
	least  float64 // of what the bare sender reaches; 0: no target
	own    int     // size of the device's own requests, in bytes; 0: of the largest packets
	toHost bool
	move   func(r *rig) time.Duration
}

func bulks() []bulk {
	return []bulk{
		{"BAR writes", 0.6, 0, false, (*rig).barWrites},
		{"BAR reads", 0.4, 0, true, (*rig).barReads},
		{"DMA writes", 0.6, 0, true, (*rig).dmaWrites},
		{"DMA reads", 0.4, 0, false, (*rig).dmaReads},
		{"DMA writes of 128 bytes", 0, 128, true, (*rig).dmaWrites}, // as the GPU makes them
		{"DMA reads of 128 bytes", 0, 128, false, (*rig).dmaReads},
	}
}

// request returns the size of the device's own requests.
func (k *bulk) request(payload int) int {
	if k.own > 0 {
		return k.own
	}
	return payload
}

// report prints a ratio, and its target if there is one.
func (k *bulk) report(b *testing.B, where string, ratio float64, unit string, least float64) {
	what := k.name + " over " + where + ", median"
	if k.least == 0 {
		b.Logf("%-34s %10.3f %-12s no target", what, ratio, unit)
		return
	}
	bustest.Figure(b, what, ratio, unit, ratio >= least, fmt.Sprintf("at least %.1f", least))
}
