package serve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// cookieTime is how long a nonce is valid, once or twice.
const cookieTime = 10 * time.Second

// Bounds on the datagrams of a peer that wait to be read. Later ones are dropped, and the
// link sends them again.
const (
	maxArrived      = 1024
	maxArrivedBytes = 64 << 10
)

// A socket sends and receives datagrams. Its methods are safe for concurrent use.
type socket interface {
	// receive reads a datagram of at most len(p) bytes.
	receive(p []byte) (n int, from address, err error)

	// send fails with net.ErrClosed only; a datagram that the system does not send is lost.
	send(p []byte, to address) error

	// SetReadDeadline also ends a receive in progress.
	SetReadDeadline(t time.Time) error

	// largest is the size of the largest datagram, in bytes.
	largest() int

	Close() error
}

// An address is that of a host. It is comparable.
type address interface {
	net.Addr

	// key returns bytes that differ from those of every other address.
	key() []byte
}

// A datagramServer passes the datagrams of a socket to their peers. It keeps nothing of
// a host before the host has sent back a nonce that depends on its address.
//
// One goroutine at a time reads the socket: that of serve, or during a session the one
// that reads the peer. A datagram of a session is thus handed over to no other goroutine.
type datagramServer struct {
	socket    socket
	challenge [16]byte
	link      datalink.Config // of the board
	enter     func(conn)      // gets each new peer

	reading chan struct{} // held by the goroutine that reads the socket
	reply   []byte        // reused by that goroutine
	cookies hash.Hash     // makes nonces under a secret; used by that goroutine

	mu     sync.Mutex
	begun  uint64 // sessions; the nonces from before one are good for no other
	peers  map[address]*datagramPeer
	holder *datagramPeer // reads the socket; nil: serve does
	freed  chan struct{} // gets a value when holder becomes nil
}

func newDatagramServer(s socket) *datagramServer {
	secret := make([]byte, sha256.Size)
	rand.Read(secret) // never fails
	u := &datagramServer{
		socket: s, peers: map[address]*datagramPeer{}, cookies: hmac.New(sha256.New, secret),
		reading: make(chan struct{}, 1), freed: make(chan struct{}, 1),
	}
	rand.Read(u.challenge[:])
	return u
}

// Close stops listening.
func (u *datagramServer) Close() error {
	if err := u.socket.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve gives the board to one host at a time, as TCP does.
func (u *datagramServer) Serve(ctx context.Context, b *Board) error {
	u.link = datalink.Config{Role: datalink.Board, MapHash: b.opt.MapHash, Token: b.opt.Token, Challenge: u.challenge}
	return serveDoor(ctx, b, u, func(_ *door, enter func(conn)) error {
		u.enter = enter
		return u.serve(ctx)
	})
}

// serve reads the socket while no peer does, until the socket fails or is closed.
func (u *datagramServer) serve(ctx context.Context) error {
	buf := make([]byte, 1<<16)
	for {
		err := u.readAll(buf)
		if err == nil {
			select {
			case <-u.freed:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("serve: %w", err)
		}
	}
}

// readAll reads the socket until a peer wants to. It returns no error if one does
// already.
func (u *datagramServer) readAll(buf []byte) error {
	u.reading <- struct{}{}
	defer func() { <-u.reading }()
	u.mu.Lock()
	held := u.holder != nil
	if !held {
		u.socket.SetReadDeadline(time.Time{}) // receive reports the error
	}
	u.mu.Unlock()
	if held {
		return nil
	}
	for {
		n, from, err := u.socket.receive(buf)
		if err != nil {
			return err
		}
		u.dispatch(from, buf[:n])
	}
}

// readFor reads the socket for its holder until that has a datagram, which readFor
// copies to b.
func (u *datagramServer) readFor(p *datagramPeer, b []byte) (int, error) {
	select {
	case u.reading <- struct{}{}:
		defer func() { <-u.reading }()
	case <-p.closed:
		return 0, io.EOF
	}
	for !p.isClosed() {
		n, from, err := u.socket.receive(b)
		if err != nil || from == p.at {
			return n, err
		}
		u.dispatch(from, b[:n])
	}
	return 0, io.EOF
}

// heldBy reports whether a peer is the reader of the socket.
func (u *datagramServer) heldBy(p *datagramPeer) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.holder == p
}

// setDeadline sets the deadline of a peer that reads the socket.
func (u *datagramServer) setDeadline(p *datagramPeer, t time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.holder != p {
		return nil
	}
	return u.socket.SetReadDeadline(t)
}

// hold makes a peer the reader of the socket.
func (u *datagramServer) hold(p *datagramPeer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begun++
	if u.peers[p.at] == p {
		u.holder = p
		u.socket.SetReadDeadline(past) // ends the Read of serve
		p.signal()
	}
}

// past is a deadline that ends a Read.
var past = time.Unix(1, 0)

// forget removes a peer.
func (u *datagramServer) forget(p *datagramPeer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.peers[p.at] == p {
		delete(u.peers, p.at)
	}
	if u.holder == p {
		u.holder = nil
		u.socket.SetReadDeadline(past)
		select {
		case u.freed <- struct{}{}:
		default:
		}
	}
}

// dispatch passes a datagram to its peer, or answers a Hello.
func (u *datagramServer) dispatch(from address, d []byte) {
	u.mu.Lock()
	peer := u.peers[from]
	u.mu.Unlock()
	if peer != nil {
		if len(d) <= u.socket.largest() {
			peer.push(d)
		}
		return
	}
	hello, _, ok := channel.CutDatagram(d)
	if !ok {
		return
	}
	frame, known := datalink.Greet(u.reply[:0], hello, u.link, func(host, echoed uint32) uint32 { return u.nonce(from, host, echoed) })
	switch {
	case known != 0:
		u.enter(u.add(from, known, d))
	case len(frame) > 0:
		u.reply = frame
		u.socket.send(channel.AppendDatagram(nil, frame), from) // a lost answer is asked for again
	}
}

// nonce returns the nonce of the board for a host at an address: the one that the host
// sends back if that is valid, else that of the current time. It is another one after
// each session, so that the datagrams of a session, sent again, begin none.
func (u *datagramServer) nonce(from address, host, echoed uint32) uint32 {
	now := uint64(time.Now().UnixNano()) / uint64(cookieTime)
	if old := u.cookie(from, host, now-1); echoed == old {
		return old
	}
	return u.cookie(from, host, now)
}

// cookie returns the nonce of a period of time and the sessions so far.
func (u *datagramServer) cookie(from address, host uint32, period uint64) uint32 {
	u.mu.Lock()
	begun := u.begun
	u.mu.Unlock()
	b := binary.BigEndian.AppendUint32(from.key(), host)
	b = binary.BigEndian.AppendUint64(b, period)
	b = binary.BigEndian.AppendUint64(b, begun)
	u.cookies.Reset()
	u.cookies.Write(b)
	return max(1, binary.BigEndian.Uint32(u.cookies.Sum(b[:0])))
}

// add makes a peer, which has received its first datagram.
func (u *datagramServer) add(from address, nonce uint32, first []byte) *datagramPeer {
	p := &datagramPeer{
		server: u, at: from, nonce: nonce,
		arrived: make(chan []byte, maxArrived), changed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	p.push(first)
	u.mu.Lock()
	u.peers[from] = p
	u.mu.Unlock()
	return p
}
