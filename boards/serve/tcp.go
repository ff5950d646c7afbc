package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus"
)

// A TCP listens for hosts at an address.
type TCP struct {
	listener net.Listener
}

// ListenTCP listens at addr, host:port. Port 0 means any free port, and no host the
// loopback interface.
func ListenTCP(addr string) (*TCP, error) {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return &TCP{listener: l}, nil
}

// Selector returns tcp: and the address.
func (t *TCP) Selector() string { return "tcp:" + t.listener.Addr().String() }

// Open reports whether the address is not one of the loopback interface.
func (t *TCP) Open() bool {
	a, ok := t.listener.Addr().(*net.TCPAddr)
	return !ok || !a.IP.IsLoopback()
}

// Close stops listening.
func (t *TCP) Close() error {
	if err := t.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve gives the board to one host at a time. A host that asks for a session while
// another has the board is refused with the address of that one. A connection whose
// host begins no session is dropped after two seconds, or earlier if there are more
// than 64 of them.
func (t *TCP) Serve(ctx context.Context, b *Board) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { t.Close() })
	defer stop()
	d := newDoor(b)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer d.close()
	defer t.Close()
	wg.Go(func() {
		for {
			c, err := t.listener.Accept()
			if exhausted(err) {
				d.shed()
				time.Sleep(10 * time.Millisecond)
				continue
			}
			if err != nil {
				cancel(fmt.Errorf("serve: %w", err))
				return
			}
			p := d.enter(c)
			wg.Go(func() { d.wait(ctx, p) })
		}
	})
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-d.hosts:
			err := b.serveHost(ctx, p.ch)
			d.leave(p)
			if !errors.Is(err, bus.ErrLinkDown) && !errors.Is(err, errOver) {
				cancel(err)
				return err
			}
		}
	}
}

// exhausted reports whether the system had no descriptor for a connection, or the
// connection has ended already. The listener works on.
func exhausted(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}
