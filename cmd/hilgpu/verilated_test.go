package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
)

// What the board verilated needs and does not find is bad usage, in one line
// that says what to do.
func TestVerilatedNeeds(t *testing.T) {
	for _, tt := range []struct {
		name, board, says string
		noTools           bool
	}{
		{"tool", "verilated", "verilator (Debian package verilator)", true},
		{"source", "verilated?source=/", "give source=DIR", false},
		{"option", "verilated?nodes=3", "nodes=3, want a number from 1 to 2", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.noTools {
				t.Setenv("PATH", t.TempDir())
			} else if !simtest.Installed(t, sim.Verilator.Check()) {
				t.Skip("no Verilator")
			}
			code, stdout, stderr := hilgpu("run", "compose", "--board", tt.board)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
		})
	}
}
