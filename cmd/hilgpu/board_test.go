package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// servedBoards runs board serve until the test ends. It returns the argument
// for --board of each board.
func servedBoards(t *testing.T, f serveFlags, selectors ...string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := runServe(ctx, w, io.Discard, f, selectors)
		w.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	var boards []string
	for line := ""; len(boards) < len(selectors); {
		b := make([]byte, 1)
		_, err := r.Read(b)
		require.NoError(t, err)
		if line += string(b); strings.HasSuffix(line, "\n") {
			_, board, ok := strings.Cut(strings.TrimSpace(line), " --board ")
			require.True(t, ok, line)
			boards, line = append(boards, board), ""
		}
	}
	return boards
}

// The driver stack produces the emulator's frame over a pseudo-terminal, with
// both serial libraries, and over TCP with injected link faults.
func TestComposeOnServedBoards(t *testing.T) {
	pty := filepath.Join(t.TempDir(), "board")
	boards := servedBoards(t, serveFlags{links: new(command.Links), listen: []string{"pty:" + pty}, pace: "free"}, "emu")
	require.Equal(t, []string{"serial:" + pty}, boards)
	faulty := servedBoards(t, serveFlags{
		links:  new(command.Links),
		listen: []string{"tcp:127.0.0.1:0"}, pace: "free", faults: "loss=0.05,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02,seed=1",
	}, "emu?config=small")
	sum := func(board string) string {
		var out, errs bytes.Buffer
		require.Equal(t, exit.OK, run([]string{"run", "compose", "--check", "--json", "--size", "64x48", "--board", board}, &out, &errs), errs.String())
		var s session.Summary
		require.NoError(t, json.Unmarshal(out.Bytes(), &s))
		return s.FrameSHA256
	}
	want := sum("emu")
	for _, board := range []string{boards[0] + "?baud=3000000", boards[0] + "?driver=tarm&baud=3000000", boards[0] + "?maxbaud=3000000", faulty[0]} {
		assert.Equal(t, want, sum(board), board)
	}
}

// Bring-up and cases of the suite pass on served boards with injected link
// faults, with both serial libraries.
func TestFaultyServedBoards(t *testing.T) {
	dir := t.TempDir()
	for i, driver := range []string{serial.BugSt, serial.Tarm} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			board := servedBoards(t, serveFlags{
				links: new(command.Links), listen: []string{"pty:" + filepath.Join(dir, driver)}, pace: "free", silence: 10_000,
				faults: fmt.Sprintf("loss=0.03,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02,seed=%d", i+1),
			}, "emu?config=small")[0] + "?baud=3000000&silence=10000&timeout=10000&driver=" + driver
			for _, args := range [][]string{
				{"bringup", "--board", board},
				{"test", "--board", board, "--filter", "^(clears|copy-formats|order-flush)$"},
			} {
				var out, errs bytes.Buffer
				assert.Equal(t, exit.OK, run(args, &out, &errs), "%q: %s%s", args, out.String(), errs.String())
				assert.Empty(t, errs.String(), "a line without text shows none")
			}
		})
	}
}

// A port in use is busy for another host, and the error names the holder.
func TestBusyPort(t *testing.T) {
	pty := filepath.Join(t.TempDir(), "board")
	servedBoards(t, serveFlags{links: new(command.Links), listen: []string{"pty:" + pty}, pace: "free"}, "emu")
	p, err := serial.Open(pty, serial.Options{})
	require.NoError(t, err)
	defer p.Close()
	var out, errs bytes.Buffer
	assert.Equal(t, exit.Link, run([]string{"board", "probe", "serial:" + pty}, &out, &errs))
	assert.Contains(t, errs.String(), "busy")
	assert.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
}

// A board that other machines reach and that has no token begins with a warning.
func TestServeWarns(t *testing.T) {
	const warning = "warning: every host that reaches %s can use this board: give --token-file, or use a tunnel, see docs/remote.md\n"
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef"), 0o600))
	for _, tt := range []struct{ listen, token, warns string }{
		{"tcp:0.0.0.0:0", "", warning},
		{"udp:0.0.0.0:0", "", warning},
		{"tcp:0.0.0.0:0", token, ""},
		{"udp:0.0.0.0:0", token, ""},
		{"tcp:127.0.0.1:0", "", ""},
		{"udp:127.0.0.1:0", "", ""},
		{"tcp::0", "", ""},
		{"udp::0", "", ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the board ends when it has begun
		var out, errs bytes.Buffer
		f := serveFlags{links: new(command.Links), listen: []string{tt.listen}, pace: "free", token: tt.token}
		require.NoError(t, runServe(ctx, &out, &errs, f, []string{"emu?config=small"}), tt)
		assert.Contains(t, out.String(), "emu?config=small --board ")
		if tt.warns != "" {
			tt.warns = fmt.Sprintf(tt.warns, tt.listen)
		}
		assert.Equal(t, tt.warns, errs.String(), tt)
	}
}

// tokenFile writes a token to a file.
func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte(token), 0o600))
	return path
}

