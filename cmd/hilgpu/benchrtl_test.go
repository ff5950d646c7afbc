package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/figures"
)

func TestBenchRTLRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		text string
	}{
		{"no runs", []string{"--runs", "0"}, "must be at least 1"},
		{"no copies", []string{"--count", "0"}, "must be at least 1"},
		{"no reads", []string{"--polls", "0"}, "must be at least 1"},
		{"edits below 0", []string{"--edits", "-1"}, "must be at least 1"},
		{"an unknown configuration", []string{"--source", "../..", "--config", "huge"}, `configuration "huge"`},
		{"a directory without source", []string{"--source", "/"}, "not in the source tree"},
		{"an argument", []string{"more"}, "unknown command"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir()) // no tools: input comes first
			var stdout, stderr bytes.Buffer
			assert.Equal(t, exitUsage, run(append([]string{"bench", "rtl"}, tt.args...), &stdout, &stderr))
			assert.Contains(t, stderr.String(), tt.text)
			assert.Empty(t, stdout.String())
		})
	}
}

func TestBenchRTLNamesAMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitUsage, run([]string{"bench", "rtl", "--source", "../.."}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "missing tool: verilator (Debian package verilator)")
}

func TestBenchRTLText(t *testing.T) {
	r := benchRTLResult{Config: "small", Runs: 5, Rows: []figures.Row{
		{Name: "busy", Clocks: 1000, Slept: 250, Go: 100, Verilator: 300, Ratio: 3, Target: 2, Holds: true},
		{Name: "mixed", Clocks: 1000, Go: 100, Verilator: 300, Ratio: 3, Target: 5},
	}, Translate: figures.Translation{Seconds: 0.5, Target: 2, Holds: true}, Edit: &figures.Edit{Block: "rtl/fence", Workload: "run", Go: 2, Verilator: 30, Ratio: 15, Target: 5, Holds: true}}
	assert.Equal(t, `RTL in Go against Verilator -O3, configuration small, medians of 5

                clocks  skipped  Go ns/clock    Verilator     ratio
busy              1000   25.00%       100.00       300.00     3.00x  target 2x holds
mixed             1000    0.00%       100.00       300.00     3.00x  target 5x missed

translation 0.50 s  target 2 s holds
edit rtl/fence and run: Go 2.0 s, Verilator 30.0 s, 15.00x  target 5x holds
`, r.text())
}
