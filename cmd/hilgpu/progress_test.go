package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A timed is a clock that a test sets, with the call that waits for it.
type timed struct {
	at   time.Time
	due  time.Time
	call func()
}

func (c *timed) clock() clock {
	return clock{
		now: func() time.Time { return c.at },
		after: func(d time.Duration, f func()) func() bool {
			c.due, c.call = c.at.Add(d), f
			return func() bool { c.call = nil; return true }
		},
	}
}

// pass lets time pass, and what waits for it happen.
func (c *timed) pass(d time.Duration) {
	for end := c.at.Add(d); ; {
		if c.call == nil || c.due.After(end) {
			c.at = end
			return
		}
		c.at = c.due
		c.call()
	}
}

// onTerminal returns a screen on a pseudo-terminal, its clock, and what returns
// the text that has come out since, and comes out of what is done meanwhile.
func onTerminal(t *testing.T) (*screen, *timed, func(do ...func()) string) {
	t.Helper()
	pty, err := serial.ListenPty("")
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, pty.Close()) })
	host, err := os.OpenFile(pty.Path(), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, host.Close()) })
	c := &timed{at: time.Unix(1000, 0)}
	s := &screen{w: host, term: terminalOf(host, func(string) string { return "" }), time: c.clock()}
	require.True(t, s.term.ok)
	return s, c, func(do ...func()) string {
		const end = "\x00"
		all := make(chan string)
		go func() {
			var text string
			for b := make([]byte, 4096); !strings.HasSuffix(text, end); {
				n, err := pty.Read(b)
				if !assert.NoError(t, err) {
					break
				}
				text += string(b[:n])
			}
			all <- strings.TrimSuffix(text, end)
		}()
		for _, f := range do {
			f()
		}
		_, err := host.WriteString(end)
		require.NoError(t, err)
		return <-all
	}
}

