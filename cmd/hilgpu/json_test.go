package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// jsonRuns are command lines that succeed and that fail, by command. & is a
// folder for files; tool is a tool needed for success.
var jsonRuns = map[string]struct {
	good, tool string
	slow       string // why the successful run is skipped
	bad        string
	code       int
	keeps      string // member of the report that is present after a failure
}{
	"bench device":      {good: "--turns 1", bad: "--turns 0", code: 2},
	"bench rtl":         {good: "--source ../.. --config small --runs 1 --count 1 --polls 1 --edits 0", tool: "verilator", bad: "--config huge", code: 2},
	"board build":       {slow: "minutes: make board", bad: "no-such", code: 2},
	"board flash":       {slow: "a board", bad: "no-such", code: 2},
	"board list":        {good: "", bad: "more", code: 2},
	"board probe":       {good: "emu", bad: "emu?fault=stuck-register:D3=0", code: 3, keeps: "boards"},
	"bringup":           {good: "--only ident", bad: "--board emu?fault=dead-lane:2 --only mem.data", code: 1, keeps: "results"},
	"drivertest new":    {good: "--source ../.. &/d", bad: "&/d", code: 2},
	"firmware core":     {good: "--load --board emu?config=full &/core", bad: "--board emu?config=full &/core", code: 5},
	"firmware info":     {good: "--board emu?config=full", bad: "--board emu?fault=stuck-register:D3=0", code: 3, keeps: "image"},
	"firmware load":     {good: "--board emu?config=full", bad: "--board emu?config=small", code: 3},
	"firmware log":      {good: "--board emu?config=full --level messages", bad: "--board emu?config=full --table json_test.go", code: 2},
	"firmware selftest": {good: "--board emu?config=full", bad: "--board emu?config=full --image json_test.go", code: 2},
	"lockstep":          {good: "--source ../.. --config small --sim icarus --cycles 10", tool: "iverilog", bad: "--config huge", code: 2},
	"lockstep mutants":  {good: "--source ../.. --config small --count 1 --seed 3 --cycles 20000", tool: "verilator", bad: "--seed x", code: 2},
	"lockstep prove":    {good: "--source ../.. --config small --filter ^reset", tool: "yosys", bad: "--filter no-such", code: 2},
	"reg diff":          {good: "emu emu", bad: "emu emu?vram=8KiB", code: 1, keeps: "changes"},
	"reg export":        {good: "csv", bad: "no-such", code: 2},
	"reg list":          {good: "cp0.*", bad: "cp0.nothing", code: 2},
	"reg read":          {good: "id.magic", bad: "id.magic --board tcp:127.0.0.1:1", code: 4},
	"reg snap":          {good: "", bad: "--board " + otherMap(), code: 6},
	"reg write":         {good: "id.scratch0 5", bad: "id.magic 5", code: 2},
	"rules explain":     {good: "list-state", bad: "no-such", code: 2},
	"rules list":        {good: "", bad: "more", code: 2},
	"run compose":       {good: "--size 16x16 --check -o &/f.png", bad: "--size 16x16 --board emu?fault=dead", code: 5},
	"run copy":          {good: "--size 64 --count 2", bad: "--size 64 --board emu?fault=stuck-data:D0=1", code: 1},
	"run fill":          {good: "--size 64 --count 2", bad: "--size 64 --board tcp:127.0.0.1:1", code: 4},
	"run lists":         {good: "--lists 20 --alive 5", bad: "--lists 0", code: 2},
	"run stress":        {slow: "lines: TestStress reads them", bad: "--processes 0", code: 2},
	"run storm":         {good: "--cycles 20000", bad: "--cycles 20000 --cover", code: 1, keeps: "bins"},
	"synth":             {slow: "minutes: TestJSONOfSynth has the document", bad: "--config huge", code: 2},
	"test":              {good: "--filter ^present$", bad: "--filter ^present$ --board emu?fault=lost-doorbell&after=2", code: 1, keeps: "results"},
	"test --list":       {good: "", bad: "--filter (", code: 2},
	"verilog":           {good: "--source ../.. --config small -o &/v", bad: "", code: 2},
	"why":               {good: "@log call 1", bad: "json_test.go fault", code: 2},
	"version":           {good: "", bad: "more", code: 2},
	"reg snap -o &/s.j": {good: "", bad: "--board vapour", code: 2},
}

// document decodes the single object in text.
func document(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	var all map[string]any
	require.NoError(t, d.Decode(&all), "%s", text)
	_, err := d.Token()
	require.ErrorIs(t, err, io.EOF, "one document: %s", text)
	return all
}

// wantError checks the error in a document.
func wantError(t *testing.T, doc map[string]any, code int, kind, stderr string) {
	t.Helper()
	failed, ok := doc["error"].(map[string]any)
	require.True(t, ok, "%v", doc)
	assert.EqualValues(t, code, failed["code"])
	assert.Equal(t, kind, failed["kind"])
	assert.Contains(t, stderr, "hilgpu: "+failed["message"].(string))
}

