package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/terminal/terminaltest"
)

// Only a terminal gets a progress line, and not between the lines of a
// document.
func TestProgressOnATerminalOnly(t *testing.T) {
	var out, errs strings.Builder
	c := &terminaltest.Clock{At: time.Unix(0, 0)}
	a := newApp(&out, &errs, nil)
	a.Stderr.Time = c.Clock()
	w := a.Progress("run")
	w.To(1, 2)
	w.At("x")
	c.Pass(time.Hour)
	w.End()
	assert.False(t, w.Shown())
	assert.Empty(t, out.String()+errs.String())

	x := terminaltest.Open(t)
	a = newApp(x.Out, x.Out, nil)
	assert.True(t, a.Progress("run").Shown())
	a.JSON = true
	assert.False(t, a.Progress("run").Shown(), "the document is on this terminal")
	a = newApp(&out, x.Out, nil)
	a.JSON = true
	assert.True(t, a.Progress("run").Shown(), "the document is elsewhere")
	a = newApp(x.Out, x.Out, func(name string) string { return map[string]string{"TERM": "dumb"}[name] })
	assert.False(t, a.Progress("run").Shown())
}

// Outcomes are coloured on a terminal, unless NO_COLOR is set.
func TestColours(t *testing.T) {
	x := terminaltest.Open(t)
	for _, tt := range []struct {
		env  string
		want string
	}{
		{"", "\x1b[32mpassed\x1b[0m   present"}, {"1", "passed   present"},
	} {
		a := newApp(x.Out, x.Out, func(name string) string { return map[string]string{"NO_COLOR": tt.env}[name] })
		require.Zero(t, a.Run([]string{"test", "--filter", "^present$"}))
		got := x.Text()
		assert.Contains(t, got, tt.want)
		assert.Equal(t, tt.env == "", strings.Contains(got, "\x1b"))
	}
	a := newApp(x.Out, x.Out, nil)
	require.Equal(t, exit.Check, a.Run([]string{"bringup", "--only", "mem.data", "--board", "emu?fault=dead-lane:2"}))
	assert.Contains(t, x.Text(), " \x1b[31mFAIL\x1b[0m ")
	require.Zero(t, a.Run([]string{"bringup", "--only", "mem.data"}))
	assert.Contains(t, x.Text(), " \x1b[32mok\x1b[0m ")
	_, stdout, _ := hilgpu("test", "--filter", "^present$")
	assert.NotContains(t, stdout, "\x1b")
}

// Every slow command shows its progress. In this test each reading of the clock
// takes a second.
func TestProgressOfCommands(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		args string
		says string
		tool string
	}{
		{"lockstep --source ../.. --config small --sim icarus --cycles 3000", `lockstep, icarus, [\dhms]+s +\d+% .*\(\d+/3000\)`, "iverilog"},
		{"lockstep prove --source ../.. --config small --filter ^(reset|fifo.count)", `prove, reset.kept, [\dhms]+s +50% .*\(1/2\)`, "yosys"},
		{"test --filter ^(present|clears|asking)$", `test, [\dhms]+s +66% .*\(2/3\)`, ""},
		{"bringup --only ident,mem.data", `bringup, mem.data, [\dhms]+s +66% .*\(2/3\)`, ""},
		{"bringup --soak 3 --only ident", `bringup, ident.id, [\dhms]+s +66% .*\(2/3\)`, ""},
		{"run storm --cycles 30000", `run storm, [\dhms]+s +\d+% .*\(\d+/\d+\)`, ""},
		{"run storm --cycles 30000 --all", `run storm, [\dhms]+s +\d+% .*\(\d+/30000\)`, ""},
		{"run lists --lists 30 --alive 5", `run lists, [\dhms]+s +\d+% .*\(\d+/30\)`, ""},
		{"run copy --size 64", `run copy, [\dhms]+s +33% .*\(1/3\)`, ""},
		{"run fill --size 64", `run fill, [\dhms]+s +66% .*\(2/3\)`, ""},
		{"bench device --turns 1", `bench device, speeds, [\dhms]+s +\d+% .*\(\d+/18\)`, ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if tt.tool != "" {
				tooltest.Need(t, tt.tool)
			}
			x := terminaltest.Open(t)
			var out strings.Builder
			a := newApp(&out, x.Out, nil)
			a.Stderr.Time.Now = func() func() time.Time {
				at := time.Unix(0, 0)
				return func() time.Time { at = at.Add(time.Second); return at }
			}()
			a.Stderr.Time.After = func(time.Duration, func()) func() bool { return func() bool { return true } } // updates by the command only
			got := x.Text(func() { assert.Zero(t, a.Run(strings.Fields(tt.args))) })
			assert.Regexp(t, tt.says, got)
			assert.NotContains(t, terminaltest.Seen(got), "%", "the line is cleared")
		})
	}
}
