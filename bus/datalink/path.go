package datalink

import "time"

// Design note: the window of an adaptive link follows what the path delivers, so that a
// slow path does not hold frames for seconds: a serial server has room for all of a
// window. The rate is estimated from acknowledgements (draft-cheng-iccrg-delivery-rate-
// estimation-02), the window from rate and round trip as in BBR.

const (
	// assumedRate is the rate before the first acknowledgement, in bytes per second.
	assumedRate = 10_000

	// leastRate is the least estimate, unless the rate is known to be lower. A slower path
	// cannot be told from one that loses nearly all frames.
	leastRate = 1000

	// queueTime is the time for which frames may wait on the path.
	queueTime = 60 * time.Millisecond

	// firstTrip is the time to a replay before a round trip has been measured.
	firstTrip = 200 * time.Millisecond

	// rateTime is how long the largest rate counts, once or twice.
	rateTime = time.Second

	// queueBytes is the largest number of bytes that may wait on the path: when its rate
	// falls, all of them are late.
	queueBytes = 18 << 10

	// recovery is the time that frames may fly in addition: the peer asks again for a lost
	// one, and may have to ask twice.
	recovery = 2 * time.Millisecond

	// maxFlying is the largest number of bytes that may be in flight.
	maxFlying = 256 << 10

	// leastWindow is the number of frames that may always be in flight.
	leastWindow = 2
)

// A path is what the sender knows of the path to the peer.
type path struct {
	rate      float64       // bytes per second: the largest of this and the last period
	measured  bool          // rate is not just a lower bound
	best      float64       // the largest of this period, 0 if nothing tells
	last      float64       // the largest of the last period
	floor     float64       // of rate
	lostAt    time.Duration // when a Nak made a frame be sent again
	period    time.Duration // when this period began
	flying    int           // bytes in flight
	delivered uint64        // bytes that have arrived
	at        time.Duration // when delivered changed last
	sentAt    time.Duration // when the frame acknowledged last was sent
	short     uint64        // value of delivered up to which rates are lower bounds
}

// A mark is the state of the path when a frame was sent.
type mark struct {
	size      int // of the frame
	ahead     int // bytes in flight, including the frame
	delivered uint64
	at        time.Duration
	sentAt    time.Duration
	short     bool
}

// begin begins a session on a path whose rate is known, or 0.
func (p *path) begin(known float64) {
	p.rate, p.floor = assumedRate, leastRate
	if known > 0 {
		p.rate, p.floor = min(assumedRate, known), min(leastRate, known)
	}
}

// send records the first transmission of a frame.
func (p *path) send(m *mark, size int, now time.Duration) {
	if p.flying == 0 {
		p.at, p.sentAt = now, now
	}
	p.flying += size
	*m = mark{size: size, ahead: p.flying, delivered: p.delivered, at: p.at, sentAt: p.sentAt, short: p.short > p.delivered}
}

// acknowledge records that a frame has arrived, once.
func (p *path) acknowledge(m *mark) {
	p.flying -= m.size
	p.delivered += uint64(m.size)
	m.size = 0
}

// estimate updates the rate: m is the mark of the frame acknowledged last, which was
// sent once, at sentAt. What is delivered while there is too little to send, or frames
// are lost, is a lower bound. Of the other rates the largest of the last seconds counts.
func (p *path) estimate(m *mark, sentAt, now time.Duration) {
	took := max(sentAt-m.sentAt, now-m.at, time.Microsecond)
	p.at, p.sentAt = now, sentAt
	rate := float64(p.delivered-m.delivered) / took.Seconds()
	switch {
	case m.short || p.short > m.delivered:
		p.best = max(p.best, rate)
		p.rate = max(p.rate, rate)
		return
	case now-p.period >= rateTime:
		p.period, p.last, p.best = now, p.best, 0
	}
	p.best, p.measured = max(p.best, rate), true
	p.rate = max(p.best, p.last, p.floor)
}

// replayed records that a frame is sent again: rates of frames in flight are lower
// bounds. If no Nak asks for the frame, and the path loses nothing otherwise, it can be
// slower than it was.
func (p *path) replayed(late bool, now time.Duration) {
	if late {
		p.short = p.delivered + uint64(p.flying)
	}
	if late && now-p.lostAt > rateTime/4 {
		p.rate, p.best, p.last = max(p.rate/2, p.floor), p.best/2, p.last/2
	} else if !late {
		p.lostAt = now
	}
}

// took returns how long the path needs for n bytes.
func (p *path) took(n int) time.Duration {
	return time.Duration(float64(n) / p.rate * float64(time.Second))
}

// bytesWindow returns how many bytes may be in flight.
func (s *sender) bytesWindow() int {
	held := min(queueBytes, s.path.rate*queueTime.Seconds())
	return min(maxFlying, int(held+s.path.rate*(s.fastest+recovery).Seconds()))
}

// mayFly reports whether one more frame of a size may be in flight.
func (l *Link) mayFly(size int) bool {
	s := &l.tx
	switch {
	case s.inFlight() >= s.window:
		return false
	case !l.cfg.Adapt || s.inFlight() < leastWindow:
		return true
	}
	return s.path.flying+size <= s.bytesWindow()
}

// queued returns how long an adaptive link needs for a frame and those before it.
func (l *Link) queued(slot *txSlot) time.Duration {
	if !l.cfg.Adapt {
		return 0
	}
	return l.tx.path.took(slot.mark.ahead)
}

// quickest returns the shortest time in which a frame can be answered.
func (l *Link) quickest(slot *txSlot) time.Duration {
	d := l.tx.fastest
	if l.tx.path.measured {
		d += l.queued(slot)
	}
	return d - d/8
}

// patience returns the time to the next Nak for the same frames. An adaptive link doubles
// it, since a slow path may still carry what was sent before.
func (l *Link) patience() time.Duration {
	if !l.cfg.Adapt {
		return l.trip()
	}
	slow := l.trip() + min(queueTime, l.tx.path.took(leastWindow*LargestFrame(l.cfg.MaxPacket)))
	return min(slow, l.trip()<<min(l.rx.repeats, 16))
}

// Goodput returns the rate at which the peer receives, in bytes per second, and whether
// it has been measured under load and is not just a lower bound. It is 0 unless the link is adaptive.
func (l *Link) Goodput() (rate float64, measured bool) { return l.tx.path.rate, l.tx.path.measured }

// RoundTrip returns the mean time from a frame to its acknowledgement, without the time
// that the path needs for the frames before it; 0 if none has been measured.
func (l *Link) RoundTrip() time.Duration { return l.tx.rtt }

// Ahead returns how long the path needs for all that is in flight or waits to be sent,
// and n bytes more; 0 unless the link is adaptive.
func (l *Link) Ahead(n int) time.Duration {
	if !l.cfg.Adapt || l.state != Up {
		return 0
	}
	for i := range l.tx.queues {
		n += l.tx.queues[i].bytes
	}
	return l.tx.path.took(l.tx.path.flying + n)
}
