// Package channel carries packets of the transaction layer over a byte stream, such as
// a serial port, a pseudo-terminal or a TCP connection, or over datagrams. It adds to
// bus/datalink the framing of bus/frame or of datagrams, the wall clock, and the
// goroutines that both need.
//
// Receive reads the stream itself, so that an answer passes through no other
// goroutine. A Channel has two goroutines. The reader reads the stream while no
// Receive has done so for about a millisecond; it never writes, so two ends that both
// write cannot block each other. The timer goroutine does work that is due at a
// given time. Frames are written by Send, Flush, Receive and the timer, one Write at a
// time.
package channel

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// ErrSession is returned by a board's Receive once per session, before the
// session's first packet, and by Send until then.
var ErrSession = errors.New("channel: a session began")

// ErrStalled is the cause of a link whose stream accepts no bytes.
var ErrStalled = errors.New("channel: the stream accepts no bytes")

// Config configures a channel. Credits of the data link that are all 0 allow two
// windows of posted packets in flight, at least 128 and at most 512 KiB of them, and as
// many non-posted ones: one window may wait for Receive while the next one arrives. If
// the stream carries datagrams, a Read returns one and a Write sends one. An injected cut
// silences both directions for longer than this end needs to detect it.
type Config struct {
	// Link configures the data link; times of 0 are derived from Baud, credits of 0 are the defaults.
	Link datalink.Config

	// Datagram is the size of the largest datagram in bytes; 0: a stream of bytes.
	Datagram int

	// Nonce, if not 0, is the nonce of the first session.
	Nonce uint32

	// Baud is the largest rate in bits per second, with 10 bits per byte; 0 means no limit.
	Baud int

	// Send and Receive inject faults into the frames of one direction; nil injects none.
	Send, Receive *fault.Injector

	// Console is called with the text that shares the line, in order, one call
	// at a time. It must not call Close. Nil drops the text.
	Console func(text []byte)

	// Seed seeds the nonces of sessions. 0 takes a seed from the system.
	Seed uint64
}

// Stats counts events of a channel since Open.
type Stats struct {
	Link         datalink.Stats
	Frame        frame.Stats // of received bytes
	Send         fault.Stats
	Receive      fault.Stats
	BytesWritten uint64 // to the stream, framing included
	BytesRead    uint64
	Dropped      uint64 // frames lost to a full output buffer or a cut line
	Stalls       uint64 // writes that took too long
}

// A Channel is one end of a link over a byte stream. Send, Interrupt, Now, Stats,
// Session and Close are safe for concurrent use. Only one goroutine may call Receive at
// a time.
type Channel struct {
	stream  io.ReadWriteCloser
	config  Config
	start   time.Time
	nonces  nonces
	token   chan struct{} // held by the writing goroutine
	wake    chan struct{} // wakes a Receive that waits for the reader
	idle    chan struct{} // wakes the reader
	kick    chan struct{} // wakes the timer goroutine
	done    chan struct{} // Close was called
	timer   *time.Timer   // of the timer goroutine
	rxTimer *time.Timer   // of Receive
	wg      sync.WaitGroup

	reading  sync.Mutex    // held by the goroutine that reads the stream, which takes it while it holds mu
	buf      []byte        // for one Read, owned by the holder of reading
	deadline time.Duration // of a Write, owned by the holder of token; 0 if there is none
	ending   *time.Timer   // ends a Write to a stream without deadlines, owned by the holder of token
	console  sync.Mutex    // held while config.Console runs; taken before mu

	mu       sync.Mutex // guards the fields below
	turns    turns
	timed    timedReader
	link     *datalink.Link
	out      datalink.Output
	framing  framing
	inPlace  prefixing     // nil if frames are not built in place
	sink     sink          // of the current Read
	arrived  batch         // frames of that Read
	held     time.Duration // injected stall of these frames
	text     []byte        // not yet passed to Console
	shown    []byte        // the buffer of text that was passed to it, for reuse
	first    []byte        // the first bytes that were read, before a session
	live     liveness
	inbox    inbox
	queued   bool          // packets wait in the link for others of the same frame
	spare    []byte        // memory for the next packet of Send
	pending  outbox        // encoded frames to be written
	least    int           // how many of their bytes make the holder of token write on
	wroteAt  time.Duration // when bytes were last written
	freeAt   time.Duration // when the line can take more bytes
	cutUntil time.Duration // when the current cut ends; 0 if none
	armed    time.Duration // when the timer fires
	session  uint64
	announce bool   // Receive must still report the session
	full     bool   // Send failed because a queue was full
	sentThen uint64 // packets sent when it failed
	room     bool   // a packet has left that queue since
	broken   bool   // Interrupt was called
	last     error
	err      error // why the channel is down
	closing  bool
	stats    Stats
}

