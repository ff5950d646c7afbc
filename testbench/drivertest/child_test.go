package drivertest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/conform"
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
	for _, tt := range []struct {
		drivers, rule, says string
	}{
		{"exit", "driver-exit", "the process ended in this call: exit status 3"},
		{"goroutine", "driver-exit", "the process ended in this call: exit status 2, panic: in a goroutine of the driver"},
		{"fatal", "driver-exit", "the process ended in this call: exit status 2, fatal error: concurrent map writes"},
		{"loop", "call-hang", "no return for 1s; the outermost call on thread 1:1 is pfnClearRenderTargetView"},
		{"prints", "driver-exit", "the process ended in this call: exit status 0"},
	} {
		t.Run(tt.drivers, func(t *testing.T) {
			dir := t.TempDir()
			code, stdout, stderr := runDeadly(t, tt.drivers, "test", "--board", "emu?nodes=1",
				"--filter", "^(copy-boxes|clears|present|staging-maps)$", "--json", "--call-limit", "1s", "--artifacts", dir)
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

// A driver that ends its process during a workload fails the command, by the rule that
// names its last call.
func TestWorkloadEnds(t *testing.T) {
	code, stdout, stderr := runDeadly(t, "flush-exit", "run", "compose", "--check")
	assert.Equal(t, exit.Contract, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "driver-exit (driver or runtime): pfnFlush: the process ended in this call: exit status 0\n")

	code, stdout, stderr = runDeadly(t, "flush-exit", "run", "compose", "--json")
	assert.Equal(t, exit.Contract, code, stderr)
	var doc struct{ Error struct{ Kind string } }
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stdout)
	assert.Equal(t, "contract", doc.Error.Kind)

	code, _, stderr = runDeadly(t, "flush-exit", "run", "lists", "--lists", "20", "--alive", "5")
	assert.Equal(t, exit.Contract, code)
	assert.Contains(t, stderr, "driver-exit (driver or runtime): none: the process ended: exit status 0\n")

	code, _, _ = runDeadly(t, "flush-exit", "run", "compose", "--in-process")
	assert.Equal(t, exit.OK, code, "the driver's own")
}

// A deadlock during a workload ends the command after --call-limit.
func TestWorkloadHangs(t *testing.T) {
	for _, args := range [][]string{{"compose"}, {"compose", "--in-process"}, {"lists", "--lists", "20", "--alive", "5"}} {
		code, _, stderr := runDeadly(t, "deadlock", append([]string{"run", "--call-limit", "500ms"}, args...)...)
		assert.Equal(t, exit.Contract, code)
		assert.Contains(t, stderr, "call-hang (driver or runtime): pfnFlush: no return for 500ms")
	}
	code, _, stderr := runDeadly(t, "good", "run", "compose", "--call-limit", "-1s")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, "--call-limit -1s, want a positive time, or 0")
}

// A workload in a child has the same output, files and exit code as in this process.
func TestWorkloadInChild(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args string
		code int
	}{
		{"run compose --check --size 64x48 -o &/f.png --ddi &/d.jsonl --wave &/w.vcd --capture &/c.pcapng", exit.OK},
		{"run compose --size 16x16 -o /dev/stdout", exit.OK},
		{"run compose --size 16", exit.Usage},
		{"run compose --board vapour --json", exit.Usage},
		{"run compose --board tcp:127.0.0.1:1", exit.Link},
		{"run compose --board emu?fault=dead", exit.Device},
	} {
		args := strings.Fields(strings.ReplaceAll(tt.args, "&/", dir+"/"))
		times := regexp.MustCompile(`host .*`)
		code, stdout, stderr := runDeadly(t, "good", args...)
		assert.Equal(t, tt.code, code, stderr)
		for _, name := range []string{"f.png", "d.jsonl", "w.vcd", "c.pcapng"} {
			if strings.Contains(tt.args, name) {
				assert.FileExists(t, filepath.Join(dir, name))
			}
		}
		code, want, says := runDeadly(t, "good", append(args, "--in-process")...)
		assert.Equal(t, tt.code, code)
		assert.Equal(t, times.ReplaceAllString(want, ""), times.ReplaceAllString(stdout, ""), tt.args)
		assert.Equal(t, says, stderr, tt.args)
	}
}