var kinds = []string{"", "check", "usage", "no_device", "link", "device", "register_map", "contract"}

// Every command with --json has a row, and answers with one document.
func TestJSONOfEveryCommand(t *testing.T) {
	tooltest.Long(t)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Flags().Lookup("json") != nil || c.InheritedFlags().Lookup("json") != nil {
			if path := strings.TrimPrefix(c.CommandPath(), "hilgpu "); c.Runnable() && path != "reg" && path != "firmware" {
				assert.Contains(t, jsonRuns, path)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newApp(io.Discard, io.Discard, nil).Tree())
	for path, tt := range jsonRuns {
		t.Run(path+"/fails", func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(path+" --json "+tt.bad, "&/", t.TempDir()+"/"))
			code, stdout, stderr := hilgpu(args...)
			assert.Equal(t, tt.code, code, stderr)
			doc := document(t, stdout)
			wantError(t, doc, tt.code, kinds[tt.code], stderr)
			if tt.keeps != "" {
				assert.Contains(t, doc, tt.keeps)
			}
		})
		t.Run(path+"/usage error", func(t *testing.T) {
			code, stdout, stderr := hilgpu(append(strings.Fields(path), "--no-such", "--json")...)
			assert.Equal(t, exit.Usage, code, stderr)
			wantError(t, document(t, stdout), 2, "usage", stderr)
		})
		if tt.slow != "" {
			t.Logf("%s is not run to its end, which takes %s", path, tt.slow)
			continue
		}
		t.Run(path+"/succeeds", func(t *testing.T) {
			if tt.tool != "" {
				tooltest.Need(t, tt.tool)
			}
			line := strings.ReplaceAll(path+" --json "+tt.good, "&/", t.TempDir()+"/")
			if strings.Contains(line, "@log") {
				line = strings.ReplaceAll(line, "@log", recordedLog(t))
			}
			args := strings.Fields(line)
			code, stdout, stderr := hilgpu(args...)
			assert.Zero(t, code, stderr)
			doc := document(t, stdout)
			assert.NotContains(t, doc, "error")
			assert.NotEmpty(t, doc)
		})
	}
}

// Several reports are one document, even if some of them were refused.
func TestJSONOfSynth(t *testing.T) {
	var stdout strings.Builder
	a := newApp(&stdout, io.Discard, nil)
	a.JSON = true
	require.True(t, a.Document(synthJSON{[]*synth.Report{{Config: "default"}, {Config: "small"}}}))
	require.NoError(t, a.End(fmt.Errorf("%w: synthesis: 2 findings", exit.ErrCheck)))
	doc := document(t, stdout.String())
	require.Len(t, doc["reports"], 2)
	assert.Contains(t, stdout.String(), `"small"`)
	wantError(t, doc, 1, "check", "hilgpu: check failed: synthesis: 2 findings")
}

// A usage error is answered with a document too.
func TestJSONOfUsageErrors(t *testing.T) {
	for _, args := range []string{
		"--json", "typo --json", "run --json", "run typo --json", "board serve --json emu", "reg --json", "reg --json typo",
		"verilog --json", "run compose --json --board vapour", "run compose --seed x --json", "run compose --seed x --json=true",
		"reg write --json id.magic", "rules explain --json", "test --json --tdr-delay 1ns",
	} {
		code, stdout, stderr := hilgpu(strings.Fields(args)...)
		assert.Equal(t, exit.Usage, code, args)
		wantError(t, document(t, stdout), 2, "usage", stderr)
	}
	for _, args := range []string{"run compose --seed x", "run compose --seed x -- --json", "run compose --seed x --json=false"} {
		code, stdout, _ := hilgpu(strings.Fields(args)...)
		assert.Equal(t, exit.Usage, code, args)
		assert.Empty(t, stdout, args)
	}
	code, stdout, _ := hilgpu("run", "copy", "--json", "--help")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "Usage:", "help is text")
}

// failing runs a command that sets a result and then panics with value, of a
// program called mine.
func failing(value any, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	p := command.Program{Name: "mine", Drivers: testbench.HostDrivers(), Root: func(a *command.App) *cobra.Command {
		c := &cobra.Command{Use: "fail", RunE: func(c *cobra.Command, _ []string) error {
			if lines, _ := c.Flags().GetBool("lines"); lines {
				a.Lines("rounds")
			}
			a.Document(struct {
				N int `json:"n"`
			}{7})
			panic(value)
		}}
		a.AddJSON(c.Flags())
		c.Flags().Bool("lines", false, "print JSON lines")
		root := new(cobra.Command)
		root.AddCommand(c)
		return root
	}}
	code = command.NewApp(p, &out, &errs, nil).Run(append([]string{"fail"}, args...))
	return code, out.String(), errs.String()
}

// A panic of the program is in the document, and the stack on standard error.
func TestJSONOfAPanic(t *testing.T) {
	code, stdout, stderr := failing("wheel off", "--json")
	assert.Equal(t, exit.Check, code)
	assert.True(t, strings.HasPrefix(stderr, "mine: panic: wheel off\n"), stderr)
	assert.Contains(t, stderr, "failing")
	assert.Equal(t, "{\n  \"n\": 7,\n  \"error\": {\n    \"code\": 1,\n    \"kind\": \"check\",\n    \"message\": \"panic: wheel off\"\n  }\n}\n", stdout)
}

