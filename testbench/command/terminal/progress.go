package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress is shown after showAfter, then at most every redraw and at least
// every refresh.
const (
	showAfter = 2 * time.Second
	redraw    = 100 * time.Millisecond
	refresh   = time.Second
)

// barWidth is the width of a bar in columns. Its line needs barRest more.
const (
	barWidth = 20
	barRest  = 36
)

// A Screen is standard error. On a terminal it shows the progress of a long
// task in a line that is cleared before other output. The zero value shows
// nothing. The methods of a Screen and its tasks are safe for concurrent use.
type Screen struct {
	Time Clock // set before the first task

	w    io.Writer
	term Terminal

	mu    sync.Mutex
	task  *Task // running task, or nil
	drawn bool  // the line is on the screen
}

// NewScreen returns the screen for w; getenv reads the environment.
func NewScreen(w io.Writer, getenv func(string) string) *Screen {
	return &Screen{Time: WallClock(), w: w, term: Of(w, getenv)}
}

// A Task is something that may take long.
type Task struct {
	screen      *Screen
	name, state string
	done, total int64
	bar         *progressbar.ProgressBar // nil before the first line and when the total changes
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

// Wipe clears the line.
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

// Begin begins a task. It shows nothing unless the screen is a terminal. The
// caller must call End.
func (s *Screen) Begin(name string) *Task {
	w := &Task{screen: s, name: name}
	if !s.term.ok {
		return w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.began = s.Time.Now()
	s.task = w
	w.stop = s.Time.After(showAfter, w.tick)
	return w
}

// Shown reports whether the task is shown once it takes long.
func (w *Task) Shown() bool { return w.screen.term.ok }

// tick shows the line, and again after refresh.
func (w *Task) tick() {
	w.screen.mu.Lock()
	defer w.screen.mu.Unlock()
	if w.screen.task != w {
		return
	}
	w.draw()
	w.stop = w.screen.Time.After(refresh, w.tick)
}

// To sets the amount done; a total of 0 means unknown.
func (w *Task) To(done, total int) {
	w.set(func() { w.done, w.total = int64(done), int64(total) })
}

// At sets the current step of the task.
func (w *Task) At(state string) { w.set(func() { w.state = state }) }

// set changes the task and redraws the line if it is due.
func (w *Task) set(change func()) {
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
	if s.task == w && now.Sub(w.began) >= showAfter && now.Sub(w.last) >= redraw {
		w.draw()
	}
}

// End ends the task and clears the line.
func (w *Task) End() {
	s := w.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.task != w {
		return
	}
	s.clear()
	s.task = nil
	w.stop()
}

// draw prints the line, unless the task is complete.
func (w *Task) draw() {
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

// show prints a bar, or a spinner if there is no total. A change of the bar and
// a change of its text each print the line, so only one of them is made.
func (w *Task) show(text string) {
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
