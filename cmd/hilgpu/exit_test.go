package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/signals"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// codes are the exit codes that users rely on, by the text of the sentinel
// error.
var codes = map[int]string{
	1: `check failed; regs: read-back mismatch; scoreboard: memory differs; storm: the device differs from its model;
		lists: wrong contents; lockstep: the Go side panics; hostbfm: device broke the protocol; session: failed; lockstep: every variant has differed;
		mutant: the design differs without a mutant; mutant: Verilog of another shape than the emitter's; mutant: yosys failed;
		figures: Go and the Verilog drive different outputs; figures: the edit loop failed; synth: yosys failed; synth: nextpnr failed;
		sim: the Verilog does not build; sim: bad manifest; bus: bad argument; context canceled`,
	2: `bad input; boards: bad selector; serial: bad option; serial: no such rate; fault: bad configuration; hwfault: bad fault;
		inproc: bad options; rootport: bad options; endpoint: bad options; line: bad options; serve: bad options; wave: bad options;
		bringup: bad options; gpu: bad configuration; regs: bad name; regs: bad value; regs: refused; regs: bad snapshot;
		capture: bad file; capture: bad packet; verifier: no such rule; compose; lists: bad input; transfer: bad input;
		storm: bad input; mutant: bad count; synth: unknown target; synth: no table of expected memories; synth: memory too large;
		sim: unknown simulator; testbench: a driver is missing; hal: out of memory; E_OUTOFMEMORY; sim: no source;
		verilog: cannot load the source; verilog: outside the subset; sim: missing tool; synth: missing tool;
		bus: unsupported request on a recording; bare: the ring of node 0 is in VRAM, which the host cannot access`,
	3: `serial: no such port; serial: ambiguous; serial: not a serial port; regs: no such device; bare: not this GPU;
		hal: enumeration failed: no device; STATUS_NO_SUCH_DEVICE`,
	4: `serial: busy; serial: not allowed; serial: unplugged; bus: CRC error; bus: link down; bus: stale epoch; bus: closed;
		channel: a session began; channel: the stream accepts no bytes; datalink: not up; datalink: queue full; datalink: packet size;
		datalink: closed; datalink: no answer to hello; datalink: version mismatch; datalink: replay limit reached;
		datalink: nothing received; datalink: peer went down; datalink: peer began a new session; datalink: protocol violated;
		endpoint: no room; endpoint: poisoned; endpoint: unexpected completion; line: cut; tlp: malformed;
		tlp: unsupported request; cannot listen`,
	5: `testbench: the device did not start; dxgkrnl: adapter not usable; hal: enumeration failed; hal: address not pinned;
		hal: bad message write; bus: completion time-out; bus: unsupported request; bus: completer abort; bus: completer abort: poisoned data;
		rootport: device violated the protocol; inproc: device violated the port protocol; endpoint: device violated the port protocol;
		bare: the node does not respond; bare: the node stopped on a fault; bare: the board stopped answering;
		bare: the clock of the board does not run; bare: the device accessed memory outside its host memory;
		transfer: wrong outcome; figures: the device does not finish; sim: the simulation stopped; dirty: the device does not become idle; DXGI_ERROR_DEVICE_REMOVED;
		DXGI_ERROR_DEVICE_HUNG`,
	6: `datalink: register map mismatch; regs: register map mismatch; bare: another register map; STATUS_REVISION_MISMATCH`,
}

func TestExitCodeOfEachSentinel(t *testing.T) {
	want := map[string]int{}
	for code, list := range codes {
		for text := range strings.SplitSeq(list, ";") {
			want[strings.Join(strings.Fields(text), " ")] = code
		}
	}
	for _, c := range classes() {
		t.Run(c.err.Error(), func(t *testing.T) {
			code, ok := want[c.err.Error()]
			require.True(t, ok, "no row for this error")
			got := exitCode(fmt.Errorf("around: %w", errors.Join(errors.New("other"), fmt.Errorf("%w: it", c.err))))
			assert.Equal(t, code, got)
		})
	}
	for text := range want {
		assert.True(t, slices.ContainsFunc(classes(), func(c class) bool { return c.err.Error() == text }), "%s is in no class", text)
	}
}

