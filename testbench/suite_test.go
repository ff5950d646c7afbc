package testbench_test

import (
	"testing"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// TestSuite runs the whole-system suite on the board chosen with -board.
func TestSuite(t *testing.T) {
	for _, i := range suite.Expand(*board, *seed, *runs) {
		t.Run(i.Name, func(t *testing.T) {
			if *board == "emu" {
				t.Parallel() // each instance has its own board
			}
			i.Run(t, testbench.HostDrivers())
		})
	}
}
