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

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// ran runs a command line and returns its exit code and its standard error.
func ran(args ...string) (code int, text string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, errs.String()
}

// TestReportCommand: a page and a timeline of a run that stops, and of one that does not.
func TestReportCommand(t *testing.T) {
	dir := t.TempDir()
	log, tracks, page := filepath.Join(dir, "run.log"), filepath.Join(dir, "run.json"), filepath.Join(dir, "run.html")
	for _, tt := range []struct {
		board, says string
		code        int
	}{
		{"emu", "<p>None.</p>", exit.OK},
		{"emu?fault=lost-doorbell&after=2", "GPU time-out: node 1, fence 2", exit.Device},
	} {
		code, errs := ran("run", "compose", "--size", "16x16", "--board", tt.board, "--record", log, "--timeline", tracks)
		require.Equal(t, tt.code, code, errs)
		first, err := os.ReadFile(tracks)
		require.NoError(t, err)
		require.True(t, json.Valid(first))
		code, errs = ran("report", log, "-o", page, "--timeline", tracks)
		require.Equal(t, exit.OK, code, errs)
		again, err := os.ReadFile(tracks)
		require.NoError(t, err)
		assert.Equal(t, string(first), string(again))
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.Contains(t, string(text), tt.says)
		assert.Less(t, len(text), 5<<20)
	}
}

// TestReportInput: bad input is one line.
func TestReportInput(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("not a log"), 0o600))
	page, log, foreign := filepath.Join(dir, "page.html"), filepath.Join(dir, "log"), filepath.Join(dir, "foreign")
	for path, hash := range map[string]uint32{log: regmap.Hash(), foreign: regmap.Hash() + 1} {
		file, err := os.Create(path)
		require.NoError(t, err)
		w, err := eventlog.NewWriter(file, eventlog.Header{Hz: 1, Map: hash})
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		require.NoError(t, file.Close())
	}
	for _, args := range [][]string{{"report", foreign, "-o", page}, {"report", foreign, "--timeline", page}, {"log", foreign}, {"log", foreign, "--ddi"}, {"why", foreign, "fault"}} {
		code, errs := ran(args...)
		assert.Equal(t, exit.Map, code, args)
		assert.Contains(t, errs, "foreign: eventlog: the log is of another register map: it was written with register map 0x", args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{other}, "hilgpu: bad input: nothing to write, want -o FILE, --timeline FILE, or both\n"},
		{[]string{other, "-o", page}, "hilgpu: " + other + ": eventlog: not a log: it does not begin with HILGPULG\n"},
		{[]string{dir, "-o", page}, "hilgpu: bad input: report: nothing to show: " + dir + " has neither events.log nor a file of a failed test\n"},
		{[]string{other + "2", "-o", page}, "hilgpu: bad input: stat " + other + "2: no such file or directory\n"},
		{[]string{log, "-o", dir}, "hilgpu: bad input: cannot write " + dir + ": it is a directory\n"},
	} {
		code, errs := ran(append([]string{"report"}, tt.args...)...)
		assert.Equal(t, exit.Usage, code)
		assert.Equal(t, tt.want, errs)
	}
	assert.NoFileExists(t, page)
}

// A report of a run on a board at the end of a wire has the packets of its rings, and what the host knows of each.
func TestReportOfAServedBoard(t *testing.T) {
	dir := t.TempDir()
	log, page := filepath.Join(dir, "run.log"), filepath.Join(dir, "run.html")
	board := servedBoards(t, serveFlags{links: new(command.Links), listen: []string{"tcp:127.0.0.1:0"}, pace: "free"}, "emu?vram=64KiB")[0]
	code, errs := ran("run", "compose", "--size", "16x16", "--tdr-delay", "1m", "--board", board, "--record", log)
	require.Zero(t, code, errs)
	code, errs = ran("report", log, "-o", page)
	require.Zero(t, code, errs)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, node := range []string{"0", "1"} {
		assert.Regexp(t, `<h3>Node `+node+`: the last packets in its ring, the newest first</h3>\n.*\n<pre>0x8\w+ FENCE addr=.*, given .*, ended by .*\n`, string(text))
	}
	assert.NotContains(t, string(text), "the last executed packets")
}

// No output may replace a file that the command reads, by whatever name.
func TestNoOutputOverAnInput(t *testing.T) {
	dir := t.TempDir()
	log, link := filepath.Join(dir, "events.log"), filepath.Join(dir, "link")
	code, _, stderr := hilgpu("run", "compose", "--size", "16x8", "--record", log)
	require.Zero(t, code, stderr)
	require.NoError(t, os.Symlink("events.log", link))
	picture := filepath.Join(dir, "a.png")
	code, _, stderr = hilgpu("run", "compose", "--size", "16x8", "-o", picture)
	require.Zero(t, code, stderr)
	registers := filepath.Join(dir, "map.json")
	code, _, stderr = hilgpu("reg", "export", "json", "-o", registers)
	require.Zero(t, code, stderr)
	snapshot, image, known := filepath.Join(dir, "snap.json"), filepath.Join(dir, "image"), filepath.Join(dir, "known")
	code, _, stderr = hilgpu("reg", "snap", "-o", snapshot)
	require.Zero(t, code, stderr)
	require.NoError(t, os.WriteFile(image, firmware.Default(), 0o600))
	require.NoError(t, os.WriteFile(known, []byte("present,Fail\n"), 0o600))
	for _, args := range [][]string{
		{"reg", "snap", "--board", "snap:" + snapshot, "-o", snapshot},
		{"firmware", "core", image, "--load", "--image", image, "--board", "emu?config=full"},
		{"test", "--filter", "^present$", "--baseline", known, "--junit", known},
		{"report", log, "-o", log},
		{"report", log, "-o", link},
		{"report", link, "--timeline", log},
		{"report", dir, "-o", log},
		{"report", dir, "-o", picture},
		{"reg", "export", "c", "--against", registers, "-o", registers},
		{"run", "compose", "--size", "16x8", "-o", picture, picture},
		{"run", "compose", "--size", "16x8", "--record", picture, picture},
	} {
		before := filesOf(t, dir)
		code, stdout, stderr := hilgpu(args...)
		assert.Equal(t, exit.Usage, code, args)
		assert.Empty(t, stdout)
		assert.Regexp(t, `^hilgpu: .*cannot write .*: the command reads it\n$`, stderr)
		assert.Equal(t, before, filesOf(t, dir), args)
	}
}

// filesOf returns the files of a folder with their contents.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(text)
	}
	return all
}
