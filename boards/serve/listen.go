package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hilgpu/hilgpu/bus"
)

// A Listener accepts hosts for a board.
type Listener interface {
	// Serve serves b to hosts until ctx is done, whose cause it returns, or
	// until the listener or the device fails. It closes the listener.
	Serve(ctx context.Context, b *Board) error

	// Selector returns the selector by which a host opens the board, such as
	// tcp:127.0.0.1:4000.
	Selector() string

	// Close ends Serve. Close is idempotent.
	Close() error
}

// ErrListen is wrapped by the error of an address that the system refuses.
var ErrListen = errors.New("cannot listen")

// Listen opens tcp:ADDRESS or, on Linux, pty:PATH. It fails with ErrOptions for
// an address that is invalid or unsupported on this system, and with ErrListen.
func Listen(where string) (Listener, error) {
	err := check(where, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	var l Listener
	if path, ok := strings.CutPrefix(where, "pty:"); ok {
		l, err = ListenPty(path)
	} else {
		l, err = ListenTCP(strings.TrimPrefix(where, "tcp:"))
	}
	if err != nil {
		return nil, advise(where, err)
	}
	return l, nil
}

// advise wraps err in ErrListen, with a remedy if one is known.
func advise(where string, err error) error {
	for _, e := range []struct {
		err    error
		advice string
	}{
		{syscall.EADDRINUSE, "the port is in use: choose another port, or 0 for any free one"},
		{syscall.EADDRNOTAVAIL, "this machine does not have the address"},
		{fs.ErrPermission, "not allowed: choose a port above 1023, or a path in one of your folders"},
		{fs.ErrNotExist, "the folder does not exist: create it first"},
	} {
		if errors.Is(err, e.err) {
			return fmt.Errorf("%w at %s: %s", ErrListen, where, e.advice)
		}
	}
	return fmt.Errorf("%w at %s: %w", ErrListen, where, err)
}

// check fails with ErrOptions if a system does not support the address.
func check(where, goos, goarch string) error {
	want := "tcp:ADDRESS or pty:PATH"
	if goos != "linux" {
		want = "tcp:ADDRESS"
	}
	scheme, rest, _ := strings.Cut(where, ":")
	switch {
	case rest == "" || scheme != "tcp" && scheme != "pty":
		return fmt.Errorf("%w: listen at %q, want %s", ErrOptions, where, want)
	case scheme == "pty" && goos != "linux":
		return fmt.Errorf("%w: pty:PATH is not available on %s/%s, want %s", ErrOptions, goos, goarch, want)
	}
	return nil
}

// A TCP listens for hosts at an address.
type TCP struct {
	listener net.Listener
}

// ListenTCP listens at addr, host:port; port 0 means any free port.
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

// grace is how long a connection may exist without a session before another
// host may replace it.
const grace = 2 * time.Second

// Serve serves one host at a time. Another host gets a message as text on the
// line and is disconnected, unless the first has no session.
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

// accept passes connections to conns while the board is free.
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
		if !handOver(ctx, c, conns) {
			refuse(c, current)
			continue
		}
		current, since = c, time.Now()
	}
}

// handOver passes c to Serve, if Serve accepts it soon.
func handOver(ctx context.Context, c net.Conn, conns chan<- net.Conn) bool {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetNoDelay(true) // already the default; the latency depends on it
	}
	soon := time.NewTimer(handoverTime)
	defer soon.Stop()
	select {
	case conns <- c:
		return true
	case <-soon.C:
	case <-ctx.Done():
	}
	return false
}

// handoverTime is how long the end of one connection may take when the next
// host connects.
const handoverTime = 300 * time.Millisecond

// Refusal begins the line sent to a host when the board is busy with another.
const Refusal = "hilgpu: busy: "

// refuse sends a host the reason and waits until it disconnects. Closing
// earlier with unread input would reset the connection, which drops the text.
func refuse(c, current net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(handoverTime))
	if current == nil {
		return
	}
	// The frame delimiters around it make it text at once.
	fmt.Fprintf(c, "\x00"+Refusal+"this board is held by %v\r\n\x00", current.RemoteAddr())
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
	io.Copy(io.Discard, io.LimitReader(c, 1<<16))
}

var (
	_ Listener = (*TCP)(nil)
	_ Listener = (*Pty)(nil)
)
