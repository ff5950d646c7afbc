package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hilgpu/hilgpu/bus/channel"
)

// A TCP listens for hosts at an address.
type TCP struct {
	listener net.Listener
}

// ListenTCP listens at addr, host:port. Port 0 means any free port, and no host the
// loopback interface.
func ListenTCP(addr string) (*TCP, error) {
	l, err := net.Listen("tcp", orLoopback(addr))
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
	return serveDoor(ctx, b, t, func(d *door, enter func(conn)) error {
		for {
			c, err := t.listener.Accept()
			if exhausted(err) {
				d.shed()
				time.Sleep(10 * time.Millisecond)
				continue
			}
			if err != nil {
				return fmt.Errorf("serve: %w", err)
			}
			if tcp, ok := c.(*net.TCPConn); ok {
				tcp.SetNoDelay(true) // already the default; the latency depends on it
			}
			enter(tcpConn{c})
		}
	})
}

// TCPPayload is the most data of a packet over TCP, in bytes, and TCPPacket is the size of
// such a packet. A serial server at 115,200 baud sends one in 91 ms.
const (
	TCPPayload = 1024
	TCPPacket  = TCPPayload + 20
)

// A tcpConn is a connection to a host.
type tcpConn struct{ net.Conn }

// configure sets the size of the packets.
func (tcpConn) configure(c *channel.Config) { c.Link.MaxPacket = TCPPacket }

// exhausted reports whether the system had no descriptor for a connection, or the
// connection has ended already. The listener works on.
func exhausted(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}
