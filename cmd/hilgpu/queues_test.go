package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// --firmware-queues has the same errors in each command that runs the drivers. A board that cannot do it is bad
// input.
func TestFirmwareQueues(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		board, flags, says string
		want               int
	}{
		{"emu?config=full", "--firmware-queues --firmware-quantum 2000 --firmware-preempt", "", exit.OK},
		{"emu", "--firmware-queues", "testbench: no firmware queues: the GPU lacks mcu; want mcu=1, contexts=1, preemption=1, signal=1, at least 64 KiB of VRAM, ", exit.Usage},
		{"emu?config=full&vram=32KiB", "--firmware-queues", "no firmware queues: 32768 bytes of VRAM, want at least 65536", exit.Usage},
		{"emu?mcu=1&contexts=0", "--firmware-queues", "no firmware queues: the GPU lacks contexts; want ", exit.Usage},
		{"emu?config=small&mcu=1&mcumem=32KiB&vram=256KiB", "--firmware-queues", "the GPU lacks contexts,preemption,signal; want ", exit.Usage},
		{"emu?config=full&mcumem=8KiB", "--firmware-queues", "its firmware does not run, which firmware queues need", exit.Device},
		{"emu?config=full", "--firmware-queues --firmware-quantum 999", "bad input: --firmware-quantum 999, want 1000 to 1073741824 clocks, or 0", exit.Usage},
		{"emu?config=full", "--firmware-quantum 2000", "bad input: --firmware-quantum and --firmware-preempt need --firmware-queues", exit.Usage},
		{"emu?config=full", "--firmware-preempt", "bad input: --firmware-quantum and --firmware-preempt need --firmware-queues", exit.Usage},
	} {
		for _, command := range []string{"run compose --size 16x16", "run lists --lists 20", "test --filter ^present$"} {
			args := append(strings.Fields(command), "--board", tt.board)
			args = append(args, strings.Fields(tt.flags)...)
			code, _, stderr := hilgpu(args...)
			assert.Equal(t, tt.want, code, "%v: %s", args, stderr)
			assert.Contains(t, stderr, tt.says, args)
		}
	}
}

// --firmware-telemetry writes the samples of a run in the format of the name. It needs queues. A command that fails before
// the board is open leaves an earlier file.
func TestFirmwareTelemetry(t *testing.T) {
	tooltest.Long(t)
	dir := t.TempDir()
	for _, tt := range []struct{ command, name, line string }{
		{"run compose --check --size 64x64 --firmware-period 2000", "a.csv", `^number,clocks,cycles,busy0,bytes0,busy1,bytes1\n0,(\d+,){5}\d+\n1,(.*\n)*\d+,\d+,\d+,\d{4,},\d{4,},\d+,\d+\n$`},
		{"run lists --lists 20 --firmware-period 2000", "a.jsonl", `^{"number":0,"clocks":\d+,"cycles":\d+,"busy":\[\d+,\d+\],"bytes":\[\d+,\d+\]}\n{"number":1,`},
		{"run compose --check --size 64x64", "a", `^( +\d+ node 0: busy \d+, \d+ bytes; node 1: busy \d+, \d+ bytes\n){2,}$`},
	} {
		path := filepath.Join(dir, tt.name)
		code, _, stderr := hilgpu(append(strings.Fields(tt.command), "--board", withMCU, "--firmware-queues", "--firmware-telemetry", path)...)
		require.Zero(t, code, stderr)
		assert.NotContains(t, stderr, "lost")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Regexp(t, tt.line, string(text))
	}
	kept := filepath.Join(dir, "a")
	before, err := os.ReadFile(kept)
	require.NoError(t, err)
	for _, tt := range []struct{ flags, says string }{
		{"--firmware-telemetry " + kept, "--firmware-telemetry needs --firmware-queues"},
		{"--firmware-queues --firmware-period 2000", "--firmware-period needs --firmware-telemetry"},
		{"--firmware-queues --firmware-period 1 --firmware-telemetry " + kept, "--firmware-period 1, want at least 1024 clocks, or 0"},
		{"--firmware-queues --firmware-telemetry " + filepath.Join(kept, "none"), "none"},
	} {
		for _, command := range []string{"run compose --size 16x16", "run lists --lists 20"} {
			code, _, stderr := hilgpu(append(strings.Fields(command+" --board "+withMCU), strings.Fields(tt.flags)...)...)
			assert.Equal(t, exit.Usage, code, "%s: %s", tt.flags, stderr)
			assert.Contains(t, stderr, tt.says)
		}
	}
	after, err := os.ReadFile(kept)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}
