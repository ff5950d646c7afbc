package channel

import (
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// settle takes what the link did in its last call: packets to the inbox, frames
// to the output, and the ends and beginnings of sessions. It is called after
// every call that can have an output, with mu held.
func (c *Channel) settle(now time.Duration) {
	c.began()
	for i := range c.out.Packets.Len() {
		if !c.inbox.push(c.out.Packets.At(i), c.session) {
			c.flooded()
			break
		}
	}
	c.encode(now)
	if c.link.State() == datalink.Down && c.err == nil {
		c.ended(c.link.Err(), now)
	}
	c.observe(now)
}

// began notices that a session has begun.
func (c *Channel) began() {
	n := c.link.Stats().Sessions
	if n == c.session {
		return
	}
	c.session = n
	c.full, c.room = false, false
	signal(c.wake)
	if c.config.Link.Role == datalink.Board {
		c.inbox.drop()
		c.news = true
	}
}

// flooded ends a session of which nobody takes the packets.
func (c *Channel) flooded() {
	c.link.Close(&c.out)
	c.last = fmt.Errorf("%w: %d packets that nobody took", datalink.ErrProtocol, maxInbox)
}

// ended follows a session, or the attempt at one. A host is down for good; a
// board waits for the next, or finds that it has begun.
func (c *Channel) ended(cause error, now time.Duration) {
	if c.last == nil || !errors.Is(cause, datalink.ErrClosed) {
		c.last = cause
	}
	if c.config.Link.Role == datalink.Host {
		c.fail(linkError(c.last))
		return
	}
	c.link.Open(c.nonces.next(), now, &c.out)
	c.began()
	c.encode(now)
}

// linkError wraps the cause of a link that is down. A peer that is refused is
// there; the line is not to blame.
func linkError(cause error) error {
	if errors.Is(cause, datalink.ErrVersion) || errors.Is(cause, datalink.ErrMapHash) {
		return cause
	}
	return fmt.Errorf("%w: %w", bus.ErrLinkDown, cause)
}

// fail takes the channel down; the first cause stays.
func (c *Channel) fail(err error) {
	if c.err == nil {
		c.err = err
		signal(c.wake)
	}
}

// broken takes the channel down because the stream is.
func (c *Channel) broken(err error, now time.Duration) {
	if c.last == nil || c.link.State() == datalink.Up {
		c.last = err
	}
	c.fail(fmt.Errorf("%w: the stream ended: %w", bus.ErrLinkDown, err))
	c.link.Close(&c.out)
	c.settle(now)
}

// observe wakes who waits for what has changed.
func (c *Channel) observe(now time.Duration) {
	if c.full && c.link.Stats().PacketsSent != c.sent {
		c.full, c.room = false, true
	}
	if c.inbox.n > 0 || c.news || c.room {
		signal(c.wake)
	}
	c.arm(now)
}

// encode puts the frames of the link's last call into the output.
func (c *Channel) encode(now time.Duration) {
	frames := &c.out.Frames
	for i := range frames.Len() {
		if c.isDark(now) || len(c.pending) > c.config.maxPending() {
			c.stats.Dropped++
			continue
		}
		c.put(frames.At(i), now)
	}
	c.out.Reset()
}

// put encodes a frame, or what the injector makes of it.
func (c *Channel) put(f []byte, now time.Duration) {
	c.shareAfter(now)
	if c.config.Send == nil {
		c.emit(f)
		return
	}
	e := c.config.Send.Apply(f, c.emit)
	if e.Stall > 0 {
		c.free = max(c.free, now) + e.Stall
	}
	if e.Cut {
		c.darken(now)
	}
}

func (c *Channel) emit(f []byte) { c.pending = c.encoder.Append(c.pending, f) }

// shareAfter lets a frame share a delimiter only if the line was not idle for
// long: noise that gathered on it must not cost a frame.
func (c *Channel) shareAfter(now time.Duration) {
	if len(c.pending) == 0 && now-c.wrote > lineIdle {
		c.encoder.Break()
	}
}

// darken begins a cut: nothing passes either way until both ends must have
// noticed.
func (c *Channel) darken(now time.Duration) {
	c.dark = now + c.config.Link.DeadAfter + c.config.Link.KeepAlive
	c.pending = c.pending[:0]
	c.encoder.Break()
}

// isDark reports whether the line is cut, and makes it whole when it is time.
func (c *Channel) isDark(now time.Duration) bool {
	if c.dark == 0 || now < c.dark {
		return c.dark != 0
	}
	c.dark = 0
	if c.config.Send != nil {
		c.config.Send.Restore()
	}
	if c.config.Receive != nil {
		c.config.Receive.Restore()
	}
	return false
}

// arm makes the driver's timer fire no later than something is due.
func (c *Channel) arm(now time.Duration) {
	at := never
	if next, ok := c.link.Next(); ok {
		at = next
	}
	if len(c.pending) > 0 && c.free > now {
		at = min(at, c.free)
	}
	if c.decoder.Waiting() {
		at = min(at, c.textAt)
	}
	if at <= now && c.deaf(now) {
		at = now + relisten
	}
	if at < c.armed {
		c.armed = at
		c.timer.Reset(max(0, at-now))
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
