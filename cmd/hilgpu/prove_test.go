package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestProveBadInput(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"unknown configuration", []string{"--config", "huge"}, `"huge"`},
		{"no property", []string{"--filter", "no-such"}, "no property matches"},
		{"bad pattern", []string{"--filter", "("}, "missing closing"},
		{"an argument", []string{"7"}, `"7"`},
		{"no source", []string{"--source", t.TempDir()}, "source tree"},
		{"no yosys", []string{"--source", "../.."}, "yosys (Debian package yosys)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir()) // no tools: input is checked first
			code, stdout, stderr := hilgpu(append([]string{"lockstep", "prove"}, tt.args...)...)
			assert.Equal(t, exit.Usage, code)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
		})
	}
}

// A property of a block that the configuration leaves out is reported as absent.
func TestProveSmall(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	code, stdout, _ := hilgpu("lockstep", "prove", "--source", "../..", "--config", "small", "--filter", "^(reset|watchdog|fence.once)")
	assert.Zero(t, code)
	assert.Equal(t, "fence.once     proven\n"+
		"watchdog.hang  absent: the configuration has no watchdog\n"+
		"reset.kept     proven\n", stdout)
}
