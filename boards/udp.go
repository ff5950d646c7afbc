package boards

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/channel"
)

func udpSocket() scheme {
	return scheme{
		name: "udp", place: "HOST:PORT", doc: "a board at a UDP address, with PCIe packets in datagrams",
		open: openUDP, options: streamOptions(),
	}
}

func openUDP(o opening) (bus.Link, bus.Clock, error) {
	v := values{Values: o.values}
	if err := checkAddress(o.place); err != nil {
		return nil, nil, err
	}
	return o.openRemote(&v, datagramPort(), func(c *channel.Config) (io.ReadWriteCloser, error) {
		conn, err := net.Dial("udp", o.place)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %s: %w", bus.ErrLinkDown, o.place, dialAdvice(err), err)
		}
		if u, ok := conn.(*net.UDPConn); ok {
			u.SetReadBuffer(serve.SocketBuffer) // a smaller one costs replays only
			u.SetWriteBuffer(serve.SocketBuffer)
		}
		c.SetDatagram(serve.MaxDatagram)
		return udpStream{conn}, nil
	})
}

// A udpStream is a connected socket. An ICMP message that nobody listens is no error of
// a datagram link: the host asks again, or the silence ends the session.
type udpStream struct{ net.Conn }

func (u udpStream) Read(p []byte) (int, error) {
	n, err := u.Conn.Read(p)
	if errors.Is(err, connRefused) {
		return 0, nil
	}
	return n, err
}

func (u udpStream) Write(p []byte) (int, error) {
	n, err := u.Conn.Write(p)
	if errors.Is(err, connRefused) || errors.Is(err, syscall.ENOBUFS) {
		return len(p), nil
	}
	return n, err
}
