package channel

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// runTimer does work that is due.
func (c *Channel) runTimer() {
	defer c.wg.Done()
	for {
		select {
		case <-c.timer.C:
		case <-c.kick:
		case <-c.done:
			return
		}
		c.mu.Lock()
		now := c.Now()
		c.noteLate(now)
		c.armed = never
		if c.mayTick(now) {
			c.link.Tick(now, c.output())
		}
		c.settle(now)
		if c.queued {
			c.sendQueued(now)
		}
		c.arm(c.flush(now, 1))
		c.mu.Unlock()
	}
}

// kickTimer makes the timer goroutine write pending bytes.
func (c *Channel) kickTimer(now time.Duration) {
	if c.pending.len() > 0 && c.freeAt <= now {
		signal(c.kick)
	}
}

// flush writes while size bytes or more are pending, as far as the rate allows, and
// returns the time after that. If another goroutine is writing, that one does it. The
// caller holds mu; flush releases it while it writes.
func (c *Channel) flush(now time.Duration, size int) time.Duration {
	size = max(size, 1)
	if c.pending.len() < size {
		return now
	}
	select {
	case c.token <- struct{}{}:
		c.least = size
	default:
		c.least = min(c.least, size)
		return now
	}
	for c.pending.len() >= c.least && c.freeAt <= now && !c.closing {
		now = c.writeSome(now)
	}
	<-c.token
	return now
}

// writeSome writes one piece of the pending bytes, and returns the time after that. The
// caller holds token and mu.
func (c *Channel) writeSome(now time.Duration) time.Duration {
	limit := c.largestWrite()
	if c.config.Baud > 0 {
		limit = min(limit, max(16, int(burst*time.Duration(c.config.Baud)/10/time.Second)))
	}
	n := c.framing.Take(c.pending.rest(), limit)
	if c.config.Baud > 0 {
		c.freeAt = max(c.freeAt, now-catchUp) + c.config.lineTime(n)
	}
	p := c.pending.take(n)
	c.mu.Unlock()
	written, err := c.write(p, c.config.Link.DeadAfter, now)
	c.mu.Lock()
	c.pending.trim()
	now = c.Now()
	c.wroteAt = now
	c.stats.BytesWritten += uint64(max(written, 0))
	if err != nil && !c.closing {
		c.writeFailed(err, now)
	}
	return now
}

// largestWrite returns the size of the largest Write, in bytes.
func (c *Channel) largestWrite() int {
	if c.config.Datagram > 0 {
		return c.link.Datagram()
	}
	return chunk
}

// write writes p to the stream within limit, or a quarter more. It changes the deadline
// of the stream only if it must. The caller holds token.
func (c *Channel) write(p []byte, limit, now time.Duration) (int, error) {
	if s, ok := c.stream.(interface{ SetWriteDeadline(time.Time) error }); ok {
		if left := c.deadline - now; left < limit || left > limit+limit/4 {
			c.deadline = now + limit + limit/4
			if err := s.SetWriteDeadline(c.start.Add(c.deadline)); err != nil {
				c.deadline = 0
			}
		}
		if c.deadline > 0 {
			return c.stream.Write(p)
		}
	}
	if c.ending == nil {
		c.ending = time.AfterFunc(limit, func() { c.stream.Close() })
	} else {
		c.ending.Reset(limit)
	}
	n, err := c.stream.Write(p)
	if !c.ending.Stop() && err != nil {
		err = fmt.Errorf("%w in %v: %w", ErrStalled, limit, err)
	}
	return n, err
}

// writeFailed handles a failed write. A write that was only too slow ends the
// session but not the stream.
func (c *Channel) writeFailed(err error, now time.Duration) {
	c.pending.drop()
	c.framing.Break()
	if errors.Is(err, ErrStalled) {
		c.stats.Stalls++
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.streamFailed(err, now)
		return
	}
	c.stats.Stalls++
	if c.link.State() != datalink.Up {
		return
	}
	c.last = fmt.Errorf("%w in %v", ErrStalled, c.config.Link.DeadAfter)
	c.link.Close(c.output())
	c.out.Reset()
	c.settle(now)
}

// pass passes a frame that has arrived to the link.
func (c *Channel) pass(f []byte, now time.Duration) {
	if !c.isCut(now) {
		c.link.Receive(f, now, c.output())
		c.noteFrame(now)
		c.settle(now)
	}
}

// sink receives the decoder's output at a time. Frames wait in arrived if faults are
// injected.
type sink struct {
	c   *Channel
	now time.Duration
}

