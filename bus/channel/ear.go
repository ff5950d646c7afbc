package channel

import (
	"errors"
	"io"
	"os"
	"time"
)

// An ear tells a peer that is silent from a process that has not listened,
// because the machine had no time for it. Only where Read is known to time out
// can that be told; elsewhere a process is taken to listen all the time.
type ear struct {
	times   bool          // Read times out
	stalled bool          // the reader holds up what it has read, as it was asked to
	begun   time.Duration // the last Read that has ended
	woke    time.Duration // the driver last did so far too late
	frames  uint64        // received so far
	heard   time.Duration // the last of them
}

// heard notices a frame of the session.
func (c *Channel) heard(now time.Duration) {
	if n := c.link.Stats().FramesReceived; n != c.ear.frames {
		c.ear.frames, c.ear.heard = n, now
	}
}

// woke notices that the driver is late by more than a keep-alive: so was, it
// may be, the reader.
func (c *Channel) woke(now time.Duration) {
	if now-c.armed > c.config.Link.KeepAlive {
		c.ear.woke = now
	}
}

// deaf reports whether something may wait on the stream that the reader had no
// time for: no Read has begun since the driver woke late, or since longer than
// two of them take.
func (c *Channel) deaf(now time.Duration) bool {
	e := &c.ear
	return e.times && !e.stalled && (e.begun < e.woke || now-e.begun > 2*listen+c.config.Link.KeepAlive)
}

// mayTick reports whether the link may be told the time: not if it would take
// the peer for dead that nobody has listened to.
func (c *Channel) mayTick(now time.Duration) bool {
	return now-c.ear.heard < c.config.Link.DeadAfter || !c.deaf(now)
}

// A timedReader makes the Read of a stream time out, if that has a deadline.
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

// read returns nothing and no error when nothing has arrived for a while, the
// time of one or two turns of listen. The deadline is set anew only when half of
// it is over.
func (r *timedReader) read(p []byte) (int, error) {
	if r.deadline == nil {
		return r.Read(p)
	}
	if now := time.Now(); r.until.Sub(now) < listen/2 {
		r.until = now.Add(listen)
		r.deadline.SetReadDeadline(r.until) // Read has what fails
	}
	n, err := r.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}
