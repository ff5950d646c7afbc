package channel

import (
	"errors"
	"io"
	"os"
	"time"
)

// takeOver is how long no Receive has read the stream when the reader begins to.
const takeOver = time.Millisecond

// turns tells who reads the stream.
type turns struct {
	direct bool   // a Receive is inside Read
	waits  bool   // a Receive waits for the reader
	opens  bool   // Open waits for the session
	rests  bool   // the reader waits for the end of a direct Read
	seen   uint64 // n when the reader last looked
	urgent bool   // the reader must read at once
	ended  bool   // Read has failed
	n      uint64 // Reads of a Receive so far
	calls  uint64 // calls of Receive that may wait so far
}

// notify makes the Receive that waits or reads look at the state. The caller holds mu.
func (c *Channel) notify() {
	switch t := &c.turns; {
	case t.direct:
		c.timed.interrupt()
	case t.waits || t.opens:
		signal(c.wake)
	}
}

// wait waits until something has happened that Receive may return, or something else,
// or until a time, and returns the time after that. The caller holds mu; wait releases
// it meanwhile.
func (c *Channel) wait(now, until time.Duration) time.Duration {
	t := &c.turns
	if c.timed.deadline != nil && !t.ended && c.reading.TryLock() {
		t.direct = true
		now = c.readOnce(now, until)
		t.n++
		c.reading.Unlock()
		c.arm(now)
		if t.rests {
			t.rests = false
			signal(c.idle)
		}
		c.showText()
		return now
	}
	t.waits = true
	c.rxTimer.Reset(until - now)
	c.mu.Unlock()
	select {
	case <-c.wake:
	case <-c.rxTimer.C:
	}
	c.mu.Lock()
	t.waits = false
	return c.Now()
}

// poll makes the reader read. A Receive that does not wait does not read itself.
func (c *Channel) poll() {
	if t := &c.turns; c.timed.deadline != nil && !t.urgent {
		t.urgent = true
		signal(c.idle)
	}
}

// read reads the stream while no Receive does, until the stream ends.
func (c *Channel) read() {
	defer c.wg.Done()
	rest := time.NewTimer(never)
	defer rest.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.turns
	for !t.ended && !c.closing {
		if c.rests(rest) {
			continue
		}
		calls := t.calls
		for again := true; again && !t.ended && !c.closing && c.reading.TryLock(); {
			now := c.readOnce(c.Now(), never)
			c.reading.Unlock()
			c.kickTimer(now)
			c.arm(now)
			c.showText()
			again = c.timed.deadline == nil || !t.waits && t.calls == calls
		}
		t.urgent = false
		if t.waits {
			signal(c.wake) // Receive reads on
		}
	}
}

// rests waits for takeOver, or longer if the same Read of a Receive has lasted since the
// reader last looked. It reports whether the reader must wait longer. To wake the reader
// after every Read would cost more than a short Read.
func (c *Channel) rests(rest *time.Timer) bool {
	t := &c.turns
	if c.timed.deadline == nil || t.urgent {
		return false
	}
	n := t.n
	t.rests = t.direct && t.seen == n
	t.seen = n
	if !t.rests {
		rest.Reset(takeOver)
	}
	c.mu.Unlock()
	over := false
	select {
	case <-c.idle:
	case <-rest.C:
		over = true
	case <-c.done:
	}
	c.mu.Lock()
	return !t.urgent && (!over || t.direct || t.n != n)
}

// readOnce reads the stream once, until a time at most, processes the bytes, and returns
// the time after that. The caller holds mu and reading; readOnce releases mu meanwhile.
func (c *Channel) readOnce(begun, until time.Duration) time.Duration {
	c.timed.arm(c.start, begun, until)
	c.mu.Unlock()
	n, err := c.timed.Read(c.buf)
	c.mu.Lock()
	now := c.Now()
	c.turns.direct = false
	expired := errors.Is(err, os.ErrDeadlineExceeded)
	if expired {
		err = nil
	}
	if n > 0 || err != nil {
		now = c.take(c.buf[:n], err, now)
	}
	c.live.begun = begun
	if n == 0 && err == nil && !expired && now-begun < time.Millisecond {
		c.mu.Unlock()
		c.sleep(2 * time.Millisecond)
		c.mu.Lock()
	}
	return now
}

// A timedReader makes Read time out if the stream has a read deadline.
type timedReader struct {
	io.Reader
	deadline interface{ SetReadDeadline(time.Time) error } // nil if there is none
	until    time.Duration                                 // the deadline, since start
}

func newTimedReader(stream io.Reader) timedReader {
	r := timedReader{Reader: stream}
	r.deadline, _ = stream.(interface{ SetReadDeadline(time.Time) error })
	return r
}

// times reports whether Read is known to time out.
func (r *timedReader) times() bool {
	_, itself := r.Reader.(interface{ ReadTimeout() time.Duration })
	return itself || r.deadline != nil
}

// arm sets the deadline of the next Read: until, or one to two times half of
// readTimeout if that is earlier. It changes the deadline only if it must.
func (r *timedReader) arm(start time.Time, now, until time.Duration) {
	if r.deadline == nil || r.until <= until && r.until-now >= readTimeout/2 {
		return
	}
	r.until = min(until, now+readTimeout)
	r.deadline.SetReadDeadline(start.Add(r.until)) // Read reports the error
}

// interrupt ends a Read in progress.
func (r *timedReader) interrupt() {
	r.until = 0
	r.deadline.SetReadDeadline(time.Unix(1, 0)) // Read reports the error
}
