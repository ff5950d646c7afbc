package relay

import (
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
)

// TCP opens a relay to a board at a TCP address.
func TCP(board string, p Plan) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := newRelay(p)
	r.selector, r.stop = "tcp:"+l.Addr().String(), func() { l.Close() }
	r.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(board, "tcp:"))
			if err != nil {
				near.Close()
				continue
			}
			r.join(near, far)
		}
	})
	return r, nil
}

// UDP opens a relay to a board at a UDP address. The board sees one address, whatever
// that of the host is.
func UDP(board string, p Plan) (*Relay, error) {
	at, err := net.ResolveUDPAddr("udp", strings.TrimPrefix(board, "udp:"))
	if err != nil {
		return nil, err
	}
	var c [3]*net.UDPConn
	for i := range c {
		if c[i], err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
			return nil, err
		}
		c[i].SetReadBuffer(1 << 20)
	}
	r := newRelay(p)
	r.selector = "udp:" + c[0].LocalAddr().String()
	near, far := &udpEnd{UDPConn: c[0], other: c[2]}, &udpEnd{UDPConn: c[1], other: c[2], fixed: true}
	to := at.AddrPort()
	far.to.Store(&to)
	r.carry(near, far)
	return r, nil
}

// A udpEnd is a socket and the address of the end that it talks to.
type udpEnd struct {
	*net.UDPConn
	other *net.UDPConn
	to    atomic.Pointer[netip.AddrPort] // nil: not known yet
	fixed bool                           // the address does not follow what arrives
}

// Read implements end.
func (e *udpEnd) Read(p []byte) (int, error) {
	n, from, err := e.ReadFromUDPAddrPort(p)
	if err == nil && !e.fixed {
		e.to.Store(&from)
	}
	return n, err
}

// Write implements end.
func (e *udpEnd) Write(p []byte) (int, error) {
	if to := e.to.Load(); to != nil {
		return e.WriteToUDPAddrPort(p, *to)
	}
	return len(p), nil
}

func (e *udpEnd) spoof(p []byte) {
	if to := e.to.Load(); to != nil {
		e.other.WriteToUDPAddrPort(p, *to) // may be lost
	}
}

// Close implements end.
func (e *udpEnd) Close() error {
	e.other.Close()
	return e.UDPConn.Close()
}
