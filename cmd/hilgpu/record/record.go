// Package record is what a command keeps of the boards it works on: their packets,
// their registers clock by clock, the calls of the driver interface, and the text that
// they print.
package record

import (
	"cmp"
	"errors"
	"io"
	"sync"

	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// ErrOption is wrapped by errors of flags that cannot be.
var ErrOption = errors.New("bad input")

// A Recorder records one run of a command. The zero value records nothing and needs
// Log only if a board prints text. Its files are made when they are first asked for.
type Recorder struct {
	Capture string // file of the packets, as pcapng, or ""
	Wave    string // file of the registers, as VCD, or ""
	WaveOn  string // when: "" always, fault, or cycle A..B

	Log     io.Writer            // gets the text of boards, and why there is no wave
	Stopped func(err error) bool // reports whether err is of a GPU that stopped; nil: none is

	Outputs output.Set // files of the command, those above among them

	console *console
	trace   *output.Live

	mu       sync.Mutex // of what follows
	file     *output.File
	packets  *capture.Writer
	waveFile *output.File
	recorder *wave.Recorder
}

// AddCapture adds the flag of the packets.
func (r *Recorder) AddCapture(fl *pflag.FlagSet) {
	fl.StringVar(&r.Capture, "capture", "", "record every packet of the link to the board in this pcapng `file`, with what it says")
}

// Options returns what boards are opened with, so that they are recorded. It fails with
// ErrOption for flags that cannot be, and with output.ErrWrite.
func (r *Recorder) Options() (boards.Options, error) {
	if r.console == nil {
		r.console = &console{w: r.Log}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o := boards.Options{Console: r.console.text}
	var err error
	if o.Wave, err = r.waves(); err != nil {
		return o, err
	}
	o.Capture, err = r.capture()
	return o, err
}

// Packets returns what records packets, for a board that this program serves, or nil.
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

// Trace returns the file of the calls of the driver interface, which Finish puts in the
// order of verifier.Merge and which is not touched before the first line, or nil
// without a path.
func (r *Recorder) Trace(path string) (*output.Live, error) {
	out, err := r.Outputs.Create(path)
	if out == nil {
		return nil, err
	}
	r.trace = output.NewLive(out, verifier.Merge)
	return r.trace, nil
}

// Commit ends what is recorded of a command that ended with err, nil if it went well,
// and the text of boards.
func (r *Recorder) Commit(err error) error {
	if r.console != nil {
		r.console.end()
	}
	return r.CommitFiles(err)
}

// CommitFiles is Commit without the text of boards, for a command that a signal ends.
// What comes after it is not recorded.
func (r *Recorder) CommitFiles(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.trace.Finish(), r.commitWave(err), r.commitCapture())
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
