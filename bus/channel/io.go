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
			c.link.Tick(now, &c.out)
		}
		if c.framing.Waiting() && now >= c.textAt && !c.starved(now) {
			c.framing.Flush(sink{c})
		}
		c.settle(now)
		c.flush()
		c.arm(c.Now())
		c.mu.Unlock()
		c.showText()
	}
}

// kickTimer makes the timer goroutine write pending bytes.
func (c *Channel) kickTimer() {
	if len(c.pending) > 0 && c.freeAt <= c.Now() {
		signal(c.kick)
	}
}

// flush writes pending bytes as far as the rate allows. If another goroutine is
// writing, that one writes them. The caller holds mu; flush releases it while
// it writes.
func (c *Channel) flush() {
	if len(c.pending) == 0 {
		return
	}
	select {
	case c.token <- struct{}{}:
	default:
		return
	}
	for len(c.pending) > 0 && c.freeAt <= c.Now() && !c.closing {
		c.writeSome()
	}
	<-c.token
	c.arm(c.Now())
}

// writeSome writes one piece of the pending bytes. The caller holds token and
// mu.
func (c *Channel) writeSome() {
	limit := chunk
	if c.config.Datagram > 0 {
		limit = c.link.Datagram()
	}
	if c.config.Baud > 0 {
		limit = min(limit, max(16, int(burst*time.Duration(c.config.Baud)/10/time.Second)))
	}
	n := c.framing.Take(c.pending, limit)
	if c.config.Baud > 0 {
		now := c.Now()
		c.freeAt = max(c.freeAt, now-catchUp) + c.config.lineTime(n)
	}
	c.spare = append(c.spare[:0], c.pending[:n]...)
	c.pending = c.pending[:copy(c.pending, c.pending[n:])]
	c.mu.Unlock()
	written, err := c.write(c.spare, c.config.Link.DeadAfter)
	c.mu.Lock()
	c.wroteAt = c.Now()
	c.stats.BytesWritten += uint64(max(written, 0))
	if err != nil && !c.closing {
		c.writeFailed(err)
	}
}

// write writes p to the stream within limit.
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

// writeFailed handles a failed write. A write that was only too slow ends the
// session but not the stream.
func (c *Channel) writeFailed(err error) {
	now := c.Now()
	c.pending = c.pending[:0]
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
	c.link.Close(&c.out)
	c.out.Reset()
	c.settle(now)
}

// sink receives the decoder's output.
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
		c.beginCut(c.Now())
	}
}

func (s sink) Text(p []byte) {
	if s.c.config.Console != nil {
		s.c.text = append(s.c.text, p...)
	}
}

// Damaged passes the link an empty frame, so that it requests the missing
// frames at once.
func (s sink) Damaged(int) { s.c.arrived.add(nil) }

// read takes bytes from the stream until it ends.
func (c *Channel) read(timed *timedReader) {
	defer c.wg.Done()
	buf := make([]byte, max(chunk, c.config.Datagram))
	for {
		begun := c.Now()
		n, err := timed.read(buf)
		c.mu.Lock()
		if n > 0 || err != nil {
			c.take(buf[:n], err)
		}
		c.live.begun = begun
		closing := c.closing
		c.mu.Unlock()
		c.showText()
		if err != nil || closing {
			return
		}
		if n == 0 && c.Now()-begun < time.Millisecond {
			c.sleep(2 * time.Millisecond)
		}
	}
}

// take passes the result of a Read to the link. The caller holds mu; take
// releases it during a stall.
func (c *Channel) take(p []byte, err error) {
	c.stats.BytesRead += uint64(len(p))
	c.arrived.reset()
	c.held = 0
	if c.isCut(c.Now()) {
		p = nil
	}
	c.framing.Feed(p, sink{c})
	if err != nil {
		c.framing.Finish(sink{c})
	}
	if c.held > 0 {
		c.live.stalled = true
		c.mu.Unlock()
		c.sleep(c.held)
		c.mu.Lock()
		c.live.stalled = false
	}
	now := c.Now()
	c.textAt = now + c.config.Link.DeadAfter
	c.arrived.each(func(f []byte) {
		if !c.isCut(now) {
			c.link.Receive(f, now, &c.out)
			c.noteFrame(now)
			c.settle(now)
		}
	})
	if err != nil && !c.closing {
		c.streamFailed(err, now)
	}
	c.kickTimer()
	c.arm(now)
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

// showText passes pending text to Console.
func (c *Channel) showText() {
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

// Close ends the session, closes the stream and waits for both goroutines. It
// tries for a tenth of a second to notify the peer. Later calls of Send and
// Receive fail with bus.ErrClosed, unless the link was down before: that cause
// stays. Close is idempotent.
func (c *Channel) Close() error {
	c.mu.Lock()
	first := !c.closing
	c.closing = true
	c.mu.Unlock()
	if !first {
		c.wg.Wait()
		return nil
	}
	c.sendDown()
	close(c.done)
	err := c.stream.Close()
	c.wg.Wait()
	return err
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
	if !alive || !free {
		return
	}
	c.link.Close(&c.out)
	c.encode(c.Now())
	last := append([]byte(nil), c.pending...)
	c.mu.Unlock()
	c.write(last, closeTimeout)
	c.mu.Lock()
}
