// Package channel carries packets of the transaction layer over a byte stream: a
// serial port, a pseudo-terminal, a TCP connection. It is bus/datalink with the
// framing of bus/frame below it, the wall clock, and the goroutines that both need.
//
// A Channel has two goroutines. The reader takes bytes from the stream; it
// never writes, so two ends that both write cannot wait for each other. The
// driver does what is due at a time. Frames are written by whoever made
// them, Send or the driver, one at a time.
package channel

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// ErrSession is returned by Receive of a board, once for each session, before
// the first packet of it; and by Send until then.
var ErrSession = errors.New("channel: a session began")

// ErrStalled is the cause of a link whose stream takes no bytes.
var ErrStalled = errors.New("channel: the stream takes no bytes")

// Config is what a channel is made with.
type Config struct {
	// Link is the data link's configuration. Times that are 0 follow from Baud,
	// credits that are all 0 allow 128 of the largest posted and as many
	// non-posted packets in flight.
	Link datalink.Config

	// Baud is the rate of the line in bits a second, 10 bits a byte. The
	// channel writes no faster. 0 is as fast as the stream takes bytes.
	Baud int

	// Send and Receive befall the frames of a direction; nil is nothing. A cut
	// silences both directions for longer than it takes this end to notice.
	Send, Receive *fault.Injector

	// Console is given the text that shares the line, in order, one call at a
	// time. It must not call Close. Nil drops it.
	Console func(text []byte)

	// Seed is of the nonces of sessions. 0 draws it from the system.
	Seed uint64
}

// Stats counts what a channel has done since Open.
type Stats struct {
	Link         datalink.Stats
	Frame        frame.Stats // of what was received
	Send         fault.Stats
	Receive      fault.Stats
	BytesWritten uint64 // to the stream, framing included
	BytesRead    uint64
	Dropped      uint64 // frames that met a full output buffer or a line that is cut
	Stalls       uint64 // writes that took too long
}

// A Channel is one end of a link over a byte stream. Send, Now, Stats, Session
// and Close may be called at any time from any goroutine; Receive from one at a
// time.
type Channel struct {
	stream  io.ReadWriteCloser
	config  Config
	start   time.Time
	nonces  nonces
	token   chan struct{} // held by who writes
	wake    chan struct{} // Receive has something to look at
	kick    chan struct{} // the driver has
	done    chan struct{} // Close was called
	timer   *time.Timer   // of the driver
	rxTimer *time.Timer   // of Receive
	wg      sync.WaitGroup

	console sync.Mutex // held by who calls config.Console; taken before mu

	mu      sync.Mutex // guards all that follows
	link    *datalink.Link
	out     datalink.Output
	encoder frame.Encoder
	decoder *frame.Decoder
	arrived batch         // frames of the current read
	held    time.Duration // they are held up so long
	text    []byte        // that Console was not given yet
	textAt  time.Duration
	ear     ear
	inbox   inbox
	pending []byte        // encoded, to be written
	spare   []byte        // the other buffer, of who holds token
	wrote   time.Duration // when bytes went out last
	free    time.Duration // the line is, for the next ones
	dark    time.Duration // a cut ends
	armed   time.Duration // the timer fires
	session uint64
	news    bool // Receive has yet to tell of the session
	full    bool // Send failed for a full queue
	sent    uint64
	room    bool // since then a packet left its queue
	last    error
	err     error // why the channel is down
	closing bool
	stats   Stats
}

// Open makes a channel of a stream, which it closes in the end. Close of the
// stream must end its Read and Write. A Read that returns neither bytes nor an
// error is a time-out and means nothing. A stream that has SetReadDeadline is
// made to time out; one that does so itself, in a tenth of a second, says so
// with ReadTimeout. With either, a process that the machine starves does not take
// a peer for dead to which it has not listened. If the stream has SetWriteDeadline,
// that bounds a Write; if not, one that takes too long is ended by closing the
// stream.
//
// A host's Open returns when the session is up, or with the cause:
// datalink.ErrVersion, datalink.ErrMapHash, or an error that wraps
// bus.ErrLinkDown, such as datalink.ErrOpen. A board's returns at once; the board
// waits for a host, and when a session ends for the next. The stream is
// closed if Open fails.
func Open(stream io.ReadWriteCloser, c Config) (*Channel, error) {
	ch, err := open(stream, c)
	if err != nil {
		stream.Close()
	}
	return ch, err
}

