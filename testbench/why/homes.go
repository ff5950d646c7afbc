package why

import (
	"encoding/binary"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// pageBytes is the size of a page of host memory.
const pageBytes = 4096

// addHomes adds the host memory of an allocation, in one place or page by page.
func (b *builder) addHomes(e *eventlog.Event, at Point) {
	a, size := e.Fields[0], e.Fields[2]
	home := func(address, within, size uint64) {
		p := &place{allocation: a, address: pkt.Host | address, within: within, size: size, from: at, memory: true}
		b.homes[a] = append(b.homes[a], b.place(p))
	}
	if len(e.Data) == 0 {
		home(e.Fields[3], 0, size)
	}
	for i := uint64(0); i+8 <= uint64(len(e.Data)) && i/8*pageBytes < size; i += 8 {
		within := i / 8 * pageBytes
		home(binary.LittleEndian.Uint64(e.Data[i:]), within, min(pageBytes, size-within))
	}
}

// endHomes ends the host memory of an allocation.
func (b *builder) endHomes(a uint64, at Point) {
	for _, p := range b.homes[a] {
		p.to = at
	}
	delete(b.homes, a)
}

// paging adds an operation to a paging buffer. A MAP_APERTURE_SEGMENT tells that its segment is an aperture.
func (b *builder) paging(s *submission, o paging) {
	s.pagings = append(s.pagings, o)
	if o.what == mapAperture {
		b.mapped[o.toSegment] = true
	}
}

// inAperture reports whether a spot was in an aperture segment for a submission that got its fence at an event.
func (r *Run) inAperture(s spot, at Point) bool {
	if len(r.mapped) == 0 {
		return false
	}
	p := r.stay(s, at)
	return p != nil && r.mapped[p.segment]
}

// pageOf returns the address of host memory that a spot in an aperture leads to, and what is there.
func (r *Run) pageOf(s spot, at Point) (addr uint64, home spot, ok bool) {
	if !r.inAperture(s, at) {
		return 0, spot{}, false
	}
	for _, p := range slices.Backward(r.places) {
		if p.memory && p.allocation == s.allocation && s.within-p.within < p.size && p.from.Event <= at.Event && (!p.to.In() || p.to.Event >= at.Event) {
			return p.address + s.within - p.within, spot{s.allocation, p.address, s.within}, true
		}
	}
	return 0, spot{}, false
}

// through returns the address at which a move writes a spot of host memory through an aperture.
func (r *Run) through(m move, home spot) (addr uint64, ok bool) {
	if len(r.mapped) == 0 || m.dst&pkt.Host != 0 {
		return 0, false
	}
	u, value, ok := m.used(true)
	if !ok || u.allocation != home.allocation {
		return 0, false
	}
	s := spot{u.allocation, value - u.within, home.within}
	_, writes := m.source(s.base + s.within)
	return s.base + s.within, writes && r.inAperture(s, m.sub.queued)
}
