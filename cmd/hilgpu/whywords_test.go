package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The command accepts an address in the form that it prints. A value that is out of range, or that is true of several things, gets one
// clear line.
func TestWhyReadsWhatItPrints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	code, _, stderr := hilgpu("run", "compose", "--size", "32x16", "--record", path)
	require.Zero(t, code, stderr)
	for notation, number := range map[string]string{"VRAM+0x40": "0x40", "HOST+0x100040": "0x8000000000100040", "HOST+1048640": "0x8000000000100040"} {
		assert.Equal(t, whyOf(t, path, "address", number), whyOf(t, path, "address", notation), notation)
	}
	for question, want := range map[string]string{
		"address APERTURE+0x0":            "the page of APERTURE+0x0 was not mapped",
		"address VRAM+0x10000000000":      `address "VRAM+0x10000000000", want a number, or VRAM+0x40, APERTURE+0x40 or HOST+0x40`,
		"address HOST+0x8000000000000000": "want a number, or VRAM+0x40",
		"address ROM+0x40":                "want a number, or VRAM+0x40",
		"fence 2":                         "why: several things in the log fit: 2 nodes have a fence 2; ask for fence 0:2 or fence 1:2",
		"pixel -1,0":                      "-1,0 is out of range: calls count from 1, clocks, addresses and pixels from 0",
		"call -1":                         "-1 is out of range: calls count from 1",
		"call -- -1":                      `call "-1", want a number`,
		"call --bad":                      "unknown flag --bad",
	} {
		code, stdout, stderr := hilgpu(append([]string{"why", path}, strings.Fields(question)...)...)
		assert.Equal(t, exit.Usage, code, question)
		assert.Empty(t, stdout, question)
		assert.Contains(t, stderr, want, question)
	}
}

// nines writes a log of nine calls, of which the second three have a damaged block, event n at clock 10n. cut bytes are missing at the end.
func nines(t *testing.T, cut int) (path string, log []byte) {
	t.Helper()
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, eventlog.Header{Map: regmap.Hash()})
	require.NoError(t, err)
	var ends []int // of blocks
	for i := range uint64(9) {
		e := eventlog.New(eventlog.Call, i+1).WithText("Flush")
		e.Time = 10 * (i + 1)
		w.Add(e)
		if i%3 == 2 {
			require.NoError(t, w.Flush())
			ends = append(ends, b.Len())
		}
	}
	path, log = filepath.Join(t.TempDir(), "run.log"), b.Bytes()
	log[ends[1]-1] ^= 0xff
	require.NoError(t, os.WriteFile(path, log[:len(log)-cut], 0o644))
	return path, log
}

// A damaged block of events does not hide the rest of the log: the answer says which events are missing. A log without a whole block says so.
func TestWhyOfADamagedLog(t *testing.T) {
	path, damaged := nines(t, 0)
	assert.Contains(t, whyOf(t, path, "call", "7"), "note: the log is damaged: events 4 to 6, between clock 30 and clock 70, are missing, and what they did is not known\n")
	assert.Contains(t, whyOf(t, path, "fault"), "events 4 to 6, between")

	require.NoError(t, os.WriteFile(path, damaged[:headerOf(damaged)+3], 0o644))
	answer := whyOf(t, path, "fault")
	assert.Regexp(t, regexp.MustCompile(`(?s)^fault: nothing is known\n.*missing: unknown\nbecause the log has no event\nnote: the log has no complete block: `), answer)
}

