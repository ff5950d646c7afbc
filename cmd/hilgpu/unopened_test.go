package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// tokenBoard serves a board that refuses the hello of a host without its token, and returns its selector.
func tokenBoard(t *testing.T) string {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef"), 0o600))
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

// The log of a run whose board does not open has the error, and what happened to the link. It takes the place of
// an earlier log.
func TestLogWithoutABoard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	for _, tt := range []struct {
		board, says, link string
		code              int
	}{
		{"nosuch", `unknown scheme "nosuch"`, "", exit.Usage},
		{"serial:" + filepath.Join(t.TempDir(), "pty"), "no such port", "", exit.NoDevice},
		{tokenBoard(t), "the board wants a token", "session ends: datalink: refused by the board for its token", exit.Link},
	} {
		for _, args := range [][]string{{"run", "compose"}, {"run", "copy"}, {"reg", "read", "id.magic"}, {"test", "--filter", "^present$"}, {"bringup"}} {
			require.NoError(t, os.WriteFile(path, []byte("an earlier log"), 0o600))
			code, _, stderr := hilgpu(append(args, "--board", tt.board, "--record", path)...)
			assert.Equal(t, tt.code, code, stderr)
			code, stdout, stderr := hilgpu("why", path, "fault")
			require.Zero(t, code, stderr)
			assert.Contains(t, stdout, "fault: no board was opened\n")
			assert.Contains(t, stdout, "missing: open\n")
			_, because, _ := strings.Cut(stdout, "\nbecause ")
			assert.Contains(t, because, tt.says)
			if tt.link != "" {
				assert.Contains(t, stdout, "the link: "+tt.link, "%s", args)
			}
		}
	}
}

// A command that finds a mistake before it opens a board leaves the file as it is.
func TestNoLogOfBadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	require.NoError(t, os.WriteFile(path, []byte("an earlier log"), 0o600))
	for _, args := range [][]string{{"run", "compose", "--size", "x"}, {"run", "compose", "--nosuch"}} {
		code, _, stderr := hilgpu(append(args, "--record", path)...)
		assert.Equal(t, exit.Usage, code, stderr)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "an earlier log", string(text))
}
