package why

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a board that does not tell its packets still reads them from the host's memory, and the host serves these reads. So the log
// has the first read of each buffer by the GPU, if submit says so. A read is a fetch and no execution. Without such events it is not
// known whether a buffer was read.

// A fetch is whether a node has begun to read the buffer of a submission.
type fetch int

const (
	notTold    fetch = iota // the log does not say
	notFetched              // it has not
	fetched                 // it has
)

// ended reports whether all packets of a submission were executed, as the log tells: that of its fence was, or the fence is in memory, or the
// kernel has retired it.
func (s *submission) ended() bool {
	return s.fenced.In() || s.written.In() || s.retired.In() && !s.back
}

// fetchOf returns whether a node has begun to read a submission.
func (r *Run) fetchOf(s *submission) fetch {
	from, known := r.beginsAt(s)
	to, told := r.stopsAt(s)
	switch {
	case s.begun.In() || s.fetched.In() || s.ended() || known && told && to > from:
		return fetched
	case !r.Header.Observed && !s.watched:
		return notTold
	case !known || r.onlyFence(s): // there may be nothing to read
		return notTold
	}
	for _, g := range r.gaps {
		if g.To == 0 || g.To > s.submitted.Event {
			return notTold
		}
	}
	return notFetched
}

// unread explains a submission of a board that does not tell its packets, of which no register says where the node is.
func (r *Run) unread(a *Answer, s *submission) *Answer {
	end := r.node(s) + r.ending(s)
	switch is := r.fetchOf(s); {
	case is == notFetched:
		return a.lacks(MissingFetch, "no read of its buffer has reached the host: node %d has not fetched it%s", s.node, end)
	case is == fetched:
		return a.lacks(MissingUnknown, "%sthe log of this board has no packets of the nodes%s", s.readText(), end)
	case s.start == s.end:
		return a.lacks(MissingUnknown, "the log of this board has no packets of the nodes, and its buffer is empty%s", end)
	case r.onlyFence(s):
		return a.lacks(MissingUnknown, "the log of this board has no packets of the nodes, and only the packet of its fence is left%s", end)
	default:
		return a.lacks(MissingUnknown, "the log of this board has no packets of the nodes, and does not say whether node %d has fetched it%s", s.node, end)
	}
}

// readText says when a node has begun to read a submission, or nothing.
func (s *submission) readText() string {
	if !s.fetched.In() {
		return ""
	}
	return fmt.Sprintf("node %d has begun to fetch it at clock %d; ", s.node, s.fetched.Time)
}

// silenced explains a submission whose device does not answer, for a reason.
func (r *Run) silenced(a *Answer, s *submission, reason string) *Answer {
	switch r.fetchOf(s) {
	case notFetched:
		return a.lacks(MissingFetch, "%s", reason)
	case notTold:
		return a.lacks(MissingUnknown, "%s; the log does not say whether node %d has fetched it before", reason, s.node)
	}
	if !r.Header.Observed {
		return a.lacks(MissingUnknown, "%s; before, %sthe log of this board has no packets of the nodes", reason, s.readText())
	}
	switch next, is := r.following(s); {
	case next == nil:
		return a.lacks(MissingFence, "%s; its packets had ended before, but not that of its fence", reason)
	case is == perhaps:
		return a.lacks(MissingUnknown, "%s; %s had not ended before%s", reason, s.describePacket(next), r.predicated(s, next))
	default:
		return a.lacks(MissingPacket, "%s; %s had not ended before", reason, s.describePacket(next))
	}
}

// inRingBefore reports whether an address is that of a packet of the ring from which a submission is reached: its INDIRECT, or one before it.
func (s *submission) inRingBefore(addr uint64) bool {
	for i := range s.ring {
		p := &s.ring[i]
		if p.address == addr {
			return true
		}
		if len(p.data) >= 4 && p.data[3] == pkt.OpIndirect {
			return false
		}
	}
	return false
}

// fetches adds the fetches of an address as a packet of a submission or of its ring, and those of which the log does not say whether they
// happened.
func (r *Run) fetches(c *contacts, s *submission, addr uint64) {
	buffer := addr&pkt.Host != 0 && addr&^pkt.Host-s.buffer-s.start < s.end-s.start
	ring := slices.ContainsFunc(s.ring, func(p ringPacket) bool { return addr-p.address < uint64(len(p.data)) })
	if !buffer && !ring || !s.submitted.In() {
		return
	}
	by := func(how string) func() string {
		return func() string { return fmt.Sprintf("%sfetched by node %d for %s", how, s.node, s.name()) }
	}
	first := buffer && s.fetched.In() && addr&^pkt.Host-s.reads.addr < s.reads.value
	from, known := r.beginsAt(s)
	switch at := s.begun; {
	case first:
		c.reads = append(c.reads, contact{s.fetched, by(""), s.stack, s})
	case buffer && known && addr&^pkt.Host-s.buffer < from: // before the place at which it continues
	case buffer && !known:
		c.unsure = append(c.unsure, contact{r.leaving(s), by("perhaps "), s.stack, s})
	case at.In() && (ring || s.ended() || r.reachedByte(s, addr)):
		c.reads = append(c.reads, contact{at, by(""), s.stack, s})
	case s.ended():
		for _, p := range []Point{s.fenced, s.written, s.retired} {
			if at = p; at.In() {
				break
			}
		}
		c.reads = append(c.reads, contact{at, by(""), s.stack, s})
	case ring || r.fetchOf(s) != notFetched:
		c.unsure = append(c.unsure, contact{r.leaving(s), by("perhaps "), s.stack, s})
	}
}

// reachedByte reports whether a node has executed the packet of a submission with a byte, or a later one, or begun it.
func (r *Run) reachedByte(s *submission, addr uint64) bool {
	offset := addr&^pkt.Host - s.buffer
	return slices.ContainsFunc(s.packets, func(p packet) bool {
		return p.started() && offset < uint64(p.offset)+uint64(len(p.data))
	})
}
