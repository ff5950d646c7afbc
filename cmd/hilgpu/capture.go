package main

import (
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/capture"
)

// links is how the commands reach boards: what --capture and --wave record of
// them, and where the text goes that boards send.
type links struct {
	path   string    // of the capture, or ""
	stderr io.Writer // gets text of boards
	wave   waveFlags

	file *output
	w    *capture.Writer
}

// add adds the flag to all commands below c.
func (l *links) add(c *cobra.Command) {
	c.PersistentFlags().StringVar(&l.path, "capture", "", "record every packet of the link to a board in this pcapng `file`, with what it says")
}

// options returns what boards are opened with. It makes the capture at its
// first call.
func (l *links) options() (boards.Options, error) {
	o := boards.Options{Console: (&console{w: l.stderr}).text}
	var err error
	if o.Wave, err = l.wave.recorder(); err != nil || l.path == "" {
		return o, err
	}
	if l.file == nil {
		file, err := newOutput(l.path)
		if err != nil {
			return o, err
		}
		l.file = file
		if l.w, err = capture.NewWriter(file, capture.Options{Comment: regs.NewCommenter().Comment}); err != nil {
			return o, err
		}
	}
	o.Capture = l.w
	return o, nil
}

// commit ends the capture and the wave, also of a command that failed with err.
func (l *links) commit(err error) error {
	if err := l.wave.commit(err); err != nil {
		return err
	}
	if l.w == nil {
		return nil
	}
	if err := l.w.Err(); err != nil {
		l.file.discard()
		return err
	}
	return l.file.commit()
}

// console prints what boards say, a line at a time.
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
		if b != '\n' {
			c.line = append(c.line, b)
		}
		if b == '\n' || len(c.line) == maxLine {
			io.WriteString(c.w, "board: "+strings.TrimRight(string(c.line), "\r")+"\n")
			c.line = c.line[:0]
		}
	}
}
