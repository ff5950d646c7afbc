package datalink

import (
	"fmt"
	"time"
)

// Tick does work that is due at now. It may be called at any time and must be
// called at Next.
func (l *Link) Tick(now time.Duration, out *Output) {
	switch l.state {
	case Opening:
		l.tickOpening(now, out)
	case Up:
		l.tickUp(now, out)
	}
}

func (l *Link) tickOpening(now time.Duration, out *Output) {
	if l.cfg.Role == Board {
		return
	}
	if now-l.opened >= l.cfg.OpenTimeout {
		l.fail(fmt.Errorf("%w: %d hellos sent in %v", ErrOpen, l.hellos, l.cfg.OpenTimeout), out)
	} else if now >= l.helloAt {
		l.sendHello(now, out)
	}
}

func (l *Link) tickUp(now time.Duration, out *Output) {
	if now-l.receivedAt >= l.cfg.DeadAfter {
		l.fail(fmt.Errorf("%w for %v", ErrDead, l.cfg.DeadAfter), out)
		return
	}
	if due, ok := l.replayDue(); ok && now >= due {
		l.stats.ReplayTimeouts++
		l.tx.path.replayed(l.tx.waiting() > 0, now) // light traffic says nothing about the rate
		if l.tx.all {
			l.replayAll(now, out)
		} else {
			l.replay(l.tx.first, now, out)
		}
		if l.state != Up {
			return
		}
	}
	if l.refreshes() && now-l.fc.updated >= l.cfg.Refresh {
		l.sendCredits(now, out)
	}
	if now >= l.pingAt {
		l.pingAt = now + l.cfg.KeepAlive
		l.ping(now, out)
	} else if due, ok := l.probeDue(); ok && now >= due {
		l.ping(now, out)
	}
	l.flush(now, out)
}

func (l *Link) refreshes() bool { return l.cfg.Credits.finite() }

// Next returns the time at which Tick has work to do unless a frame arrives
// before; ok is false if there is none.
func (l *Link) Next() (at time.Duration, ok bool) {
	switch {
	case l.state == Opening && l.cfg.Role == Host:
		return min(l.helloAt, l.opened+l.cfg.OpenTimeout), true
	case l.state != Up:
		return 0, false
	}
	at = min(l.receivedAt+l.cfg.DeadAfter, l.pingAt)
	if due, ok := l.replayDue(); ok {
		at = min(at, due)
	}
	if due, ok := l.probeDue(); ok {
		at = min(at, due)
	}
	if l.refreshes() {
		at = min(at, l.fc.updated+l.cfg.Refresh)
	}
	if l.rx.unacked > 0 {
		at = min(at, l.rx.ackDue)
	}
	if l.rx.nak {
		at = min(at, l.rx.nakDue)
	} else if l.rx.held > 0 {
		at = min(at, l.rx.again)
	}
	return at, true
}