// seen is what stays on a terminal of one line: what was written since it was
// cleared.
func seen(text string) string {
	text = text[strings.LastIndex(text, "\x1b[2K")+len("\x1b[2K"):]
	text = text[strings.LastIndex(text, "\r")+1:]
	return regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`).ReplaceAllString(text, "")
}

func TestProgress(t *testing.T) {
	s, c, text := onTerminal(t)
	w := s.begin("run lists")
	w.to(1, 10)
	c.pass(1999 * time.Millisecond)
	w.to(2, 10)
	assert.Empty(t, text(), "not before two seconds")
	c.pass(time.Millisecond)
	first := seen(text())
	assert.Regexp(t, `^run lists, 2s +20% .*\(2/10\)`, first)
	w.to(3, 10)
	assert.Empty(t, text(), "not in the same moment")
	c.pass(100 * time.Millisecond)
	w.to(4, 10)
	assert.Regexp(t, `^run lists, 2s +40% .*\(4/10\)`, seen(text()))
	w.at("second part")
	c.pass(time.Second)
	assert.Regexp(t, `^run lists, second part, 3s +40% `, seen(text()), "also if nothing is told")

	_, err := s.Write([]byte("hilgpu: words\n"))
	require.NoError(t, err)
	assert.Equal(t, "\r\x1b[2Khilgpu: words\n", text(), "cleared before other output")
	_, err = answers{s.w, s}.Write([]byte("result\n"))
	require.NoError(t, err)
	assert.Equal(t, "result\n", text(), "and once")
	c.pass(time.Second)
	assert.Contains(t, text(), "run lists")
	_, err = answers{s.w, s}.Write([]byte("result\n"))
	require.NoError(t, err)
	assert.Equal(t, "\r\x1b[2Kresult\n", text())

	w.to(6, 10)
	c.pass(time.Second)
	assert.Regexp(t, `^run lists, second part, 5s +60% `, seen(text()))
	w.to(10, 10)
	c.pass(time.Second)
	assert.Equal(t, "\r\x1b[2K", text(), "there is nothing to wait for")
	w.to(6, 10)
	c.pass(time.Second)
	text()
	w.end()
	assert.Equal(t, "\r\x1b[2K", text())
	w.to(5, 10)
	c.pass(time.Hour)
	assert.Empty(t, text(), "nothing after the end")
	assert.Nil(t, c.call)
}

// A work whose end is not known turns a wheel, and a short one shows nothing.
func TestProgressWithoutATotal(t *testing.T) {
	s, c, text := onTerminal(t)
	w := s.begin("run compose")
	c.pass(5 * time.Second)
	assert.Regexp(t, `run compose, 5s`, seen(text()))
	w.to(1, 4)
	c.pass(time.Second)
	assert.Regexp(t, `^run compose, 6s +25% `, seen(text()), "until it is")
	w.end()
	text()
	w = s.begin("short")
	c.pass(time.Second)
	w.end()
	c.pass(time.Hour)
	assert.Empty(t, text())
}

// Only a terminal gets a line, and not between the lines of a document.
func TestProgressOnATerminalOnly(t *testing.T) {
	var out, errs strings.Builder
	c := &timed{at: time.Unix(0, 0)}
	a := newApp(&out, &errs, nil)
	a.stderr.time = c.clock()
	w := a.progress("run")
	w.to(1, 2)
	w.at("x")
	c.pass(time.Hour)
	w.end()
	assert.False(t, w.shown())
	assert.Empty(t, out.String()+errs.String())

	s, _, _ := onTerminal(t)
	a = newApp(s.w, s.w, nil)
	assert.True(t, a.progress("run").shown())
	a.json = true
	assert.False(t, a.progress("run").shown(), "the document is on this terminal")
	a = newApp(&out, s.w, nil)
	a.json = true
	assert.True(t, a.progress("run").shown(), "it is not")
	a = newApp(s.w, s.w, func(name string) string { return map[string]string{"TERM": "dumb"}[name] })
	assert.False(t, a.progress("run").shown())
}

// Outcomes are coloured on a terminal, unless NO_COLOR says not to.
func TestColours(t *testing.T) {
	s, _, text := onTerminal(t)
	for _, tt := range []struct {
		env  string
		want string
	}{
		{"", "\x1b[32mpassed\x1b[0m   present"}, {"1", "passed   present"},
	} {
		a := newApp(s.w, s.w, func(name string) string { return map[string]string{"NO_COLOR": tt.env}[name] })
		require.Zero(t, a.run([]string{"test", "--filter", "^present$"}))
		got := text()
		assert.Contains(t, got, tt.want)
		assert.Equal(t, tt.env == "", strings.Contains(got, "\x1b"))
	}
	a := newApp(s.w, s.w, nil)
	require.Equal(t, exitCheck, a.run([]string{"bringup", "--only", "mem.data", "--board", "emu?fault=dead-lane:2"}))
	assert.Contains(t, text(), " \x1b[31mFAIL\x1b[0m ")
	require.Zero(t, a.run([]string{"bringup", "--only", "mem.data"}))
	assert.Contains(t, text(), " \x1b[32mok\x1b[0m ")
	_, stdout, _ := hilgpu("test", "--filter", "^present$")
	assert.NotContains(t, stdout, "\x1b")
	p := palette(true)
	assert.Equal(t, "a look \x1b[32mok\x1b[0m 1 s\nok\n", p.painted("a look ok 1 s\nok\n", "ok"))
}

// Every command that may take long shows how far it is. Here each look at the
// clock takes a second.
func TestProgressOfCommands(t *testing.T) {
	for _, tt := range []struct {
		args string
		says string
		tool string
	}{
		{"lockstep --source ../.. --config small --sim icarus --cycles 3000", `lockstep, icarus, \d+s +\d+% .*\(\d+/3000\)`, "iverilog"},
		{"lockstep mutants --source ../.. --count 1 --cycles 100000", `mutants, .*, \d+s`, "verilator"},
		{"test --filter ^(present|clears|asking)$", `test, \d+s +66% .*\(2/3\)`, ""},
		{"bringup --only ident,mem.data", `bringup, mem.data, \d+s +50% .*\(1/2\)`, ""},
		{"bringup --soak 3 --only ident", `bringup, ident.id, \d+s +66% .*\(2/3\)`, ""},
		{"run storm --cycles 30000", `run storm, \d+s +\d+% .*\(\d+/\d+\)`, ""},
		{"run storm --cycles 30000 --all", `run storm, \d+s +\d+% .*\(\d+/30000\)`, ""},
		{"run lists --lists 30 --alive 5", `run lists, \d+s +\d+% .*\(\d+/30\)`, ""},
		{"run copy --size 64", `run copy, \d+s +33% .*\(1/3\)`, ""},
		{"run fill --size 64", `run fill, \d+s +66% .*\(2/3\)`, ""},
		{"bench device --turns 1", `bench device, speeds, \d+s +\d+% .*\(\d+/12\)`, ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if tt.tool != "" {
				tooltest.Need(t, tt.tool)
			}
			s, _, text := onTerminal(t)
			var out strings.Builder
			a := newApp(&out, s.w, nil)
			a.stderr.time.now = func() func() time.Time {
				at := time.Unix(0, 0)
				return func() time.Time { at = at.Add(time.Second); return at }
			}()
			got := text(func() { assert.Zero(t, a.run(strings.Fields(tt.args))) })
			assert.Regexp(t, tt.says, got)
			assert.NotContains(t, seen(got), "%", "it is cleared")
		})
	}
}
