package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus/serial"
)

// Pty is a pseudo-terminal, which hosts open as a serial port.
type Pty struct {
	stream terminal
}

// A terminal is the board's side of a pseudo-terminal, a *serial.Pty.
type terminal interface {
	serial.Line
	io.Closer
	Path() string
	ReadTimeout() time.Duration
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// Selector returns serial: and the path.
func (p *Pty) Selector() string { return "serial:" + p.stream.Path() }

// Open returns false: a pseudo-terminal is one of this machine.
func (p *Pty) Open() bool { return false }

// Close ends the pseudo-terminal.
func (p *Pty) Close() error { return p.stream.Close() }

// Serve serves hosts that open the other side. Before each session it answers
// requests of the host to change from the board's rate to one of serial.Rates.
func (p *Pty) Serve(ctx context.Context, b *Board) error {
	defer p.stream.Close()
	base := b.opt.Baud
	if base == 0 {
		base = serial.DefaultBaud
	}
	for {
		// The previous channel has left deadlines.
		if err := errors.Join(p.stream.SetReadDeadline(time.Time{}), p.stream.SetWriteDeadline(time.Time{})); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		rate, err := serial.AnswerBaud(p.stream, base, serial.Rates(), ctx.Done())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		if b.opt.Baud == 0 {
			rate = 0
		}
		b.serving.Lock()
		t := &turn{terminal: p.stream}
		err = b.serve(ctx, t, rate, t)
		b.serving.Unlock()
		if !errors.Is(err, errOver) {
			return err
		}
	}
}

// A turn is a pseudo-terminal for one session: closing it leaves the terminal
// open. Once discard is set nothing is written, because the last frames of a
// channel would reach the next host.
type turn struct {
	terminal
	over, discard atomic.Bool
}

// Write implements io.Writer.
func (t *turn) Write(b []byte) (int, error) {
	if t.discard.Load() {
		return len(b), nil
	}
	return t.terminal.Write(b)
}

// Read ends at most a tenth of a second after Close.
func (t *turn) Read(b []byte) (int, error) {
	if t.over.Load() {
		return 0, io.EOF
	}
	return t.terminal.Read(b)
}

// Close implements io.Closer.
func (t *turn) Close() error {
	t.over.Store(true)
	return nil
}
