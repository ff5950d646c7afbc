package why

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// flight returns the submissions of a node in the hardware, oldest first.
func (b *builder) flight(node uint64) *[]*submission {
	return ofNode(&b.flying, node)
}

// landed notes that the hardware no longer has s.
func (b *builder) landed(s *submission) {
	flight := b.flight(uint64(s.node))
	*flight = slices.DeleteFunc(*flight, func(other *submission) bool { return other == s })
}

// reported notes that the fence of s was reported, and with it those before it on the node.
func (b *builder) reported(s *submission, e *eventlog.Event, at Point) {
	for _, before := range *b.flight(uint64(s.node)) {
		if !before.reported.In() {
			before.reported, before.reportStack = at, b.open(e)
		}
		if before == s {
			return
		}
	}
}

// stalls notes how long a node did not begin a submission that it gives back, if it was the next. It stopped for other work, so it was not at
// work itself.
func (b *builder) stalls(s *submission) {
	flight := *b.flight(uint64(s.node))
	if !s.back {
		b.worked[s.node] = s.retired.Time
		return
	}
	if s.begun.In() || s.fetched.In() || !s.rung.In() || slices.ContainsFunc(flight, func(other *submission) bool { return other.serial < s.serial }) {
		return
	}
	s.rptr = b.reads[cpreg.Base+uint64(s.node)*cpreg.Stride+cpreg.Rptr]
	s.stalled = s.retired.Time - max(s.rung.Time, min(b.worked[s.node], s.retired.Time))
}

// stopping returns a stop of the adapter or a reset of a node, with when the kernel began with it, and the injected fault that explains it.
func (b *builder) stopping(e *eventlog.Event) happening {
	h := b.happening(e)
	h.began, b.collect = b.collect, Point{}
	h.meant = b.meant(e)
	return h
}

// reset notes a reset of a node. It may have aborted a submission that the log does not have, if the log lacks its beginning.
func (b *builder) reset(e *eventlog.Event) {
	h := b.stopping(e)
	if e.Fields[0] == 0 {
		b.idle = append(b.idle, h)
		return
	}
	b.stops = append(b.stops, h)
	if s := b.subs[e.Fields[0]]; s != nil { // its device is lost
		s.aborted = Point{e.ID, e.Time}
		b.landed(s)
	}
}

// over reports whether a submission has ended, or a reset of its node has aborted it. Its fence then counts as completed.
func (s *submission) over() bool { return s.retired.In() || s.aborted.In() }

// overBefore is over, before a time in clocks.
func (s *submission) overBefore(time uint64) bool {
	return s.retired.In() && s.retired.Time < time || s.aborted.In() && s.aborted.Time < time
}

// ofDriver reports whether an address in host memory is in memory of the miniport.
func (b *builder) ofDriver(addr uint64) bool {
	for from, to := range b.driver {
		if addr >= from && addr < to {
			return true
		}
	}
	return false
}
