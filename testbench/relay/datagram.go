package relay

import (
	"bytes"
	"time"
)

// An end is one end of a path of datagrams. Write sends from the address of the other
// end, spoof from another address.
type end interface {
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
	spoof(p []byte)
	Close() error
}

// carry passes datagrams on between both ends until the relay is closed.
func (r *Relay) carry(near, far end) {
	r.stop = func() { near.Close(); far.Close() }
	r.repeat = func() {
		d := &r.dirs[down]
		d.mu.Lock()
		all := append(d.history[d.next:len(d.history):len(d.history)], d.history[:d.next]...)
		d.mu.Unlock()
		for i, p := range all {
			far.Write(p)
			if i%8 == 0 {
				r.pause(50 * time.Microsecond) // the board reads them all
			}
		}
	}
	r.wg.Go(func() { r.dirs[down].datagrams(near, far) })
	r.wg.Go(func() { r.dirs[up].datagrams(far, near) })
}

// datagrams passes datagrams on until the relay is closed. A socket reports that a
// datagram did not arrive; that is no failure.
func (d *direction) datagrams(from, to end) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		select {
		case <-d.r.done:
			return
		default:
		}
		if err != nil {
			continue
		}
		plan, lost := d.r.enter(d.to)
		if lost {
			continue
		}
		begun := time.Now()
		d.stall(plan)
		d.pass(plan, buf[:n], to)
		d.r.passed(begun)
	}
}

// pass passes a datagram on.
func (d *direction) pass(plan Plan, p []byte, to end) {
	s := &d.r.stats
	if d.happens(plan.Spoof, &s.Spoofed) {
		copied := bytes.Clone(p)
		if d.rng.IntN(2) == 0 {
			d.flip(copied)
		}
		to.spoof(copied)
	}
	if old := d.late(plan); old != nil {
		to.Write(old)
	}
	d.remember(p)
	d.release(to)
	if d.happens(plan.Loss, &s.Lost) {
		return
	}
	copies := 1
	if d.happens(plan.Dup, &s.Repeated) {
		copies = 2
	}
	for range copies {
		q := bytes.Clone(p)
		if d.happens(plan.Flip, &s.Flipped) {
			d.flip(q)
		}
		if len(q) > 0 && d.happens(plan.Truncate, &s.Truncated) {
			q = q[:d.rng.IntN(len(q))]
		}
		if d.happens(plan.Reorder, &s.Reordered) {
			d.held = append(d.held, held{q, 1 + d.rng.IntN([...]int{3, 3, 3, 30, 300, 4000}[d.rng.IntN(6)])})
			continue
		}
		to.Write(q)
	}
}

// release passes on the datagrams that have waited long enough.
func (d *direction) release(to end) {
	kept := d.held[:0]
	for _, h := range d.held {
		if h.after--; h.after > 0 {
			kept = append(kept, h)
			continue
		}
		to.Write(h.piece)
	}
	d.held = kept
}
