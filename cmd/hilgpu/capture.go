package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// links is how the commands reach boards: what --capture and --wave record of
// them, and where the text goes that boards send.
type links struct {
	path   string    // of the capture, or ""
	stderr io.Writer // gets text of boards
	wave   waveFlags
	tdr    time.Duration

	console *console
	trace   *output.Live // of --ddi, or nil
	outputs output.Set   // of the command

	mu   sync.Mutex // of what follows and of the wave's file and recorder
	file *output.File
	w    *capture.Writer
}

// add adds the flag to a command that has a link, and to all below it.
func (l *links) add(c *cobra.Command) {
	c.PersistentFlags().StringVar(&l.path, "capture", "", "record every packet of the link to the board in this pcapng `file`, with what it says")
}

// addTdr adds the flag to a command that runs the kernel.
func (l *links) addTdr(c *cobra.Command) {
	c.Flags().DurationVar(&l.tdr, "tdr-delay", 0, "`time` without progress after which the GPU counts as hung, as in 30s; 0: two seconds, and over a slow link what 8 MiB take")
}

// checkTdr fails if the flag is out of range.
func (l *links) checkTdr() error {
	if l.tdr < 0 || l.tdr > 0 && l.tdr < time.Millisecond {
		return fmt.Errorf("%w: --tdr-delay %v, want at least 1ms, or 0", errInput, l.tdr)
	}
	return nil
}

// options returns what boards are opened with. It makes the capture at its
// first call.
func (l *links) options() (boards.Options, error) {
	if l.console == nil {
		l.console = &console{w: l.stderr}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o := boards.Options{Console: l.console.text}
	var err error
	if o.Wave, err = l.wave.recorder(l.outputs.Create); err != nil {
		return o, err
	}
	o.Capture, err = l.capture()
	return o, err
}

// capture returns what records packets, or nil. It makes the file at its first
// call.
func (l *links) capture() (*capture.Writer, error) {
	if l.path == "" || l.w != nil {
		return l.w, nil
	}
	file, err := l.outputs.Create(l.path)
	if err != nil {
		return nil, err
	}
	l.file = file
	l.w, err = capture.NewWriter(file, capture.Options{Comment: regs.NewCommenter().Comment})
	return l.w, err
}

// commit ends what the command records, also if it failed with err.
func (l *links) commit(err error) error {
	if l.console != nil {
		l.console.end()
	}
	return l.commitRecords(err)
}

// commitRecords ends the capture and the wave; what comes behind is not recorded.
func (l *links) commitRecords(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return first(l.trace.Finish(), l.wave.commit(err, l.stderr), l.commitCapture())
}

// commitCapture ends the capture.
func (l *links) commitCapture() error {
	if l.w == nil {
		return nil
	}
	if err := l.w.Close(); err != nil {
		l.file.Discard()
		return err
	}
	return l.file.Commit()
}

// ddi returns the file of a trace, which is not touched before the first line, or nil
// without a path.
func (l *links) ddi(path string) (*output.Live, error) {
	out, err := l.outputs.Create(path)
	if out == nil {
		return nil, err
	}
	l.trace = output.NewLive(out, verifier.Merge)
	return l.trace, nil
}

// console prints what boards say, a line at a time, without what would move the
// cursor or ring.
type console struct {
	w io.Writer

	mu   sync.Mutex
	line []byte
}

// maxLine is where a line that does not end is broken, in bytes.
const maxLine = 1024

func (c *console) text(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range p {
		if b >= ' ' || b == '\t' {
			c.line = append(c.line, b)
		}
		if b == '\n' || len(c.line) == maxLine {
			c.print()
		}
	}
}

// end prints a line that the board has not ended, such as a prompt.
func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.print()
}

func (c *console) print() {
	if len(c.line) > 0 {
		io.WriteString(c.w, "board: "+string(c.line)+"\n")
	}
	c.line = c.line[:0]
}
