package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// recordedLog returns the path of the log of a small run.
func recordedLog(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.log")
	code, _, stderr := hilgpu("run", "compose", "--size", "40x30", "--record", path)
	require.Zero(t, code, stderr)
	return path
}

func TestWhy(t *testing.T) {
	log := recordedLog(t)
	for question, want := range map[string]string{
		"pixel 20,15":  "uploaded it: call",
		"fence 0:1":    "it was written, reported and retired",
		"call 1":       "call 1, D3D11CreateDevice: it returned",
		"call 8":       "executes its packet COPY src=HOST+",
		"ddi 1":        "ddi 1, DxgkDdiAddDevice: it is event 2, in no call of the API",
		"ddi #2":       "ddi 2, DxgkDdiStartDevice: ",
		"cycle 9000":   "in the hardware",
		"address 0x40": "it was written 2 times",
		"fault":        "nothing stopped the run",
	} {
		code, stdout, stderr := hilgpu(append([]string{"why", log}, strings.Fields(question)...)...)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, want, question)
	}
	for question, want := range map[string]string{
		"fence 99":         "no submission has fence 99",
		"fence 1":          "ask for fence 0:1 or fence 1:1",
		"pixel 4000,1":     "wrote pixel 4000,1; the last frame has 40 x 30 pixels",
		"pixel 39,30":      "wrote pixel 39,30; the last frame has 40 x 30 pixels",
		"pixel 40,29":      "wrote pixel 40,29; the last frame has 40 x 30 pixels",
		"pixel 4000":       "want X,Y",
		"call 0":           "no call 0; it has calls 1 to",
		"ddi 0":            "want a number from 1",
		"ddi x":            "want a number from 1",
		"ddi 99999":        "no call #99999 of the driver interfaces; it has calls #1 to #",
		"cycle x":          "want a number",
		"address 0x900000": "was at VRAM+0x900000",
		"weather":          "want one of fault, fence",
		"fault 3":          "want nothing after fault",
	} {
		code, stdout, stderr := hilgpu(append([]string{"why", log}, strings.Fields(question)...)...)
		assert.Equal(t, exit.Usage, code, question)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, want, question)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

func TestLog(t *testing.T) {
	log := recordedLog(t)
	code, stdout, stderr := hilgpu("log", log, "--kind", "queue,retire")
	require.Zero(t, code, stderr)
	assert.Equal(t, strings.Count(stdout, " queue "), strings.Count(stdout, " retire "))
	assert.Positive(t, strings.Count(stdout, " queue "))
	code, stdout, stderr = hilgpu("log", log, "--kind", "end")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `^\d+ [1-9]\d{3,} end`, stdout, "the end has a time")

	text, err := os.ReadFile(log)
	require.NoError(t, err)
	write := func(p []byte) string {
		path := filepath.Join(t.TempDir(), "x.log")
		require.NoError(t, os.WriteFile(path, p, 0o600))
		return path
	}
	code, cut, stderr := hilgpu("log", write(text[:len(text)-100]))
	assert.Zero(t, code)
	assert.Contains(t, stderr, "ends within a block")
	assert.NotEmpty(t, cut)
	page := filepath.Join(t.TempDir(), "x.html")
	code, _, stderr = hilgpu("report", write(text[:len(text)-100]), "-o", page)
	assert.Zero(t, code)
	assert.Contains(t, stderr, "ends within a block")
	assert.FileExists(t, page)
	flipped := append([]byte(nil), text...)
	flipped[len(flipped)-100] ^= 1
	newer := append([]byte(nil), text...)
	newer[8] = 9
	foreign := []byte(strings.Replace(string(text), `"map":`, `"mup":`, 1))
	for _, tt := range []struct {
		path, want string
		code       int
	}{
		{write(newer), "newer version", exit.Usage},
		{write(foreign), "header fails its check", exit.Usage},
		{"why_test.go", "not a log", exit.Usage},
		{"no-such", "no such file", exit.Usage},
	} {
		for _, args := range [][]string{{"log", tt.path}, {"why", tt.path, "fault"}} {
			code, _, stderr := hilgpu(args...)
			assert.Equal(t, tt.code, code, stderr)
			assert.Contains(t, stderr, tt.want)
		}
	}
	path := write(flipped)
	code, stdout, stderr = hilgpu("log", path)
	assert.Equal(t, exit.Usage, code, stderr)
	assert.Contains(t, stderr, "the log is damaged: event")
	assert.Contains(t, stdout, "- - gap: event")
	code, _, stderr = hilgpu("log", path, "--ddi")
	assert.Equal(t, exit.Usage, code, stderr)
	assert.Contains(t, stderr, "fails its check")
	code, stdout, stderr = hilgpu("why", path, "fault")
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "note: the log is damaged: event")
}

