package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
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

// A Screen is standard error. Where it is a terminal it shows how far a work is
// that takes long, in a line that goes before anything else is printed. The zero
// value shows no work. Its methods and those of its works may be called from several
// goroutines.
type Screen struct {
	Time Clock // set before the first work

	w    io.Writer
	term Terminal

	mu    sync.Mutex
	work  *Work // that is under way, or nil
	drawn bool  // the line is there
}

// NewScreen returns the screen that w is, in the environment that getenv reads.
func NewScreen(w io.Writer, getenv func(string) string) *Screen {
	return &Screen{Time: WallClock(), w: w, term: Of(w, getenv)}
}

// A Work is something that may take long.
type Work struct {
	screen      *Screen
	name, state string
	done, total int64
	bar         *progressbar.ProgressBar // nil before the first line, and of another total
	began, last time.Time
	stop        func() bool
}

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) { return s.Through(s.w, p) }

// Through writes p to w, which may be the same terminal.
func (s *Screen) Through(w io.Writer, p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return w.Write(p)
}

// Wipe takes the line away.
func (s *Screen) Wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Screen) clear() {
	if s.drawn {
		io.WriteString(s.w, "\r\x1b[2K")
	}
	s.drawn = false
}

// Begin begins a work, which shows nothing unless the screen is a terminal. The
// work must end.
func (s *Screen) Begin(name string) *Work {
	w := &Work{screen: s, name: name}
	if !s.term.ok {
		return w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.began = s.Time.Now()
	s.work = w
	w.stop = s.Time.After(patience, w.tick)
	return w
}

// Shown reports whether the work is shown once it takes long.
func (w *Work) Shown() bool { return w.screen.term.ok }

// tick shows the line, and again after a beat.
func (w *Work) tick() {
	w.screen.mu.Lock()
	defer w.screen.mu.Unlock()
	if w.screen.work != w {
		return
	}
	w.draw()
	w.stop = w.screen.Time.After(beat, w.tick)
}

// To tells how much of the work is done; a total of 0 is not known.
func (w *Work) To(done, total int) {
	w.set(func() { w.done, w.total = int64(done), int64(total) })
}

// At tells what the work is at.
func (w *Work) At(state string) { w.set(func() { w.state = state }) }

// set changes the work and shows it, if it is time.
func (w *Work) set(change func()) {
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
	now := s.Time.Now()
	if s.work == w && now.Sub(w.began) >= patience && now.Sub(w.last) >= redraw {
		w.draw()
	}
}

// End ends the work and takes the line away.
func (w *Work) End() {
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
func (w *Work) draw() {
	s := w.screen
	w.last = s.Time.Now()
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
	w.show(text + took)
	s.drawn = true
}

// show prints a bar, or if there is no total a wheel that turns. A change of the bar and
// one of its text each print the line, so only one of them is made.
func (w *Work) show(text string) {
	if w.total > 0 && w.done > 0 {
		newBar(w.screen.w, w.total, progressbar.OptionSetDescription(text), progressbar.OptionShowCount()).Set64(w.done)
		return
	}
	if w.bar == nil && w.total > 0 {
		w.bar = newBar(w.screen.w, w.total, progressbar.OptionShowCount())
	}
	if w.bar == nil {
		w.bar = newBar(w.screen.w, -1)
	}
	w.bar.Describe(text)
}

func newBar(w io.Writer, total int64, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(barWidth), progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false), progressbar.OptionSetSpinnerChangeInterval(0),
	}, more...)...)
}
