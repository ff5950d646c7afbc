package sanitize

import (
	"maps"
	"slices"
	"sort"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/cmdbuf"
)

// ranges is a set of offsets: ranges in order, that do not touch.
type ranges []span

// after returns the index of the first range that ends after an offset.
func (r ranges) after(at uint64) int {
	return sort.Search(len(r), func(i int) bool { return r[i].to > at })
}

// add adds a range.
func (r *ranges) add(s span) {
	if s.from >= s.to {
		return
	}
	i := sort.Search(len(*r), func(i int) bool { return (*r)[i].to >= s.from })
	j := i
	for ; j < len(*r) && (*r)[j].from <= s.to; j++ {
		s = span{min(s.from, (*r)[j].from), max(s.to, (*r)[j].to)}
	}
	*r = slices.Replace(*r, i, j, s)
}

// remove removes a range.
func (r *ranges) remove(s span) {
	if s.from >= s.to {
		return
	}
	i := r.after(s.from)
	j := i
	var left []span
	for ; j < len(*r) && (*r)[j].from < s.to; j++ {
		if e := (*r)[j]; e.from < s.from {
			left = append(left, span{e.from, s.from})
		}
		if e := (*r)[j]; e.to > s.to {
			left = append(left, span{s.to, e.to})
		}
	}
	*r = slices.Replace(*r, i, j, left...)
}

// missing returns the first offset of a range that is not in the set.
func (r ranges) missing(s span) (at uint64, ok bool) {
	if i := r.after(s.from); i < len(r) && r[i].from <= s.from {
		s.from = min(r[i].to, s.to)
	}
	return s.from, s.from < s.to
}

// copied is which bytes of its source a COPY has moved that somebody wrote.
type copied struct {
	at      uint32 // offset of the packet
	written ranges // from the first byte on
	ok      bool
}

// offsets returns a range of addresses as one of an allocation.
func (a *allocation) offsets(s span) span { return span{s.from - a.place.from, s.to - a.place.from} }

// checkWritten checks that somebody wrote the bytes that a packet reads. It tells once of each
// allocation. A present may show a frame that nobody drew. A driver may copy a texture with the bytes
// between its rows, so a COPY of one is checked only for a texture that is empty, and what it moves is
// not more written than before.
func (s *Sanitizer) checkWritten(u *submission, x *access, a *allocation) {
	if x.op == "COPY" {
		s.copied = copied{at: x.at, ok: true}
		in := a.offsets(x.bytes)
		for _, r := range a.written[a.written.after(in.from):] {
			if r.from >= in.to {
				break
			}
			part := r.and(in)
			s.copied.written = append(s.copied.written, span{part.from - in.from, part.to - in.from})
		}
	}
	if u.function == presentKind || u.function == drawKind || x.op == "COPY" && a.resource.Texture && len(a.written) > 0 {
		return
	}
	x.rows.each(x.bytes, func(row span, _ uint64) bool {
		at, unwritten := a.written.missing(a.offsets(row))
		if unwritten && !a.told {
			a.told = true
			s.find("access-unwritten", u.function, "%s %s of %s, of which nobody has written byte %#x", x.name(u), x, s.of(x.allocation), at)
		}
		return !unwritten
	})
}

// Mapped takes a resource that the application maps for reading, and reports it if nobody has written a byte of it.
// The application may read any part, so one written byte, of any of its allocations, is enough. It is for
// cmdbuf.Listener.
func (s *Sanitizer) Mapped(t *ddi.Thread, r cmdbuf.Resource) {
	s.mu.Lock()
	text := s.unwritten(r)
	s.mu.Unlock()
	if text != "" {
		s.report(reportOf(t, "access-unwritten", "pfnStagingResourceMap", "%s", text))
	}
}

// unwritten returns what is wrong with a map of a resource, or "". It tells once of each allocation, and
// names the first one that it has not told of.
func (s *Sanitizer) unwritten(r cmdbuf.Resource) (text string) {
	var all []*allocation
	for _, h := range slices.Sorted(maps.Keys(s.allocations)) {
		a := s.allocations[h]
		if a.resource.Name != r.Name {
			continue
		}
		if len(a.written) > 0 || !s.on {
			return ""
		}
		if !a.told && text == "" {
			text = s.of(h) + " is mapped for reading, and nobody has written a byte of it"
		}
		all = append(all, a)
	}
	for _, a := range all {
		a.told = true
	}
	return text
}

// lose notes what the packets of a submission from an offset on write. The first of them cannot be
// decoded, so the others are unknown, and none is executed: the node faults and the device is lost
// before later work reads what they should have written.
func (s *Sanitizer) lose(uses []dxgkrnl.Use, from uint32) {
	for _, use := range uses {
		if a := s.allocations[use.Allocation]; a != nil && use.Write && use.At >= from {
			a.written.add(span{0, a.bytes})
		}
	}
}

// wrote notes what a packet writes.
func (s *Sanitizer) wrote(x *access, a *allocation) {
	if x.op == "COPY" && s.copied.ok && s.copied.at == x.at {
		to := a.offsets(x.bytes)
		a.written.remove(to)
		for _, r := range s.copied.written {
			a.written.add(span{to.from + r.from, to.from + r.to})
		}
		s.copied = copied{}
		return
	}
	x.rows.each(x.bytes, func(row span, _ uint64) bool {
		a.written.add(a.offsets(row))
		return true
	})
}
