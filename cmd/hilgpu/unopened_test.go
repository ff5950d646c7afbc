package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// The log of a run whose board does not open has the error, and what happened to the link. It takes the place of
// an earlier log.
func TestLogWithoutABoard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	for _, tt := range []struct {
		board, says, link string
		code              int
	}{
		{"serial:" + filepath.Join(t.TempDir(), "pty"), "no such port", "", exit.NoDevice},
		{tokenBoard(t, tokenFile(t, "0123456789abcdef")), "the board wants a token", "session ends: datalink: refused by the board for its token", exit.Link},
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
	for _, args := range [][]string{{"run", "compose", "--size", "x"}, {"run", "compose", "--nosuch"}, {"run", "compose", "--board", "nosuch"}, {"bringup", "--board", "emu?nodse=1"},
		{"run", "copy", "--size", "999999999"}, {"run", "copy", "--nodes", "7"}, {"run", "fill", "--size", "-1"}, {"run", "lists", "--lists", "0"}, {"run", "lists", "--contexts", "0"},
		{"run", "stress", "--processes", "99"}, {"run", "stress", "--pressure", "99"}, {"run", "stress", "--hang", "2"}, {"run", "storm", "--cycles", "0"}, {"bringup", "--only", "foo"}} {
		code, _, stderr := hilgpu(append(args, "--record", path)...)
		assert.Equal(t, exit.Usage, code, stderr)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "an earlier log", string(text))
}
