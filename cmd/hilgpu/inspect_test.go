package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/inspect"
)

// The errors of --inspect have the same code in every command, and its address is told once.
func TestExitCodesOfInspect(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, tt := range []struct {
		at, says string
		want     int
	}{
		{"here", `--inspect: observer: bad address: "here", want [HOST:]PORT`, exit.Usage},
		{taken.Addr().String(), "--inspect: inspect: cannot listen at 127.0.0.1:", exit.Usage},
		{"0", "to look at the board, open http://127.0.0.1:", exit.OK},
		{"0.0.0.0:0", "reads the board", exit.OK},
	} {
		for _, command := range []string{"run compose --size 16x16", "run copy --count 1 --size 64", "test --filter ^present$", "reg read id.magic", "bringup --only ident", "firmware selftest --board emu?config=full"} {
			code, _, stderr := hilgpu(append(strings.Fields(command), "--inspect", tt.at)...)
			assert.Equal(t, tt.want, code, "%s: %s", command, stderr)
			assert.Equal(t, 1, strings.Count(stderr, tt.says), "%s: %s", command, stderr)
			if tt.want != exit.OK {
				assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			}
		}
	}
	code, _, stderr := hilgpu("board", "probe", "emu", "--inspect", "0", "--json")
	assert.Zero(t, code, stderr)
}

// The inspector and gdb have the same board.
func TestInspectWithGDB(t *testing.T) {
	cycles := regexp.MustCompile(`"cycles": \d+,`)
	args := []string{"run", "compose", "--size", "16x16", "--board", "emu?config=full", "--firmware-gdb", "0", "--json"}
	code, alone, stderr := hilgpu(args...)
	require.Zero(t, code, stderr)
	code, both, stderr := hilgpu(append(args, "--inspect", "0")...)
	require.Zero(t, code, stderr)
	assert.Contains(t, stderr, "to look at the board")
	assert.Contains(t, stderr, "to debug the firmware")
	assert.NotEmpty(t, cycles.FindString(both))
	assert.Equal(t, cycles.FindString(alone), cycles.FindString(both))
}

// inspected serves a board that another command has open.
func inspected(t *testing.T, selector string) string {
	t.Helper()
	s, err := inspect.Serve("0", inspect.Options{Program: "other"})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	link, _, err := boards.OpenWith(selector, regs.NoMemory{}, boards.Options{Share: s.Share})
	require.NoError(t, err)
	f, err := regs.Open(link, regs.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()); assert.NoError(t, link.Close()) })
	found, err := f.Find("id.scratch0")
	require.NoError(t, err)
	_, err = f.Write(found[0], 0x1234)
	require.NoError(t, err)
	return "inspect:" + s.Addr
}

// Commands that read registers work on a board in use. Those that write refuse it.
func TestBoardInUse(t *testing.T) {
	for _, selector := range []string{"emu?nodes=1", "line?config=small"} {
		board := inspected(t, selector)
		code, stdout, stderr := hilgpu("reg", "read", "--board", board, "id.scratch0", "id.caps.nodes", "cp0.*")
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, "id.scratch0 @0x0020 = 0x0000_1234")
		assert.Contains(t, stdout, "id.caps.nodes @0x0008[3:0] = 1")
		code, stdout, stderr = hilgpu("reg", "read", "--board", board, "id.time!")
		assert.Equal(t, exit.Usage, code, stdout)
		assert.Contains(t, stderr, "a read of id.time_lo has the effect latch")
		code, _, stderr = hilgpu("reg", "list", "--board", board, "cp1.ctl")
		assert.Equal(t, exit.Usage, code)
		assert.Contains(t, stderr, "which has no node 1")
		code, stdout, stderr = hilgpu("board", "probe", board)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "1234:4847 v1.0")

		file := filepath.Join(t.TempDir(), "s.json")
		code, _, stderr = hilgpu("reg", "snap", "--board", board, "-o", file)
		require.Zero(t, code, stderr)
		code, stdout, stderr = hilgpu("reg", "diff", file, board)
		assert.Zero(t, code, stdout+stderr)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(text), `{"name":"id.scratch0","offset":"0x20","value":"0x1234"}`)

		for _, command := range []string{"reg write id.scratch0=1", "run compose --size 16x16", "run copy --count 1 --size 64", "run storm"} {
			code, _, stderr := hilgpu(append(strings.Fields(command), "--board", board)...)
			assert.Equal(t, exit.Usage, code, "%s: %s", command, stderr)
			assert.Contains(t, stderr, "a board in use is read-only", command)
		}
		code, _, _ = hilgpu("bringup", "--board", board, "--only", "ident")
		offline, _, _ := hilgpu("bringup", "--board", "snap:"+file, "--only", "ident")
		assert.Equal(t, offline, code, "as a snapshot")
		_, stdout, _ = hilgpu("reg", "read", "--board", board, "id.scratch0")
		assert.Contains(t, stdout, "0x0000_1234", "nothing was written")
	}
}

