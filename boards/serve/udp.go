package serve

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// HeadersUDP is the size of the headers of IPv6 and UDP before a datagram, in bytes.
const HeadersUDP = 48

// MaxMTU is the size of the largest packet that a board at UDP takes, in bytes.
const MaxMTU = 9000

// SocketBuffer is the size of the buffers of a datagram socket, in bytes: a window of
// frames in each direction while the process is not running.
const SocketBuffer = 1 << 20

// A UDP listens for hosts at an address.
type UDP struct {
	*datagramServer
	conn *net.UDPConn
}

// ListenUDP listens at addr, host:port. Port 0 means any free port, and no host the
// loopback interface.
func ListenUDP(addr string) (*UDP, error) {
	at, err := net.ResolveUDPAddr("udp", orLoopback(addr))
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	c, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	c.SetReadBuffer(SocketBuffer) // a smaller one costs replays only
	c.SetWriteBuffer(SocketBuffer)
	return &UDP{newDatagramServer(udpSocket{c}), c}, nil
}

// Selector returns udp: and the address.
func (u *UDP) Selector() string { return "udp:" + u.conn.LocalAddr().String() }

// Open reports whether the address is not one of the loopback interface.
func (u *UDP) Open() bool {
	a, ok := u.conn.LocalAddr().(*net.UDPAddr)
	return !ok || !a.IP.IsLoopback()
}

// udpSocket implements socket.
type udpSocket struct{ *net.UDPConn }

// udpAddress implements address.
type udpAddress struct{ netip.AddrPort }

func (udpAddress) Network() string { return "udp" }

func (a udpAddress) key() []byte {
	b, _ := a.MarshalBinary() // never fails
	return b
}

// receive skips errors that some systems report of earlier sends and of datagrams that
// are too long.
func (u udpSocket) receive(p []byte) (int, address, error) {
	for {
		n, from, err := u.ReadFromUDPAddrPort(p)
		if !passing(err) {
			return n, udpAddress{from}, err
		}
	}
}

func (u udpSocket) send(p []byte, to address) error {
	a, ok := to.(udpAddress)
	if !ok {
		return nil
	}
	if _, err := u.WriteToUDPAddrPort(p, a.AddrPort); errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// largest is what a board takes. Its host chooses what the path carries.
func (udpSocket) largest() int { return MaxMTU - HeadersUDP }
