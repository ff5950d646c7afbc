package channel

import "time"

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