// Every exported sentinel error of a package whose errors reach a user is
// classified.
func TestEverySentinelIsClassified(t *testing.T) {
	source, err := os.ReadFile("exit.go")
	require.NoError(t, err)
	aliases := []string{"lockstep.ErrSim", "lockstep.ErrTool", "lockstep.ErrBuild", "lockstep.ErrSimulation", "lockstep.ErrManifest", "lockstep.ErrSource"}
	n := 0
	for _, root := range []string{"bus", "boards", "cmd/hilgpu", "runtime/hal", "runtime/verifier/rule", "testbench", "rtl/verilog", "rtl/wave"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "bustest") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			for _, decl := range file.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, spec := range g.Specs {
					for _, id := range spec.(*ast.ValueSpec).Names {
						name := file.Name.Name + "." + id.Name
						if !strings.HasPrefix(id.Name, "Err") || slices.Contains(aliases, name) {
							continue
						}
						n++
						assert.True(t, strings.Contains(string(source), "{"+name+","), "%s is in no class", name)
					}
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.Greater(t, n, 90)
}

func TestExitCode(t *testing.T) {
	stopped := &dxgkrnl.DeviceError{Cause: ddi.StatusIllegalInstruction}
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"an unclassified error", errors.New("odd"), 1},
		{"a panic", &crash{"odd", nil}, 1},
		{"the command line", usageError{errors.New("odd")}, 2},
		{"a GPU that stopped", stopped, 5},
		{"a GPU whose contract was broken", &dxgkrnl.DeviceError{Cause: &dxgkrnl.Bugcheck{}}, 7},
		{"a violation", &verifier.Violation{}, 7},
		{"a check of a GPU that stopped", fmt.Errorf("%w: %w", errCheck, stopped), 1},
		{"SIGINT", signals.Error{Signal: 2}, 130},
		{"an interrupt", context.Canceled, 1},
	} {
		assert.Equal(t, tt.want, exitCode(tt.err), tt.name)
	}
}

// The README and the help have the same list.
func TestExitCodesAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "```\n"+exitText()+"```\n")
	code, stdout, _ := hilgpu("help", "exit-codes")
	assert.Zero(t, code)
	assert.Contains(t, stdout, exitText())
	assert.Contains(t, stdout, `128 plus the number of the signal, kind "interrupted"`)
	for code, e := range exits() {
		assert.Equal(t, kinds[code], e.kind)
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
	} {
		code, _, stderr := hilgpu("run", "compose", "--board", board)
		assert.Equal(t, want, code, stderr)
	}
	for _, packet := range []string{"copy", "fill"} {
		code, _, stderr := hilgpu("run", packet, "--size", "64", "--board", "emu?fault=lost-doorbell")
		assert.Equal(t, exitDevice, code)
		assert.Contains(t, stderr, "time-out: fences or their message missing after 2")
	}
}

// A link that goes down during the suite is a link failure.
func TestTestOnALinkThatGoesDown(t *testing.T) {
	code, stdout, stderr := hilgpu("test", "--board", "line?faults=cut=100", "--filter", "^(present|clears)$")
	assert.Equal(t, exitLink, code)
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
		{"board", "want one of list, probe, serve"},
		{"reg", "want one of diff, list, read, snap, write"},
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
		assert.Equal(t, exitUsage, code, tt.args)
		assert.Empty(t, stdout, tt.args)
		assert.Contains(t, stderr, tt.says)
		assert.Equal(t, !strings.Contains(tt.args, " ") && !strings.HasPrefix(tt.args, "t"), strings.Contains(stderr, "Usage:"), tt.args)
	}
	code, _, stderr := hilgpu("help", "run", "compose", "x")
	assert.Equal(t, exitUsage, code)
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
		{"run compose --board vapour", "emu, verilated, serial, tcp, line, snap, capture"},
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
		assert.Equal(t, exitUsage, code, tt.args)
		assert.Contains(t, stderr, "want ", tt.args)
		assert.Contains(t, stderr, tt.says, tt.args)
	}
}
