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
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestVerilog(t *testing.T) {
	tooltest.Long(t)
	dir := filepath.Join(t.TempDir(), "new", "dir")
	var stdout, stderr bytes.Buffer
	code := run([]string{"verilog", "--config", "small", "--source", "../..", "-o", dir, "--json"}, &stdout, &stderr)
	require.Equal(t, exit.OK, code, stderr.String())
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

// Files of an earlier design are not mixed with those of this one. Files that
// never belonged to a design are kept.
func TestVerilogReplaces(t *testing.T) {
	tooltest.Long(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"files.f": "gpu.v\nold.v\n../mine.v\nmine.txt\n", "old.v": "", "mine.v": "", "mine.txt": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	code, _, stderr := hilgpu("verilog", "--config", "small", "--source", "../..", "-o", dir)
	require.Equal(t, exit.OK, code, stderr)
	assert.NoFileExists(t, filepath.Join(dir, "old.v"))
	assert.FileExists(t, filepath.Join(dir, "mine.v"))
	assert.FileExists(t, filepath.Join(dir, "mine.txt"))
	assert.FileExists(t, filepath.Join(dir, "gpu.v"))
}

// A design is written completely or not at all.
func TestVerilogInTheWay(t *testing.T) {
	tooltest.Long(t)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "gpu.v"), 0o700))
	code, stdout, stderr := hilgpu("verilog", "--config", "small", "--source", "../..", "-o", dir)
	assert.Equal(t, exit.Usage, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "gpu.v: it is a directory")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1)
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
			assert.Equal(t, exit.Usage, run(append([]string{"verilog"}, tt.args...), &stdout, &stderr))
			assert.NotEmpty(t, stderr.String())
		})
	}
}