func (s *sink) Frame(f []byte) {
	c := s.c
	if c.config.Receive == nil {
		c.pass(f, s.now)
		return
	}
	e := c.config.Receive.Apply(f, c.arrived.add)
	c.held += e.Stall
	if e.Cut {
		c.beginCut(c.Now())
	}
}

func (s *sink) Text(p []byte) {
	if s.c.config.Console != nil {
		s.c.text = append(s.c.text, p...)
	}
}

// Damaged passes the link an empty frame, so that it requests the missing
// frames at once.
func (s *sink) Damaged(int) {
	if s.c.config.Receive == nil {
		s.c.pass(nil, s.now)
		return
	}
	s.c.arrived.add(nil)
}

// maxFirst is the number of bytes that the error of a failed Open quotes.
const maxFirst = 80

// take passes the result of a Read to the link, and returns the time after an injected
// stall. The caller holds mu; take releases it during the stall.
func (c *Channel) take(p []byte, err error, now time.Duration) time.Duration {
	c.stats.BytesRead += uint64(len(p))
	c.arrived.reset()
	c.held = 0
	if c.isCut(now) {
		p = nil
	}
	if c.session == 0 {
		c.first = append(c.first, p[:min(len(p), maxFirst-len(c.first))]...)
	}
	c.sink.now = now
	c.framing.Feed(p, &c.sink)
	if c.held > 0 {
		c.live.stalled = true
		c.mu.Unlock()
		c.sleep(c.held)
		c.mu.Lock()
		c.live.stalled = false
		now = c.Now()
	}
	c.arrived.each(func(f []byte) { c.pass(f, now) })
	if err != nil {
		c.turns.ended = true
		if !c.closing {
			c.streamFailed(err, now)
		}
	}
	return now
}

// sleep waits for d, or until the channel is closed.
func (c *Channel) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.done:
	}
}

// showText passes pending text to Console. The caller holds mu; showText releases it
// meanwhile.
func (c *Channel) showText() {
	if len(c.text) == 0 {
		return
	}
	c.mu.Unlock()
	c.console.Lock()
	c.mu.Lock()
	text := c.text
	c.text, c.shown = c.shown[:0], nil
	c.mu.Unlock()
	if len(text) > 0 {
		c.config.Console(text)
	}
	c.mu.Lock()
	c.shown = text
	c.console.Unlock()
}

// Close ends the session, closes the stream and waits until nothing reads it. It
// tries for a tenth of a second to notify the peer. Later calls of Send and
// Receive fail with bus.ErrClosed, unless the link was down before: that cause
// stays. Close is idempotent.
func (c *Channel) Close() error {
	c.mu.Lock()
	first := !c.closing
	c.closing = true
	c.mu.Unlock()
	if !first {
		c.stopped()
		return nil
	}
	c.sendDown()
	close(c.done)
	err := c.stream.Close()
	c.stopped()
	return err
}

// stopped waits until no goroutine uses the stream.
func (c *Channel) stopped() {
	c.wg.Wait()
	c.reading.Lock() // a Receive has ended
	c.buf = nil
	c.reading.Unlock()
}

// sendDown notifies the peer that the session ends.
func (c *Channel) sendDown() {
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	free := true
	select {
	case c.token <- struct{}{}:
	case <-timeout.C:
		free = false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	alive := c.err == nil
	c.fail(fmt.Errorf("%w: %w", bus.ErrClosed, bus.ErrLinkDown))
	if !free {
		return
	}
	if !alive {
		c.writeAll() // the link has sent the end itself, if it failed
		return
	}
	if c.queued {
		c.sendQueued(c.Now())
	}
	c.link.Close(c.output())
	var down []byte
	if n := c.out.Frames.Len(); n > 0 {
		down = append(down, c.out.Frames.At(n-1)...)
	}
	c.encode(c.Now())
	for i := 0; i < downs && down != nil; i++ {
		if i > 0 {
			c.put(down, c.Now())
		}
		if c.writeAll() != nil {
			return
		}
	}
}

// writeAll writes all pending bytes. The caller holds token and mu; writeAll releases mu
// meanwhile.
func (c *Channel) writeAll() error {
	for c.pending.len() > 0 {
		last := c.pending.take(c.framing.Take(c.pending.rest(), c.largestWrite()))
		c.mu.Unlock()
		_, err := c.write(last, closeTimeout, c.Now())
		c.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// downs is how often the end of a session is sent: nobody acknowledges it, and a board
// that misses it stays with its host until the silence counts as its end.
const downs = 3