// The commands of the firmware that write refuse a board in use, in one line. info reads it.
func TestFirmwareOfBoardInUse(t *testing.T) {
	board := inspected(t, withMCU)
	for _, command := range []string{"core " + filepath.Join(t.TempDir(), "core"), "load", "selftest", "log"} {
		code, stdout, stderr := hilgpu(append(strings.Fields("firmware "+command), "--board", board)...)
		assert.Equal(t, exit.Usage, code, "%s: %s", command, stderr)
		assert.Contains(t, stderr, "a board in use is read-only", command)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "%s: %s", command, stderr)
		assert.Empty(t, stdout, command)
	}
	code, stdout, stderr := hilgpu("firmware", "info", "--board", board)
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "program  reset, stage NONE")
}

// An address without a board in use is refused in one line.
func TestNoBoardInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	other := &http.Server{Handler: http.NotFoundHandler()}
	go other.Serve(l)
	defer other.Close()
	idle, err := inspect.Serve("0", inspect.Options{})
	require.NoError(t, err)
	defer idle.Close()
	for _, tt := range []struct {
		at, says string
		want     int
	}{
		{"127.0.0.1:1", "connection refused: start the board's server, or check the port", exit.Link},
		{"nowhere.invalid:1", ": check the host's name", exit.Link},
		{l.Addr().String(), "observer: no board: what answers at 127.0.0.1:", exit.NoDevice},
		{idle.Addr, "no board is open", exit.NoDevice},
		{"here", `bad address: "here", want [HOST:]PORT`, exit.Usage},
	} {
		for _, args := range [][]string{{"reg", "read", "id.magic", "--board", "inspect:" + tt.at}, {"run", "compose", "--board", "inspect:" + tt.at}, {"board", "probe", "inspect:" + tt.at}} {
			code, _, stderr := hilgpu(args...)
			assert.Equal(t, tt.want, code, "%v: %s", args, stderr)
			assert.Contains(t, stderr, tt.says)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		}
	}
}

// The rings of a command that runs show its packets.
func TestInspectWhileACommandRuns(t *testing.T) {
	tooltest.Long(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := free.Addr().String()
	require.NoError(t, free.Close())
	var seen atomic.Bool
	done := make(chan int, 1)
	go func() {
		code := 0
		for code == 0 && !seen.Load() {
			code, _, _ = hilgpu("run", "compose", "--size", "200x100", "--inspect", at)
		}
		done <- code
	}()
	for len(done) == 0 && !seen.Load() {
		a, err := http.Get("http://" + at + "/api/ring")
		if err != nil {
			continue // before the first run, or between two
		}
		text, err := io.ReadAll(a.Body)
		a.Body.Close()
		seen.Store(err == nil && strings.Contains(string(text), `"name":"COPY_2D"`))
	}
	assert.Zero(t, <-done)
	assert.True(t, seen.Load())
}
