package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
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
		{"an argument", []string{"more"}, "takes no arguments"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir()) // no tools: input is checked first
			var stdout, stderr bytes.Buffer
			assert.Equal(t, exit.Usage, run(append([]string{"bench", "rtl"}, tt.args...), &stdout, &stderr))
			assert.Contains(t, stderr.String(), tt.text)
			assert.Empty(t, stdout.String())
		})
	}
}

func TestBenchRTLNamesAMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exit.Usage, run([]string{"bench", "rtl", "--source", "../.."}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "missing tool: verilator (Debian package verilator)")
}
