package why

import (
	"cmp"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A fate is what became of a packet.
type fate int

const (
	never   fate = iota // it was not
	unknown             // the log does not say
	partly              // its node stopped in it
	whole               // it was
)

// each calls do with every move that was executed, submission by submission.
func (r *Run) each(do func(m move)) {
	for _, s := range r.order {
		r.movesOf(s, func(m move) {
			if m.fate == whole {
				do(m)
			}
		})
	}
}

// doubts returns the moves of which the log does not say whether they were executed.
func (r *Run) doubts() (all []move) {
	r.doubtful(func(m move) { all = append(all, m) })
	return all
}

// doubted returns the last of some doubts that is one of a question.
func doubted(doubts []move, is func(d move) bool) (found move, ok bool) {
	for _, d := range slices.Backward(doubts) {
		if is(d) {
			return d, true
		}
	}
	return move{}, false
}

// doubtful calls do with every move of which the log does not say that it was executed, or that it was not.
func (r *Run) doubtful(do func(m move)) {
	for _, s := range r.order {
		if r.Header.Observed && !s.back && s.retired.In() {
			continue // all of it was executed
		}
		r.movesOf(s, func(m move) {
			if m.fate == unknown || m.fate == partly {
				do(m)
			}
		})
	}
}

// ended returns the submissions with packets that were executed, in the order of the last of them.
func (r *Run) ended() (all []*submission) {
	for _, s := range r.order {
		if s.finished = r.lastMoved(s); s.finished != 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(x, y *submission) int { return cmp.Compare(x.finished, y.finished) })
	return all
}

// lastMoved returns the last event at which a packet of a submission was executed, or 0.
func (r *Run) lastMoved(s *submission) (last uint64) {
	for i := range s.packets {
		last = max(last, s.packets[i].executed.Event)
	}
	if last == 0 && !r.Header.Observed {
		for _, at := range []Point{s.retired, s.written} {
			last = max(last, at.Event)
		}
	}
	return last
}

// precedes reports whether a move was executed before another one.
func (m move) precedes(other move) bool {
	if m.when.Event != other.when.Event {
		return m.when.Event < other.when.Event
	}
	return m.sub == other.sub && m.packet.offset < other.packet.offset
}

// fateOf sets whether and when a move was executed. A board that does not tell has executed the packets of a submission whose fence
// was written or reported, and those before the place at which a preempted one goes on.
func (r *Run) fateOf(m *move) {
	s, p := m.sub, m.packet
	switch {
	case p.executed.In():
		m.fate, m.when = whole, p.executed
	case r.Header.Observed:
		if len(r.pieces[m.event]) > 0 {
			m.fate, m.when = partly, r.leaving(s)
		}
	case s.submitted.In():
		m.fate, m.when = r.untold(s, uint64(p.offset))
	}
	switch {
	case m.fate == whole && p.executed.In():
	case m.pass == skipped:
		m.fate = never
	case m.pass == perhaps && m.fate == whole:
		m.fate = unknown
	}
}

// untold returns whether and when the packet at an offset was executed, on a board that does not tell: after the place at which its submission begins, and
// before that at which its node stopped. In the packet at that place it may have stopped after a part.
func (r *Run) untold(s *submission, offset uint64) (fate, Point) {
	from, begins := r.beginsAt(s)
	to, stops := r.stopsAt(s)
	is, when := whole, r.leaving(s)
	switch {
	case begins && offset < from:
		return never, when
	case s.retired.In() && !s.back:
	case s.written.In():
		when = s.written
	case stops && offset > to:
		return never, when
	case !stops || offset == to:
		is = unknown
	}
	if !begins {
		is = unknown
	}
	return is, when
}

// leaving returns when a submission left the hardware, also with a stop of the adapter, or the end of the log.
func (r *Run) leaving(s *submission) Point {
	for _, at := range []Point{s.aborted, s.retired} {
		if at.In() {
			return at
		}
	}
	if stop := r.endOf(s); stop != nil {
		return Point{stop.ID, stop.Time}
	}
	return r.last
}

// leaves returns the event with which a submission left the hardware, or 0.
func (r *Run) leaves(s *submission) uint64 {
	if at := r.leaving(s); at != r.last {
		return at.Event
	}
	return 0
}

// reached reports whether a move may have written an address. Of one in which its node stopped the DMA engine has taken some descriptors.
func (r *Run) reached(m move, addr uint64) bool {
	_, ok := m.source(addr)
	if !ok || m.fate != partly {
		return ok
	}
	return slices.ContainsFunc(r.pieces[m.event], func(d store) bool { return addr-d.addr < d.value })
}

// doubt says what is not known of a move that has perhaps written or read something; done is "written" or "read".
func (m move) doubt(done string) string {
	text := "perhaps " + done + " by "
	switch {
	case m.fate == partly:
		return text + "a part of " + m.describe() + ": its node stopped in it"
	case m.pass == perhaps:
		return text + m.describe() + ": a PREDICATE may skip it, and " + unknownValue
	}
	return text + m.describe() + ": this board does not tell whether it was executed"
}

// movesOf calls do with every move of a submission, in order, with its fate.
func (r *Run) movesOf(s *submission, do func(m move)) {
	var surfaces [2]surface
	s.walk(&surfaces, r, func(i int, d pkt.Packet, is pass) bool {
		m := s.move(i)
		m.pass = is
		if m.fill(d, surfaces) {
			r.fateOf(&m)
			do(m)
		}
		return true
	})
}

// move returns the move of a packet, which has a number from 0, before its fields are filled.
func (s *submission) move(i int) move {
	p := &s.packets[i]
	return move{sub: s, packet: p, rows: 1, states: [3]*packet{p}, event: s.first + uint64(i)}
}

// walk calls do with each packet of a submission that can be decoded, until do returns false. surfaces are those before the packet. If r is
// not nil, do gets what PREDICATEs do with it. They skip no SET_STATE: the driver lets them skip only packets that set no state.
func (s *submission) walk(surfaces *[2]surface, r *Run, do func(i int, d pkt.Packet, is pass) bool) {
	for i := range s.packets {
		p := &s.packets[i]
		d, _, err := pkt.Decode(p.data)
		if err != nil {
			continue
		}
		is := kept
		if r != nil {
			is = r.passOf(s, i)
		}
		if !do(i, d, is) {
			return
		}
		if d, ok := d.(pkt.SetState); ok {
			surfaces[d.Surface&1] = surface{d.Base, uint64(d.Pitch), 1 << d.Format, true, p}
		}
	}
}

// timeBytes is what a TIMESTAMP writes.
const timeBytes = 8

// fill sets what a packet moves. It reports false if that is nothing.
func (m *move) fill(d pkt.Packet, surfaces [2]surface) bool {
	from, to := surfaces[pkt.Source], surfaces[pkt.Dest]
	switch d := d.(type) {
	case pkt.Copy:
		m.dst, m.src, m.bytes, m.copies = d.Dst, d.Src, uint64(d.Bytes), true
	case pkt.Timestamp:
		m.dst, m.bytes = d.Addr, timeBytes
	case pkt.Fill:
		m.dst, m.bytes = d.Dst, uint64(d.Bytes)
	case pkt.Copy2D:
		m.dst, m.src, m.copies = to.element(d.DstX, d.DstY), from.element(d.SrcX, d.SrcY), true
		m.bytes, m.rows, m.dstPitch, m.srcPitch = uint64(d.W)*to.bytes, uint64(d.H), to.pitch, from.pitch
		m.from, m.to, m.states[1], m.states[2] = from, to, from.by, to.by
	case pkt.Fill2D:
		m.dst, m.bytes, m.rows, m.dstPitch = to.element(d.X, d.Y), uint64(d.W)*to.bytes, uint64(d.H), to.pitch
		m.to, m.states[1] = to, to.by
	default:
		return false
	}
	return true
}
