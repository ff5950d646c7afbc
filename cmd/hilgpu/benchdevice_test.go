package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestBenchDevice(t *testing.T) {
	tooltest.Long(t)
	var stdout, stderr bytes.Buffer
	require.Equal(t, exit.OK, run([]string{"bench", "device", "--turns", "1"}, &stdout, &stderr), "%s", &stderr)
	assert.Contains(t, stdout.String(), "copy of 64 KiB, VRAM to VRAM")
	assert.Contains(t, stdout.String(), "emulation, idle/noskip against skip")
	assert.Contains(t, stdout.String(), "target at least 100")

	stdout.Reset()
	require.Equal(t, exit.OK, run([]string{"bench", "device", "--turns", "1", "--json"}, &stdout, &stderr), "%s", &stderr)
	var all figuresJSON
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &all))
	assert.Len(t, all.Figures, 49)

	assert.Equal(t, exit.Usage, run([]string{"bench", "device", "--turns", "0"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "--turns 0, want at least 1")
}
