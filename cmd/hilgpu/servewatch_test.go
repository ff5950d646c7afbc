package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/record"
)

var fields = regexp.MustCompile(`(bar|addr|address|vector|bytes|node)=.*`)

// logged returns the fields of the events of a kind.
func logged(t *testing.T, log, kind string) (all []string) {
	t.Helper()
	code, out, stderr := hilgpu("log", log, "--kind", kind)
	require.Zero(t, code, stderr)
	for line := range strings.Lines(out) {
		all = append(all, fields.FindString(line))
	}
	return all
}

// The log of a served board has the accesses of its host, which the host's log has too, what the GPU executed, and the
// sessions.
func TestRecordOfServedBoard(t *testing.T) {
	for _, config := range []string{"emu?vram=64KiB", "emu?config=small"} {
		dir := t.TempDir()
		served, host := filepath.Join(dir, "board.log"), filepath.Join(dir, "host.log")
		t.Run(config, func(t *testing.T) {
			l := &command.Links{Recorder: record.Recorder{Record: served}}
			board := servedBoards(t, serveFlags{links: l, listen: []string{"tcp:127.0.0.1:0"}, pace: "free"}, config)[0]
			code, _, stderr := hilgpu("run", "compose", "--check", "--size", "24x12", "--board", board, "--record", host)
			require.Equal(t, exit.OK, code, stderr)
			require.NoError(t, l.Commit(nil))
		})
		for _, kind := range []string{"write", "read"} { // the PC writes the MSI-X table before the driver's log begins
			assert.Equal(t, logged(t, host, kind), logged(t, served, kind)[2:], config)
		}
		assert.Equal(t, logged(t, host, "memory"), logged(t, served, "memory"), config)
		assert.Equal(t, logged(t, host, "message"), logged(t, served, "message"), config)
		assert.Equal(t, config == "emu?config=small", logged(t, served, "executed") == nil, "without TRACE the GPU does not tell")
		_, links, _ := hilgpu("log", served, "--kind", "link")
		assert.Contains(t, links, "session begins", config)

		code, out, stderr := hilgpu("why", served, "fault")
		assert.Zero(t, code, stderr)
		assert.Contains(t, out, "nothing stopped the run")
	}
}

// The registers of a served board are read from a copy, also before the first host.
func TestInspectServedBoard(t *testing.T) {
	tooltest.Long(t)
	l := &command.Links{Inspect: "127.0.0.1:0"}
	var log strings.Builder
	l.Log = &log
	board := servedBoards(t, serveFlags{links: l, listen: []string{"tcp:127.0.0.1:0"}, pace: "free"}, "emu")[0]
	defer func() { assert.NoError(t, l.Commit(nil)) }()
	_, at, _ := strings.Cut(log.String(), "--board ")
	at = strings.TrimSpace(at)
	read := func(name, want string) {
		require.Eventually(t, func() bool { // a value is read again after 0.4 s
			code, out, stderr := hilgpu("reg", "read", "--board", at, name)
			require.Equal(t, exit.OK, code, stderr)
			return strings.Contains(out, want)
		}, 20*time.Second, 50*time.Millisecond, name)
	}
	read("id.magic", "0x4750_4c48")
	read("id.scratch0", "0x0000_0000")
	code, _, stderr := hilgpu("reg", "write", "--board", board, "id.scratch0", "0x1234")
	require.Equal(t, exit.OK, code, stderr)
	read("id.scratch0", "0x0000_1234")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		code, _, stderr := hilgpu("run", "compose", "--check", "--size", "96x64", "--board", board)
		assert.Equal(t, exit.OK, code, stderr)
	}()
	for working := true; working; { // a copy has no host memory, and must not show faults for that
		select {
		case <-ended:
			working = false
		default:
		}
		code, out, stderr := hilgpu("reg", "read", "--board", at, "cp*.fault_info")
		require.Equal(t, exit.OK, code, stderr)
		require.Equal(t, 2, strings.Count(out, "NONE"), out)
	}
	code, out, stderr := hilgpu("board", "probe", at, "--json")
	require.Equal(t, exit.OK, code, stderr)
	assert.Contains(t, out, `"vram_bytes": 16777216`)
}

// What cannot be watched is refused before a board is served.
func TestServedBoardsThatAreNotWatched(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for _, tt := range []struct{ args, says string }{
		{"emu emu --listen tcp:127.0.0.1:0 --listen tcp:127.0.0.1:0 --record " + log, "--record with 2 boards, want one"},
		{"emu emu --listen tcp:127.0.0.1:0 --listen tcp:127.0.0.1:0 --inspect 0", "--inspect with 2 boards, want one"},
		{"pins:ulx3s --listen tcp:127.0.0.1:0 --record " + log, "pins:ulx3s: gateware is not watched with --record: its host can be"},
		{"pins:ulx3s --listen tcp:127.0.0.1:0 --inspect 0", "gateware is not watched with --inspect"},
		{"emu?fault=lost-interrupt --listen tcp:127.0.0.1:0 --inspect 0", "--inspect: bus: unsupported request: a GPU with injected faults is not copied"},
		{"emu --listen tcp:127.0.0.1:0 --inspect here", `--inspect: observer: bad address: "here"`},
	} {
		code, _, stderr := hilgpu(append([]string{"board", "serve"}, strings.Fields(tt.args)...)...)
		assert.Equal(t, exit.Usage, code, tt.args)
		assert.Contains(t, stderr, tt.says, tt.args)
		assert.NoFileExists(t, log)
	}
}
