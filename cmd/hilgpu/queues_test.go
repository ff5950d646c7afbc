package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// --firmware-queues has the same errors in each command that runs the drivers. A board that cannot do it is bad
// input.
func TestFirmwareQueues(t *testing.T) {
	for _, tt := range []struct {
		board, flags, says string
		want               int
	}{
		{"emu?config=full", "--firmware-queues --firmware-quantum 2000 --firmware-preempt", "", exit.OK},
		{"emu", "--firmware-queues", "testbench: no firmware queues: want a GPU with mcu=1 and at least 64 KiB of VRAM", exit.Usage},
		{"emu?config=full&vram=32KiB", "--firmware-queues", "testbench: no firmware queues", exit.Usage},
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
