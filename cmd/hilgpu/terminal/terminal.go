// Package terminal is what a command shows on a terminal beside its result: how far a
// long work is, and colours. Where there is none it shows nothing.
package terminal

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// A Terminal is what is known of an output that may be one. The zero value is none.
type Terminal struct {
	fd int
	ok bool
}

// Of returns the terminal that w is, if more than lines of text can be shown on it:
// not where the environment, which getenv reads, has TERM as dumb.
func Of(w io.Writer, getenv func(string) string) Terminal {
	f, ok := w.(*os.File)
	if !ok || getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return Terminal{}
	}
	return Terminal{int(f.Fd()), true}
}

// OK reports whether there is a terminal.
func (t Terminal) OK() bool { return t.ok }

// columns returns the width, 80 if it is not known.
func (t Terminal) columns() int {
	if w, _, err := term.GetSize(t.fd); err == nil && w > 0 {
		return w
	}
	return 80
}

// A Clock is the time that progress goes by.
type Clock struct {
	Now   func() time.Time
	After func(d time.Duration, f func()) (stop func() bool) // calls f once, unless it is stopped
}

// WallClock returns the clock of this machine.
func WallClock() Clock {
	return Clock{time.Now, func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }}
}
