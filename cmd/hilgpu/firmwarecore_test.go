package main

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// The core file of a program that runs has its state. A processor in reset has none.
func TestFirmwareCore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "core")
	code, stdout, stderr := hilgpu("firmware", "core", path, "--board", withMCU)
	assert.Equal(t, exit.Device, code)
	assert.Contains(t, stderr, "mcu: the processor is in reset")
	assert.Empty(t, stdout)
	assert.NoFileExists(t, path)
	code, stdout, stderr = hilgpu("firmware", "core", path, "--load", "--board", withMCU)
	require.Zero(t, code, stderr)
	assert.Regexp(t, `^core     .*core, \d+ bytes, running, pc 0x0000[0-9a-f]{4}\n$`, stdout)
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, elf.ET_CORE, f.Type)
}

// A run whose firmware does not hang writes no core file.
func TestNoFirmwareCore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "core")
	code, _, stderr := hilgpu("run", "compose", "--check", "--size", "16x16", "--board", withMCU, "--firmware-core", path)
	require.Zero(t, code, stderr)
	assert.NoFileExists(t, path)
	code, _, stderr = hilgpu("run", "lists", "--lists", "10", "--board", "emu", "--firmware-core", filepath.Join(path, "none"))
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, "core")
}
