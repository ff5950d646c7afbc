package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// --dump keeps the state from before the reset of a node, and from a stop of the adapter. A run
// without one leaves the directory empty.
func TestDump(t *testing.T) {
	for _, tt := range []struct {
		board  string
		code   int
		file   string
		reason string
	}{
		{"emu?fault=lost-doorbell&after=3&count=30", exit.Device, "reset-1.txt", "dxgkrnl: GPU time-out: node 0, fence 5: "},
		{"emu?config=small&fault=lost-answer&readtimeout=0&after=5", exit.Device, "reset-1.txt", "dxgkrnl: GPU time-out: node 0, fence "},
		{"emu", exit.OK, "", ""},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		code, _, stderr := hilgpu("run", "compose", "--size", "32x32", "--board", tt.board, "--dump", dir)
		assert.Equal(t, tt.code, code, stderr)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		if tt.file == "" {
			assert.Empty(t, files)
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, tt.file))
		require.NoError(t, err)
		assert.Contains(t, string(text), tt.reason)
		assert.Contains(t, string(text), "\nCP0: last submitted fence ")
		assert.Contains(t, string(text), "\nCP0.RPTR=")
	}
	code, _, stderr := hilgpu("run", "compose", "--size", "32x32", "--dump", os.DevNull+"/x")
	assert.Equal(t, exit.Usage, code)
	assert.Equal(t, "hilgpu: bad input: cannot write "+os.DevNull+"/x: not a directory\n", stderr)
}