// tokenBoard serves a board for hosts with the token in a file, and returns its selector.
func tokenBoard(t *testing.T, token string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	c := newServe(newApp(w, io.Discard, nil))
	c.SetArgs([]string{"emu?config=small", "--listen", "tcp:127.0.0.1:0", "--token-file", token})
	c.SetOut(w)
	c.SetErr(io.Discard)
	ended := make(chan error, 1)
	go func() {
		err := c.ExecuteContext(ctx)
		w.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	_, board, ok := strings.Cut(strings.TrimSpace(line), " --board ")
	require.True(t, ok, line)
	return board
}

// A board with --token-file is that of the hosts with the token.
func TestServeToken(t *testing.T) {
	right, wrong := tokenFile(t, "0123456789abcdef"), tokenFile(t, "0123456789abcdeF")
	board := tokenBoard(t, right)
	for _, tt := range []struct {
		option string
		code   int
		says   string
	}{
		{"", exit.Link, "the board wants a token: give token-file="},
		{"?token-file=" + wrong, exit.Link, "the token is wrong"},
		{"?token-file=" + right, exit.OK, "1 nodes, 8 KiB VRAM"},
	} {
		code, out, errs := hilgpu("board", "probe", board+tt.option)
		assert.Equal(t, tt.code, code, tt.option)
		assert.Contains(t, out+errs, tt.says)
	}
}

func TestProbe(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, exit.OK, run([]string{"board", "probe", "emu", "emu?config=small"}, &out, &errs), errs.String())
	assert.Contains(t, out.String(), "16384 KiB VRAM  ready")
	assert.Contains(t, out.String(), "1 nodes, 8 KiB VRAM")
	out.Reset()
	require.Equal(t, exit.OK, run([]string{"board", "probe", "--json", "emu"}, &out, &errs), errs.String())
	var found boardsJSON
	require.NoError(t, json.Unmarshal(out.Bytes(), &found))
	assert.Equal(t, "ready", found.Boards[0].State)
	assert.Equal(t, 2, found.Boards[0].Identity.Nodes)
}

func TestBoardBadInput(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	busy := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(busy, nil, 0o666))
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"board", "serve", "emu"}, exit.Usage, "0 --listen for 1 boards"},
		{[]string{"board", "serve", "fpga", "--listen", "tcp:127.0.0.1:0"}, exit.Usage, "cannot be served"},
		{[]string{"board", "serve", "emu?latency=5", "--listen", "tcp:127.0.0.1:0"}, exit.Usage, "latency=5"},
		{[]string{"board", "serve", "emu", "--listen", "udp:x"}, exit.Usage, "udp:x"},
		{[]string{"board", "serve", "emu", "--listen", "pty:" + busy}, exit.Usage, busy},
		{[]string{"board", "serve", "emu", "--listen", "pty:/nowhere/board"}, exit.Usage, "the folder does not exist"},
		{[]string{"board", "serve", "emu", "--listen", "tcp:" + taken.Addr().String()}, exit.Usage, "choose another port"},
		{[]string{"board", "serve", "emu", "emu", "--listen", "tcp:127.0.0.1:0", "--listen", "tcp:127.0.0.1:0", "--capture", "x"}, exit.Usage, "want one"},
		{[]string{"version", "--capture", "x"}, exit.Usage, `unknown flag --capture for "hilgpu version"`},
		{[]string{"run", "compose", "--tdr-delay", "1ns"}, exit.Usage, "--tdr-delay 1ns"},
		{[]string{"board", "serve", "emu", "--listen", "tcp:127.0.0.1:0", "--pace", "slow"}, exit.Usage, "want free or clock"},
		{[]string{"board", "serve", "emu", "--listen", "tcp:127.0.0.1:0", "--baud", "5"}, exit.Usage, "--baud 5"},
		{[]string{"board", "serve", "emu", "--listen", "tcp:127.0.0.1:0", "--link-faults", "loss=2"}, exit.Usage, "loss"},
		{[]string{"board", "serve", "emu", "--listen", "tcp:127.0.0.1:0", "--silence", "199"}, exit.Usage, "--silence 199"},
		{[]string{"board", "serve", "emu", "--listen", "eth:"}, exit.Usage, "listen at"},
		{[]string{"board", "serve", "emu", "--listen", "eth:no-such/02:00:00:00:00:02"}, exit.Usage, "want eth:IFACE, without the address"},
		{[]string{"board", "serve", "emu", "--listen", "eth:no-such"}, exit.NoDevice, "no such Ethernet interface: no-such: this machine has"},
		{[]string{"board", "probe", "eth:no-such/02:00:00:00:00:02"}, exit.NoDevice, "no such Ethernet interface: no-such: this machine has"},
		{[]string{"board", "probe", "eth:no-such/02:00:00:00:00"}, exit.Usage, "bad MAC address"},
		{[]string{"board", "probe", "eth:no-such/02:00:00:00:00:02?mtu=500"}, exit.Usage, "mtu=500"},
		{[]string{"board", "probe", "tcp:127.0.0.1:99999"}, exit.Usage, "port 99999"},
		{[]string{"board", "probe", "fpga"}, exit.Usage, "unknown scheme"},
		{[]string{"board", "probe", "emu", "--options", "baud=3000000"}, exit.Usage, "--options: a selector has its own options"},
		{[]string{"reg", "diff", "emu", "emu", "--board", "emu"}, exit.Usage, "--board: the boards are the arguments A and B"},
		{[]string{"board", "probe", "serial:/dev/no-such-port"}, exit.NoDevice, "/dev/no-such-port"},
		{[]string{"board", "probe", "serial:" + busy}, exit.NoDevice, busy},
		{[]string{"board", "probe", "tcp:127.0.0.1:1"}, exit.Link, "127.0.0.1:1"},
		{[]string{"run", "compose", "--board", "serial:/dev/no-such-port"}, exit.NoDevice, "/dev/no-such-port"},
	} {
		var out, errs bytes.Buffer
		done := make(chan int, 1)
		go func() { done <- run(tt.args, &out, &errs) }()
		select {
		case code := <-done:
			assert.Equal(t, tt.code, code, "%q: %s", tt.args, errs.String())
			assert.Contains(t, errs.String(), tt.says)
			assert.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
		case <-time.After(20 * time.Second):
			t.Fatalf("%q does not end", tt.args)
		}
	}
}
