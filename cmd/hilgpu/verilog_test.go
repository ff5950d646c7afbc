package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

func TestVerilog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	var stdout, stderr bytes.Buffer
	code := run([]string{"verilog", "--config", "small", "--source", "../..", "-o", dir, "--json"}, &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	var s verilogSummary
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &s))
	assert.Equal(t, "gpu", s.Top)

	list, err := os.ReadFile(filepath.Join(dir, "files.f"))
	require.NoError(t, err)
	names := bytes.Fields(list)
	require.Len(t, names, s.Files)
	for _, name := range names {
		assert.FileExists(t, filepath.Join(dir, string(name)))
	}
	var m verilog.Manifest
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &m))
	assert.Equal(t, regmap.Hash(), m.MapHash)
	assert.Len(t, m.Registers, s.Registers)
}

func TestVerilogRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"an unknown configuration", []string{"--config", "huge", "-o", "x"}},
		{"no output", nil},
		{"a directory outside of the source", []string{"--source", "/", "-o", "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, exitUsage, run(append([]string{"verilog"}, tt.args...), &stdout, &stderr))
			assert.NotEmpty(t, stderr.String())
		})
	}
}
