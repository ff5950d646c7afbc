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

// ErrListen is wrapped by the error of a place that the system refuses.
var ErrListen = errors.New("cannot listen")

// Listen opens tcp:ADDRESS or, on Linux, pty:PATH. It fails with ErrOptions for
// another place or one that the system does not have, and with ErrListen.
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

// advise returns err as an ErrListen that tells what to do about it, if that is known.
func advise(where string, err error) error {
	for _, e := range []struct {
		err    error
		advice string
	}{
		{syscall.EADDRINUSE, "something listens there already: choose another port, or 0 for any that is free"},
		{syscall.EADDRNOTAVAIL, "this machine does not have the address"},
		{fs.ErrPermission, "not allowed: choose a port above 1023, or a path in a folder of yours"},
		{fs.ErrNotExist, "the folder does not exist: make it first"},
	} {
		if errors.Is(err, e.err) {
			return fmt.Errorf("%w at %s: %s", ErrListen, where, e.advice)
		}
	}
	return fmt.Errorf("%w at %s: %w", ErrListen, where, err)
}

// check fails with ErrOptions if a system has no such place to listen at.
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

var (
	_ Listener = (*TCP)(nil)
	_ Listener = (*Pty)(nil)
)
