package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A Bridge connects a stream of a host to a board that has the link itself, until ctx is
// done, the stream ends, which is no error, or the board fails.
type Bridge func(ctx context.Context, stream io.ReadWriter) error

// Raw returns a listener that gives the bytes of hosts to a board, one host after another,
// in place of l. It fails with ErrOptions if l does not carry a stream of bytes.
func Raw(l Listener, b Bridge) (Listener, error) {
	switch l := l.(type) {
	case *Pty:
		return &rawPty{Pty: l, bridge: b}, nil
	case *TCP:
		return &rawTCP{TCP: l, bridge: b}, nil
	}
	return nil, fmt.Errorf("%w: gateware with a UART is served on a pty or on TCP", ErrOptions)
}

// rawPty is a pseudo-terminal. Hosts open and close it unnoticed.
type rawPty struct {
	*Pty
	bridge Bridge
}

// Serve implements Listener. The board is that of the bridge.
func (r *rawPty) Serve(ctx context.Context, _ *Board) error {
	defer r.stream.Close()
	return r.bridge(ctx, r.stream)
}

// rawTCP is a TCP port. It has no door: a host holds the board until it disconnects, and
// connections after it wait.
type rawTCP struct {
	*TCP
	bridge Bridge
}

// readWait is the longest Read of a connection, so that it notices the end of Serve.
const readWait = 50 * time.Millisecond

// Serve implements Listener. The board is that of the bridge.
func (r *rawTCP) Serve(ctx context.Context, _ *Board) error {
	stop := context.AfterFunc(ctx, func() { r.listener.Close() })
	defer stop()
	defer r.listener.Close()
	for {
		c, err := r.listener.Accept()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		err = r.bridge(ctx, shortReads{c})
		c.Close()
		var broken net.Error
		if err != nil && !errors.As(err, &broken) {
			return err
		}
	}
}

// shortReads is a connection whose Read times out.
type shortReads struct{ net.Conn }

func (c shortReads) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(readWait)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
