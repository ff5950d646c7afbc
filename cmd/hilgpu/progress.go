package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// When progress is shown: not before patience, and then at most every redraw
// and at least every beat.
const (
	patience = 2 * time.Second
	redraw   = 100 * time.Millisecond
	beat     = time.Second
)

// barWidth is the columns of a bar, besides which its line needs barRest.
const (
	barWidth = 20
	barRest  = 36
)

// A terminal is what is known of an output that may be one.
type terminal struct {
	fd int
	ok bool
}

// terminalOf tells whether w is a terminal on which more than lines of text can
// be shown.
func terminalOf(w io.Writer, getenv func(string) string) terminal {
	f, ok := w.(*os.File)
	if !ok || getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return terminal{}
	}
	return terminal{int(f.Fd()), true}
}

// columns returns the width, 80 if it is not known.
func (t terminal) columns() int {
	if w, _, err := term.GetSize(t.fd); err == nil && w > 0 {
		return w
	}
	return 80
}

// A clock is the time that progress goes by.
type clock struct {
	now   func() time.Time
	after func(d time.Duration, f func()) (stop func() bool)
}

func wallClock() clock {
	return clock{time.Now, func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }}
}

// A screen is standard error. Where it is a terminal it shows how far a work is
// that takes long, in a line that goes before anything else is printed.
type screen struct {
	w    io.Writer
	term terminal
	time clock

	mu    sync.Mutex
	work  *work // that is under way, or nil
	drawn bool  // the line is there
}

// A work is something that may take long.
type work struct {
	screen      *screen
	name, state string
	done, total int64
	bar         *progressbar.ProgressBar // nil before the first line, and of another total
	began, last time.Time
	stop        func() bool
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) { return s.through(s.w, p) }

// through writes to w, which may be the same terminal.
func (s *screen) through(w io.Writer, p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return w.Write(p)
}

// wipe takes the line away.
func (s *screen) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *screen) clear() {
	if s.drawn {
		io.WriteString(s.w, "\r\x1b[2K")
	}
	s.drawn = false
}

// begin begins a work, which shows nothing unless the screen is a terminal. The
// work must end.
func (s *screen) begin(name string) *work {
	w := &work{screen: s, name: name}
	if !s.term.ok {
		return w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.began = s.time.now()
	s.work = w
	w.stop = s.time.after(patience, w.tick)
	return w
}

// shown reports whether the work is shown once it takes long.
func (w *work) shown() bool { return w.screen.term.ok }

// tick shows the line, and again after a beat.
func (w *work) tick() {
	w.screen.mu.Lock()
	defer w.screen.mu.Unlock()
	if w.screen.work != w {
		return
	}
	w.draw()
	w.stop = w.screen.time.after(beat, w.tick)
}

// to tells how much of the work is done; a total of 0 is not known.
func (w *work) to(done, total int) {
	w.set(func() { w.done, w.total = int64(done), int64(total) })
}

// at tells what the work is at.
func (w *work) at(state string) { w.set(func() { w.state = state }) }

// set changes the work and shows it, if it is time.
func (w *work) set(change func()) {
	s := w.screen
	if !s.term.ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := w.total
	if change(); w.total != was {
		w.bar = nil
	}
	now := s.time.now()
	if s.work == w && now.Sub(w.began) >= patience && now.Sub(w.last) >= redraw {
		w.draw()
	}
}

// end ends the work and takes the line away.
func (w *work) end() {
	s := w.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work != w {
		return
	}
	s.clear()
	s.work = nil
	w.stop()
}

// draw prints the line, unless all is done.
func (w *work) draw() {
	s := w.screen
	w.last = s.time.now()
	s.clear()
	if w.total > 0 && w.done >= w.total {
		return
	}
	text := w.name
	if w.state != "" {
		text += ", " + w.state
	}
	took := fmt.Sprintf(", %v", w.last.Sub(w.began).Truncate(time.Second))
	if room := s.term.columns() - barWidth - barRest; len(text) > max(room, 10) {
		text = text[:max(room, 10)]
	}
	if w.bar == nil {
		w.bar = newBar(s.w, w.total)
	}
	if w.total > 0 {
		w.bar.Set64(w.done)
	}
	w.bar.Describe(text + took)
	s.drawn = true
}

// newBar returns a bar, or if there is no total a wheel that turns.
func newBar(w io.Writer, total int64) *progressbar.ProgressBar {
	if total == 0 {
		total = -1
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(barWidth),
		progressbar.OptionUseANSICodes(true), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), progressbar.OptionShowCount())
}
