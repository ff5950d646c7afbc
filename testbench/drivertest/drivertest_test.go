package drivertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/miniport"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/umd"
)

// foreign are drivers that share nothing with those of this GPU.
var foreign = testbench.Drivers{UserMode: umd.OpenAdapter, KernelMode: miniport.DriverEntry}

// changed returns the foreign drivers with a change of the user-mode driver's table.
func changed(change func(arg *umddi.CreateDevice)) testbench.Drivers {
	d := foreign
	d.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := umd.OpenAdapter(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			change(arg)
			return hr
		}
		return hr
	}
	return d
}

// breaking are drivers whose Flush reports success, which is a violation.
var breaking = changed(func(arg *umddi.CreateDevice) {
	um, core := arg.UMCallbacks, arg.RTCoreLayer
	arg.DeviceFuncs.Flush = func(t *ddi.Thread, _ umddi.HDevice) { um.SetErrorCb(t, core, ddi.OK) }
})

// wrong are drivers that do not clear.
var wrong = changed(func(arg *umddi.CreateDevice) {
	arg.DeviceFuncs.ClearRenderTargetView = func(*ddi.Thread, umddi.HDevice, umddi.HRenderTargetView, [4]float32) {}
})

// mine runs a command line of a program called mine.
func mine(d testbench.Drivers, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := program("mine", d)
	p.Child = nil
	code = command.NewApp(p, &out, &errs, nil).Run(args)
	return code, out.String(), errs.String()
}

// Every command runs the drivers, with the exit codes of hilgpu.
func TestCommands(t *testing.T) {
	tooltest.Long(t)
	dir := t.TempDir()
	for _, tt := range []struct {
		args string
		code int
		says string // on standard output
	}{
		{"run compose --check --size 64x48 -o &/f.png --ddi &/d.jsonl --wave &/w.vcd --capture &/c.pcapng", exit.OK, "every pixel as expected"},
		{"run lists --lists 50 --alive 5 --json", exit.OK, `"native": false`},
		{"run copy --size 64", exit.OK, ""},
		{"test --filter ^present --junit &/j.xml --artifacts &/a", exit.OK, "4 passed, 0 failed, 0 skipped on emu"},
		{"test --filter ^present$ --board emu?fault=lost-doorbell&after=2", exit.Check, "repeat: mine test --board 'emu?fault=lost-doorbell&after=2'"},
		{"test --filter malformed", exit.Usage, ""},
		{"test --list", exit.OK, "order-flush                                  ddi   Flush submits in the documented steps\n"},
		{"test --tier caps", exit.OK, "the driver does not claim CapsFreeThreaded"},
		{"test --tier own,caps --filter ^(malformed|order-c|driver-l)", exit.Check, "the driver does not claim CapsCommandListsBuild2"},
		{"test --tier fancy", exit.Usage, ""},
		{"bringup --only ident", exit.OK, "ident.id"},
		{"bringup --only mem.data --board emu?fault=dead-lane:2", exit.Check, "mine bringup --board"},
		{"rules explain error-success", exit.OK, "Success is not reported"},
		{"run compose --board vapour", exit.Usage, ""},
		{"run compose --board tcp:127.0.0.1:1", exit.Link, ""},
		{"run compose --board emu?fault=dead", exit.Device, ""},
	} {
		code, stdout, stderr := mine(foreign, strings.Fields(strings.ReplaceAll(tt.args, "&/", dir+"/"))...)
		assert.Equal(t, tt.code, code, "%s: %s", tt.args, stderr)
		assert.Contains(t, stdout, tt.says, tt.args)
		if code != exit.OK {
			assert.True(t, strings.HasPrefix(stderr, "mine: "), stderr)
		}
	}
	for _, name := range []string{"f.png", "d.jsonl", "w.vcd", "c.pcapng", "j.xml"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	cases, err := os.ReadFile(filepath.Join(dir, "j.xml"))
	require.NoError(t, err)
	assert.Contains(t, string(cases), `<testsuite name="mine" `, "the suite has the name of the program")
	trace, err := os.ReadFile(filepath.Join(dir, "d.jsonl"))
	require.NoError(t, err)
	assert.NotContains(t, string(trace), "pfnCreateDeferredContext", "the driver has no command lists")
}

func TestBrokenContract(t *testing.T) {
	code, stdout, stderr := mine(breaking, "run", "compose", "--json")
	assert.Equal(t, exit.Contract, code)
	assert.Regexp(t, `(?m)^mine: verifier: error-success \(driver\): pfnFlush: reports S_OK; the call to blame: pfnSetErrorCb \(call #\d+\), argument hr, which is S_OK$`, stderr)
	var doc struct{ Error struct{ Kind string } }
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	assert.Equal(t, "contract", doc.Error.Kind)
}

// Help and completion have the name of the program.
func TestHelpNamesTheProgram(t *testing.T) {
	n := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		n++
		path := strings.Fields(c.CommandPath())[1:]
		code, stdout, stderr := mine(foreign, append([]string{"help"}, path...)...)
		assert.Zero(t, code, stderr)
		assert.NotContains(t, strings.ReplaceAll(stdout, "HILGPU_BOARD", ""), "hilgpu", path)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(command.NewApp(program("mine", foreign), io.Discard, io.Discard, nil).Tree())
	assert.Greater(t, n, 15)
	_, script, _ := mine(foreign, "completion", "bash")
	assert.True(t, strings.HasSuffix(script, "\ncomplete -F _hilgpu mine\n"))
	_, stdout, _ := mine(foreign, "__complete", "test", "--filter", "pre")
	assert.Contains(t, stdout, "present\t")
}

// Flags has the flags of the command test.
func TestFlags(t *testing.T) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	o := Flags(set)
	test, _, err := command.NewApp(program("mine", foreign), io.Discard, io.Discard, nil).Tree().Find([]string{"test"})
	require.NoError(t, err)
	var want, got []string
	test.Flags().AddFlagSet(test.InheritedFlags())
	test.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains([]string{"help", "json", "list"}, f.Name) {
			want = append(want, f.Name+"="+f.DefValue)
		}
	})
	set.VisitAll(func(f *flag.Flag) { got = append(got, f.Name+"="+f.DefValue) })
	assert.ElementsMatch(t, want, got)
	assert.Contains(t, got, "capture=")
	assert.Contains(t, got, "board=emu")
	assert.Empty(t, o.args())
	require.NoError(t, set.Parse([]string{"-board", "emu?nodes=1", "-seed=7", "-tdr-delay", "3s"}))
	assert.Equal(t, []string{"--board=emu?nodes=1", "--seed=7", "--tdr-delay=3s"}, o.args())
	assert.Error(t, set.Parse([]string{"-seed", "x"}))
	assert.Empty(t, (*Options)(nil).args())
}

