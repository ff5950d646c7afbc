package channel

import (
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// settle processes the output of the link's last call: packets, frames, and the
// ends and beginnings of sessions. It is called with mu held after every call
// that can have an output, and before arm.
func (c *Channel) settle(now time.Duration) {
	c.checkSession()
	for i := range c.out.Packets.Len() {
		if !c.inbox.push(&c.out.Packets, i, c.session) {
			c.overflowed()
			break
		}
	}
	c.encode(now)
	if c.link.State() == datalink.Down && c.err == nil {
		c.sessionEnded(c.link.Err(), now)
	}
	c.observe()
}

// checkSession handles the beginning of a session.
func (c *Channel) checkSession() {
	n := c.link.Stats().Sessions
	if n == c.session {
		return
	}
	c.session = n
	c.full, c.room = false, false
	c.notify()
	if c.config.Link.Role == datalink.Board {
		c.inbox.drop()
		c.announce = true
	}
}

// overflowed ends a session whose packets are not received.
func (c *Channel) overflowed() {
	c.link.Close(c.output())
	c.last = fmt.Errorf("%w: inbox full: %d packets not received", datalink.ErrProtocol, maxInbox)
}

// sessionEnded handles the end of a session or of an attempt to open one. A
// host goes down for good; a board waits for the next session, which may have
// begun already.
func (c *Channel) sessionEnded(cause error, now time.Duration) {
	if c.last == nil || !errors.Is(cause, datalink.ErrClosed) {
		c.last = cause
	}
	if errors.Is(c.last, datalink.ErrOpen) {
		c.last = c.heard(c.last)
	}
	if c.config.Link.Role == datalink.Host {
		c.fail(linkError(c.last))
		return
	}
	c.room = true // Receive returns, so that the board looks at the session
	c.notify()
	c.link.Open(c.nonces.next(), now, c.output())
	c.checkSession()
	c.encode(now)
}

// linkError wraps the cause of a link that is down. A refused peer is present,
// so its error does not wrap bus.ErrLinkDown.
func linkError(cause error) error {
	if errors.Is(cause, datalink.ErrVersion) || errors.Is(cause, datalink.ErrMapHash) {
		return cause
	}
	return fmt.Errorf("%w: %w", bus.ErrLinkDown, cause)
}

// heard adds to the cause that no session has begun what the peer has sent instead, such
// as a message of a boot loader.
func (c *Channel) heard(cause error) error {
	if len(c.first) == 0 || c.session > 0 {
		return cause
	}
	return fmt.Errorf("%w; the board sent %q", cause, c.first)
}

// fail takes the channel down. The first cause stays.
func (c *Channel) fail(err error) {
	if c.err == nil {
		c.err = err
		c.notify()
	}
}

// streamFailed takes the channel down because its stream failed.
func (c *Channel) streamFailed(err error, now time.Duration) {
	if c.last == nil || c.link.State() == datalink.Up {
		c.last = err
	}
	c.fail(c.heard(fmt.Errorf("%w: the stream ended: %w", bus.ErrLinkDown, err)))
	c.link.Close(c.output())
	c.settle(now)
}

// observe wakes Receive if it has something to return.
func (c *Channel) observe() {
	if c.full && c.link.Stats().PacketsSent != c.sentThen {
		c.full, c.room = false, true
	}
	if c.inbox.n > 0 || c.announce || c.room {
		c.notify()
	}
}

// output returns the output of the next call of the link. Where the wire format allows
// it, the link builds its frames at the end of the bytes that wait to be written. The
// caller holds mu until settle.
func (c *Channel) output() *datalink.Output {
	if c.inPlace != nil && c.out.Frames.Len() == 0 {
		c.out.Frames.Lend(c.pending.buf, c.inPlace.Prefix())
	}
	return &c.out
}

// encode appends the frames of the link's last call to the bytes that wait to be written.
func (c *Channel) encode(now time.Duration) {
	frames := &c.out.Frames
	switch n := frames.Len(); {
	case n == 0:
	case c.inPlace == nil:
		c.encodeEach(now)
	case c.drops(now):
		c.stats.Dropped += uint64(n)
	default:
		for i := range n {
			c.inPlace.Fill(frames.Gap(i), frames.At(i))
		}
		c.pending.buf = frames.Take()
	}
	c.out.Reset()
}

// encodeEach encodes frames that the link has built elsewhere.
func (c *Channel) encodeEach(now time.Duration) {
	for i := range c.out.Frames.Len() {
		if c.drops(now) {
			c.stats.Dropped++
			continue
		}
		c.put(c.out.Frames.At(i), now)
	}
}

// drops reports whether a frame is lost at this end.
func (c *Channel) drops(now time.Duration) bool {
	return c.isCut(now) || c.pending.len() > c.config.maxPending()
}

// put encodes a frame, after fault injection.
func (c *Channel) put(f []byte, now time.Duration) {
	c.shareAfter(now)
	if c.config.Send == nil {
		c.emit(f)
		return
	}
	e := c.config.Send.Apply(f, c.emit)
	if e.Stall > 0 {
		c.freeAt = max(c.freeAt, now) + e.Stall
	}
	if e.Cut {
		c.beginCut(now)
	}
}

func (c *Channel) emit(f []byte) { c.pending.buf = c.framing.Append(c.pending.buf, f) }

// shareAfter lets a frame share a delimiter only if the line was not idle for
// long: noise from an idle line must not cost a frame.
func (c *Channel) shareAfter(now time.Duration) {
	if c.pending.len() == 0 && now-c.wroteAt > lineIdle {
		c.framing.Break()
	}
}

// beginCut begins a cut: nothing passes in either direction until both ends
// must have detected it.
func (c *Channel) beginCut(now time.Duration) {
	c.cutUntil = now + c.config.Link.DeadAfter + c.config.Link.KeepAlive
	c.pending.drop()
	c.framing.Break()
}

// isCut reports whether the line is cut. It restores the line when the cut is
// over.
func (c *Channel) isCut(now time.Duration) bool {
	if c.cutUntil == 0 || now < c.cutUntil {
		return c.cutUntil != 0
	}
	c.cutUntil = 0
	if c.config.Send != nil {
		c.config.Send.Restore()
	}
	if c.config.Receive != nil {
		c.config.Receive.Restore()
	}
	return false
}

// arm makes the timer fire no later than the next work is due.
func (c *Channel) arm(now time.Duration) {
	at := never
	if next, ok := c.link.Next(); ok {
		at = next
	}
	if c.queued || c.pending.len() > 0 {
		at = min(at, max(c.freeAt, now+linger))
	}
	if at <= now && c.starved(now) {
		at = now + recheck
	}
	at = max(at, now) // a tick that was put off does not make the timer late
	if at < c.armed {
		c.armed = at
		c.timer.Reset(at - now)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
