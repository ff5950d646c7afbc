package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestMutantsBadInput(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"unknown configuration", []string{"--config", "huge"}, `"huge"`},
		{"no mutants", []string{"--count", "0"}, "bad count"},
		{"more than the selector counts", []string{"--count", "65536"}, "65536"},
		{"an argument", []string{"7"}, `"7"`},
		{"no source", []string{"--source", t.TempDir()}, "source tree"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir()) // no tools: input is checked first
			code, stdout, stderr := hilgpu(append([]string{"lockstep", "mutants"}, tt.args...)...)
			assert.Equal(t, exit.Usage, code)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
		})
	}
}
