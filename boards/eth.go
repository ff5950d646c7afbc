package boards

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/ether"
)

func ethernet() scheme {
	return scheme{
		name: "eth", place: "IFACE/MAC", doc: "a board at a MAC address in the Ethernet of an interface, with PCIe packets in raw frames",
		only: []string{"linux"},
		open: openEther, options: append(streamOptions(), option{
			name: "mtu", doc: fmt.Sprintf("largest payload of a frame in bytes, %d to that of the interface, which is the default", ether.MinMTU),
		}),
	}
}

func openEther(o opening) (bus.Link, bus.Clock, error) {
	v := values{Values: o.values}
	name, text, ok := strings.Cut(o.place, "/")
	if !ok || name == "" {
		return nil, nil, fmt.Errorf("%w: %s, want IFACE/MAC", errPlace, o.place)
	}
	board, err := ether.ParseMAC(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errPlace, err)
	}
	mtu := 0
	v.integer("mtu", &mtu, ether.MinMTU, ether.MaxMTU)
	return o.openRemote(&v, datagramPort(), func(c *channel.Config) (io.ReadWriteCloser, error) {
		s, err := ether.Open(name, ether.Link, mtu, serve.SocketBuffer)
		if err != nil {
			return nil, err
		}
		if err := s.Claim("the host of " + board.String()); err != nil {
			s.Close()
			return nil, err
		}
		c.SetDatagram(s.Largest())
		return tapEther(&etherStream{socket: s, board: board}, o.Capture, s.MAC(), board), nil
	})
}

// An etherStream is the datagrams from and to one MAC address.
type etherStream struct {
	socket *ether.Socket
	board  ether.MAC
}

// Read implements io.Reader: it returns one datagram. Those of other addresses are
// dropped.
func (e *etherStream) Read(p []byte) (int, error) {
	for {
		n, from, err := e.socket.ReadFrom(p)
		if err != nil || from == e.board {
			return n, err
		}
	}
}

// Write implements io.Writer: it sends one datagram. One that the system does not send
// counts as lost.
func (e *etherStream) Write(p []byte) (int, error) {
	if err := e.socket.WriteTo(p, e.board); errors.Is(err, net.ErrClosed) {
		return 0, err
	}
	return len(p), nil
}

// SetReadDeadline sets the end of Read.
func (e *etherStream) SetReadDeadline(t time.Time) error { return e.socket.SetReadDeadline(t) }

// Close ends Read.
func (e *etherStream) Close() error { return e.socket.Close() }
