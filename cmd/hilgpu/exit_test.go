package main

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// The README and the help have the same list.
func TestExitCodesAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "```\n"+exit.Text()+"```\n")
	code, stdout, _ := hilgpu("help", "exit-codes")
	assert.Zero(t, code)
	assert.Contains(t, stdout, exit.Text())
	assert.Contains(t, stdout, `128 plus the number of the signal, kind "interrupted"`)
	for code, kind := range kinds {
		assert.Equal(t, kind, exit.Kind(code))
	}
}

// The same failure has the same code in every command.
func TestExitCodesOfBoards(t *testing.T) {
	commands := []string{"run compose", "run lists", "run copy", "run fill", "run storm", "test --filter ^present$", "reg read id.magic", "board probe"}
	for _, tt := range []struct {
		board string
		want  int
	}{
		{"vapour", 2}, {"emu?vram=3", 2}, {"serial:/dev/null", 3}, {"serial:/nowhere/tty", 3},
		{"emu?fault=stuck-register:D3=0", 3}, // the magic number
		{"tcp:127.0.0.1:1", 4}, {"line?faults=loss=1", 4}, {"emu?timeout=1", 5},
	} {
		for _, command := range commands {
			args := append(strings.Fields(command), "--board", tt.board)
			if command == "board probe" {
				args = []string{"board", "probe", tt.board}
			}
			code, _, stderr := hilgpu(args...)
			assert.Equal(t, tt.want, code, "%v: %s", args, stderr)
			assert.NotContains(t, stderr, "panic")
		}
	}
	for board, want := range map[string]int{
		"emu?fault=stuck-register:D3=1": 5, // the MSI-X table does not keep its values
		"emu?fault=lost-doorbell":       5,
		"emu?fault=dead":                5,
		"emu?fault=ignore-reset":        5, // it may be in any state
		"emu?fault=ignore-preempt":      0, // the drivers do not preempt
	} {
		code, _, stderr := hilgpu("run", "compose", "--board", board)
		assert.Equal(t, want, code, stderr)
	}
	for _, packet := range []string{"copy", "fill"} {
		code, _, stderr := hilgpu("run", packet, "--size", "64", "--board", "emu?fault=lost-doorbell")
		assert.Equal(t, exit.Device, code)
		assert.Contains(t, stderr, "time-out: fences or their message missing after 2")
		assert.Contains(t, stderr, "to see what led to it, add --record run.log, and then: hilgpu why run.log fault\n")
	}
}

// The errors of --firmware-gdb have the same code in every command.
func TestExitCodesOfFirmwareGDB(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, tt := range []struct {
		board, at, says string
		want            int
	}{
		{"emu?config=full", "here", `--firmware-gdb: turns: bad address: "here", want [HOST:]PORT or [HOST:]PORT,wait`, exit.Usage},
		{"emu?config=full", taken.Addr().String(), "--firmware-gdb: turns: cannot listen at 127.0.0.1:", exit.Usage},
		{"emu", "0", "no microcontroller: ID.CAPS2 has no MCU, want a board with the option mcu=1", exit.NoDevice},
		{"emu?config=full", "0", "to debug the firmware, tell gdb: target remote 127.0.0.1:", exit.OK},
	} {
		for _, command := range []string{"run compose --size 16x16", "run copy --count 1 --size 64", "test --filter ^present$", "reg read id.magic", "bringup --only ident"} {
			args := append(strings.Fields(command), "--board", tt.board, "--firmware-gdb", tt.at)
			code, _, stderr := hilgpu(args...)
			assert.Equal(t, tt.want, code, "%v: %s", args, stderr)
			assert.Contains(t, stderr, tt.says, args)
		}
	}
}

// The text of a fault has the registers of the nodes and their last packets.
func TestTextOfAFault(t *testing.T) {
	for _, board := range []string{"emu?fault=lost-answer&after=30&count=1&vram=64KiB", "emu?fault=lost-doorbell&after=2"} {
		code, _, stderr := hilgpu("run", "compose", "--size", "16x16", "--board", board)
		assert.Equal(t, exit.Device, code)
		for _, want := range []string{"CP1: the last packets, the newest first", " FENCE 0x10000004 at ", "\nCP0.RPTR=", "\nCP1.PACKETS="} {
			assert.Contains(t, stderr, want, board)
		}
		assert.NotContains(t, stderr, "not read", board)
	}
}