// TestChild is the test of a driver in another process, which TestUnderGoTest starts.
func TestChild(t *testing.T) {
	switch os.Getenv("DRIVERTEST_CHILD") {
	case "good":
		Test(t, foreign, nil)
		Run(t, foreign, "run", "compose", "--check")
	case "bad":
		set := flag.NewFlagSet("", flag.ContinueOnError)
		o := Flags(set)
		require.NoError(t, set.Parse([]string{"-filter", "^(renaming|clears)$", "-junit", os.Getenv("DRIVERTEST_JUNIT")}))
		Test(t, wrong, o)
	case "exit":
		Test(t, deadly()["exit"], nil)
	case "workload":
		Run(t, deadly()["flush-exit"], "run", "compose", "--check")
	case "command":
		Run(t, breaking, "run", "compose", "--size", "16x16")
	}
}

// Cases are subtests. A failure has the name of its case, its reason, and the command
// that repeats it.
func TestUnderGoTest(t *testing.T) {
	tooltest.Long(t)
	junit := filepath.Join(t.TempDir(), "j.xml")
	child := func(what, run string) (string, error) {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", run)
		cmd.Env = append(os.Environ(), "DRIVERTEST_CHILD="+what, "DRIVERTEST_JUNIT="+junit)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := child("good", "^TestChild$/^(present|clears)$")
	require.NoError(t, err, out)
	assert.Contains(t, out, "--- PASS: TestChild/present (")
	assert.Contains(t, out, "--- PASS: TestChild/clears (")
	assert.NotContains(t, out, "--- SKIP: TestChild/lists")
	assert.Contains(t, out, "every pixel as expected")

	out, err = child("bad", "^TestChild$")
	require.Error(t, err)
	assert.Contains(t, out, "--- PASS: TestChild/renaming (")
	assert.Contains(t, out, "--- FAIL: TestChild/clears (")
	assert.Contains(t, out, "60 of 60 bytes differ, the first at 0: got 00 00 00 00")
	assert.Contains(t, out, "repeat: go test -run '^TestChild$' . --board emu --filter '^clears(/|$)' --seed 0 --runs 1")
	assert.Contains(t, out, "drivertest: check failed: ")
	assert.NotContains(t, out, "exit code", "one failure")
	text, err := os.ReadFile(junit)
	require.NoError(t, err)
	assert.True(t, bytes.Contains(text, []byte(`<testcase classname="suite" name="clears" `)), "the report has the case")

	out, err = child("command", "^TestChild$")
	require.Error(t, err)
	assert.Contains(t, out, "run compose --size 16x16: exit code 7")
}
