package sanitize_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/stress"
)

// Nodes that are preempted while both of them move data, and allocations that move while their work is
// stopped, break no rule.
func TestPreemptionBreaksNoRule(t *testing.T) {
	for _, seed := range []uint64{6, 27} { // a withdrawn descriptor; an eviction of what stopped work uses
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, err := stress.Run(stress.Options{
				Board: "emu?vram=64KiB", Drivers: testbench.HostDrivers(), System: testbench.Options{Sanitize: true},
				Processes: 4, Seed: seed, Rounds: 1, Frames: 4, Pressure: 1.5,
			})
			require.NoError(t, err)
			require.Positive(t, r.Preemptions)
			require.Positive(t, r.PagingBuffers)
		})
	}
}

// Paging buffers that continue after a preemption use the pages of an aperture as before it.
func TestPagingContinuesByThePage(t *testing.T) {
	r, err := stress.Run(stress.Options{
		Board: "emu?gart=1&vram=128KiB", Drivers: testbench.HostDrivers(), System: testbench.Options{Sanitize: true},
		Processes: 4, Contexts: 2, Seed: 2, Rounds: 1, Frames: 4, Pressure: 1.5,
	})
	require.NoError(t, err)
	require.Positive(t, r.Preemptions)
}
