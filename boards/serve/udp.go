package serve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// MaxDatagram is the size of the largest datagram on UDP, in bytes: it fits into a frame
// of Ethernet of 1500 bytes after the headers of IPv4 and UDP.
const MaxDatagram = 1472

// cookieTime is how long a nonce is valid, once or twice.
const cookieTime = 10 * time.Second

// A UDP listens for hosts at an address. It keeps nothing of a host before the host has
// sent back a nonce that depends on its address.
type UDP struct {
	conn      *net.UDPConn
	secret    [32]byte
	challenge [16]byte

	mu    sync.Mutex
	peers map[netip.AddrPort]*datagramPeer
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
	u := &UDP{conn: c, peers: map[netip.AddrPort]*datagramPeer{}}
	rand.Read(u.secret[:])
	rand.Read(u.challenge[:])
	return u, nil
}

// Selector returns udp: and the address.
func (u *UDP) Selector() string { return "udp:" + u.conn.LocalAddr().String() }

// Open reports whether the address is not one of the loopback interface.
func (u *UDP) Open() bool {
	a, ok := u.conn.LocalAddr().(*net.UDPAddr)
	return !ok || !a.IP.IsLoopback()
}

// Close stops listening.
func (u *UDP) Close() error {
	if err := u.conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve gives the board to one host at a time, as TCP does.
func (u *UDP) Serve(ctx context.Context, b *Board) error {
	return serveDoor(ctx, b, u, func(_ *door, enter func(conn)) error { return u.receive(b, enter) })
}

// receive passes datagrams to their peers until the socket is closed.
func (u *UDP) receive(b *Board, enter func(conn)) error {
	buf := make([]byte, 1<<16)
	var reply []byte
	link := datalink.Config{Role: datalink.Board, MapHash: b.opt.MapHash, Token: b.opt.Token, Challenge: u.challenge}
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(buf)
		switch {
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("serve: %w", err)
		case err != nil:
			continue // an error of an earlier send
		}
		if u.deliver(from, buf[:n]) {
			continue
		}
		hello, ok := firstFrame(buf[:n])
		if !ok {
			continue
		}
		var known uint32
		reply, known = datalink.Greet(append(reply[:0], 0, 0), hello, link, func(host, echoed uint32) uint32 { return u.nonce(from, host, echoed) })
		if known != 0 {
			enter(u.add(from, known, buf[:n]))
		} else if len(reply) > 2 {
			binary.BigEndian.PutUint16(reply, uint16(len(reply)-2))
			u.conn.WriteToUDPAddrPort(reply, from) // a lost answer is asked for again
		}
	}
}

// firstFrame returns the first frame of a datagram.
func firstFrame(p []byte) (f []byte, ok bool) {
	if len(p) < 2 || len(p) < 2+int(binary.BigEndian.Uint16(p)) {
		return nil, false
	}
	return p[2 : 2+int(binary.BigEndian.Uint16(p))], true
}

// nonce returns the nonce of the board for a host at an address: the one that the host
// sends back if that is valid, else that of the current time.
func (u *UDP) nonce(from netip.AddrPort, host, echoed uint32) uint32 {
	now := uint64(time.Now().UnixNano()) / uint64(cookieTime)
	if old := u.cookie(from, host, now-1); echoed == old {
		return old
	}
	return u.cookie(from, host, now)
}

// cookie returns the nonce of a period of time.
func (u *UDP) cookie(from netip.AddrPort, host uint32, period uint64) uint32 {
	mac := hmac.New(sha256.New, u.secret[:])
	b, _ := from.MarshalBinary() // never fails
	b = binary.BigEndian.AppendUint32(b, host)
	mac.Write(binary.BigEndian.AppendUint64(b, period))
	return max(1, binary.BigEndian.Uint32(mac.Sum(nil)))
}

// deliver passes a datagram to the peer of its address, if there is one.
func (u *UDP) deliver(from netip.AddrPort, p []byte) bool {
	u.mu.Lock()
	peer := u.peers[from]
	u.mu.Unlock()
	if peer == nil {
		return false
	}
	peer.push(p)
	return true
}

// add makes a peer, which has received its first datagram.
func (u *UDP) add(from netip.AddrPort, nonce uint32, first []byte) *datagramPeer {
	p := &datagramPeer{udp: u, at: from, nonce: nonce, arrived: make(chan []byte, 1024), closed: make(chan struct{})}
	p.push(first)
	u.mu.Lock()
	u.peers[from] = p
	u.mu.Unlock()
	return p
}

// A datagramPeer is the stream of datagrams from and to one address.
type datagramPeer struct {
	udp     *UDP
	at      netip.AddrPort
	nonce   uint32
	arrived chan []byte
	closed  chan struct{}
	once    sync.Once

	mu       sync.Mutex
	deadline time.Time // of Read
}

// push adds a copy of a datagram, or drops it if too many wait.
func (p *datagramPeer) push(d []byte) {
	select {
	case p.arrived <- append([]byte(nil), d...):
	default:
	}
}

// Read implements io.Reader: it returns one datagram.
func (p *datagramPeer) Read(b []byte) (int, error) {
	p.mu.Lock()
	wait := time.Until(p.deadline)
	p.mu.Unlock()
	select {
	case d := <-p.arrived:
		return copy(b, d), nil
	default:
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case d := <-p.arrived:
		return copy(b, d), nil
	case <-p.closed:
		return 0, io.EOF
	case <-t.C:
		return 0, os.ErrDeadlineExceeded
	}
}

// Write implements io.Writer: it sends one datagram. One that the system does not send
// counts as lost.
func (p *datagramPeer) Write(b []byte) (int, error) {
	if _, err := p.udp.conn.WriteToUDPAddrPort(b, p.at); errors.Is(err, net.ErrClosed) {
		return 0, err
	}
	return len(b), nil
}

// SetReadDeadline sets the end of the next Read.
func (p *datagramPeer) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	return nil
}

// RemoteAddr returns the address of the host.
func (p *datagramPeer) RemoteAddr() net.Addr { return net.UDPAddrFromAddrPort(p.at) }

// Close ends Read, and forgets the peer.
func (p *datagramPeer) Close() error {
	p.once.Do(func() {
		p.udp.mu.Lock()
		delete(p.udp.peers, p.at)
		p.udp.mu.Unlock()
		close(p.closed)
	})
	return nil
}

// configure makes the channel one over datagrams.
func (p *datagramPeer) configure(c *channel.Config) {
	c.Datagram, c.Nonce = MaxDatagram, p.nonce
	c.Link.Echo, c.Link.Challenge = true, p.udp.challenge
}
