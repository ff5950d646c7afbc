package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// Without the tools, a bad selector is refused for its defect and a good one
// for the missing tool, in one line with a remedy.
func TestVerilatedNeeds(t *testing.T) {
	for _, tt := range []struct {
		name, board, says string
	}{
		{"tool", "verilated", "verilator (Debian package verilator)"},
		{"source", "verilated?source=/", "give source=DIR"},
		{"option", "verilated?nodes=3", "nodes=3, want a number from 1 to 2"},
		{"configuration", "verilated?tags=3", "tags 3, want 2 to 16, a power of two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			code, stdout, stderr := hilgpu("run", "compose", "--board", tt.board)
			assert.Equal(t, exit.Usage, code)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
		})
	}
}
