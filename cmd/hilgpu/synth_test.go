package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestSynthRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		text string
	}{
		{"an unknown configuration", []string{"--source", "../..", "--config", "huge"}, `configuration "huge", want full, default or small`},
		{"an unknown target", []string{"--source", "../..", "--target", "stratix"}, "unknown target"},
		{"a configuration without a table", []string{"--source", "../..", "--config", "small?hz=1"}, "no table of expected memories for small?hz=1"},
		{"a directory without source", []string{"--source", "/"}, "not in the source tree"},
		{"an argument", []string{"more"}, "takes no arguments"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir()) // no tools: input is checked first
			var stdout, stderr bytes.Buffer
			assert.Equal(t, exit.Usage, run(append([]string{"synth"}, tt.args...), &stdout, &stderr))
			assert.Contains(t, stderr.String(), tt.text)
			assert.Empty(t, stdout.String())
		})
	}
}

func TestSynthNamesAMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exit.Usage, run([]string{"synth", "--source", "../.."}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "missing tool: yosys (Debian package yosys)")
}
