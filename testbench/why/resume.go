package why

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// Design note: a submission that continues a preempted one has the same part of the DMA buffer, and its packets are in the log again. The driver knows
// where the node stopped: the INDIRECT in the ring begins there, or there is none if only the fence is left. Queues of the firmware have no ring in the
// log. There the first read of the buffer tells the place, or the first packet that was executed. Without these it is not known.

// beginsAt returns the offset in its buffer at which a node begins a submission, or continues the one before it, and whether the log tells it. The
// offset is that of the end if only the fence is left.
func (r *Run) beginsAt(s *submission) (offset uint64, known bool) {
	if s.again == 0 {
		return s.start, true
	}
	for i := range s.ring {
		d, _, _ := pkt.Decode(s.ring[i].data) // nil after an error
		switch d := d.(type) {
		case pkt.Indirect:
			offset = d.Addr&^pkt.Host - s.buffer
			return offset, offset >= s.start && offset < s.end
		case pkt.Fence, pkt.Signal:
			return s.end, len(r.gaps) == 0
		}
	}
	if s.fetched.In() {
		offset = s.reads.addr - s.buffer
		return offset, offset >= s.start && offset < s.end
	}
	if len(r.gaps) > 0 {
		return 0, false
	}
	for i := range s.packets {
		if p := &s.packets[i]; p.started() {
			return uint64(p.offset), true
		}
	}
	return 0, false
}

// onlyFence reports whether a submission continues one of which only the packet of its fence was left.
func (r *Run) onlyFence(s *submission) bool {
	at, known := r.beginsAt(s)
	return s.again != 0 && known && at == s.end
}

// stopsAt returns the offset at which the node stopped in a preempted submission: that at which another one continues it. It reports false if
// the log does not tell it.
func (r *Run) stopsAt(s *submission) (offset uint64, known bool) {
	next := r.subs[s.onward]
	if next == nil || !s.back {
		return 0, false
	}
	return r.beginsAt(next)
}

// unmoved reports whether a node stopped in a preempted submission where it began it.
func (r *Run) unmoved(s *submission) bool {
	from, known := r.beginsAt(s)
	to, told := r.stopsAt(s)
	return known && told && from == to
}

// chain returns the submissions with the same work as one, the first one first: those that it continues, and those that continue it.
func (r *Run) chain(s *submission) []*submission {
	all := append(r.preceding(s), s)
	for next := r.subs[s.onward]; next != nil && next.queued.Event > s.queued.Event; next = r.subs[next.onward] {
		all, s = append(all, next), next
	}
	return all
}

// turn returns when the packet with a number was executed, of submissions with the same work: in the one in which its node came to it, or in
// any of them if the log does not tell in which.
func (r *Run) turn(chain []*submission, number int) span {
	last := len(chain) - 1
	for i := last; i >= 0; i-- {
		at, known := r.beginsAt(chain[i])
		switch {
		case !known || number >= len(chain[i].packets):
			return span{from: chain[0].submitted.Event, to: chain[last].left()}
		case at <= uint64(chain[i].packets[number].offset):
			return r.spanOf(chain[i], number)
		}
	}
	return span{from: chain[0].submitted.Event, to: chain[last].left()}
}

// left returns the event at which a submission left the hardware, or 0.
func (s *submission) left() (event uint64) {
	for _, at := range []Point{s.aborted, s.retired, s.written} {
		event = max(event, at.Event)
	}
	return event
}

// sameAs returns the packet of a submission at the offset of one of a submission with the same work, or nil.
func (s *submission) sameAs(other *packet) *packet {
	for i := range s.packets {
		if s.packets[i].offset == other.offset {
			return &s.packets[i]
		}
	}
	return nil
}
