package why

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// The operations of an aperture.
const (
	mapAperture   = "MAP_APERTURE_SEGMENT"
	unmapAperture = "UNMAP_APERTURE_SEGMENT"
)

// A mapping is a page of an aperture that leads to host memory, from the begin of the paging buffer that maps it to the end of the one
// that unmaps it, or to the begin of the one that maps the page again.
type mapping struct {
	allocation   uint64
	address, to  uint64      // the address that was asked about, in the aperture and in host memory
	within       uint64      // offset in the allocation
	past         bool        // it is after the end of the allocation, in its last page
	maps, unmaps *submission // unmaps is nil while it is mapped
	again        bool        // unmaps maps the page again
}

// done returns when a paging buffer took effect: the packet of its fence, the end, or the place in the queue if neither is in the log.
func (s *submission) done() Point {
	for _, p := range []Point{s.fenced, s.retired} {
		if p.In() {
			return p
		}
	}
	return s.queued
}

// began returns when a paging buffer began to take effect: the packet that begins it, or its submission. It is the zero Point if neither is in
// the log.
func (s *submission) began() Point {
	if s.begun.In() {
		return s.begun
	}
	return s.submitted
}

// live reports whether a page is mapped at an event. The mappings of a page do not overlap.
func (m *mapping) live(event uint64) bool {
	from, to := m.maps.began(), m.end()
	return from.In() && from.Event <= event && (!to.In() || event < to.Event || event == to.Event && !m.again)
}

// end returns when the mapping ends, or the zero Point while the page is mapped.
func (m *mapping) end() Point {
	switch {
	case m.unmaps == nil:
		return Point{}
	case m.again:
		return m.unmaps.began()
	}
	return m.unmaps.done()
}

// describe tells where a page leads, or led.
func (m *mapping) describe(leads string) string {
	text := fmt.Sprintf("%s %s to %s, ", pkt.FormatAddr(m.address), leads, pkt.FormatAddr(m.to))
	if m.past {
		return text + fmt.Sprintf("after the end of allocation %#x in its last page", m.allocation)
	}
	return text + fmt.Sprintf("byte %#x of allocation %#x", m.within, m.allocation)
}

// inApertures reports whether an address is in an aperture.
func inApertures(addr uint64) bool { return addr&pkt.Host == 0 && addr>>gartreg.StartLog2 == 1 }

// mappings returns the mappings of an address of an aperture, or those that lead to an address of host memory, in order.
func (r *Run) mappings(addr uint64) (all []*mapping) {
	homes := map[uint64][]*place{} // host memory, by allocation
	for _, p := range r.places {
		if p.memory {
			homes[p.allocation] = append(homes[p.allocation], p)
		}
	}
	for _, s := range r.order {
		for _, o := range s.pagings {
			switch {
			case o.what == mapAperture:
				endMappings(all, s, o)
				if m := mappingOf(homes[o.allocation], s, o, addr); m != nil {
					all = append(all, m)
				}
			case o.what == unmapAperture:
				endMappings(all, s, o)
			}
		}
	}
	return all
}

// endMappings ends the mappings of the pages of an operation.
func endMappings(all []*mapping, s *submission, o paging) {
	at := o.to
	if o.what == unmapAperture && o.fromSegment != 0 {
		at = o.from
	}
	for _, m := range all {
		if m.unmaps == nil && m.address-at < o.size {
			m.unmaps, m.again = s, o.what == mapAperture
		}
	}
}

// mappingOf returns what an operation says of an address, or nil. homes are the pages of its allocation.
func mappingOf(homes []*place, s *submission, o paging, addr uint64) *mapping {
	for _, p := range homes {
		if p.from.Event > s.queued.Event || p.to.In() && p.to.Event < s.queued.Event {
			continue
		}
		at, size := o.to+p.within, (p.size+pageBytes-1)&^(pageBytes-1)
		offset := addr - at
		if addr&pkt.Host != 0 {
			offset = addr - p.address
		}
		if p.within < o.size && offset < size {
			return &mapping{o.allocation, at + offset, p.address + offset, p.within + offset, offset >= p.size, s, nil, false}
		}
	}
	return nil
}

