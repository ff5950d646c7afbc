package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/channel"
)

// Bounds on connections without a session.
const (
	maxPeers  = 64
	grace     = 2 * time.Second
	claimTime = 300 * time.Millisecond // from a Hello to the first frame of its session

	// A host asks for a second. The messages that the session before has ended can be lost,
	// and the board then notices the end after half a second.
	refuseAfter = 700 * time.Millisecond
)

// A peer is a connection, from the accept to the end of its session.
type peer struct {
	conn conn
	ch   *channel.Channel // nil before it is opened

	asked time.Time // when it began to ask for a session
	last  time.Time // when it asked last
}

// waited returns how long a peer has asked for a session without a pause.
func (p *peer) waited() time.Duration {
	now := time.Now()
	if now.Sub(p.last) > refuseAfter {
		p.asked = now
	}
	p.last = now
	return now.Sub(p.asked)
}

// A conn is a connection to a host. If it has a method configure, that changes the
// configuration of the channel over it. If it has a method begun, that is called when
// its session has begun.
type conn interface {
	io.ReadWriteCloser
	RemoteAddr() net.Addr
}

// A door decides which peer gets the board. A peer takes the board with its Hello and
// keeps it to the end of its session, or until it has begun none in time.
type door struct {
	board *Board
	hosts chan *peer // with a session that has begun

	mu      sync.Mutex
	waiting []*peer   // without a session, oldest first
	holder  *peer     // has the board; nil: nobody
	since   time.Time // when the holder took the board
	begun   bool      // the session of the holder
	closed  bool
}

func newDoor(b *Board) *door { return &door{board: b, hosts: make(chan *peer)} }

// serveDoor gives the board to one host after another of those that accept passes on,
// until ctx is done or accept fails. It closes the listener.
func serveDoor(ctx context.Context, b *Board, l io.Closer, accept func(d *door, enter func(conn)) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	d := newDoor(b)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer d.close()
	defer l.Close()
	wg.Go(func() {
		cancel(accept(d, func(c conn) {
			p := d.enter(c)
			wg.Go(func() { d.wait(ctx, p) })
		}))
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

// enter adds a connection. If there are too many it drops the oldest one that does not
// hold the board.
func (d *door) enter(c conn) *peer {
	p := &peer{conn: c}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		c.Close()
	}
	d.waiting = append(d.waiting, p)
	if len(d.waiting) > maxPeers {
		i := slices.IndexFunc(d.waiting, func(q *peer) bool { return q != d.holder })
		d.waiting[i].conn.Close()
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	return p
}

// shed drops all connections without a session, except that of the holder.
func (d *door) shed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.waiting {
		if p != d.holder {
			p.conn.Close()
		}
	}
}

// take gives the board to a peer that asks for a session. It returns why not, or "", or
// that the peer has to ask again: the session of the holder may just end, and one that
// has not begun soon loses the board. A Hello from the address of the holder itself
// does not end its session: another host can have the same address.
func (d *door) take(p *peer) (why string, later bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.holder == p && !(d.begun && d.board.inSession.Load()):
		return "", false
	case d.holder != nil && d.begun && d.board.inSession.Load() && p.waited() >= refuseAfter:
		return "busy: this board is held by " + d.holder.conn.RemoteAddr().String(), false
	case d.holder != nil && (d.begun || time.Since(d.since) < claimTime):
		return "", true
	case d.holder != nil:
		d.holder.conn.Close()
	}
	d.holder, d.since, d.begun = p, time.Now(), false
	return "", false
}

// leave ends a peer.
func (d *door) leave(p *peer) {
	d.mu.Lock()
	if d.holder == p {
		d.holder = nil
		d.board.holder.Store(nil)
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(q *peer) bool { return q == p })
	ch := p.ch
	d.mu.Unlock()
	if ch != nil {
		ch.Close()
	}
	p.conn.Close()
}

// close ends all peers without a session.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, p := range d.waiting {
		p.conn.Close()
	}
}

// wait passes a peer on when its session has begun, or ends it.
func (d *door) wait(ctx context.Context, p *peer) {
	ch, err := d.board.openChannel(p.conn, d.board.opt.Baud, func() (string, bool) { return d.take(p) })
	d.mu.Lock()
	p.ch = ch
	d.mu.Unlock()
	if err != nil || !begins(ctx, ch) || !d.begin(p) {
		d.leave(p)
		return
	}
	select {
	case d.hosts <- p:
	case <-ctx.Done():
		d.leave(p)
	}
}

// begin records that the session of a peer has begun. It returns false if the peer no
// longer has the board.
func (d *door) begin(p *peer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.DeleteFunc(d.waiting, func(q *peer) bool { return q == p })
	if d.holder != p {
		return false
	}
	d.begun = true
	holder := p.conn.RemoteAddr().String()
	d.board.holder.Store(&holder)
	if h, ok := p.conn.(interface{ begun() }); ok {
		h.begun()
	}
	return true
}

// begins waits for a session of a channel. It returns false if none begins in time.
func begins(ctx context.Context, ch *channel.Channel) bool {
	for end := time.Now().Add(grace); time.Now().Before(end) && ctx.Err() == nil; {
		_, err := ch.Receive(min(time.Until(end), maxWait))
		if err != nil {
			return errors.Is(err, channel.ErrSession)
		}
	}
	return false
}
