package channel

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// drive does what is due.
func (c *Channel) drive() {
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
		c.woke(now)
		c.armed = never
		if c.mayTick(now) {
			c.link.Tick(now, &c.out)
		}
		if c.decoder.Waiting() && now >= c.textAt && !c.deaf(now) {
			c.decoder.Flush(sink{c})
		}
		c.settle(now)
		c.flush()
		c.arm(c.Now())
		c.mu.Unlock()
		c.speak()
	}
}

// nudge makes the driver write what is pending.
func (c *Channel) nudge() {
	if len(c.pending) > 0 && c.free <= c.Now() {
		signal(c.kick)
	}
}

// flush writes what is pending as far as the rate allows, unless another
// goroutine is at it, which then writes that as well. It is called with mu
// held and gives it up while it writes.
func (c *Channel) flush() {
	if len(c.pending) == 0 {
		return
	}
	select {
	case c.token <- struct{}{}:
	default:
		return
	}
	for len(c.pending) > 0 && c.free <= c.Now() && !c.closing {
		c.writeSome()
	}
	<-c.token
	c.arm(c.Now())
}

// writeSome writes one piece of what is pending, with token and mu held.
func (c *Channel) writeSome() {
	n := min(len(c.pending), chunk)
	if c.config.Baud > 0 {
		n = min(n, max(16, int(burst*time.Duration(c.config.Baud)/10/time.Second)))
		now := c.Now()
		c.free = max(c.free, now-catchUp) + c.config.lineTime(n)
	}
	c.spare = append(c.spare[:0], c.pending[:n]...)
	c.pending = c.pending[:copy(c.pending, c.pending[n:])]
	c.mu.Unlock()
	written, err := c.write(c.spare, c.config.Link.DeadAfter)
	c.mu.Lock()
	c.wrote = c.Now()
	c.stats.BytesWritten += uint64(max(written, 0))
	if err != nil && !c.closing {
		c.unwritten(err)
	}
}

// write writes p to the stream, in at most a time.
func (c *Channel) write(p []byte, limit time.Duration) (int, error) {
	if s, ok := c.stream.(interface{ SetWriteDeadline(time.Time) error }); ok {
		if err := s.SetWriteDeadline(time.Now().Add(limit)); err == nil {
			return c.stream.Write(p)
		}
	}
	ending := time.AfterFunc(limit, func() { c.stream.Close() })
	n, err := c.stream.Write(p)
	if !ending.Stop() && err != nil {
		err = fmt.Errorf("%w in %v: %w", ErrStalled, limit, err)
	}
	return n, err
}

// unwritten follows a write that failed. One that was merely too slow ends the
// session and not the stream.
func (c *Channel) unwritten(err error) {
	now := c.Now()
	c.pending = c.pending[:0]
	c.encoder.Break()
	if errors.Is(err, ErrStalled) {
		c.stats.Stalls++
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.broken(err, now)
		return
	}
	c.stats.Stalls++
	if c.link.State() != datalink.Up {
		return
	}
	c.last = fmt.Errorf("%w in %v", ErrStalled, c.config.Link.DeadAfter)
	c.link.Close(&c.out)
	c.out.Reset()
	c.settle(now)
}

// sink is what the decoder tells a channel.
type sink struct{ c *Channel }

func (s sink) Frame(f []byte) {
	c := s.c
	if c.config.Receive == nil {
		c.arrived.add(f)
		return
	}
	e := c.config.Receive.Apply(f, c.arrived.add)
	c.held += e.Stall
	if e.Cut {
		c.darken(c.Now())
	}
}

func (s sink) Text(p []byte) {
	if s.c.config.Console != nil {
		s.c.text = append(s.c.text, p...)
	}
}

// Damaged gives the link a frame without bytes: it asks for what is missing
// without waiting for the next one.
func (s sink) Damaged(int) { s.c.arrived.add(nil) }

// read takes bytes from the stream until it ends.
func (c *Channel) read(timed *timedReader) {
	defer c.wg.Done()
	buf := make([]byte, chunk)
	for {
		begun := c.Now()
		n, err := timed.read(buf)
		c.mu.Lock()
		if n > 0 || err != nil {
			c.take(buf[:n], err)
		}
		c.ear.begun = begun
		closing := c.closing
		c.mu.Unlock()
		c.speak()
		if err != nil || closing {
			return
		}
		if n == 0 && c.Now()-begun < time.Millisecond {
			c.rest(2 * time.Millisecond)
		}
	}
}

// take gives the link what a Read returned. It is called with mu held, and gives
// it up during a stall.
func (c *Channel) take(p []byte, err error) {
	c.stats.BytesRead += uint64(len(p))
	c.arrived.reset()
	c.held = 0
	if c.isDark(c.Now()) {
		p = nil
	}
	c.decoder.Feed(p, sink{c})
	if err != nil {
		c.decoder.Finish(sink{c})
	}
	if c.held > 0 {
		c.ear.stalled = true
		c.mu.Unlock()
		c.rest(c.held)
		c.mu.Lock()
		c.ear.stalled = false
	}
	now := c.Now()
	c.textAt = now + c.config.Link.DeadAfter
	c.arrived.each(func(f []byte) {
		if !c.isDark(now) {
			c.link.Receive(f, now, &c.out)
			c.heard(now)
			c.settle(now)
		}
	})
	if err != nil && !c.closing {
		c.broken(err, now)
	}
	c.nudge()
	c.arm(now)
}

// rest lets a time pass, or less if the channel is closed.
func (c *Channel) rest(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.done:
	}
}

// speak gives the console what there is of text.
func (c *Channel) speak() {
	if c.config.Console == nil {
		return
	}
	c.console.Lock()
	defer c.console.Unlock()
	c.mu.Lock()
	text := c.text
	c.text = nil
	c.mu.Unlock()
	if len(text) > 0 {
		c.config.Console(text)
	}
}

// Close ends the session, tells the peer if that is possible in a tenth of a
// second, closes the stream and waits for both goroutines. Later calls of Send
// and Receive fail with bus.ErrClosed, unless the link was down before: that
// cause stays. Close is idempotent.
func (c *Channel) Close() error {
	c.mu.Lock()
	first := !c.closing
	c.closing = true
	c.mu.Unlock()
	if !first {
		c.wg.Wait()
		return nil
	}
	c.farewell()
	close(c.done)
	err := c.stream.Close()
	c.wg.Wait()
	return err
}

// farewell tells the peer that the session ends.
func (c *Channel) farewell() {
	timeout := time.NewTimer(linger)
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
	if !alive || !free {
		return
	}
	c.link.Close(&c.out)
	c.encode(c.Now())
	last := append([]byte(nil), c.pending...)
	c.mu.Unlock()
	c.write(last, linger)
	c.mu.Lock()
}
