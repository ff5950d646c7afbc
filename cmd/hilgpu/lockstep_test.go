package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestLockstepBadInput(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"unknown configuration", []string{"--config", "huge"}, `"huge"`},
		{"unknown simulator", []string{"--sim", "spice"}, `unknown simulator "spice", want verilator, icarus or netlist`},
		{"a wave that cannot be written", []string{"--wave", "/nowhere/x.vcd"}, "cannot write /nowhere/x.vcd"},
		{"no source", []string{"--source", "/"}, "not in the source tree"},
		{"seed of text", []string{"--seed", "x"}, "seed"},
		{"two stimuli", []string{"--session", "--storm"}, "--session and --storm exclude each other"},
		{"an argument", []string{"7"}, `"7"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir()) // no tools: input is checked first
			code, stdout, stderr := hilgpu(append([]string{"lockstep"}, tt.args...)...)
			assert.Equal(t, exit.Usage, code)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
		})
	}
}

func TestLockstep(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, lockstep.Icarus.Tools()...)
	for config, cycles := range map[string]uint64{"small": 300, "small?mcu=1&mcumem=8KiB": 2000} {
		args := []string{"lockstep", "--config", config, "--sim", "icarus", "--cycles", fmt.Sprint(cycles), "--json"}
		code, stdout, stderr := hilgpu(args...)
		require.Zero(t, code, stderr)
		var r lockstepResult
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		assert.Equal(t, cycles+1, r.Cycles, "including the reset")
		assert.Equal(t, config, r.Config)
		assert.Greater(t, r.Registers, 200)
	}
	code, _, stderr := hilgpu("lockstep", "--source", t.TempDir())
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, "source tree")
}

// A storm in lockstep prints its bins and ends when all are hit. It fails if one is not.
func TestLockstepStorm(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, lockstep.Verilator.Tools()...)
	code, stdout, stderr := hilgpu("lockstep", "--source", "../..", "--config", "small", "--storm", "--json")
	require.Zero(t, code, stderr)
	var r lockstepResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, "storm", r.Stimulus)
	assert.Empty(t, r.Storm.Missing)
	assert.Greater(t, r.Storm.Total, 500)
	assert.Less(t, r.Cycles, uint64(stormCycles))

	code, stdout, stderr = hilgpu("lockstep", "--source", "../..", "--config", "small", "--storm", "--cycles", "5000")
	assert.Equal(t, exit.Check, code)
	assert.Contains(t, stdout, "MISSING")
	assert.Contains(t, stdout, "0 divergences")
	assert.Contains(t, stderr, "bins were not hit")
	assert.NotContains(t, stderr, "Usage")
}

// Sweeps in lockstep are the same for each seed and end by themselves.
func TestLockstepSweep(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, lockstep.Verilator.Tools()...)
	code, stdout, stderr := hilgpu("lockstep", "--source", "../..", "--config", "small", "--sweep", "--cycles", "10", "--json")
	require.Zero(t, code, stderr)
	var r lockstepResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, "sweep", r.Stimulus)
	assert.Greater(t, r.Cycles, uint64(100_000))
}
