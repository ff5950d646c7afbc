package why

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: the kernel plans the places of allocations before the packets that need them are executed, so the places at the time
// of a packet are those of later work. What a submission says of its own addresses is right whenever it is executed: its uses, and
// the operations of a paging buffer. Host memory keeps its allocation.

// A spot is a byte of an allocation, and where the allocation begins for a submission that uses it. For host memory the
// begin is that of the page.
type spot struct {
	allocation, base, within uint64
}

// String returns the byte and its allocation.
func (s spot) String() string {
	return fmt.Sprintf("byte %#x of allocation %#x", s.within, s.allocation)
}

// used returns the use of the address that a move reads or writes, and the value of the address. Several packets of a
// move have addresses: those that set its surfaces, or its own.
func (m move) used(write bool) (u use, value uint64, ok bool) {
	p, field, value := m.packet, uint32(4), m.src
	if write {
		value = m.dst
		if m.copies {
			field = 12
		}
	}
	if m.to.set {
		of := m.from
		if write {
			of = m.to
		}
		p, field, value = of.by, 8, of.base
	}
	if p == nil {
		return use{}, 0, false
	}
	i := slices.IndexFunc(m.sub.uses, func(u use) bool { return u.offset == p.offset+field })
	if i < 0 {
		return use{}, 0, false
	}
	return m.sub.uses[i], value, true
}

// spotOf returns what was at an address that a move reads or writes. to is the address of the byte that it writes.
func (r *Run) spotOf(m move, addr, to uint64, write bool) (spot, bool) {
	if addr&pkt.Host != 0 {
		return r.homeOf(addr, m.sub.queued)
	}
	if m.sub.kind == pagingKind {
		for _, o := range m.sub.pagings {
			if !write && o.fromSegment != 0 && addr-o.from < o.size && r.leads(o, addr, to, m.sub.queued) {
				return spot{o.allocation, o.from, addr - o.from}, true
			}
		}
		return spot{}, false
	}
	if u, value, ok := m.used(write); ok {
		return spot{u.allocation, value - u.within, addr - value + u.within}, true
	}
	return spot{}, false
}

// homeOf returns what is at an address of host memory.
func (r *Run) homeOf(addr uint64, at Point) (spot, bool) {
	for _, p := range slices.Backward(r.places) {
		if p.memory && addr-p.address < p.size && p.from.Event <= at.Event && (!p.to.In() || p.to.Event >= at.Event) {
			return spot{p.allocation, p.address, addr - p.address + p.within}, true
		}
	}
	return spot{}, false
}

// leads reports whether a paging operation moves a byte from one address to another.
func (r *Run) leads(o paging, from, to uint64, at Point) bool {
	if o.toSegment != 0 {
		return to-o.to == from-o.from
	}
	s, ok := r.homeOf(to, at)
	return ok && s.allocation == o.allocation && s.within == from-o.from
}

// wrote reports whether a move that wrote an address did so for the allocation of a spot.
func (m move) wrote(addr uint64, s spot) bool {
	if addr&pkt.Host != 0 {
		return true
	}
	if m.sub.kind == pagingKind {
		return slices.ContainsFunc(m.sub.pagings, func(o paging) bool {
			return o.toSegment != 0 && o.allocation == s.allocation && addr-o.to < o.size
		})
	}
	u, _, ok := m.used(true)
	return !ok || u.allocation == s.allocation
}

// stay returns the last place before an event of the allocation of a spot where the spot says, or nil.
func (r *Run) stay(s spot, at Point) *place {
	for _, p := range slices.Backward(r.places) {
		if p.allocation == s.allocation && p.address == s.base && p.from.Event <= at.Event {
			return p
		}
	}
	return nil
}

// stale reports whether the last writer of an address wrote it before a spot was there.
func (r *Run) stale(m, last move, addr uint64, s spot) bool {
	if addr&pkt.Host != 0 {
		return false
	}
	p := r.stay(s, m.sub.queued)
	return !last.wrote(addr, s) || p != nil && last.sub.queued.Event < p.from.Event
}

// uploaded returns the last time before a move in which the CPU could write the spot that it reads, or nil.
func (r *Run) uploaded(m move, s spot) *cpuWrite {
	p := r.stay(s, m.sub.queued)
	if p == nil {
		return nil
	}
	for _, w := range slices.Backward(r.locks) {
		if w.allocation == s.allocation && w.from.Event < m.when.Event && w.from.Event > p.from.Event {
			return w
		}
	}
	return nil
}

// A source is where a move reads a byte: its address, what was there if that is known, and who wrote it last: a move, or
// the CPU after it. It is in host memory if the move reads it through an aperture.
type source struct {
	spot
	addr   uint64
	known  bool // the spot
	last   move
	at     uint64 // where last wrote it: an aperture may lead to addr
	found  bool   // last
	upload *cpuWrite
}

// doubted reports whether a move of which the log does not say whether it was executed may have written what m reads, after the last writer
// that is known.
func (src source) doubted(r *Run, d, m move) bool {
	return r.reached(d, src.addr) && d.when.Event > src.since() && d.sub.submitted.Event < m.when.Event
}

// since returns the event of the last writer that is known, or 0.
func (src source) since() (event uint64) {
	if src.found {
		event = src.last.when.Event
	}
	if src.upload != nil {
		event = max(event, src.upload.from.Event)
	}
	return event
}

// sourceOf returns where the byte comes from that a move writes to an address. all are the submissions that have ended, in order.
func (r *Run) sourceOf(all []*submission, m move, to uint64) source {
	src := source{}
	src.addr, _ = m.source(to)
	src.spot, src.known = r.spotOf(m, src.addr, to, false)
	if addr, home, ok := r.pageOf(src.spot, m.sub.queued); ok && src.known && src.addr&pkt.Host == 0 {
		src.addr, src.spot = addr, home
	}
	src.last, src.at, src.found = r.before(all, m, src)
	if !src.known {
		return src
	}
	src.found = src.found && !r.stale(m, src.last, src.addr, src.spot)
	if w := r.uploaded(m, src.spot); w != nil && (!src.found || w.from.Event > src.last.when.Event) {
		src.upload = w
	}
	return src
}