// Warnings of cases that pass are in the output, in the results, in the JUnit file and in
// the report.
func TestWarningsOfPassedCases(t *testing.T) {
	dir := t.TempDir()
	args := []string{"test", "--board", "emu?nodes=1", "--filter", "^(present|clears)$", "--junit", filepath.Join(dir, "j.xml")}
	for _, more := range [][]string{nil, {"--in-process"}} {
		code, stdout, stderr := runDeadly(t, "lost", slices.Concat(args, more, []string{"--report", filepath.Join(dir, "r.html")})...)
		assert.Equal(t, exit.OK, code, stderr)
		assert.Equal(t, 1, strings.Count(stdout, "verifier: warning: interrupt-lost, "), stdout)
		page, err := os.ReadFile(filepath.Join(dir, "r.html"))
		require.NoError(t, err)
		assert.Contains(t, string(page), "<td>interrupt-lost</td>")
		xml, err := os.ReadFile(filepath.Join(dir, "j.xml"))
		require.NoError(t, err)
		assert.Equal(t, 3, strings.Count(string(xml), `<property name="finding interrupt-lost" `), "of two cases and the suite")
		for _, name := range []string{"driver", "version", "seeds", "calls"} {
			assert.Regexp(t, `<property name="`+name+`" value="[^"]+">`, string(xml))
		}

		code, stdout, stderr = runDeadly(t, "lost", slices.Concat(args, more, []string{"--json", "--report", filepath.Join(dir, "r.json")})...)
		assert.Equal(t, exit.OK, code, stderr)
		var r suite.Report
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		times := func(all []verifier.Finding) (n int) {
			for _, f := range all {
				if f.Rule == "interrupt-lost" {
					n += f.Count
				}
			}
			return n
		}
		total := 0
		for _, res := range r.Results {
			assert.Positive(t, times(res.Findings), res.Name)
			total += times(res.Findings)
		}
		assert.Equal(t, total, times(r.Findings))
		var c conform.Report
		text, err := os.ReadFile(filepath.Join(dir, "r.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &c))
		assert.Equal(t, r.Findings, c.Findings)
	}
}

// A waived rule fails no case, and each collected violation is reported.
func TestWaiveAndCollect(t *testing.T) {
	for _, more := range [][]string{nil, {"--in-process"}} {
		args := slices.Concat([]string{"test", "--board", "emu?nodes=1", "--filter", "^present$"}, more)
		code, stdout, _ := runDeadly(t, "two", append(args, "--json")...)
		assert.Equal(t, exit.Check, code)
		assert.Equal(t, 1, strings.Count(stdout, "verifier: error-success"), stdout)

		code, stdout, stderr := runDeadly(t, "two", append(args, "--waive", "error-success")...)
		assert.Equal(t, exit.OK, code, stderr)
		assert.Contains(t, stdout, "verifier: waived: error-success, ")

		code, stdout, _ = runDeadly(t, "two", append(args, "--json", "--collect")...)
		assert.Equal(t, exit.Check, code)
		assert.Greater(t, strings.Count(stdout, "verifier: error-success"), 1, stdout)

		run := slices.Concat([]string{"run", "compose", "--size", "16x16"}, more)
		code, _, stderr = runDeadly(t, "two", append(run, "--waive", "error-success")...)
		assert.Equal(t, exit.OK, code, stderr)
		code, _, stderr = runDeadly(t, "two", append(run, "--collect")...)
		assert.Equal(t, exit.Contract, code, stderr)
		assert.Greater(t, strings.Count(stderr, "verifier: error-success"), 1, stderr)
		lists := slices.Concat([]string{"run", "lists", "--lists", "10", "--alive", "5"}, more)
		code, _, stderr = runDeadly(t, "two", append(lists, "--collect")...)
		assert.Equal(t, exit.Contract, code, stderr)
		assert.Greater(t, strings.Count(stderr, "verifier: error-success"), 1, stderr)
		code, _, stderr = runDeadly(t, "two", append(args, "--waive", "no-rule")...)
		assert.Equal(t, exit.Usage, code, stderr)
	}
}

// A start that fails has the same exit code everywhere.
func TestExitCodeOfAStart(t *testing.T) {
	for _, args := range [][]string{{"test"}, {"test", "--in-process"}, {"run", "compose"}, {"run", "compose", "--in-process"}} {
		code, _, stderr := runDeadly(t, "revision", args...)
		assert.Equal(t, exit.Map, code, "%v: %s", args, stderr)
	}
}

// A child runs the same cases with the same results.
func TestChildPasses(t *testing.T) {
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
	code, _, stderr := runDeadly(t, "start", "test")
	assert.Equal(t, exit.Contract, code)
	assert.Contains(t, stderr, "driver-exit (driver or runtime): DxgkDdiStartDevice: the process ended in this call: exit status 4\n")

	code, _, stderr = runDeadly(t, "stop", "test", "--filter", "^clears$", "--call-limit", "1s")
	assert.Equal(t, exit.Contract, code)
	assert.Contains(t, stderr, "call-hang (driver or runtime): DxgkDdiStopDevice: no return for 1s")
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
