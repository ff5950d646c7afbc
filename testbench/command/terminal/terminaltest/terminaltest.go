// Package terminaltest provides a terminal that tests can read and a clock that
// tests can set.
package terminaltest

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/terminal"
)

// A Clock is a clock set by a test, with the call that waits for it, if any.
type Clock struct {
	At time.Time

	due  time.Time
	call func()
}

// Clock returns the clock as a terminal.Clock.
func (c *Clock) Clock() terminal.Clock {
	return terminal.Clock{
		Now: func() time.Time { return c.At },
		After: func(d time.Duration, f func()) func() bool {
			c.due, c.call = c.At.Add(d), f
			return func() bool { c.call = nil; return true }
		},
	}
}

// Pass advances the time and makes the calls that become due.
func (c *Clock) Pass(d time.Duration) {
	for end := c.At.Add(d); ; {
		if c.call == nil || c.due.After(end) {
			c.At = end
			return
		}
		c.At = c.due
		c.call()
	}
}

// Waits reports whether a call is waiting.
func (c *Clock) Waits() bool { return c.call != nil }

// A Terminal is a pseudo-terminal.
type Terminal struct {
	Out *os.File // the program's end

	t   *testing.T
	pty pty
}

// A pty is the other end of a pseudo-terminal.
type pty interface {
	io.ReadCloser
	Path() string // of the program's end
}

// Open returns a terminal that is closed at the end of the test. It skips the
// test on a system without pseudo-terminals.
func Open(t *testing.T) *Terminal {
	t.Helper()
	p, err := listen()
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	out, err := os.OpenFile(p.Path(), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, out.Close()) })
	return &Terminal{Out: out, t: t, pty: p}
}

// Text returns the output since the last call, including the output of do.
func (x *Terminal) Text(do ...func()) string {
	x.t.Helper()
	const end = "\x00"
	all := make(chan string)
	go func() {
		var text string
		for b := make([]byte, 4096); !strings.HasSuffix(text, end); {
			n, err := x.pty.Read(b)
			if !assert.NoError(x.t, err) {
				break
			}
			text += string(b[:n])
		}
		all <- strings.TrimSuffix(text, end)
	}()
	for _, f := range do {
		f()
	}
	_, err := x.Out.WriteString(end)
	require.NoError(x.t, err)
	return <-all
}

// Seen returns the text visible on a terminal of one line: the text written
// since it was last cleared.
func Seen(text string) string {
	text = text[strings.LastIndex(text, "\x1b[2K")+len("\x1b[2K"):]
	text = text[strings.LastIndex(text, "\r")+1:]
	return regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`).ReplaceAllString(text, "")
}
