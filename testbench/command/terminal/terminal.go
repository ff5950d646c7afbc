// Package terminal shows progress and colours on a terminal. Without a terminal
// it shows nothing.
package terminal

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// A Terminal describes an output that may be a terminal. The zero value is not
// one.
type Terminal struct {
	fd int
	ok bool
}

// Of returns the terminal of w if it supports more than lines of text. It does
// not if TERM is dumb in the environment, which getenv reads.
func Of(w io.Writer, getenv func(string) string) Terminal {
	f, ok := w.(*os.File)
	if !ok || getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return Terminal{}
	}
	return Terminal{int(f.Fd()), true}
}

// OK reports whether there is a terminal.
func (t Terminal) OK() bool { return t.ok }

// columns returns the width, or 80 if it is unknown.
func (t Terminal) columns() int {
	if w, _, err := term.GetSize(t.fd); err == nil && w > 0 {
		return w
	}
	return 80
}

// A Clock is the clock used for progress.
type Clock struct {
	Now   func() time.Time
	After func(d time.Duration, f func()) (stop func() bool) // calls f once, unless stopped
}

// WallClock returns the clock of this machine.
func WallClock() Clock {
	return Clock{time.Now, func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }}
}
