package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// plain replaces the variable parts of a report: times, the hash of the
// register map, the number of registers, and the blanks before the outcome.
func plain(report string) string {
	for _, r := range []struct{ find, by string }{
		{`[0-9.]+ (us|ms|s)\b`, "TIME"},
		{`map [0-9a-f]{8}`, "map HASH"},
		{`[0-9]+ (registers|walked|read-only|not written)`, "N $1"},
		{` +(ok|FAIL|skip)\b`, "  $1"},
	} {
		report = regexp.MustCompile(r.find).ReplaceAllString(report, r.by)
	}
	return report
}

// TestBringupText compares the output for a board with a stuck address line
// with a reviewed text.
func TestBringupText(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "bringup.txt"))
	require.NoError(t, err)
	code, stdout, stderr := hilgpu("bringup", "--board", "emu?config=small&fault=stuck-address:A12=1", "--seed", "7")
	assert.Equal(t, exit.Check, code)
	assert.Equal(t, "hilgpu: check failed: bring-up of emu?config=small&fault=stuck-address:A12=1: 1 stages failed, 8 were not run\n", stderr)
	assert.Equal(t, string(want), plain(stdout))
}

func TestBringupExitCodes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says string // on standard error
	}{
		{[]string{"--board", "emu?config=small", "--only", "link,ident"}, exit.OK, ""},
		{[]string{"--board", "emu?config=small&fault=lost-doorbell", "--only", "cp.start"}, exit.Check, "1 stages failed"},
		{[]string{"--board", "emu?config=small&fault=dead-request"}, exit.Check, "1 stages failed, 21 were not run"},
		{[]string{"--board", "vapour"}, exit.Usage, `"vapour"`},
		{[]string{"--board", "emu?fault=fire"}, exit.Usage, "stuck-address:A<n>=<0|1>"},
		{[]string{"--only", "mem.lines"}, exit.Usage, "want one of link.trips"},
		{[]string{"--only", ","}, exit.Usage, "--only , names no stage, want stages or groups"},
		{[]string{"--board", "emu?config=small", "--only", "mcu,link.rate"}, exit.OK, ""},
		{[]string{"--poke", "all"}, exit.Usage, "--poke all, want safe, idle or destructive"},
		{[]string{"--bytes", "0"}, exit.Usage, "--bytes 0, want"},
		{[]string{"--bytes", "lots"}, exit.Usage, "--bytes lots, want"},
		{[]string{"--soak", "0"}, exit.Usage, "--soak 0, want a number of rounds or a duration"},
		{[]string{"--soak", "-5s"}, exit.Usage, "--soak -5s"},
		{[]string{"--report", "/dev/null/x"}, exit.Usage, "cannot write /dev/null/x"},
		{[]string{"again"}, exit.Usage, `"again"`},
	} {
		code, _, stderr := hilgpu(append([]string{"bringup"}, tt.args...)...)
		assert.Equal(t, tt.code, code, "%v: %s", tt.args, stderr)
		assert.Contains(t, stderr, tt.says, "%v", tt.args)
		if tt.code != exit.OK {
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
		}
	}
}

func TestBringupJSON(t *testing.T) {
	code, stdout, stderr := hilgpu("bringup", "--board", "emu?config=small&fault=dead-lane:2", "--json", "--only", "mem.data")
	assert.Equal(t, exit.Check, code, stderr)
	var r bringup.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, "byte lane 2 (D16 to D23) always reads 0xff", r.Results[0].Details[0])
}

func TestBringupSoak(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := hilgpu("bringup", "--board", "emu?config=small&fault=bit-flip:0.00005@3", "--seed", "10", "--soak", "4",
		"--only", "mem.patterns,ring", "--report", dir)
	assert.Equal(t, exit.Check, code)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 5)
	bad, first := 0, uint64(0)
	for i, line := range lines[:4] {
		var r bringup.Round
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		assert.Equal(t, []uint64{uint64(i + 1), uint64(i + 10)}, []uint64{r.Round, r.Seed})
		assert.Equal(t, 2, r.Passed+r.Failed)
		if r.Failed > 0 {
			assert.Equal(t, []string{"mem.patterns"}, r.Stages)
			if bad++; bad == 1 {
				first = r.Seed
			}
		}
	}
	assert.Contains(t, stderr, "rounds failed, the first with seed")
	var kept bringup.Report
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &kept))
	assert.Equal(t, first, kept.Seed, "the first round that failed")
	for _, name := range []string{"report.html", "junit.xml"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
}

// The help lists every stage.
func TestBringupHelp(t *testing.T) {
	code, stdout, _ := hilgpu("bringup", "--help")
	assert.Zero(t, code)
	for _, says := range bringup.Stages() {
		assert.Contains(t, stdout, says)
	}
}
