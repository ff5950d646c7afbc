package channel

import (
	"errors"
	"io"
	"os"
	"time"
)

// liveness distinguishes a silent peer from a process that was starved of CPU
// time and has not read. It can do so only if Read times out; otherwise the
// process counts as always reading.
type liveness struct {
	times   bool          // Read times out
	stalled bool          // the reader delays its frames for an injected stall
	begun   time.Duration // start of the last Read that has returned
	woke    time.Duration // when the timer goroutine last ran far too late
	frames  uint64        // frames received so far
	heard   time.Duration // when the last one arrived
}

// noteFrame records the arrival of frames of the session.
func (c *Channel) noteFrame(now time.Duration) {
	if n := c.link.Stats().FramesReceived; n != c.live.frames {
		c.live.frames, c.live.heard = n, now
	}
}

// noteLate records that the timer goroutine runs later than KeepAlive. The
// reader was probably starved too.
func (c *Channel) noteLate(now time.Duration) {
	if now-c.armed > c.config.Link.KeepAlive {
		c.live.woke = now
	}
}

// starved reports whether unread bytes may wait on the stream: no Read has
// begun since the timer goroutine ran late, or for longer than two Reads take.
func (c *Channel) starved(now time.Duration) bool {
	e := &c.live
	return e.times && !e.stalled && (e.begun < e.woke || now-e.begun > 2*readTimeout+c.config.Link.KeepAlive)
}

// mayTick reports whether the link may tick. It is false while a tick could
// declare the peer dead although the reader was starved.
func (c *Channel) mayTick(now time.Duration) bool {
	return now-c.live.heard < c.config.Link.DeadAfter || !c.starved(now)
}

// A timedReader makes Read time out if the stream has a read deadline.
type timedReader struct {
	io.Reader
	deadline interface{ SetReadDeadline(time.Time) error } // nil if there is none
	until    time.Time
}

func newTimedReader(stream io.Reader) *timedReader {
	r := &timedReader{Reader: stream}
	r.deadline, _ = stream.(interface{ SetReadDeadline(time.Time) error })
	return r
}

// times reports whether Read is known to time out.
func (r *timedReader) times() bool {
	_, itself := r.Reader.(interface{ ReadTimeout() time.Duration })
	return itself || r.deadline != nil
}

// read returns 0 and no error if nothing arrives for one to two times
// readTimeout. It renews the deadline only after half of it has passed.
func (r *timedReader) read(p []byte) (int, error) {
	if r.deadline == nil {
		return r.Read(p)
	}
	if now := time.Now(); r.until.Sub(now) < readTimeout/2 {
		r.until = now.Add(readTimeout)
		r.deadline.SetReadDeadline(r.until) // Read reports the error
	}
	n, err := r.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}
