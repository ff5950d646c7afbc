package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// A Listener is where hosts find a board.
type Listener interface {
	// Serve lets hosts use b until ctx is done, whose cause it returns, or the
	// listener or the device fails. It closes the listener.
	Serve(ctx context.Context, b *Board) error

	// Selector is what a host opens to reach the board, such as
	// tcp:127.0.0.1:4000.
	Selector() string

	// Close ends Serve. Close is idempotent.
	Close() error
}

// Listen opens tcp:ADDRESS or pty:PATH.
func Listen(where string) (Listener, error) {
	scheme, rest, _ := strings.Cut(where, ":")
	switch {
	case scheme == "tcp" && rest != "":
		return ListenTCP(rest)
	case scheme == "pty" && rest != "":
		return ListenPty(rest)
	}
	return nil, fmt.Errorf("%w: listen at %q, want tcp:ADDRESS or pty:PATH", ErrOptions, where)
}

// A TCP listens for hosts at an address.
type TCP struct {
	listener net.Listener
}

// ListenTCP listens at addr, host:port; port 0 is any that is free.
func ListenTCP(addr string) (*TCP, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return &TCP{listener: l}, nil
}

// Selector returns tcp: and the address.
func (t *TCP) Selector() string { return "tcp:" + t.listener.Addr().String() }

// Close stops listening.
func (t *TCP) Close() error {
	if err := t.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// grace is how long a connection may be without a session before another host
// takes its place.
const grace = 2 * time.Second

// Serve serves one host at a time. Another one is told so, as text on the
// line, and its connection closed, unless the first has no session.
func (t *TCP) Serve(ctx context.Context, b *Board) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { t.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer t.Close()
	conns := make(chan net.Conn)
	wg.Go(func() { t.accept(ctx, cancel, b, conns) })
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case c := <-conns:
			if err := b.Serve(ctx, c); !errors.Is(err, bus.ErrLinkDown) {
				cancel(err)
				return err
			}
		}
	}
}

// accept hands connections to conns while the board is free.
func (t *TCP) accept(ctx context.Context, cancel context.CancelCauseFunc, b *Board, conns chan<- net.Conn) {
	var current net.Conn
	var since time.Time
	for {
		c, err := t.listener.Accept()
		if err != nil {
			cancel(fmt.Errorf("serve: %w", err))
			return
		}
		if current != nil && time.Since(since) > grace && !b.Connected() {
			current.Close()
		}
		if !hand(ctx, c, conns) {
			refuse(c, current)
			continue
		}
		current, since = c, time.Now()
	}
}

// hand gives c to Serve, if it comes for it soon.
func hand(ctx context.Context, c net.Conn, conns chan<- net.Conn) bool {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetNoDelay(true) // the default, and what latency depends on
	}
	soon := time.NewTimer(handover)
	defer soon.Stop()
	select {
	case conns <- c:
		return true
	case <-soon.C:
	case <-ctx.Done():
	}
	return false
}

// handover is how long the end of one connection may take when the next host
// is there.
const handover = 300 * time.Millisecond

// Refusal begins the line that a host is sent whose board is busy with another.
const Refusal = "hilgpu: busy: "

// refuse tells a host why, and waits for it to hang up, since what it has sent
// and nobody has read would make a reset of the connection, and that drops text.
func refuse(c, current net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(handover))
	if current == nil {
		return
	}
	// The delimiters of frames around it make it text at once.
	fmt.Fprintf(c, "\x00"+Refusal+"this board is held by %v\r\n\x00", current.RemoteAddr())
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
	io.Copy(io.Discard, io.LimitReader(c, 1<<16))
}

// Pty is a pseudo-terminal, which hosts open as a serial port.
type Pty struct {
	stream *serial.Pty
}

// ListenPty makes a pseudo-terminal and path a symbolic link to it.
func ListenPty(path string) (*Pty, error) {
	p, err := serial.ListenPty(path)
	if err != nil {
		return nil, err
	}
	return &Pty{stream: p}, nil
}

// Selector returns serial: and the path.
func (p *Pty) Selector() string { return "serial:" + p.stream.Path() }

// Close ends the pseudo-terminal.
func (p *Pty) Close() error { return p.stream.Close() }

// Serve serves whoever has the other side open. Before each session it answers a
// host that asks for another rate than the board's, of those of serial.Rates.
func (p *Pty) Serve(ctx context.Context, b *Board) error {
	defer p.stream.Close()
	base := b.opt.Baud
	if base == 0 {
		base = serial.DefaultBaud
	}
	for {
		if err := p.stream.SetWriteDeadline(time.Time{}); err != nil { // of the channel before
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
		t := &turn{Pty: p.stream}
		err = b.serve(ctx, t, rate, t)
		b.serving.Unlock()
		if !errors.Is(err, errOver) {
			return err
		}
	}
}

// A turn is a pseudo-terminal for one session: closing it leaves the terminal
// open. Once it is mute nothing is written: what a channel says as it ends would
// reach the next host.
type turn struct {
	*serial.Pty
	over, mute atomic.Bool
}

// Write implements io.Writer.
func (t *turn) Write(b []byte) (int, error) {
	if t.mute.Load() {
		return len(b), nil
	}
	return t.Pty.Write(b)
}

// Read ends a tenth of a second after Close at the latest.
func (t *turn) Read(b []byte) (int, error) {
	if t.over.Load() {
		return 0, io.EOF
	}
	return t.Pty.Read(b)
}

// Close implements io.Closer.
func (t *turn) Close() error {
	t.over.Store(true)
	return nil
}

var (
	_ Listener           = (*TCP)(nil)
	_ Listener           = (*Pty)(nil)
	_ io.ReadWriteCloser = (*serial.Pty)(nil)
)
