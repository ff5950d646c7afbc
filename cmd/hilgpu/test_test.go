package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

func TestTest(t *testing.T) {
	xml := filepath.Join(t.TempDir(), "junit.xml")
	var out, errs bytes.Buffer
	code := run([]string{"test", "--board", "emu?nodes=1", "--filter", "^(present|order-flush)$", "--junit", xml}, &out, &errs)
	require.Equal(t, exit.OK, code, errs.String())
	assert.Contains(t, out.String(), "passed   present ")
	assert.Contains(t, out.String(), "skipped  order-flush ")
	assert.Contains(t, out.String(), "the miniport reports NumberOfNodes 1")
	assert.Contains(t, out.String(), "1 passed, 0 failed, 1 skipped on emu?nodes=1\n")
	b, err := os.ReadFile(xml)
	require.NoError(t, err)
	assert.Contains(t, string(b), `<testsuite name="hilgpu" tests="2" failures="0" errors="0" skipped="1"`)

	out.Reset()
	require.Equal(t, exit.OK, run([]string{"test", "--json", "--filter", "^present$"}, &out, &errs))
	var report suite.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	assert.Equal(t, 1, report.Passed)
	assert.Equal(t, suite.Passed, report.Results[0].Outcome)
}

func TestTestBadInput(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"test", "--filter", "("}, exit.Usage, "--filter: error parsing regexp"},
		{[]string{"test", "--filter", "nothing"}, exit.Usage, "matches no case"},
		{[]string{"test", "--board", "fpga"}, exit.Usage, "unknown scheme"},
		{[]string{"test", "--board", "emu?fault=dead-request", "--filter", "present"}, exit.Device, ""},
		{[]string{"test", "--junit", "/nowhere/x.xml"}, exit.Usage, "cannot write /nowhere/x.xml"},
		{[]string{"test", "extra"}, exit.Usage, "extra"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, tt.code, run(tt.args, &out, &errs), "%q: %s", tt.args, errs.String())
		assert.Contains(t, errs.String(), tt.says)
		assert.Empty(t, out.String())
	}
}

// TestTestArtifacts loses a doorbell: the kernel detects it, and the case
// leaves its artifacts.
func TestTestArtifacts(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	args := []string{"test", "--board", "emu?fault=lost-doorbell&after=2", "--filter", "^present$", "--artifacts", dir}
	require.Equal(t, exit.Check, run(args, &out, &errs), errs.String())
	assert.Contains(t, errs.String(), "1 of 1 cases failed")
	assert.Contains(t, out.String(), "\npages of these cases: "+filepath.Join(dir, "index.html")+"\n")
	assert.Contains(t, out.String(), "repeat: hilgpu test --board 'emu?fault=lost-doorbell&after=2' --filter '^present(/|$)' --seed 0 --runs 1")
	for _, name := range []string{"README.txt", "messages.txt", "ddi.jsonl", "dump.txt", "bus.pcapng", "wave.vcd", "events.log", "registers.json", "report.html"} {
		info, err := os.Stat(filepath.Join(dir, "present", name))
		if assert.NoError(t, err) {
			assert.NotZero(t, info.Size(), name)
			assert.True(t, name != "report.html" || info.Size() <= 5<<20, "a page is small")
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "present", "report.html"))
	require.NoError(t, err)
	for _, want := range []string{"GPU time-out", "--seed 0 --runs 1", "Map(READ) of a staging resource succeeds", "in the hardware", "pfnPresent: "} {
		assert.Contains(t, string(page), want)
	}
	for _, name := range []string{"index.html", "summary.md"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(text), "0 passed, 1 failed, 0 skipped on emu?fault")
	}
	code, stdout, stderr := hilgpu("reg", "read", "--board", "snap:"+filepath.Join(dir, "present", "registers.json"), "cp0.wptr", "cp0.rptr", "cp0.ctl")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?s)cp0\.wptr.*cp0\.rptr.*cp0\.ctl.*run`, strings.ToLower(stdout))
}

// TestRepeat: the command that repeats a case has the flags that change it.
func TestRepeat(t *testing.T) {
	var out, errs bytes.Buffer
	args := strings.Fields("test --board emu?fault=lost-doorbell&after=2 --filter ^present$ --sanitize=false --tdr-delay 30s --collect --waive gpu-late --call-limit 3m")
	require.Equal(t, exit.Check, run(args, &out, &errs), errs.String())
	assert.Contains(t, out.String(), "repeat: hilgpu test --tdr-delay 30s --waive gpu-late --collect --call-limit 3m0s --sanitize=false --board ")
}

// TestTestFrames: a case that composes a wrong frame leaves it, the expected one, and where they
// differ.
func TestTestFrames(t *testing.T) {
	dir := t.TempDir()
	code, errs := ran("test", "--board", "emu?fault=stuck-data:D17=1", "--filter", "^compose/0$", "--waive", "paging-content", "--artifacts", dir)
	require.Equal(t, exit.Check, code, errs)
	for _, name := range []string{"got.png", "expected.png", "difference.png"} {
		assert.FileExists(t, filepath.Join(dir, "compose_0", name))
	}
	page, err := os.ReadFile(filepath.Join(dir, "compose_0", "report.html"))
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(string(page), `<img alt="`))
	summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
	require.NoError(t, err)
	assert.Contains(t, string(summary), "- **compose/0**: pixels differ, the first at")
}

// TestBaseline: what a baseline lists fails no run, and what passes in spite of it does.
func TestBaseline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.txt")
	for _, tt := range []struct {
		name, board, baseline string
		code                  int
		says, errs            string
	}{
		{"fails", "emu?fault=lost-doorbell&after=2", "present,Fail\n", exit.OK, "known    present", ""},
		{"may fail", "emu?fault=lost-doorbell&after=2", "present,Flake\n", exit.OK, "0 passed, 1 failed, 0 skipped, 1 of the failures known on emu", ""},
		{"skipped", "emu", "present,Skip\n", exit.OK, "the baseline lists it as Skip", ""},
		{"passes", "emu", "present,Fail\n", exit.Check, "unexpected pass: the baseline lists it as Fail", "1 of 1 cases failed on emu"},
		{"another case", "emu", "clears,Fail\n", exit.OK, "1 passed", ""},
		{"unknown", "emu", "\npresence,Fail\n", exit.Usage, "", file + `: suite: bad baseline: line 2: no case "presence"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(tt.baseline), 0o600))
			var out, errs bytes.Buffer
			code := run([]string{"test", "--filter", "^present$", "--board", tt.board, "--baseline", file}, &out, &errs)
			assert.Equal(t, tt.code, code, errs.String())
			assert.Contains(t, out.String(), tt.says)
			assert.Contains(t, errs.String(), tt.errs)
		})
	}
	code, errs := ran("test", "--baseline", file+"2")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, errs, "bad input: --baseline: open")
}
