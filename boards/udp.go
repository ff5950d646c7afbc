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
	"github.com/hilgpu/hilgpu/bus/ether"
)

func udpSocket() scheme {
	return scheme{
		name: "udp", place: "HOST:PORT", doc: "a board at a UDP address, with PCIe packets in datagrams",
		open: openUDP, options: append(streamOptions(), option{
			name: "mtu", doc: fmt.Sprintf("largest packet that the path carries in bytes, %d to %d, 1500 by default", ether.MinMTU, serve.MaxMTU),
		}),
	}
}

func openUDP(o opening) (bus.Link, bus.Clock, error) {
	v := values{Values: o.values}
	if err := checkAddress(o.place); err != nil {
		return nil, nil, err
	}
	mtu := 1500
	v.integer("mtu", &mtu, ether.MinMTU, serve.MaxMTU)
	return o.openRemote(&v, datagramPort(), func(c *channel.Config) (io.ReadWriteCloser, error) {
		conn, err := dialUDP(o.place)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %s: %w", bus.ErrLinkDown, o.place, dialAdvice(err), err)
		}
		conn.SetReadBuffer(serve.SocketBuffer) // a smaller one costs replays only
		conn.SetWriteBuffer(serve.SocketBuffer)
		c.SetDatagram(mtu - serve.HeadersUDP)
		return tapUDP(udpStream{conn}, o.Capture, conn.LocalAddr(), conn.RemoteAddr()), nil
	})
}

func dialUDP(place string) (*net.UDPConn, error) {
	at, err := net.ResolveUDPAddr("udp", place)
	if err != nil {
		return nil, err
	}
	return net.DialUDP("udp", nil, at)
}

// A udpStream is a connected socket. An ICMP message that nobody listens is no error of
// a datagram link: the host asks again, or the silence ends the session.
type udpStream struct{ *net.UDPConn }

func (u udpStream) Read(p []byte) (int, error) {
	n, err := u.UDPConn.Read(p)
	if errors.Is(err, connRefused) {
		return 0, nil
	}
	return n, err
}

func (u udpStream) Write(p []byte) (int, error) {
	n, err := u.UDPConn.Write(p)
	if errors.Is(err, connRefused) || errors.Is(err, syscall.ENOBUFS) {
		return len(p), nil
	}
	return n, err
}
