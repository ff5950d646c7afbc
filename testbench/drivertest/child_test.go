package drivertest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// variable selects the drivers of a test binary that is a program of this package.
const variable = "DRIVERTEST_DRIVERS"

// TestMain makes the test binary a program for other drivers if variable is set.
func TestMain(m *testing.M) {
	if drivers, ok := deadly()[os.Getenv(variable)]; ok {
		Main(drivers)
	}
	os.Exit(m.Run())
}

// realStdout is standard output before Serve replaces it.
var realStdout = os.Stdout

// spin is an endless loop.
func spin() {
	for n := 0; ; n ^= 1 {
	}
}

// deadly returns drivers that end their process when they clear, by name.
func deadly() map[string]testbench.Drivers {
	clear := func(do func()) testbench.Drivers {
		return changed(func(arg *umddi.CreateDevice) {
			arg.DeviceFuncs.ClearRenderTargetView = func(*ddi.Thread, umddi.HDevice, umddi.HRenderTargetView, [4]float32) { do() }
		})
	}
	start := foreign
	start.KernelMode = func() kmddi.DriverInitializationData {
		d := foreign.KernelMode()
		d.StartDevice = func(*ddi.Thread, kmddi.HAdapter, kmddi.StartInfo, *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			os.Exit(4)
			return kmddi.StartDeviceOut{}, ddi.StatusSuccess
		}
		return d
	}
	stop := foreign
	stop.KernelMode = func() kmddi.DriverInitializationData {
		d := foreign.KernelMode()
		d.StopDevice = func(*ddi.Thread, kmddi.HAdapter) ddi.Status {
			spin()
			return ddi.StatusSuccess
		}
		return d
	}
	return map[string]testbench.Drivers{
		"good": foreign,
		"exit": clear(func() { os.Exit(3) }),
		"goroutine": clear(func() {
			go panic("in a goroutine of the driver")
			select {}
		}),
		"fatal": clear(func() {
			m := map[int]int{}
			for range 4 {
				go func() {
					for n := 0; ; n++ {
						m[n%8] = n
					}
				}()
			}
			select {}
		}),
		"loop": clear(spin),
		"prints": clear(func() {
			os.Stdout.WriteString("a driver prints\n")
			println("and prints")
			os.Exit(0)
		}),
		"progress": changed(func(arg *umddi.CreateDevice) {
			flush := arg.DeviceFuncs.Flush
			arg.DeviceFuncs.Flush = func(t *ddi.Thread, h umddi.HDevice) {
				realStdout.WriteString(".") // no line
				flush(t, h)
			}
		}),
		"flush-exit": changed(func(arg *umddi.CreateDevice) {
			arg.DeviceFuncs.Flush = func(*ddi.Thread, umddi.HDevice) { os.Exit(0) }
		}),
		"deadlock": changed(func(arg *umddi.CreateDevice) {
			arg.DeviceFuncs.Flush = func(*ddi.Thread, umddi.HDevice) {
				var mu sync.Mutex
				mu.Lock()
				mu.Lock()
			}
		}),
		"two": changed(func(arg *umddi.CreateDevice) {
			um, core := arg.UMCallbacks, arg.RTCoreLayer
			flush := arg.DeviceFuncs.Flush
			arg.DeviceFuncs.Flush = func(t *ddi.Thread, h umddi.HDevice) {
				um.SetErrorCb(t, core, ddi.OK)
				um.SetErrorCb(t, core, ddi.OK)
				flush(t, h)
			}
		}),
		"lost":     lost(),
		"revision": refusing(ddi.StatusRevisionMismatch),
		"start":    start,
		"stop":     stop,
	}
}

// lost returns drivers whose interrupt routine claims no interrupt.
func lost() testbench.Drivers {
	d := foreign
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := foreign.KernelMode()
		table.InterruptRoutine = func(*ddi.Thread, kmddi.HAdapter, uint32) bool { return false }
		return table
	}
	return d
}

// refusing returns drivers whose device does not start, with a status.
func refusing(status ddi.Status) testbench.Drivers {
	d := foreign
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := foreign.KernelMode()
		table.StartDevice = func(*ddi.Thread, kmddi.HAdapter, kmddi.StartInfo, *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			return kmddi.StartDeviceOut{}, status
		}
		return table
	}
	return d
}