// log prints what is before and after a damaged block, a line for the gap, and ends with exit code 2.
func TestLogOfADamagedLog(t *testing.T) {
	path, _ := nines(t, 0)
	before, gap, after := "1 10 call number=1 Flush\n2 20 call number=2 Flush\n3 30 call number=3 Flush\n",
		"- - gap: events 4 to 6, between clock 30 and clock 70, are missing\n", "7 70 call number=7 Flush\n8 80 call number=8 Flush\n9 90 call number=9 Flush\n"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, before + gap + after}, {[]string{"--from", "7"}, after}, {[]string{"--to", "3"}, before}, {[]string{"--from", "5", "--to", "5"}, gap}, {[]string{"--kind", "stop"}, gap},
	} {
		code, out, errs := hilgpu(append([]string{"log", path}, tt.args...)...)
		assert.Equal(t, exit.Usage, code, tt.args)
		assert.Equal(t, tt.want, out, tt.args)
		assert.Contains(t, errs, path+": eventlog: the log is damaged: events 4 to 6, between clock 30 and clock 70, are missing\n")
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
	code, out, _ := hilgpu("log", path, "--jsonl")
	assert.Equal(t, exit.Usage, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 8)
	assert.JSONEq(t, `{"gap":{"from":4,"to":6,"after":30,"before":70}}`, lines[3])
	assert.Contains(t, lines[7], `{"done":true,"events":6,"exit_code":2,"error":{`)

	path, _ = nines(t, 3) // the last block is cut
	code, out, errs := hilgpu("log", path)
	assert.Equal(t, exit.Usage, code)
	assert.Equal(t, before+"- - gap: the events from 4 on, after clock 30, are missing\n", out)
	assert.Contains(t, errs, "the log ends within a block")
	assert.Contains(t, whyOf(t, path, "fault"), "note: the log is damaged: the events from 4 on, after clock 30, are missing")
}

// A gap before a damaged last block is told before the error of that block, and report names both.
func TestGapBeforeADamagedEnd(t *testing.T) {
	path, log := nines(t, 0)
	log[len(log)-1] ^= 0xff
	require.NoError(t, os.WriteFile(path, log, 0o644))
	const gap = "the events from 4 on, after clock 30, are missing"
	for args, want := range map[string]string{
		"": "1 10 call number=1 Flush\n2 20 call number=2 Flush\n3 30 call number=3 Flush\n- - gap: " + gap + "\n", "--to 3": "1 10 call number=1 Flush\n2 20 call number=2 Flush\n3 30 call number=3 Flush\n",
	} {
		code, out, errs := hilgpu(append([]string{"log", path}, strings.Fields(args)...)...)
		assert.Equal(t, exit.Usage, code, args)
		assert.Equal(t, want, out, args)
		assert.Regexp(t, `the block at offset \d+ fails its check; before that, .*`+gap+"\n$", errs, args)
	}
	for _, flag := range []string{"-o", "--timeline"} {
		page := filepath.Join(t.TempDir(), "page")
		code, _, errs := hilgpu("report", path, flag, page)
		assert.Equal(t, exit.Usage, code, flag)
		assert.Regexp(t, `the block at offset \d+ fails its check; before that, .*`+gap+"\n$", errs, flag)
		assert.NoFileExists(t, page)
	}
}

// report writes a page and a timeline that show the gap, and ends with exit code 2.
func TestReportOfADamagedLog(t *testing.T) {
	path, _ := nines(t, 0)
	page, tracks := filepath.Join(t.TempDir(), "page.html"), filepath.Join(t.TempDir(), "tracks.json")
	const gap = "events 4 to 6, between clock 30 and clock 70, are missing"
	for _, args := range [][]string{{"-o", page}, {"--timeline", tracks}, {"-o", page, "--timeline", tracks}} {
		code, _, errs := hilgpu(append([]string{"report", path}, args...)...)
		assert.Equal(t, exit.Usage, code, errs)
		assert.Contains(t, errs, path+": eventlog: the log is damaged: "+gap+"\n")
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(html), `<tr><th>gaps</th><td class="failed">`+gap)
	assert.Contains(t, string(html), "<td>gap</td><td>"+gap)
	assert.Contains(t, string(html), "<li>Flush: 6</li>")
	text, err := os.ReadFile(tracks)
	require.NoError(t, err)
	assert.True(t, json.Valid(text))
	assert.Contains(t, string(text), gap)
}

// headerOf returns the size of the header of a log.
func headerOf(log []byte) int {
	return 20 + int(log[12]) + int(log[13])<<8
}