func open(stream io.ReadWriteCloser, config Config) (*Channel, error) {
	if config.Baud < 0 {
		return nil, fmt.Errorf("channel: %d baud, want 0 or more", config.Baud)
	}
	config.setTimes()
	link, err := datalink.New(config.Link)
	if err != nil {
		return nil, err
	}
	c := &Channel{
		stream: stream, config: config, start: time.Now(), link: link,
		decoder: frame.NewDecoder(datalink.MinFrame, config.largest()),
		token:   make(chan struct{}, 1), wake: make(chan struct{}, 1),
		kick: make(chan struct{}, 1), done: make(chan struct{}),
		timer: time.NewTimer(never), rxTimer: time.NewTimer(never), armed: never,
	}
	if err := c.nonces.seed(config.Seed); err != nil {
		return nil, err
	}
	for _, j := range []*fault.Injector{config.Send, config.Receive} {
		if j != nil {
			j.Restore()
		}
	}
	timed := newTimedReader(stream)
	c.mu.Lock()
	c.ear.times = timed.times()
	link.Open(c.nonces.next(), c.Now(), &c.out)
	c.settle(c.Now())
	c.nudge()
	c.mu.Unlock()
	c.wg.Add(2)
	go c.read(timed)
	go c.drive()
	if config.Link.Role == datalink.Host {
		return c, c.await()
	}
	return c, nil
}

// await waits until the session of a host is up, or closes the channel.
func (c *Channel) await() error {
	for range c.wake {
		c.mu.Lock()
		up, err := c.link.State() == datalink.Up, c.err
		c.mu.Unlock()
		if err != nil {
			c.Close()
			return err
		}
		if up {
			break
		}
	}
	return nil
}

// Now returns the time since Open; it does not go backwards.
func (c *Channel) Now() time.Duration { return time.Since(c.start) }

// Send queues a copy of a packet. It fails with datalink.ErrFull if the queue of
// the packet's class is full, with datalink.ErrSize, and with the cause,
// which wraps bus.ErrLinkDown, if the link is down. A board whose session has
// not begun or was not told of by Receive fails with ErrSession, or
// datalink.ErrNotUp, and bus.ErrLinkDown.
func (c *Channel) Send(packet []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	case c.news:
		return fmt.Errorf("%w: %w", bus.ErrLinkDown, ErrSession)
	}
	now := c.Now()
	err := c.link.Send(packet, now, &c.out)
	switch {
	case errors.Is(err, datalink.ErrFull):
		c.full, c.sent = true, c.link.Stats().PacketsSent
		return err
	case errors.Is(err, datalink.ErrNotUp):
		return fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
	case err != nil:
		return err
	}
	c.settle(now)
	c.flush()
	return nil
}

// Receive returns the next packet. It is valid until the next Receive, which
// gives its place back to the peer. It returns nil and no error when timeout is
// over, and earlier if a Send that failed with datalink.ErrFull may be tried
// again; with a timeout of 0 or less it does not wait. When the link is down,
// and all packets that arrived before have been taken, it fails with the cause,
// which wraps bus.ErrLinkDown. A board fails with ErrSession when a session has
// begun; what arrived in the one before and was not taken is dropped.
func (c *Channel) Receive(timeout time.Duration) ([]byte, error) {
	timed := false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	for {
		switch {
		case c.news:
			c.news = false
			return nil, ErrSession
		case c.inbox.n > 0:
			return c.inbox.pop(), nil
		case c.err != nil:
			return nil, c.err
		case c.room:
			c.room = false
			return nil, nil
		case timeout <= 0:
			return nil, nil
		}
		if !timed {
			timed = true
			c.rxTimer.Reset(timeout)
		}
		c.mu.Unlock()
		select {
		case <-c.wake:
		case <-c.rxTimer.C:
			timeout = 0
		}
		c.mu.Lock()
	}
}

// release gives back the place of the packet that Receive returned last.
func (c *Channel) release() {
	packet, session := c.inbox.taken()
	if packet == nil || session != c.session {
		return
	}
	now := c.Now()
	c.link.Release(packet, now, &c.out)
	c.settle(now)
	c.nudge()
}

// Session returns the number of sessions so far, whether the last is up, and
// why the one before it, or it, ended; nil if none has.
func (c *Channel) Session() (n uint64, up bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.link.State() == datalink.Up, c.last
}

// Offering reports whether a host was answered a short time ago whose session
// has not begun; see datalink.Link.
func (c *Channel) Offering() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link.Offering(c.Now())
}

// Stats returns the counters.
func (c *Channel) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Link, s.Frame = c.link.Stats(), c.decoder.Stats()
	if c.config.Send != nil {
		s.Send = c.config.Send.Stats()
	}
	if c.config.Receive != nil {
		s.Receive = c.config.Receive.Stats()
	}
	return s
}

// nonces makes the nonces of sessions.
type nonces struct{ state uint32 }

func (n *nonces) seed(seed uint64) error {
	n.state = uint32(seed) ^ uint32(seed>>32)
	if seed != 0 {
		return nil
	}
	var b [4]byte
	_, err := rand.Read(b[:])
	n.state = binary.LittleEndian.Uint32(b[:])
	return err
}

// next returns a nonce; all 2^32 come before one comes again.
func (n *nonces) next() uint32 {
	n.state += 0x9e3779b9
	return n.state
}
