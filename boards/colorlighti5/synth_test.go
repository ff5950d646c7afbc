package colorlighti5

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// mostLUT is the most LUTs of the shell without the design.
const mostLUT = 450

// files returns the shell and files of testdata.
func files(t *testing.T, names ...string) []verilog.File {
	t.Helper()
	out := append(Parts(), verilog.File{Name: "shell.v", Text: Shell})
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		out = append(out, verilog.File{Name: name, Text: text})
	}
	return out
}

// TestSize synthesises the shell. Both queues are in block RAM, and the log has no finding.
func TestSize(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	s := synth.Source{Files: files(t, "board.vh", "wires.v"), Top: "shell", Cells: true, MHz: 25}
	r, err := synth.Run(s, synth.ECP5, synth.Expectation{RAM: 3, LUT: mostLUT, Memories: []synth.Memory{
		{Name: "rx_queue.mem", Storage: synth.InBlock}, {Name: "tx_queue.mem", Storage: synth.InBlock},
	}})
	require.NoError(t, err)
	t.Logf("%+v", r.Total)
	assert.Empty(t, r.Findings)
}

// TestLint: Verilator gives no warning, except for bits that are not used.
func TestLint(t *testing.T) {
	tooltest.Need(t, "verilator")
	dir := t.TempDir()
	args := []string{"--lint-only", "-Wall", "-Wno-UNUSED", "--no-timing", "-Wno-ASSIGNDLY", "--top-module", "shell"}
	for _, f := range files(t, "board.vh", "wires.v", "cells.v") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o666))
		if f.Name != "board.vh" {
			args = append(args, f.Name)
		}
	}
	cmd := exec.Command("verilator", append(args, "-Wno-DECLFILENAME", "-Wno-TIMESCALEMOD")...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	assert.Empty(t, string(text))
}
