package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// Help fits a terminal and refers to the topics.
func TestHelpIsShort(t *testing.T) {
	tooltest.Long(t)
	n := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		n++
		path := strings.Fields(c.CommandPath())[1:]
		code, stdout, stderr := hilgpu(append([]string{"help"}, path...)...)
		assert.Zero(t, code, stderr)
		lines := strings.Split(stdout, "\n")
		for _, line := range lines {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 100, "%v: %s", path, line)
			assert.NotContains(t, line, "\t")
		}
		if !c.IsAdditionalHelpTopicCommand() {
			assert.LessOrEqual(t, len(lines)-1, 60, "%v", path)
			assert.Contains(t, stdout, `"hilgpu help exit-codes"`, path)
			assert.Equal(t, c.Flag("board") != nil || strings.Contains(c.Use, "SELECTOR"), strings.Contains(stdout, `"hilgpu help selectors"`), path)
			assert.Equal(t, c.Flag("board") != nil, strings.Contains(strings.Join(strings.Fields(stdout), " "), "default HILGPU_BOARD of the environment"), path)
			_, flag, _ := hilgpu(append(path, "--help")...)
			assert.Equal(t, stdout, flag, path)
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" { // cobra's own command, which has long paths
				walk(sub)
			}
		}
	}
	walk(newApp(io.Discard, io.Discard, nil).Tree())
	assert.Greater(t, n, 30)
	_, stdout, _ := hilgpu("--help")
	assert.Contains(t, stdout, "hilgpu selectors")
	assert.Contains(t, stdout, "hilgpu exit-codes")
}

// The topic contains everything in the manual, each entry once.
func TestHelpSelectors(t *testing.T) {
	code, stdout, _ := hilgpu("help", "selectors")
	require.Zero(t, code)
	text := strings.Join(strings.Fields(stdout), " ")
	for _, s := range boards.Manual() {
		assert.Equal(t, 1, strings.Count(text, s.Title+":"), s.Title)
		for _, e := range s.Entries {
			assert.Equal(t, 1, strings.Count(text, " "+e.Name+" "+strings.Join(strings.Fields(e.Doc), " ")), e.Name)
		}
	}
	doc, err := os.ReadFile("../../docs/selectors.md")
	require.NoError(t, err)
	assert.Contains(t, string(doc), "| `aperture` | 1 for an aperture")
	_, again, _ := hilgpu("selectors")
	assert.Equal(t, stdout, again)
}

// in runs a command line with HILGPU_BOARD set to board.
func in(board string, args ...string) (code int, stdout, stderr string) {
	var out, err strings.Builder
	a := newApp(&out, &err, func(name string) string { return map[string]string{"HILGPU_BOARD": board}[name] })
	code = a.Run(args)
	return code, out.String(), err.String()
}

// The environment has the default selector.
func TestBoardOfTheEnvironment(t *testing.T) {
	var walk func(c *cobra.Command)
	commands := map[string]bool{}
	walk = func(c *cobra.Command) {
		if c.Flag("board") != nil && c.Runnable() && !c.HasSubCommands() {
			commands[strings.TrimPrefix(c.CommandPath(), "hilgpu ")] = true
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newApp(io.Discard, io.Discard, nil).Tree())
	for path := range commands {
		args := strings.Fields(path)
		switch path {
		case "firmware core":
			args = append(args, filepath.Join(t.TempDir(), "core"))
		case "reg read":
			args = append(args, "id.magic")
		case "reg write":
			args = append(args, "id.scratch0=1")
		case "reg list", "reg diff", "reg export":
			continue // tested below; an export needs no board
		}
		for board, says := range map[string]string{
			"vapour":     `HILGPU_BOARD: boards: bad selector: "vapour": unknown scheme`,
			"emu?vram=3": `HILGPU_BOARD: boards: bad selector: "emu?vram=3"`,
		} {
			code, stdout, stderr := in(board, args...)
			assert.Equal(t, exit.Usage, code, path)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, says, path)
			code, _, stderr = in("emu", append(args, "--board", board)...)
			assert.Equal(t, exit.Usage, code, path)
			assert.NotContains(t, stderr, "HILGPU_BOARD", "the flag takes precedence")
		}
	}
	assert.Len(t, commands, 19)
	code, stdout, _ := in("emu?vram=8KiB", "reg", "read", "id.vram_size")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "(8192 bytes)")
	_, stdout, _ = in("emu?vram=8KiB", "reg", "read", "id.vram_size", "--board", "emu?vram=16KiB")
	assert.Contains(t, stdout, "(16384 bytes)")
	_, stdout, _ = in("emu?nodes=1", "run", "fill", "--size", "64", "--json")
	assert.Contains(t, stdout, `"board": "emu?nodes=1"`)
	_, stdout, _ = in("emu?nodes=1", "reg", "list")
	assert.NotContains(t, stdout, "cp1.")
	code, stdout, stderr := in("", "reg", "list")
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "cp1.ctl", "without a board all registers are listed")
	code, _, stderr = in("tcp:127.0.0.1:1", "reg", "list")
	assert.Equal(t, exit.Link, code)
	assert.Contains(t, stderr, "HILGPU_BOARD: bus: link down")
	code, _, stderr = in("vapour", "reg", "diff", "emu", "mist")
	assert.Equal(t, exit.Usage, code)
	assert.NotContains(t, stderr, "HILGPU_BOARD")
	code, _, stderr = in("", "reg", "read", "id.magic")
	assert.Zero(t, code, stderr)
}
