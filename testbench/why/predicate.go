package why

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a packet that a PREDICATE skips is not executed. Whether it was skipped follows from the executed packets, from
// the place at which a preempted submission continues, or from the value that the PREDICATE reads, if the log tells what wrote
// that. Else it is not known. Each question asks Run.passes.

// A pass is what the PREDICATEs of a submission do with one of its packets.
type pass int

const (
	kept    pass = iota // none skips it
	perhaps             // the log does not say whether one skips it
	skipped             // one skips it
)

// A stretch is what a PREDICATE may skip.
type stretch struct {
	by   int    // number of the PREDICATE in its submission, from 0
	end  uint64 // offset in the buffer
	does pass   // with the packets in it
}

// passes returns what PREDICATEs do with the packets of a submission. If it is asked while it is at work on the same
// submission, it has only the first ones, and reports false. Without a PREDICATE it returns nil.
func (r *Run) passes(s *submission) (all []pass, done bool) {
	if complete := r.subs[s.serial]; complete != nil {
		s = complete // s may be as it was at an event; later events tell more
	}
	if s.passed != nil || s.passing {
		return s.passed, !s.passing
	}
	if !slices.ContainsFunc(s.packets, isPredicate) {
		return nil, true
	}
	s.passing = true
	chain := r.chain(s)
	var over []stretch
	for i := range s.packets {
		p := &s.packets[i]
		over = slices.DeleteFunc(over, func(t stretch) bool { return uint64(p.offset) >= t.end })
		is := kept
		for _, t := range over {
			if !p.started() {
				is = max(is, t.does)
			}
		}
		s.passed = append(s.passed, is)
		if d, _, err := pkt.DecodePredicate(p.data); err == nil && is != skipped {
			t := stretch{by: i, end: uint64(p.offset) + uint64(len(p.data)) + 4*uint64(d.Dwords)}
			if t.does = r.does(chain, uint64(p.offset), t, d); is == perhaps {
				t.does = min(t.does, perhaps)
			}
			over = append(over, t)
		}
	}
	s.passing = false
	return s.passed, true
}

// isPredicate reports whether a packet is a PREDICATE.
func isPredicate(p packet) bool { return len(p.data) >= 4 && p.data[3] == pkt.OpPredicate }

// started reports whether the log tells that a packet was begun.
func (p *packet) started() bool { return p.executed.In() || p.taken > 0 }

// passOf returns what PREDICATEs do with a packet of a submission, which has a number from 0.
func (r *Run) passOf(s *submission, i int) pass {
	switch all, done := r.passes(s); {
	case i < len(all):
		return all[i]
	case done:
		return kept
	}
	return perhaps
}

// does returns what a PREDICATE at an offset does with the packets of its stretch. It is executed once in the chain of the submissions with the same work.
func (r *Run) does(chain []*submission, offset uint64, t stretch, d pkt.Predicate) pass {
	over := false
	for _, s := range chain {
		for i := range s.packets {
			switch p := &s.packets[i]; {
			case !p.started() || uint64(p.offset) <= offset:
			case uint64(p.offset) < t.end:
				return kept
			default:
				over = true
			}
		}
		at, known := r.stopsAt(s)
		if known && at > offset && at < t.end {
			return kept // the node was stopped in the stretch
		}
		over = over || s.fenced.In() || known && at >= t.end
	}
	if r.Header.Observed && over && len(r.gaps) == 0 {
		return skipped
	}
	switch zero, known := r.isZero(d.Addr, r.turn(chain, t.by)); {
	case !known:
		return perhaps
	case zero != d.NonZero:
		return skipped
	}
	return kept
}

// following returns the first packet of s after the last one that was executed, also in a submission that s continues, that no PREDICATE is known to
// skip, and what PREDICATEs do with it; or nil.
func (r *Run) following(s *submission) (*packet, pass) {
	from := 0
	for _, one := range append(r.preceding(s), s) {
		for i := range min(len(one.packets), len(s.packets)) {
			if one.packets[i].executed.In() {
				from = max(from, i+1)
			}
		}
	}
	for i := from; i < len(s.packets); i++ {
		if is := r.passOf(s, i); is != skipped {
			return &s.packets[i], is
		}
	}
	return nil, kept
}

// predicated says that a PREDICATE skips a packet, or that it may, or nothing.
func (r *Run) predicated(s *submission, p *packet) string {
	i := slices.IndexFunc(s.packets, func(other packet) bool { return other.offset == p.offset })
	switch r.passOf(s, i) {
	case perhaps:
		return ", which a PREDICATE may skip: " + unknownValue
	case skipped:
		return ", which a PREDICATE skips"
	default:
		return ""
	}
}

// unknownValue says why it is not known whether a PREDICATE skips packets.
const unknownValue = "the value that it reads is not known"
