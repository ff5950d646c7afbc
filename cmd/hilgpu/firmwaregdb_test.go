package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/gdbtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command"
)

// served returns a board at the end of a wire on which the firmware runs.
func served(t *testing.T) string {
	t.Helper()
	board := servedBoards(t, serveFlags{links: new(command.Links), listen: []string{"tcp:127.0.0.1:0"}, pace: "free"}, withMCU)[0]
	code, _, stderr := hilgpu("firmware", "load", "--board", board)
	require.Zero(t, code, stderr)
	return board
}

// debugged runs a command with --firmware-gdb PORT,wait and gdb at it. It returns what hilgpu does.
func debugged(t *testing.T, elf string, steps []gdbtest.Step, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, lines bytes.Buffer
	from, to := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(append(args, "--firmware-gdb", "0,wait"), &out, to)
		assert.NoError(t, to.Close())
	}()
	in := bufio.NewReader(io.TeeReader(from, &lines))
	first, err := in.ReadString('\n')
	require.NoError(t, err, first)
	_, addr, found := strings.Cut(strings.TrimSpace(first), "target remote ")
	require.True(t, found, first)
	g := gdbtest.Begin(t, steps, elf, "-ex", "directory ../..", "-ex", "target remote "+addr)
	_, err = io.Copy(io.Discard, in)
	require.NoError(t, err)
	g.End()
	return <-done, out.String(), lines.String()
}

// gdb attaches to a firmware that already runs, in commands that only look, and its detach leaves
// them their work.
func TestGDBAttach(t *testing.T) {
	tooltest.Long(t)
	gdbtest.Need(t)
	image, board, core := gdbtest.ELF(t, "../.."), served(t), filepath.Join(t.TempDir(), "core")
	sleeps := []gdbtest.Step{
		{"backtrace", `^(#\d .*)?#\d +(0x[0-9a-f]+ in )?boot \([^#]*\n#\d .* begin \(\)[^#]*$`},
		{"print finding.stage", "= 7$"},
		{"set $at = $pc", "^$"},
		{"stepi", `\S`},
		{"print $pc != $at", "= 1$"},
		{"detach", "detached"},
	}
	for _, tt := range []struct{ command, says string }{
		{"firmware info", "(?m)^program  asleep, stage LOOP, result READY"},
		{"reg read id.magic", "^id.magic @0x0000 = 0x4750_4c48"},
		{"firmware core " + core, `^core     .*core, \d+ bytes, running, pc 0x0000[0-9a-f]{4}\n$`},
	} {
		code, stdout, stderr := debugged(t, image, sleeps, append(strings.Fields(tt.command), "--board", board)...)
		require.Zero(t, code, stderr)
		assert.Regexp(t, tt.says, stdout)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	f, err := elf.Open(core)
	require.NoError(t, err)
	assert.NoError(t, f.Close())
}