// runDeadly runs a command line of the program for the named drivers.
func runDeadly(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), variable+"="+name)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// A driver that ends its process fails the case that runs, with the call in which it
// did, and no other case.
func TestProcessEnds(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		drivers, rule, says string
	}{
		{"exit", "driver-exit", "the process ended in this call: exit status 3"},
		{"goroutine", "driver-exit", "the process ended in this call: exit status 2, panic: in a goroutine of the driver"},
		{"fatal", "driver-exit", "the process ended in this call: exit status 2, fatal error: concurrent map writes"},
		{"loop", "call-hang", "no return for 4s; the outermost call on thread 1:1 is pfnClearRenderTargetView"},
		{"prints", "driver-exit", "the process ended in this call: exit status 0"},
	} {
		t.Run(tt.drivers, func(t *testing.T) {
			dir := t.TempDir()
			code, stdout, stderr := runDeadly(t, tt.drivers, "test", "--board", "emu?nodes=1",
				"--filter", "^(copy-boxes|clears|present|staging-maps)$", "--json", "--call-limit", "4s", "--artifacts", dir)
			assert.Equal(t, exit.Check, code, stderr)
			var r suite.Report
			require.NoError(t, json.Unmarshal([]byte(stdout), &r), stdout)
			require.Len(t, r.Results, 4)
			for _, res := range r.Results {
				if res.Name == "copy-boxes" || res.Name == "staging-maps" {
					assert.Equal(t, suite.Passed, res.Outcome, "%s: %v", res.Name, res.Messages)
					continue
				}
				assert.Equal(t, suite.Failed, res.Outcome, res.Name)
				v := res.Violation
				require.NotNil(t, v, "%s: %v", res.Name, res.Messages)
				assert.Equal(t, tt.rule, v.Rule.Name)
				assert.Equal(t, "pfnClearRenderTargetView", v.Function)
				assert.Contains(t, v.Text, tt.says)
				assert.Equal(t, []string{"pfnClearRenderTargetView"}, v.Stack)
				require.NotEmpty(t, v.Calls)
				assert.Contains(t, v.Calls[len(v.Calls)-1], "pfnClearRenderTargetView")
				assert.Contains(t, res.Messages[0], "verifier: "+tt.rule)
				trace, err := os.ReadFile(filepath.Join(dir, res.Name, "ddi.jsonl"))
				require.NoError(t, err)
				assert.Contains(t, string(trace), `"name":"pfnClearRenderTargetView"`)
				page, err := os.ReadFile(filepath.Join(dir, res.Name, "report.html"))
				require.NoError(t, err)
				assert.Contains(t, string(page), "<li>pfnClearRenderTargetView: 1</li>", "the log of a child that ends has the DDI calls")
			}
		})
	}
}

// The output of a driver is passed on, from standard output too.
func TestChildPrints(t *testing.T) {
	code, stdout, stderr := runDeadly(t, "prints", "test", "--filter", "^clears$", "--board", "emu?nodes=1")
	assert.Equal(t, exit.Check, code)
	assert.Contains(t, stderr, "a driver prints\n")
	assert.Contains(t, stderr, "and prints\n")
	assert.NotContains(t, stdout, "a driver prints\n         repeat", "it is no answer")
}

// What a driver prints on the standard output that the process began with, with no
// newline, hides no answer.
func TestChildPrintsProgress(t *testing.T) {
	code, stdout, stderr := runDeadly(t, "progress", "test", "--filter", "^present$", "--board", "emu?nodes=1")
	assert.Equal(t, exit.OK, code, stderr)
	assert.Contains(t, stderr, ".")
	assert.Contains(t, stdout, "1 passed, 0 failed")
}

// A child runs the same cases with the same results.
func TestChildPasses(t *testing.T) {
	tooltest.Long(t)
	args := []string{"test", "--board", "emu?nodes=1", "--json", "--runs", "1"}
	results := func(extra ...string) (all []string) {
		code, stdout, stderr := runDeadly(t, "good", append(args, extra...)...)
		assert.Equal(t, exit.OK, code, stderr)
		var r suite.Report
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		for _, res := range r.Results {
			all = append(all, res.Name+" "+string(res.Outcome))
		}
		return all
	}
	here := results("--in-process")
	assert.Greater(t, len(here), 15)
	assert.Equal(t, here, results())
}

// Drivers that end the process while the device starts fail the run at once. One that
// does not return from StopDevice breaks a rule.
func TestChildOfStart(t *testing.T) {
	tooltest.Long(t)
	code, _, stderr := runDeadly(t, "start", "test")
	assert.Equal(t, exit.Contract, code)
	assert.Contains(t, stderr, "driver-exit (driver or runtime): DxgkDdiStartDevice: the process ended in this call: exit status 4\n")

	code, _, stderr = runDeadly(t, "stop", "test", "--filter", "^clears$", "--call-limit", "4s")
	assert.Equal(t, exit.Contract, code)
	assert.Contains(t, stderr, "call-hang (driver or runtime): DxgkDdiStopDevice: no return for 4s")
}

// Errors of the board keep their exit codes.
func TestChildKeepsExitCodes(t *testing.T) {
	for board, want := range map[string]int{
		"vapour": exit.Usage, "tcp:127.0.0.1:1": exit.Link, "emu?fault=dead-request": exit.Device,
	} {
		code, stdout, stderr := runDeadly(t, "good", "test", "--board", board)
		assert.Equal(t, want, code, stderr)
		assert.Empty(t, stdout)
	}
}

// Without a child the driver ends the run.
func TestInProcess(t *testing.T) {
	code, _, _ := runDeadly(t, "exit", "test", "--in-process", "--filter", "^clears$")
	assert.Equal(t, 3, code)
}

// Under go test too a driver that ends its process fails only its case.
func TestProcessEndsUnderGoTest(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestChild$/^(clears|copy-boxes)$")
	cmd.Env = append(os.Environ(), "DRIVERTEST_CHILD=exit")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "--- FAIL: TestChild/clears (")
	assert.Contains(t, string(out), "--- PASS: TestChild/copy-boxes (")
	assert.Contains(t, string(out), "driver-exit (driver or runtime): pfnClearRenderTargetView: the process ended in this call: exit status 3")

	cmd = exec.Command(os.Args[0], "-test.v", "-test.run", "^TestChild$")
	cmd.Env = append(os.Environ(), "DRIVERTEST_CHILD=workload")
	out, err = cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "--- FAIL: TestChild (")
	assert.Contains(t, string(out), "driver-exit (driver or runtime): pfnFlush: the process ended in this call: exit status 0")
}
