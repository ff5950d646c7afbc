package relay

import (
	"bytes"
	"io"
	"net"
	"time"
)

// A joint is the two connections of a stream.
type joint struct {
	r         *Relay
	near, far io.ReadWriteCloser // to the host, to the board
	ended     chan cut
}

// join passes bytes on between two connections until a cut ends them, one of them fails,
// or the relay is closed. It closes both.
func (r *Relay) join(near, far io.ReadWriteCloser) {
	j := &joint{r, near, far, make(chan cut, 4)}
	r.mu.Lock()
	r.broken = j.end
	r.mu.Unlock()
	gone := make(chan struct{}, 2)
	pump := func(d *direction, from io.Reader, to io.Writer) {
		d.stream(from, to)
		j.end(reset)
		gone <- struct{}{}
	}
	go pump(&r.dirs[down], near, far)
	go pump(&r.dirs[up], far, near)
	select {
	case c := <-j.ended:
		j.close(c)
	case <-r.done:
	}
	near.Close()
	far.Close()
	<-gone
	<-gone
}

// end makes join end. It does not block.
func (j *joint) end(c cut) {
	select {
	case j.ended <- c:
	default:
	}
}

// close ends one connection at once and leaves the other one silent for a while. A TCP
// connection ends with a reset or not.
func (j *joint) close(c cut) {
	j.r.mu.Lock()
	abrupt := j.r.rng.IntN(2) == 0
	if c != reset {
		end := time.Now().Add(silent)
		j.r.quiet = [2]time.Time{end, end}
	}
	j.r.mu.Unlock()
	for _, s := range []io.ReadWriteCloser{j.near, j.far} {
		if t, ok := s.(*net.TCPConn); ok && abrupt {
			t.SetLinger(0)
		}
	}
	switch c {
	case hostGone:
		j.near.Close()
		j.r.pause(silent)
	case boardGone:
		j.far.Close()
		j.r.pause(silent)
	}
}

// stream passes bytes on until an end fails.
func (d *direction) stream(from io.Reader, to io.Writer) {
	buf := make([]byte, 4096)
	if rate := d.r.plan.Rate; rate > 0 {
		buf = buf[:min(len(buf), max(1, rate/100))]
	}
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if n == 0 {
			select {
			case <-d.r.done:
				return
			default:
				continue
			}
		}
		plan, lost := d.r.enter(d.to)
		if lost {
			continue
		}
		begun := time.Now()
		d.pace(plan.Rate, n)
		d.stall(plan)
		d.remember(buf[:n])
		if d.write(plan, d.damage(plan, bytes.Clone(buf[:n])), to) != nil {
			return
		}
		d.r.passed(begun)
	}
}

// pace waits until n bytes have passed at a rate in bytes per second.
func (d *direction) pace(rate, n int) {
	if rate == 0 {
		return
	}
	if now := time.Now(); d.free.Before(now) {
		d.free = now
	}
	d.free = d.free.Add(time.Duration(n) * time.Second / time.Duration(rate))
	d.r.pause(time.Until(d.free))
}

// lose removes one byte in each every.
func (d *direction) lose(every int, p []byte) []byte {
	if every == 0 {
		return p
	}
	kept := p[:0]
	for _, b := range p {
		if d.passed++; d.passed%every != 0 {
			kept = append(kept, b)
		} else {
			d.r.count(&d.r.stats.Lost)
		}
	}
	return kept
}

// damage loses, repeats, changes and adds bytes.
func (d *direction) damage(plan Plan, p []byte) []byte {
	s := &d.r.stats
	p = d.lose(plan.LoseByte, p)
	if d.happens(plan.Loss, &s.Lost) {
		i, j := d.span(p)
		p = append(p[:i:i], p[j:]...)
	}
	if d.happens(plan.Dup, &s.Repeated) {
		i, j := d.span(p)
		p = append(p[:j:j], p[i:]...)
	}
	if d.happens(plan.Flip, &s.Flipped) {
		d.flip(p)
	}
	if old := d.late(plan); old != nil {
		at := d.rng.IntN(len(p) + 1)
		p = append(p[:at:at], append(bytes.Clone(old), p[at:]...)...)
	}
	return p
}

// span returns a range of at most 64 bytes of p.
func (d *direction) span(p []byte) (i, j int) {
	i = d.rng.IntN(len(p) + 1)
	return i, min(len(p), i+1+d.rng.IntN(64))
}

// trickled is how long a piece trickles at most, whatever the machine does meanwhile: the
// rest follows at once. It is far less than the silence after which an end is dead.
const trickled = 100 * time.Millisecond

func (d *direction) write(plan Plan, p []byte, to io.Writer) (err error) {
	size, wait := len(p), time.Duration(0)
	switch s := &d.r.stats; {
	case d.happens(plan.Trickle, &s.Trickles):
		size, wait = 1+d.rng.IntN(16), time.Millisecond
	case d.happens(plan.Single, &s.Singles):
		size = 1
	}
	for begun := time.Now(); len(p) > 0 && err == nil; {
		if wait > 0 && time.Since(begun) > trickled {
			size, wait = len(p), 0
		}
		n := min(size, len(p))
		_, err = to.Write(p[:n])
		p = p[n:]
		if wait > 0 {
			d.r.pause(wait)
		}
	}
	return err
}