// The log has the trace of the driver interfaces, and one seed gives one log.
func TestLogOfASeed(t *testing.T) {
	dir := t.TempDir()
	var logs []string
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		code, _, stderr := hilgpu("run", "compose", "--size", "40x30", "--contexts", "1", "--record", path, "--ddi", path+".jsonl")
		require.Zero(t, code, stderr)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		logs = append(logs, string(text))
		trace, err := os.ReadFile(path + ".jsonl")
		require.NoError(t, err)
		code, stdout, stderr := hilgpu("log", path, "--ddi")
		require.Zero(t, code, stderr)
		assert.True(t, string(trace) == stdout, "the trace differs from that of --ddi")
	}
	assert.True(t, logs[0] == logs[1], "the logs differ")
}

// A run that the device stops says how to find out why. A log of several boards can be asked about
// each.
func TestWhyAfterAStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	code, _, stderr := hilgpu("run", "compose", "--size", "40x30", "--board", "emu?fault=lost-doorbell")
	assert.Equal(t, exit.Device, code)
	assert.Contains(t, stderr, "add --record run.log, and then: hilgpu why run.log fault")
	code, _, stderr = hilgpu("run", "compose", "--size", "40x30", "--board", "emu?fault=lost-doorbell", "--record", path)
	assert.Equal(t, exit.Device, code)
	assert.Contains(t, stderr, "hilgpu why "+path+" fault")
	_, stdout, _ := hilgpu("why", path, "fault")
	assert.Contains(t, stdout, "missing: doorbell")

	code, _, _ = hilgpu("test", "--filter", "^present$", "--board", "emu?fault=lost-doorbell&after=2", "--record", path)
	require.Equal(t, exit.Check, code)
	_, stdout, _ = hilgpu("why", path, "fault")
	assert.Contains(t, stdout, "missing: ")
	assert.Contains(t, stdout, "note: the log has 2 boards, and this is about board 2, emu?fault=lost-doorbell&after=2: --opened N chooses another one\n")
	_, stdout, _ = hilgpu("why", path, "fault", "--opened", "1")
	assert.Contains(t, stdout, "nothing stopped the run\n", "the first board is only looked at")
	assert.Contains(t, stdout, "note: the log has 2 boards, and this is about board 1, emu?fault=lost-doorbell&after=2: --opened N chooses another one\n")
	_, stdout, _ = hilgpu("why", path, "cycle", "0")
	assert.Contains(t, stdout, "about board 2, ")
	for _, opened := range []string{"0", "2"} {
		code, stdout, stderr = hilgpu("why", path, "ddi", "1", "--opened", opened)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "ddi 1, DxgkDdiAddDevice: ")
	}
	code, _, stderr = hilgpu("why", path, "call", "1", "--opened", "1")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, "no call 1; it has no call; the log has 2 boards, and this is about board 1, ")
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	code, _, stderr = hilgpu("why", path, "fault", "--opened", "9")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, "no board 9 was opened")
}

// An error about something that is not in a log says where the log begins and that it is cut, if both are so.
func TestWhyOfACutLog(t *testing.T) {
	ring := eventlog.NewRing(100_000, eventlog.Header{Map: regmap.Hash()})
	for i := range uint64(20_000) {
		e := eventlog.New(eventlog.Call, i+1).WithText("Flush")
		e.Time = 10 * (i + 1)
		ring.Add(e)
	}
	var log bytes.Buffer
	_, err := ring.WriteTo(&log)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "cut.log")
	require.NoError(t, os.WriteFile(path, log.Bytes()[:log.Len()-10], 0o644))
	code, stdout, stderr := hilgpu("why", path, "call", "999999")
	assert.Equal(t, exit.Usage, code)
	assert.Empty(t, stdout)
	assert.Regexp(t, `no call 999999; it has calls \d+ to \d+; the log begins at event \d+, clock \d+: what was before is not in it; the log ends within a block, after clock \d+: .*\n$`, stderr)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}
