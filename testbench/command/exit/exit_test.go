package exit

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

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
)

// codes are the exit codes that users rely on, by the text of the sentinel
// error.
var codes = map[int]string{
	1: `check failed; regs: read-back mismatch; scoreboard: memory differs; storm: the device differs from its model;
		lists: wrong contents; stress: failed; lockstep: the Go side panics; hostbfm: device broke the protocol; session: failed; lockstep: every variant has differed;
		mutant: the design differs without a mutant; mutant: Verilog of another shape than the emitter's; mutant: yosys failed; property: yosys failed;
		figures: Go and the Verilog drive different outputs; figures: the edit loop failed; figures: the program with the tag awake failed; synth: yosys failed; synth: nextpnr failed; gateware: the board was not programmed;
		sim: the Verilog does not build; sim: bad manifest; bus: bad argument; context canceled`,
	2: `bad input; mcu: image; mcu: breakpoint or watchpoint; firmware: truncated image; firmware: not an image; firmware: image of another version; firmware: damaged image;
		firmware: image for another GPU; firmware: bad image; firmware: memory of the microcontroller too small; firmware: bad options;
		message: bad options; message: payload too long; log: bad table of formats; log: formats of another build; turns: bad address; observer: bad address; inspect: cannot listen; cannot listen; turns: cannot listen; turns: two boards at the same time; mcu: address; ether: bad MAC address; ether: bad MTU; ether: raw Ethernet is available on Linux only; nettlp: bad address; nettlp: NetTLP is available on Linux only; boards: bad selector; serial: bad option; serial: no such rate; fault: bad configuration; hwfault: bad fault;
		inproc: bad options; rootport: bad options; endpoint: bad options; line: bad options; serve: bad options; wave: bad options;
		bringup: bad options; gpu: bad configuration; regs: bad name; regs: bad value; regs: refused; regs: bad snapshot; regmap: not a map in JSON; export: unknown format;
		capture: bad file; eventlog: not a log; eventlog: a log of a newer version; eventlog: the log is damaged; why: no such thing in the log; why: several things in the log fit; capture: bad packet; verifier: no such rule; drivertest: bad input; compose; lists: bad input; stress: invalid options; transfer: bad input;
		storm: bad input; mutant: bad count; synth: unknown target; synth: no table of expected memories; synth: memory too large; synth: bad directory; gateware: unknown board; gateware: bad address; gateware: no bitstream;
		sim: unknown simulator; testbench: a driver is missing; testbench: no firmware queues; hal: out of memory; E_OUTOFMEMORY; sim: no source;
		verilog: cannot load the source; verilog: outside the subset; sim: missing tool; synth: missing tool;
		bus: unsupported request on a recording; bus: unsupported request: a board in use is read-only; suite: no such tier; suite: bad baseline; report: nothing to show; bare: the ring of node 0 is in VRAM, which the host cannot access`,
	3: `serial: no such port; ether: no such Ethernet interface; serial: ambiguous; serial: not a serial port; regs: no such device; observer: no board; mcu: no microcontroller; bare: not this GPU;
		hal: enumeration failed: no device; STATUS_NO_SUCH_DEVICE`,
	4: `serial: busy; serial: not allowed; serial: unplugged; bus: CRC error; bus: link down; bus: stale epoch; bus: closed;
		channel: a session began; channel: the stream accepts no bytes; datalink: not up; datalink: queue full; datalink: packet size;
		datalink: closed; datalink: no answer to hello; datalink: version mismatch; datalink: refused by the board; datalink: refused by the board for its token; datalink: replay limit reached;
		datalink: nothing received; datalink: peer went down; datalink: peer began a new session; datalink: protocol violated;
		endpoint: no room; endpoint: poisoned; endpoint: unexpected completion; line: cut; tlp: malformed;
		tlp: unsupported request; ether: not allowed; ether: the interface is down; ether: busy;
		bus: link down: nettlp: no device at the address; nettlp: the host is known; nettlp: bad datagram; stress: the link to the board failed`,
	5: `testbench: the device did not start; dxgkrnl: adapter not usable; hal: enumeration failed; hal: address not pinned;
		hal: bad message write; bus: completion time-out; bus: no answer; bus: unsupported request; bus: completer abort; bus: completer abort: poisoned data;
		rootport: device violated the protocol; inproc: device violated the port protocol; endpoint: device violated the port protocol;
		bare: the node does not respond; bare: the node stopped on a fault; bare: the board stopped answering;
		bare: the clock of the board does not run; bare: the device accessed memory outside its host memory;
		transfer: wrong outcome; figures: the device does not finish; sim: the simulation stopped; dirty: the device does not become idle; mcu: the processor is in reset; mcu: the processor is not halted; mcu: the processor does not halt; mcu: access failed; firmware: program differs after the load; firmware: boot hangs; firmware: self-test failed; firmware: exception during the boot;
		message: no message area; message: no answer; message: firmware hangs; message: answer to another request; message: request refused; log: bad ring; DXGI_ERROR_DEVICE_REMOVED;
		DXGI_ERROR_DEVICE_HUNG; STATUS_IO_TIMEOUT`,
	6: `datalink: register map mismatch; eventlog: the log is of another register map; regs: register map mismatch; bare: another register map; STATUS_REVISION_MISMATCH`,
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
			got := Code(fmt.Errorf("around: %w", errors.Join(errors.New("other"), fmt.Errorf("%w: it", c.err))))
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
	for _, root := range []string{"bus", "boards", "runtime/hal", "runtime/verifier/rule", "testbench", "rtl/verilog", "rtl/wave"} {
		err := filepath.WalkDir(filepath.Join("../../..", root), func(path string, d fs.DirEntry, err error) error {
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
						name := strings.TrimPrefix(file.Name.Name+"."+id.Name, "exit.")
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
	refused, err := rule.Named("call-failed")
	require.NoError(t, err)
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"an unclassified error", errors.New("odd"), 1},
		{"the command line", UsageError{errors.New("odd")}, 2},
		{"a GPU that stopped", stopped, 5},
		{"a GPU whose contract was broken", &dxgkrnl.DeviceError{Cause: &dxgkrnl.Bugcheck{}}, 7},
		{"a violation", &verifier.Violation{}, 7},
		{"a device that may be another", fmt.Errorf("%w: %w", testbench.ErrDevice, &verifier.Violation{Rule: refused, Cause: ddi.StatusRevisionMismatch}), 6},
		{"a device that may not work", fmt.Errorf("%w: %w", testbench.ErrDevice, &verifier.Violation{Rule: refused, Cause: ddi.StatusIOTimeout}), 5},
		{"a GPU that does not recover", fmt.Errorf("dxgkrnl: DxgkDdiResetFromTimeout: %w", ddi.StatusIOTimeout), 5},
		{"a call that failed", &verifier.Violation{Rule: refused, Cause: ddi.StatusUnsuccessful}, 7},
		{"a check of a GPU that stopped", fmt.Errorf("%w: %w", ErrCheck, stopped), 1},
		{"SIGINT", signals.Error{Signal: 2}, 130},
		{"an interrupt", context.Canceled, 1},
	} {
		assert.Equal(t, tt.want, Code(tt.err), tt.name)
	}
}