// A broken contract unwinds, and is in the document and the last line.
func TestJSONOfABrokenContract(t *testing.T) {
	for _, broken := range []error{&dxgkrnl.Bugcheck{Code: 0x119}, &verifier.Violation{Text: "list 3 is open"}} {
		for _, stream := range []bool{false, true} {
			code, stdout, stderr := failing(broken, "--json", fmt.Sprintf("--lines=%t", stream))
			assert.Equal(t, exit.Contract, code)
			assert.Contains(t, stderr, "mine: "+broken.Error())
			doc := document(t, stdout)
			wantError(t, doc, 7, "contract", "hilgpu: "+broken.Error())
			assert.Equal(t, stream, doc["exit_code"] != nil)
		}
	}
}

// lines decodes JSON lines.
func lines(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	require.True(t, strings.HasSuffix(text, "\n"))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		all = append(all, document(t, line))
	}
	return all
}

// The last line of a soak has its exit code, with or without --json, and even
// without a round.
func TestSoakEnds(t *testing.T) {
	for _, tt := range []struct {
		args   string
		code   int
		rounds int
	}{
		{"--soak 2 --only ident", 0, 2},
		{"--soak 2 --only ident --json", 0, 2},
		{"--soak 2 --only mem.data --board emu?fault=dead-lane:2", 1, 2},
		{"--soak 2 --board tcp:127.0.0.1:1", 4, 1},
		{"--soak x", 2, 0},
		{"--soak 2 --only nothing", 2, 0},
		{"--soak 2 --board vapour", 2, 0},
		{"--soak 2 --poke hard", 2, 0},
		{"--soak 1 --nope", 2, 0},
		{"--json --soak=1 --nope", 2, 0},
		{"--soak 1 --seed x", 2, 0},
	} {
		code, stdout, stderr := hilgpu(append([]string{"bringup"}, strings.Fields(tt.args)...)...)
		assert.Equal(t, tt.code, code, stderr)
		all := lines(t, stdout)
		require.Len(t, all, tt.rounds+1, "%s: %s", tt.args, stdout)
		last := all[tt.rounds]
		assert.Equal(t, true, last["done"])
		assert.EqualValues(t, tt.rounds, last["rounds"])
		assert.EqualValues(t, tt.code, last["exit_code"])
		if tt.code == 0 {
			assert.NotContains(t, last, "error")
		} else {
			wantError(t, last, tt.code, kinds[tt.code], stderr)
		}
	}
}

// A command ended by a signal prints its document. TestKilledJSON also runs as
// the program that it kills.
func TestKilledJSON(t *testing.T) {
	const child = "HILGPU_TEST_CHILD"
	if args := os.Getenv(child); args != "" {
		os.Exit(run(strings.Fields(args), os.Stdout, os.Stderr))
	}
	for _, tt := range []struct {
		args string
		code int
		kind string
	}{
		{"run compose --json --size 2000x2000 --capture &/c", 128 + 15, "interrupted"},
		{"test --json --capture &/c", 128 + 15, "interrupted"},
		{"run lists --json --lists 10000000 --capture &/c", 128 + 15, "interrupted"},
		{"run storm --json --all --cycles 1000000000 --capture &/c", 128 + 15, "interrupted"},
		{"run copy --json --count 10000 --size 1000000 --capture &/c", 128 + 15, "interrupted"},
		{"bringup --json --bytes all --only mem --capture &/c", 128 + 15, "interrupted"},
		{"bringup --soak 1h --capture &/c", 128 + 15, "interrupted"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledJSON$")
			cmd.Env = append(os.Environ(), child+"="+strings.ReplaceAll(tt.args, "&", dir))
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				left, err := filepath.Glob(filepath.Join(dir, ".c.*"))
				return err == nil && len(left) == 1
			}, 20*time.Second, time.Millisecond)
			time.Sleep(100 * time.Millisecond) // the handler is installed just after the file is created
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			assert.Equal(t, tt.code, cmd.ProcessState.ExitCode())
			assert.True(t, strings.HasSuffix(stderr.String(), "hilgpu: ended by a signal: terminated\n"), "%q", stderr.String())
			assert.Equal(t, 1, strings.Count(stderr.String(), "ended by a signal"), "once")
			var last map[string]any
			if !slices.Contains(strings.Fields(tt.args), "--soak") {
				last = document(t, stdout.String())
			} else {
				all := lines(t, stdout.String())
				last = all[len(all)-1]
				assert.EqualValues(t, tt.code, last["exit_code"])
				assert.Equal(t, true, last["done"])
			}
			failed, ok := last["error"].(map[string]any)
			require.True(t, ok)
			assert.EqualValues(t, tt.code, failed["code"])
			assert.Equal(t, tt.kind, failed["kind"])
		})
	}
}