// throughPages adds the mappings of an address to an answer, and returns the contacts under the other name of its byte: of the GPU through the aperture, or of the CPU and the GPU in host memory.
func (r *Run) throughPages(a *Answer, addr uint64) (c contacts) {
	maps := r.mappings(addr)
	skip := max(0, len(maps)-maxTouches)
	if skip > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("the steps of the first %d mappings of its page are left out", skip))
	}
	known := map[uint64]contacts{} // by the other name
	for i, m := range maps {
		if i >= skip {
			a.step(m.maps.done(), "%s, by %s of %s", m.describe("leads"), mapAperture, m.maps.name())
			if m.unmaps != nil {
				a.step(m.end(), "%s leads there no more, by %s", pkt.FormatAddr(m.address), m.unmaps.name())
			}
		}
		other := m.to
		if addr&pkt.Host != 0 {
			other = m.address
		}
		if _, ok := known[other]; !ok {
			known[other] = r.contacts(other)
		}
		c.writes = append(c.writes, m.during(r, known[other].writes)...)
		c.reads = append(c.reads, m.during(r, known[other].reads)...)
		c.doubts = append(c.doubts, m.during(r, known[other].doubts)...)
		c.unsure = append(c.unsure, m.during(r, known[other].unsure)...)
	}
	return c
}

// during returns the contacts of the GPU while the page is mapped, and those of the CPU while its host memory exists.
func (m *mapping) during(r *Run, all []contact) (kept []contact) {
	from, to := m.life(r)
	for _, c := range all {
		if c.sub == nil && from <= c.Event && c.Event <= to || c.sub != nil && m.live(c.Event) {
			kept = append(kept, c)
		}
	}
	return kept
}

// life returns the first and the last event of the host memory of a mapping.
func (m *mapping) life(r *Run) (from, to uint64) {
	for _, p := range r.places {
		if p.memory && p.allocation == m.allocation && m.to-p.address < pageBytes {
			from, to = p.from.Event, r.last.Event
			if p.to.In() {
				to = p.to.Event
			}
		}
	}
	return from, to
}

// unmapped tells of accesses of an address of an aperture while its page was not mapped, and of a page that is not mapped at the end.
func (r *Run) unmapped(a *Answer, addr uint64, all []contact) {
	if !inApertures(addr) {
		return
	}
	maps := r.mappings(addr)
	all = merge(nil, all)
	for _, c := range all[max(0, len(all)-maxTouches):] {
		if c.sub != nil && !slices.ContainsFunc(maps, func(m *mapping) bool { return m.live(c.Event) }) {
			a.step(c.Point, "its page is not mapped at this time; %s", before(maps, c.Event))
		}
	}
	if len(maps) == 0 || maps[len(maps)-1].unmaps != nil {
		a.Notes = append(a.Notes, "the page is not mapped at the end of the log; "+before(maps, r.last.Event))
	}
}

// before names the last mapping that began before an event.
func before(maps []*mapping, event uint64) string {
	for _, m := range slices.Backward(maps) {
		if from := m.maps.began(); from.In() && from.Event < event && m.end().In() {
			return fmt.Sprintf("before, until clock %d, %s", m.end().Time, m.describe("led"))
		}
	}
	return "the log has no mapping of it before"
}

// merge returns the contacts of two lists, each once, in order.
func merge(x, y []contact) []contact {
	all := append(x, y...)
	slices.SortStableFunc(all, func(x, y contact) int { return cmp.Compare(x.Event, y.Event) })
	once, first := all[:0], 0 // first is that of the event
	for _, c := range all {
		if len(once) > 0 && once[first].Event != c.Event {
			first = len(once)
		}
		if !slices.ContainsFunc(once[first:], func(o contact) bool { return o.sub == c.sub && o.what() == c.what() }) {
			once = append(once, c)
		}
	}
	return once
}
