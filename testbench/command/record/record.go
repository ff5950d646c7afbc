// Package record records the boards a command works on: their packets, their
// registers clock by clock, the calls of the driver interface, and the text
// that they print.
package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// ErrOption is wrapped by errors of invalid flags.
var ErrOption = errors.New("bad input")

// A Recorder records one run of a command. The zero value records nothing and
// needs Log only if a board prints text. Its files are created at first use.
type Recorder struct {
	Capture string // pcapng file for packets, or ""
	Wave    string // VCD file for registers, or ""
	Record  string // file for the log, or ""
	Tracks  string // file for the timeline of the log, or ""
	WaveOn  string // when to record registers: "" for always, "fault", or "cycle A..B"

	Tail *Tail // keeps the last events, or nil

	Program string               // name of the program, with which messages begin
	Log     io.Writer            // gets the text of boards and messages about the wave
	Stopped func(err error) bool // reports whether err means that a GPU stopped; nil: never
	Mistake func(err error) bool // reports whether err is one of the command line or the input; nil: never

	Outputs output.Set // all output files of the command, including those above

	console *console
	noticed sync.Once
	trace   *output.Live

	opens bool // Events or Options was called, so that the command opens a board
	keeps bool // KeepLast was called

	board *events.Board // watches the boards of a command without drivers, or nil

	logMu   sync.Mutex     // guards the fields up to copied
	kept    *eventlog.Ring // the log, if it is in no file; or nil
	logFile *output.Live
	log     *eventlog.Writer
	ended   bool // the last event is in the log
	tracks  *output.File
	copied  *os.File // the log, for the timeline

	mu       sync.Mutex // guards the fields below
	file     *output.File
	packets  *capture.Writer
	waveFile *output.File
	recorder *wave.Recorder
}

// AddCapture adds the flag for packets.
func (r *Recorder) AddCapture(fl *pflag.FlagSet) {
	fl.StringVar(&r.Capture, "capture", "", "record every packet of the link in this pcapng `file`, with a comment")
}

// Options returns the options with which to open boards so that they are
// recorded. It fails with ErrOption for invalid flags, and with
// output.ErrWrite.
func (r *Recorder) Options() (boards.Options, error) {
	if r.console == nil {
		r.console = &console{w: r.Log}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o := boards.Options{Console: r.console.text, Notice: r.notice}
	r.opens = true
	if r.Record != "" || r.Tail != nil || r.keeps {
		r.board = events.NewBoard(r.events)
		o.Watch = r.board
	}
	var err error
	if o.Wave, err = r.waves(); err != nil {
		return o, err
	}
	o.Capture, err = r.capture()
	return o, err
}

// notice prints what the user must know of a board, once.
func (r *Recorder) notice(text string) {
	r.noticed.Do(func() {
		if r.Log != nil {
			fmt.Fprintf(r.Log, "%s: %s\n", r.Program, text)
		}
	})
}

// Packets returns the writer for the packets of a board served by this program,
// or nil.
func (r *Recorder) Packets() (*capture.Writer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.capture()
}

func (r *Recorder) capture() (*capture.Writer, error) {
	if r.Capture == "" || r.packets != nil {
		return r.packets, nil
	}
	file, err := r.Outputs.Create(r.Capture)
	if err != nil {
		return nil, err
	}
	r.file = file
	r.packets, err = capture.NewWriter(file, capture.Options{Comment: regs.NewCommenter().Comment})
	return r.packets, err
}

// Trace returns the file for the calls of the driver interface, or nil if path
// is "". The file is not touched before the first line. Finish sorts it into
// the order of verifier.Merge.
func (r *Recorder) Trace(path string) (*output.Live, error) {
	out, err := r.Outputs.Create(path)
	if out == nil {
		return nil, err
	}
	r.trace = output.NewLive(out, verifier.Merge)
	return r.trace, nil
}

// Commit ends the recordings and the text of boards. err is the error of the
// command, or nil.
func (r *Recorder) Commit(err error) error {
	if r.console != nil {
		r.console.end()
	}
	return r.CommitFiles(err)
}

// CommitFiles is Commit without the text of boards, for a command ended by a
// signal. Later events are not recorded.
func (r *Recorder) CommitFiles(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.trace.Finish(), r.commitLog(err), r.commitWave(err), r.commitCapture())
}

func (r *Recorder) commitCapture() error {
	if r.packets == nil {
		return nil
	}
	if err := r.packets.Close(); err != nil {
		r.file.Discard()
		return err
	}
	return r.file.Commit()
}
