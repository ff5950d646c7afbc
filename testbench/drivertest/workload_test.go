package drivertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/command/conform"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

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
	tooltest.Long(t)
	for _, args := range [][]string{{"compose", "--size", "16x16"}, {"compose", "--size", "16x16", "--in-process"}, {"lists", "--lists", "20", "--alive", "5"}} {
		code, _, stderr := runDeadly(t, "deadlock", append([]string{"run", "--call-limit", "4s"}, args...)...)
		assert.Equal(t, exit.Contract, code)
		assert.Contains(t, stderr, "call-hang (driver or runtime): pfnFlush: no return for 4s")
	}
	code, _, stderr := runDeadly(t, "good", "run", "compose", "--call-limit", "-1s")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, "--call-limit -1s, want a positive time, or 0")
}

// A workload in a child has the same output, files and exit code as in this process.
func TestWorkloadInChild(t *testing.T) {
	tooltest.Long(t)
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
	tooltest.Long(t)
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