// Open makes a channel on a stream and takes ownership: the channel closes the
// stream. Closing the stream must end its Read and Write. A Read that returns
// neither bytes nor an error is a time-out. If the stream has SetReadDeadline, which
// must also end a Read in progress, Receive reads the stream itself. A stream whose
// Read times out by itself within a tenth of a second has a method ReadTimeout. With
// either, a process starved of CPU time does not declare a peer dead whose bytes it
// has not read yet. If the stream has SetWriteDeadline, that bounds a Write; otherwise a
// Write that takes too long is ended by closing the stream.
//
// A host's Open returns when the session is up, or with the cause:
// datalink.ErrVersion, datalink.ErrMapHash, or an error that wraps
// bus.ErrLinkDown, such as datalink.ErrOpen. A board's Open returns at once;
// the board waits for a host, and for the next one after a session ends. Open
// closes the stream if it fails.
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
	config.Link.Datagram = config.Datagram
	config.setTimes()
	if config.Datagram != 0 && config.Datagram < 2+config.largest() {
		return nil, fmt.Errorf("channel: datagrams of %d bytes, want at least %d", config.Datagram, 2+config.largest())
	}
	if len(config.Link.Token) > 0 && config.Link.Role == datalink.Board && config.Link.Challenge == [16]byte{} {
		rand.Read(config.Link.Challenge[:]) // never fails
	}
	link, err := datalink.New(config.Link)
	if err != nil {
		return nil, err
	}
	c := &Channel{
		stream: stream, config: config, start: time.Now(), link: link,
		framing: config.framing(),
		token:   make(chan struct{}, 1), wake: make(chan struct{}, 1),
		idle: make(chan struct{}, 1), kick: make(chan struct{}, 1), done: make(chan struct{}),
		timer: time.NewTimer(never), rxTimer: time.NewTimer(never), armed: never,
		timed: newTimedReader(stream), buf: make([]byte, max(chunk, config.Datagram)),
	}
	c.turns.urgent, c.sink.c = true, c
	if config.Send == nil {
		c.inPlace, _ = c.framing.(prefixing)
	}
	if err := c.nonces.seed(config.Seed); err != nil {
		return nil, err
	}
	nonce := c.nonces.next()
	if config.Nonce != 0 {
		nonce = config.Nonce
	}
	for _, j := range []*fault.Injector{config.Send, config.Receive} {
		if j != nil {
			j.Restore()
		}
	}
	c.mu.Lock()
	c.live.times = c.timed.times()
	link.Open(nonce, c.Now(), c.output())
	c.settle(c.Now())
	c.kickTimer(c.Now())
	c.arm(c.Now())
	c.turns.opens = config.Link.Role == datalink.Host
	c.mu.Unlock()
	c.wg.Add(2)
	go c.read()
	go c.runTimer()
	if config.Link.Role == datalink.Host {
		return c, c.await()
	}
	return c, nil
}

// await waits until the host's session is up. It closes the channel on failure.
func (c *Channel) await() error {
	for range c.wake {
		c.mu.Lock()
		up, err := c.link.State() == datalink.Up, c.err
		c.turns.opens = !up
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

// Receive returns the next packet. The packet is valid until the next Receive,
// which returns its credits to the peer. Receive returns nil and no error after
// the timeout. It returns earlier if a Send that failed with datalink.ErrFull may be
// retried, on a board a session has ended, or Interrupt was called, and later if a Write
// of what Send has queued takes longer. A timeout of 0 or less does not wait. When the
// link is down and all packets that arrived before are taken, Receive fails with the
// cause, which wraps bus.ErrLinkDown. On a board it fails with ErrSession when a session
// has begun; packets of the previous session are dropped.
func (c *Channel) Receive(timeout time.Duration) ([]byte, error) {
	var until time.Duration
	var written bool
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	if timeout > 0 {
		c.turns.calls++
	}
	if !c.announce && c.inbox.n > 0 {
		return c.inbox.pop(), nil
	}
	now := c.Now()
	for {
		switch {
		case c.announce:
			c.announce = false
			return nil, ErrSession
		case c.inbox.n > 0:
			return c.inbox.pop(), nil
		case c.err != nil:
			return nil, c.err
		case c.room || c.broken:
			c.room, c.broken = false, false
			return nil, nil
		case c.queued:
			c.sendQueued(now)
			c.arm(now)
			continue
		case c.pending.len() > 0 && !written:
			if written = true; timeout > 0 {
				now = c.flush(now, 1)
				c.arm(now)
			} else {
				c.kickTimer(now)
			}
			continue
		case timeout <= 0:
			c.poll()
			return nil, nil
		}
		switch {
		case until == 0:
			until = now + min(timeout, never-now)
		case now >= until:
			return nil, nil
		}
		now, written = c.wait(now, until), false
	}
}

// Interrupt makes the Receive in progress, or else the next one, return early, with
// a packet if one has arrived.
func (c *Channel) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	c.notify()
}

// release returns the credits of the packet that Receive returned last.
func (c *Channel) release() {
	packet, session := c.inbox.taken()
	if packet == nil || session != c.session || !c.link.Free(packet) {
		return
	}
	now := c.Now()
	c.link.SendCredits(now, c.output())
	c.settle(now)
	c.arm(now)
}

// Arrived returns the next packet if one has arrived, or nil. It is a Receive that neither
// waits nor takes note of the time. The packet is valid until the next Receive or Arrived.
func (c *Channel) Arrived() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	if c.announce || c.inbox.n == 0 {
		return nil
	}
	return c.inbox.pop()
}

// Ahead returns how long the path needs for all that waits or is in flight, and n bytes
// more, at the measured rate.
func (c *Channel) Ahead(n int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link.Ahead(n)
}

// Goodput returns the rate at which the peer receives, in bytes per second, and whether
// it has been measured under load.
func (c *Channel) Goodput() (rate float64, measured bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link.Goodput()
}

// MaxPacket returns the size of the largest packet of the session, in bytes.
func (c *Channel) MaxPacket() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link.MaxPacket()
}

// Session returns the number of sessions so far, whether the last one is up,
// and why the last ended session ended; nil if none has ended.
func (c *Channel) Session() (n uint64, up bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.link.State() == datalink.Up, c.last
}

// Offering reports whether a host was answered recently whose session has not
// begun; see datalink.Link.
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
	s.Link, s.Frame = c.link.Stats(), c.framing.Stats()
	if c.config.Send != nil {
		s.Send = c.config.Send.Stats()
	}
	if c.config.Receive != nil {
		s.Receive = c.config.Receive.Stats()
	}
	return s
}