// A link that goes down during the suite is a link failure.
func TestTestOnALinkThatGoesDown(t *testing.T) {
	code, stdout, stderr := hilgpu("test", "--board", "line?faults=cut=100", "--filter", "^(present|clears)$")
	assert.Equal(t, exit.Link, code)
	assert.Contains(t, stdout, "0 passed, 2 failed, 0 skipped")
	assert.Contains(t, stderr, "2 of 2 cases failed on line?faults=cut=100: ")
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

func TestCommandsThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		args string
		says string
	}{
		{"run", "hilgpu run needs a subcommand, want one of compose, copy, fill, lists, storm"},
		{"bench", "want one of device, rtl"},
		{"board", "want one of build, flash, list, probe, serve"},
		{"firmware", "want one of core, info, load, log, selftest"},
		{"reg", "want one of diff, export, list, read, snap, write"},
		{"rules", "want one of explain, list"},
		{"completion", "want one of bash, fish, powershell, zsh"},
		{"typo", `unknown command "typo" for "hilgpu", want one of bench, board`},
		{"typo --help", `unknown command "typo" for "hilgpu", want one of bench, board`},
		{"help typo", `unknown command "typo" for "hilgpu", want one of bench, board`},
		{"run typo", `unknown command "typo" for "hilgpu run", want one of compose`},
		{"run typo --help", `unknown command "typo" for "hilgpu run", want one of compose`},
		{"help run typo", `unknown command "typo" for "hilgpu run", want one of compose`},
		{"lockstep mutans", `unknown command "mutans" for "hilgpu lockstep", want mutants`},
		{"run comose", `unknown command "comose" for "hilgpu run", want compose`},
		{"tets", `unknown command "tets" for "hilgpu", want test`},
	} {
		code, stdout, stderr := hilgpu(strings.Fields(tt.args)...)
		assert.Equal(t, exit.Usage, code, tt.args)
		assert.Empty(t, stdout, tt.args)
		assert.Contains(t, stderr, tt.says)
		assert.Equal(t, !strings.Contains(tt.args, " ") && !strings.HasPrefix(tt.args, "t"), strings.Contains(stderr, "Usage:"), tt.args)
	}
	code, _, stderr := hilgpu("help", "run", "compose", "x")
	assert.Equal(t, exit.Usage, code)
	assert.Equal(t, "hilgpu: unknown command \"x\" for \"hilgpu run compose\"\n", stderr, "no subcommands")
	for _, args := range []string{
		"", "--help", "help", "help run", "help run compose", "run --help", "lockstep --help",
		"--help run", "run --help compose", "-h run compose", "reg --help read", "run compose --help x.png",
	} {
		code, stdout, stderr := hilgpu(strings.Fields(args)...)
		assert.Zero(t, code, args)
		assert.Contains(t, stdout, "Usage:", args)
		assert.Empty(t, stderr, args)
	}
}

// The error of a value from a fixed set lists the set.
func TestRefusedValuesNameTheChoices(t *testing.T) {
	for _, tt := range []struct{ args, says string }{
		{"run copy --dir up", "host-host, host-vram, vram-host, vram-vram"},
		{"run fill --dir up", "host, vram"},
		{"board serve emu --listen tcp:127.0.0.1:0 --pace fast", "free or clock"},
		{"bringup --poke hard", "safe, idle or destructive"},
		{"bringup --only nothing", "link.trips, "},
		{"lockstep --config huge", "full, default or small"},
		{"lockstep --sim spice", "verilator, icarus or netlist"},
		{"bench rtl --config huge", "full, default or small"},
		{"verilog -o /nowhere --config huge", "full, default or small"},
		{"synth --source ../.. --config huge", "full, default or small"},
		{"synth --source ../.. --target stratix", "ice40 or ecp5"},
		{"run compose --size 8x8 --waive nothing", "list-state, list-context, "},
		{"rules explain nothing", "list-state, list-context, "},
		{"test --filter nothing", "compose, copy-boxes, "},
		{"test --list --filter nothing", "compose, copy-boxes, "},
		{"run compose --board vapour", "emu, verilated, serial, tcp, udp, eth, nettlp, line, pins, snap, capture"},
		{"run compose --board emu?speed=1", "config, nodes, vram"},
		{"run compose --board emu?config=huge", "full, default or small"},
		{"run compose --board emu?fault=rust", "lost-interrupt, "},
		{"run compose --board emu?aperture=yes", "0 or 1"},
		{"run compose --board emu?tags=3", "2 to 16, a power of two"},
		{"run compose --board serial:/dev/null?driver=rust", "bugst or tarm"},
		{"run compose --board line?faults=rust=1", "loss, dup, flip"},
		{"run compose --wave-on sometimes --wave /dev/null", "fault or cycle A..B"},
	} {
		code, _, stderr := hilgpu(strings.Fields(tt.args)...)
		assert.Equal(t, exit.Usage, code, tt.args)
		assert.Contains(t, stderr, "want ", tt.args)
		assert.Contains(t, stderr, tt.says, tt.args)
	}
}
