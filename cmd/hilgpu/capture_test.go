package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/record"
)

// records returns the packets of a capture.
func records(t *testing.T, path string) []capture.Record {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := capture.NewReader(f)
	require.NoError(t, err)
	var all []capture.Record
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, rec)
	}
}

// comments returns the comments of a capture's packets.
func comments(t *testing.T, path string) []string {
	var all []string
	for _, r := range records(t, path) {
		all = append(all, r.Comment)
	}
	return all
}

// TestCapture records the packets of commands over all kinds of links,
// including commands that fail.
func TestCapture(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		has  []string
	}{
		{[]string{"run", "compose", "--size", "16x16"}, exit.OK, []string{"wr cp0.wptr = 0x", "MSI-X vector 0", "DMA rd 0x"}},
		{[]string{"run", "compose", "--size", "16x16", "--board", "line"}, exit.OK, []string{"wr cp0.wptr = 0x", "MSI-X vector 0", "DMA rd 0x"}},
		{[]string{"reg", "read", "id.magic"}, exit.OK, []string{"completion of rd id.magic = 0x47504c48"}},
		{[]string{"test", "--filter", "^restore-flags$"}, exit.OK, []string{"rd id.map_hash"}},
		{[]string{"board", "probe", "line"}, exit.OK, []string{"rd id.map_hash"}},
		{[]string{"bringup", "--only", "ident", "--board", "line"}, exit.OK, []string{"rd id.caps"}},
		{[]string{"bringup", "--only", "ident", "--board", "emu?fault=dead-request"}, exit.Check, []string{"rd id.magic"}},
	} {
		path := filepath.Join(t.TempDir(), "c.pcapng")
		var out, errs bytes.Buffer
		require.Equal(t, tt.code, run(append(tt.args, "--capture", path), &out, &errs), "%q: %s", tt.args, errs.String())
		all := strings.Join(comments(t, path), "\n")
		for _, want := range tt.has {
			assert.Contains(t, all, want, "%q", tt.args)
		}
	}
}

// Packets of a board at the end of a wire have wall-clock time, at both ends.
// Packets of a board in this process have virtual time, which is the same in
// every run.
func TestCaptureTimes(t *testing.T) {
	dir := t.TempDir()
	ours := func(path string, from time.Time) {
		all := records(t, path)
		require.NotEmpty(t, all)
		for _, r := range all {
			assert.GreaterOrEqual(t, int64(r.At), from.UnixNano())
			assert.LessOrEqual(t, int64(r.At), time.Now().UnixNano())
		}
	}
	served, host := filepath.Join(dir, "served.pcapng"), filepath.Join(dir, "host.pcapng")
	from := time.Now()
	t.Run("wire", func(t *testing.T) {
		l := &command.Links{Recorder: record.Recorder{Capture: served}}
		board := servedBoards(t, serveFlags{links: l, listen: []string{"tcp:127.0.0.1:0"}, pace: "free"}, "emu?config=small")[0]
		code, _, stderr := hilgpu("reg", "read", "id.magic", "--board", board, "--capture", host)
		require.Equal(t, exit.OK, code, stderr)
		require.NoError(t, l.Commit(nil))
	})
	ours(host, from)
	ours(served, from)

	var files [2][]byte
	for i := range files {
		path := filepath.Join(dir, "emu.pcapng")
		code, _, stderr := hilgpu("reg", "read", "id.magic", "--board", "line", "--capture", path)
		require.Equal(t, exit.OK, code, stderr)
		assert.Less(t, records(t, path)[0].At, time.Second)
		var err error
		files[i], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	assert.Equal(t, files[0], files[1])
	assert.Contains(t, string(files[0]), "time is virtual")
}

// A report contains the capture of its run.
func TestBringupReportHasTheBus(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	require.Equal(t, exit.OK, run([]string{"bringup", "--only", "ident", "--report", dir}, &out, &errs), errs.String())
	assert.Contains(t, strings.Join(comments(t, filepath.Join(dir, "bus.pcapng")), "\n"), "rd id.magic")
}

func TestCaptureBadInput(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, exit.Usage, run([]string{"run", "compose", "--capture", "/nowhere/c.pcapng"}, &out, &errs))
	assert.Contains(t, errs.String(), "cannot write /nowhere/c.pcapng")
	assert.Empty(t, out.String())
}
