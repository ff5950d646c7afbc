package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Bridge connects a stream of a host to a board that has the link itself, until ctx is
// done, the stream ends, which is no error, or the board fails.
type Bridge func(ctx context.Context, stream io.ReadWriter) error

// Raw returns a listener that gives the bytes of hosts to a board, one host after another,
// in place of l. rates are those of the board's UART in ascending order. It fails with
// ErrOptions if l does not carry a stream of bytes.
func Raw(l Listener, b Bridge, rates []int) (Listener, error) {
	switch l := l.(type) {
	case *Pty:
		return &rawPty{Pty: l, bridge: b, rates: rates}, nil
	case *TCP:
		return &rawTCP{TCP: l, bridge: b}, nil
	}
	return nil, fmt.Errorf("%w: gateware with a UART is served on a pty or on TCP", ErrOptions)
}

// rawPty is a pseudo-terminal. Hosts open and close it unnoticed.
type rawPty struct {
	*Pty
	bridge Bridge
	rates  []int
}

// Selector returns serial:, the path, and the rate that a host must set or may reach.
func (r *rawPty) Selector() string {
	at, most := r.Pty.Selector(), r.rates[len(r.rates)-1]
	if most != r.rates[0] {
		return fmt.Sprintf("%s?baud=%d&maxbaud=%d", at, r.rates[0], most)
	}
	return fmt.Sprintf("%s?baud=%d", at, most)
}

// Serve implements Listener. The board is that of the bridge.
func (r *rawPty) Serve(ctx context.Context, _ *Board) error {
	defer r.stream.Close()
	return r.bridge(ctx, r.stream)
}

// rawTCP is a TCP port. A host has the board until it disconnects or sends nothing for
// rawSilence; bytes of any kind count. Another host waits for rawWait and is then refused.
type rawTCP struct {
	*TCP
	bridge Bridge
}

const (
	rawSilence = 2 * time.Second
	rawWait    = time.Second

	// readWait is the longest Read of a connection, so that it notices the end of Serve.
	readWait = 50 * time.Millisecond
)

// Serve implements Listener. The board is that of the bridge.
func (r *rawTCP) Serve(ctx context.Context, _ *Board) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, func() { r.listener.Close() })
	defer stop()
	var hosts sync.WaitGroup
	held := make(chan struct{}, 1)
	for {
		c, err := r.listener.Accept()
		if err != nil {
			cancel(fmt.Errorf("serve: %w", err))
			hosts.Wait()
			return context.Cause(ctx)
		}
		hosts.Go(func() {
			defer c.Close()
			if err := r.serveHost(ctx, held, c); err != nil {
				cancel(err)
			}
		})
	}
}

// serveHost gives the board to a host when no other one holds it. It returns the error of
// the board.
func (r *rawTCP) serveHost(ctx context.Context, held chan struct{}, c net.Conn) error {
	wait := time.NewTimer(rawWait)
	defer wait.Stop()
	select {
	case held <- struct{}{}:
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return nil
	}
	err := r.bridge(ctx, &shortReads{Conn: c, heard: time.Now()})
	<-held
	var broken net.Error
	if errors.As(err, &broken) {
		return nil
	}
	return err
}

// shortReads is a connection whose Read times out, and ends after a silence.
type shortReads struct {
	net.Conn
	heard time.Time // when bytes arrived last
}

func (c *shortReads) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(readWait)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard = time.Now()
	} else if time.Since(c.heard) > rawSilence {
		return 0, io.EOF
	}
	return n, err
}
