package serve

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus/channel"
)

// A datagramPeer is the stream of datagrams from and to one address. Until its session
// begins, its datagrams come from the goroutine that reads the socket; then it reads the
// socket itself.
type datagramPeer struct {
	server  *datagramServer
	at      address
	nonce   uint32
	arrived chan []byte
	waiting atomic.Int64  // bytes in arrived
	changed chan struct{} // gets a value when the deadline or the reader changes
	closed  chan struct{}
	once    sync.Once

	mu       sync.Mutex
	deadline time.Time // of Read
	direct   bool      // Read reads the socket
}

// push adds a copy of a datagram, or drops it if too many wait. Only the goroutine that
// reads the socket calls it.
func (p *datagramPeer) push(d []byte) {
	if p.waiting.Load()+int64(len(d)) > maxArrivedBytes {
		return
	}
	p.waiting.Add(int64(len(d)))
	select {
	case p.arrived <- append([]byte(nil), d...):
	default:
		p.waiting.Add(-int64(len(d)))
	}
}

// take copies a datagram from arrived to b.
func (p *datagramPeer) take(b, d []byte) int {
	p.waiting.Add(-int64(len(d)))
	return copy(b, d)
}

func (p *datagramPeer) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Read implements io.Reader: it returns one datagram.
func (p *datagramPeer) Read(b []byte) (int, error) {
	for {
		select {
		case <-p.closed:
			return 0, io.EOF
		case d := <-p.arrived:
			return p.take(b, d), nil
		default:
		}
		if p.reads() {
			return p.server.readFor(p, b)
		}
		if d, err := p.next(); d != nil || err != nil {
			return p.take(b, d), err
		}
	}
}

// next waits for a datagram until the deadline. It returns nil and no error if Read has
// to look again.
func (p *datagramPeer) next() ([]byte, error) {
	p.mu.Lock()
	at := p.deadline
	p.mu.Unlock()
	var late <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		late = t.C
	}
	select {
	case d := <-p.arrived:
		return d, nil
	case <-p.closed:
		return nil, io.EOF
	case <-p.changed:
		return nil, nil
	case <-late:
		return nil, os.ErrDeadlineExceeded
	}
}

// reads reports whether the peer reads the socket. It begins to when the Read of the
// server has ended.
func (p *datagramPeer) reads() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.direct || !p.server.heldBy(p) {
		return p.direct
	}
	select {
	case p.server.reading <- struct{}{}:
		<-p.server.reading
	case <-p.closed:
		return false
	}
	p.direct = true
	p.server.setDeadline(p, p.deadline)
	return true
}

// Write implements io.Writer: it sends one datagram.
func (p *datagramPeer) Write(b []byte) (int, error) {
	if err := p.server.socket.send(b, p.at); err != nil {
		return 0, err
	}
	return len(b), nil
}

// SetReadDeadline sets the end of Read, also of one in progress.
func (p *datagramPeer) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	p.deadline = t
	direct := p.direct
	p.mu.Unlock()
	if direct {
		return p.server.setDeadline(p, t)
	}
	p.signal()
	return nil
}

// RemoteAddr returns the address of the host.
func (p *datagramPeer) RemoteAddr() net.Addr { return p.at }

func (p *datagramPeer) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// Close ends Read, and forgets the peer.
func (p *datagramPeer) Close() error {
	p.once.Do(func() {
		close(p.closed)
		p.server.forget(p)
	})
	return nil
}

// begun implements holding: the session of the peer has begun.
func (p *datagramPeer) begun() { p.server.hold(p) }

// configure makes the channel one over datagrams.
func (p *datagramPeer) configure(c *channel.Config) {
	c.SetDatagram(p.server.socket.largest())
	c.Nonce = p.nonce
	c.Link.Echo, c.Link.Challenge = true, p.server.challenge
}
