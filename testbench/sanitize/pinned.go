package sanitize

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// Host memory of an allocation is allocated, and so pinned, as long as the allocation exists. What can end
// earlier is its place in an aperture, whose table the CPU writes, and its place during a lock with
// IgnoreSync. So an access is in pinned pages if the table has the pages of its allocation and the place
// stays until the work has ended.

// Memory takes a write of VRAM by the CPU on a thread, at a GPU address, before the GPU gets it.
func (s *Sanitizer) Memory(t *ddi.Thread, addr uint64, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.driver.aperture.write(t, addr, p)
}

// Answered takes the answer to a read of the device by the CPU on a thread: what the thread has written before the read
// has reached the GPU.
func (s *Sanitizer) Answered(t *ddi.Thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.driver.aperture.answered(t)
}

// Failed takes a write of n bytes of VRAM at a GPU address that has failed on a link that is not down, after Memory has
// taken it. Each of its words of the table of the aperture may have any value until it is written again.
func (s *Sanitizer) Failed(addr uint64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.driver.aperture.failed(addr, uint64(n))
}

// LinkDown takes an access of the CPU that fails since the link is down. The driver cannot write what it
// has left to write, so the table of the aperture is not known.
func (s *Sanitizer) LinkDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.driver.aperture.forget()
}

// rings checks the pages of the work for which a thread rings a doorbell, a register of BAR 0. The GPU has what the
// thread has written before, if it gets to know of the work.
func (s *Sanitizer) rings(t *ddi.Thread, off uint64) {
	for _, u := range s.unfinished {
		if !u.submitted || u.paging || u.rung || !isDoorbell(off, u.node) {
			continue
		}
		u.rung = true
		for i := range u.accesses {
			x := &u.accesses[i]
			if a := s.allocations[x.allocation]; a != nil && a.place.has(x.shown()) {
				s.checkPages(u, x, a, t)
			}
		}
	}
}

// isDoorbell reports whether a register is a doorbell for work of a node: WPTR of the node, or that of the firmware,
// which has the queues of all nodes.
func isDoorbell(off uint64, node uint32) bool {
	return off == cpreg.Base+uint64(node)*cpreg.Stride+cpreg.Wptr || off == mcureg.Base+mcureg.Doorbell
}

// checkPages checks that the table of the aperture may have the pages of an allocation where a packet accesses
// it, in bounds: when the work enters its queue, and when a thread rings its doorbell. Entries that the CPU has not
// written are not known. It tells one access of a submission.
func (s *Sanitizer) checkPages(u *submission, x *access, a *allocation, rings *ddi.Thread) {
	if !a.mapped || u.unpinned {
		return
	}
	bytes := x.shown()
	for at := bytes.from &^ (pageBytes - 1); at < bytes.to; at += pageBytes {
		entries := s.driver.aperture.entries((at-gartreg.Start)/pageBytes, rings)
		want := a.page((at - a.place.from) / pageBytes)
		if len(entries) == 0 || slices.ContainsFunc(entries, func(entry uint64) bool { return fits(entry, want) }) {
			continue
		}
		is := "not mapped"
		if entry := entries[0]; entry&gartreg.EntryValid != 0 {
			is = fmt.Sprintf("mapped to %s, want %s", pkt.FormatAddr(pkt.Host|entry&gartreg.EntryPage), pkt.FormatAddr(pkt.Host|want))
		}
		u.unpinned = true
		s.find("access-pinned", buildPaging, "%s %s of %s, whose page %s is %s", x.name(u), x, s.of(x.allocation), pkt.FormatAddr(at), is)
		return
	}
}

// fits reports whether an entry has a page, or one of an MDL that has ended, of which access-mdl tells.
func fits(entry, page uint64) bool {
	at := entry & gartreg.EntryPage
	return at == dxgkrnl.EndedPage || entry&gartreg.EntryValid != 0 && at == page
}

// page returns the address of a page of the host memory of an allocation.
func (a *allocation) page(i uint64) uint64 {
	if a.pages == nil {
		return a.memory.from&^pkt.Host + i*pageBytes
	}
	return a.pages[i]
}

// unplaced checks that an allocation that loses its place need not keep it. The CPU unmaps pages of an
// aperture at once, so no work may use them there. Paging buffers follow the work in other segments.
func (s *Sanitizer) unplaced(h ddi.KMHandle, a *allocation) {
	if !s.on {
		return
	}
	if a.pinned && !a.destroyed {
		s.find("access-pinned", buildPaging, "%s loses its place at %s while it is locked with IgnoreSync", s.of(h), pkt.FormatAddr(a.place.from))
		return
	}
	for _, u := range s.unfinished {
		for _, x := range u.accesses {
			if a.mapped && x.allocation == h && !u.stopped && x.shown().overlaps(a.place) {
				s.find("access-pinned", buildPaging, "%s is unmapped at %s while %s %s", s.of(h), pkt.FormatAddr(a.place.from), x.name(u), x)
				return
			}
		}
	}
}

// placed gives an allocation a place, and checks that no other one has it.
func (s *Sanitizer) placed(h ddi.KMHandle, a *allocation, e dxgkrnl.Event) {
	a.place, a.placed, a.mapped = span{e.Address, e.Address + a.bytes}, true, e.Aperture
	a.arrives = e.Aperture || e.Address&pkt.Host == 0 && len(a.written) > 0
	if other, ok := s.at(a.place, h); ok {
		s.find("access-pinned", buildPaging, "%s gets the place %s, a part of which %s has", s.of(h), a.place, s.of(other))
	}
}

// at returns the first allocation, in the order of handles, with a place that overlaps a range. It leaves out
// one of them.
func (s *Sanitizer) at(in span, but ddi.KMHandle) (h ddi.KMHandle, ok bool) {
	for _, h := range slices.Sorted(maps.Keys(s.allocations)) {
		if a := s.allocations[h]; h != but && a.placed && a.place.overlaps(in) {
			return h, true
		}
	}
	return 0, false
}
