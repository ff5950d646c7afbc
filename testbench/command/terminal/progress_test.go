package terminal_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/terminal"
	"github.com/hilgpu/hilgpu/testbench/command/terminal/terminaltest"
)

// empty is an environment without variables.
func empty(string) string { return "" }

// onTerminal returns a screen on a terminal, its clock, the terminal, and a
// function that returns the text printed since its last call.
func onTerminal(t *testing.T) (*terminal.Screen, *terminaltest.Clock, io.Writer, func(do ...func()) string) {
	t.Helper()
	x := terminaltest.Open(t)
	c := &terminaltest.Clock{At: time.Unix(1000, 0)}
	s := terminal.NewScreen(x.Out, empty)
	s.Time = c.Clock()
	return s, c, x.Out, x.Text
}

func TestProgress(t *testing.T) {
	s, c, out, text := onTerminal(t)
	w := s.Begin("run lists")
	w.To(1, 10)
	c.Pass(1999 * time.Millisecond)
	w.To(2, 10)
	assert.Empty(t, text(), "not before two seconds")
	c.Pass(time.Millisecond)
	first := text()
	assert.Regexp(t, `^(\r|\x1b\[[0-9]*K)*run lists, 2s +20% .*\(2/10\)`, first)
	assert.Equal(t, 1, strings.Count(first, "%"), "drawn once")
	w.To(3, 10)
	assert.Empty(t, text(), "not at the same time")
	c.Pass(100 * time.Millisecond)
	w.To(4, 10)
	assert.Regexp(t, `^run lists, 2s +40% .*\(4/10\)`, terminaltest.Seen(text()))
	w.At("second part")
	c.Pass(time.Second)
	assert.Regexp(t, `^run lists, second part, 3s +40% `, terminaltest.Seen(text()), "also without an update")

	_, err := s.Write([]byte("hilgpu: words\n"))
	require.NoError(t, err)
	assert.Equal(t, "\r\x1b[2Khilgpu: words\n", text(), "cleared before other output")
	_, err = s.Through(out, []byte("result\n"))
	require.NoError(t, err)
	assert.Equal(t, "result\n", text(), "and once")
	c.Pass(time.Second)
	assert.Contains(t, text(), "run lists")
	_, err = s.Through(out, []byte("result\n"))
	require.NoError(t, err)
	assert.Equal(t, "\r\x1b[2Kresult\n", text())

	w.To(6, 10)
	c.Pass(time.Second)
	assert.Regexp(t, `^run lists, second part, 5s +60% `, terminaltest.Seen(text()))
	w.To(10, 10)
	c.Pass(time.Second)
	assert.Equal(t, "\r\x1b[2K", text(), "the task is complete")
	w.To(6, 10)
	c.Pass(time.Second)
	text()
	w.End()
	assert.Equal(t, "\r\x1b[2K", text())
	w.To(5, 10)
	c.Pass(time.Hour)
	assert.Empty(t, text(), "nothing after the end")
	assert.False(t, c.Waits())
}

// A task without a total shows a spinner, and a short task shows nothing.
func TestProgressWithoutATotal(t *testing.T) {
	s, c, _, text := onTerminal(t)
	w := s.Begin("run compose")
	c.Pass(5 * time.Second)
	wheel := text()
	assert.Regexp(t, `run compose, 5s`, wheel)
	assert.NotContains(t, wheel, "(0/")
	w.To(1, 4)
	c.Pass(time.Second)
	assert.Regexp(t, `^run compose, 6s +25% `, terminaltest.Seen(text()), "until the total is known")
	w.End()
	text()
	w = s.Begin("short")
	c.Pass(time.Second)
	w.End()
	c.Pass(time.Hour)
	assert.Empty(t, text())
}

// Without a terminal, or on a dumb one, nothing is shown.
func TestNoTerminal(t *testing.T) {
	x := terminaltest.Open(t)
	dumb := func(name string) string { return map[string]string{"TERM": "dumb"}[name] }
	assert.True(t, terminal.Of(x.Out, empty).OK())
	assert.False(t, terminal.Of(x.Out, dumb).OK())
	assert.False(t, terminal.Of(io.Discard, empty).OK())
	c := &terminaltest.Clock{}
	s := terminal.NewScreen(x.Out, dumb)
	s.Time = c.Clock()
	for _, w := range []*terminal.Task{s.Begin("run"), new(terminal.Screen).Begin("run")} {
		w.To(1, 2)
		w.At("x")
		c.Pass(time.Hour)
		w.End()
		assert.False(t, w.Shown())
	}
	assert.Empty(t, x.Text())
}

func TestPainted(t *testing.T) {
	p := terminal.Palette(true)
	for _, tt := range []struct{ text, outcome, want string }{
		{"a look ok 1 s\nok\n", "ok", "a look \x1b[32mok\x1b[0m 1 s\nok\n"},
		{"FAIL\n", "FAIL", "\x1b[31mFAIL\x1b[0m\n"},
		{"skipped x\n", "skipped", "\x1b[33mskipped\x1b[0m x\n"},
		{"odd x\n", "odd", "odd x\n"},
		{"x\nok\n", "ok", "x\nok\n"},
	} {
		assert.Equal(t, tt.want, p.Painted(tt.text, tt.outcome))
		assert.Equal(t, tt.text, terminal.Palette(false).Painted(tt.text, tt.outcome))
	}
}
