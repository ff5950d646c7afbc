package why

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// maxTouches is the number of writes in the answer about an address.
const maxTouches = 20

// Address answers what was at a GPU address, and what wrote and read it, the latest last. The last write and the last
// read have the calls that led to them and the steps of their submissions. Addresses of host memory have bit 63 set.
// It fails with ErrQuestion if neither an allocation nor a buffer was there, and nothing used it.
func (r *Run) Address(addr uint64) (*Answer, error) {
	a := &Answer{Question: "address " + pkt.FormatAddr(addr)}
	r.inhabitants(a, addr)
	for _, s := range r.order {
		if addr&pkt.Host != 0 && addr&^pkt.Host-s.buffer-s.start < s.end-s.start {
			a.step(s.queued, "it is in the buffer of %s", s.name())
		}
	}
	touched := r.touched(a, addr)
	c := r.contacts(addr)
	r.unmapped(a, addr, slices.Concat(c.writes, c.reads))
	other := r.throughPages(a, addr)
	writes, reads := merge(c.writes, other.writes), merge(c.reads, other.reads)
	doubts, unsure := merge(c.doubts, other.doubts), merge(c.unsure, other.unsure)
	if len(a.Chain)+len(writes)+len(reads)+len(doubts)+len(unsure) == 0 {
		if inApertures(addr) {
			return nil, fmt.Errorf("%w: the page of %s was not mapped, and nothing is known to have used it", ErrQuestion, pkt.FormatAddr(addr))
		}
		return nil, fmt.Errorf("%w: neither an allocation nor a buffer was at %s, and nothing is known to have used it", ErrQuestion, pkt.FormatAddr(addr))
	}
	for _, w := range writes[max(0, len(writes)-maxTouches):] {
		a.step(w.Point, "%s", w.what())
	}
	a.Verdict = times("wrote", "written", touched+len(writes), writes, a)
	if len(reads) > 0 {
		last := reads[len(reads)-1]
		a.step(last.Point, "%s", last.what())
		a.Verdict += ", and " + times("read", "read", len(reads), reads, a)
	}
	if len(r.gaps) > 0 {
		a.Verdict += ", as far as is known"
	}
	r.perhaps(a, doubts, "wrote")
	r.perhaps(a, unsure, "read")
	a.sort()
	a.once()
	if len(writes)+len(reads) > 0 {
		r.untimed(a)
	}
	if n := len(writes) - maxTouches; n > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("earlier writes that are left out: %d", n))
	}
	return a, nil
}

// perhaps adds the writes or reads of which the log does not say whether they happened. did is "wrote" or "read".
func (r *Run) perhaps(a *Answer, doubts []contact, did string) {
	for _, d := range doubts[max(0, len(doubts)-maxTouches):] {
		a.step(d.Point, "%s", d.what())
	}
	if n := len(doubts); n > 0 {
		a.Verdict += "; it is not known whether " + count(n, "other packet "+did+" it", "other packets "+did+" it")
	}
}

// inhabitants adds what was at an address.
func (r *Run) inhabitants(a *Answer, addr uint64) {
	for _, p := range r.places {
		if addr-p.address >= p.size {
			continue
		}
		at := addr - p.address + p.within
		switch {
		case p.driver:
			a.step(p.from, "it is byte %#x of memory of the miniport", at)
		case p.memory:
			a.step(p.from, "it is byte %#x of the host memory of allocation %#x", at, p.allocation)
		default:
			a.step(p.from, "allocation %#x is there, in segment %d, from %s on; this is its byte %#x", p.allocation, p.segment, pkt.FormatAddr(p.address), at)
		}
		a.step(p.to, "allocation %#x is there no more", p.allocation)
	}
}

// describe tells which call might write the allocation.
func (w *cpuWrite) describe() string {
	by := ""
	for _, f := range w.stack {
		if f.number != 0 {
			by = fmt.Sprintf(", in call %d, %s", f.number, f.name)
		}
	}
	return fmt.Sprintf("the CPU may write allocation %#x%s", w.allocation, by)
}
