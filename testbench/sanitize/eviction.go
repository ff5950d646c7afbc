package sanitize

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// The kernel evicts an allocation by a copy to host memory, and brings it back by a copy of the
// same bytes. That each copy is right is the rule paging-content. These checks are about what
// the kernel copies, and about the bytes between the two copies.

// An eviction is the state of an allocation's content.
type eviction struct {
	newer   bool   // a packet has written it in a memory segment, after it was moved there
	left    uint64 // the place of which it was evicted while newer
	at      uint64 // where the last operation has put it in a segment
	moved   bool   // there was one
	lost    bool   // it was, and no copy to host memory has followed
	arrives bool   // it has a place in a memory segment, and no operation has moved it there

	offered, destroyed bool // its application does not need it: until it is reclaimed, or any more

	out  uint64 // the last submission that copies it to host memory; 0: it was brought back since
	kept []byte // that memory after that submission; nil: it may change
}

// buildPaging is the function that writes paging buffers.
const buildPaging = "DxgkDdiBuildPagingBuffer"

// evict takes the place of an allocation away. A locked one has its content in host memory.
func (a *allocation) evict() {
	a.placed, a.mapped, a.arrives = false, false, false
	if a.newer && a.locks == 0 {
		a.left, a.lost = a.place.from, true
	}
	a.newer = false
}

// checkEvictions checks the operations of a paging buffer.
func (s *Sanitizer) checkEvictions(u *submission, operations []dxgkrnl.Operation) {
	for _, o := range operations {
		a := s.allocations[o.Allocation]
		switch {
		case a == nil || o.Name == unmapName:
		case o.Name == discardName:
			s.checkDiscard(u, a, o)
		case o.Name == mapName:
			s.checkMap(u, a, o)
		case o.To.SegmentID == 0:
			s.checkOut(u, a, o)
		case o.Name == transferName && o.From.SegmentID != 0:
			s.checkMove(u, a, o)
		default:
			s.checkIn(u, a, o)
		}
	}
}

// checkOut checks a copy to host memory.
func (s *Sanitizer) checkOut(u *submission, a *allocation, o dxgkrnl.Operation) {
	to := s.hostAt(o.To.Address)
	switch {
	case to != a.memory.from || o.Bytes != a.bytes:
		s.find("access-eviction", buildPaging, "submission %d evicts %s to %s, want %s", u.serial, s.of(o.Allocation), span{to, to + o.Bytes}, a.memory)
	case a.lost && o.From.Address != a.left:
		s.find("access-eviction", buildPaging, "submission %d evicts %s from %s, want %s, its last place", u.serial, s.of(o.Allocation),
			pkt.FormatAddr(o.From.Address), pkt.FormatAddr(a.left))
	}
	a.lost, a.newer, a.out, a.kept = false, false, u.serial, nil
	s.out[u.serial] = append(s.out[u.serial], a)
}

// checkMove checks a move within a segment: it takes the content along, from where the last
// operation has put it. The kernel may move an allocation several times before it submits a buffer.
func (s *Sanitizer) checkMove(u *submission, a *allocation, o dxgkrnl.Operation) {
	if a.moved && o.From.Address != a.at || o.Bytes != a.bytes {
		s.find("access-eviction", buildPaging, "submission %d moves %d bytes of %s from %s, want %d from %s, its last place", u.serial, o.Bytes, s.of(o.Allocation),
			pkt.FormatAddr(o.From.Address), a.bytes, pkt.FormatAddr(a.at))
	}
	a.newer, a.lost, a.left = a.newer || a.lost, false, o.To.Address
	a.at, a.moved = o.To.Address, true
	if o.To.Address == a.place.from {
		a.arrives = false
	}
}

// checkDiscard checks that nobody needs the content that the kernel discards. What only the
// segment had is lost.
func (s *Sanitizer) checkDiscard(u *submission, a *allocation, o dxgkrnl.Operation) {
	if !a.offered && !a.destroyed {
		s.find("access-eviction", buildPaging, "submission %d discards the content of %s at %s, which is neither offered nor destroyed", u.serial,
			s.of(o.Allocation), pkt.FormatAddr(o.To.Address))
	}
	if a.lost || a.newer {
		a.written, a.lost, a.newer = nil, false, false
	}
}

// continueOut notes that a submission continues one that was preempted, with its copies.
func (s *Sanitizer) continueOut(serial, again uint64) {
	for _, a := range s.out[again] {
		if a.out == again {
			a.out = serial
		}
	}
	if out := s.out[again]; out != nil {
		s.out[serial] = out
		delete(s.out, again)
	}
}

// checkIn checks a copy or a fill of a place in a segment.
func (s *Sanitizer) checkIn(u *submission, a *allocation, o dxgkrnl.Operation) {
	switch from := s.hostAt(o.From.Address); {
	case a.lost:
		s.find("access-eviction", buildPaging, "submission %d brings %s back, whose content at %s was not copied to host memory", u.serial,
			s.of(o.Allocation), pkt.FormatAddr(a.left))
	case o.Name != transferName && len(a.written) > 0:
		s.find("access-eviction", buildPaging, "submission %d clears %s, which has content", u.serial, s.of(o.Allocation))
	case o.Name == transferName && (from != a.memory.from || o.Bytes != a.bytes):
		s.find("access-eviction", buildPaging, "submission %d brings %s back from %s, want %s", u.serial, s.of(o.Allocation), span{from, from + o.Bytes}, a.memory)
	case a.kept != nil:
		s.returning = append(s.returning, o.Allocation)
	}
	a.lost, a.newer, a.out = false, false, 0
	a.at, a.moved = o.To.Address, true
	if o.To.Address == a.place.from {
		a.arrives = false
	}
}

// checkMap checks a mapping of the host memory of an allocation, which the GPU may write from now on.
func (s *Sanitizer) checkMap(u *submission, a *allocation, o dxgkrnl.Operation) {
	if a.lost {
		s.find("access-eviction", buildPaging, "submission %d maps %s, whose content at %s was not copied to host memory", u.serial,
			s.of(o.Allocation), pkt.FormatAddr(a.left))
	}
	if a.kept != nil {
		s.returning = append(s.returning, o.Allocation)
	}
	a.lost, a.out = false, 0
	if o.To.Address == a.place.from {
		a.arrives = false
	}
}

// checkPlace checks that the content of an allocation is at its place.
func (s *Sanitizer) checkPlace(u *submission, x *access, a *allocation) {
	switch {
	case a.lost:
		s.find("access-eviction", buildPaging, "%s %s of %s, whose content at %s was not copied to host memory", x.name(u), x, s.of(x.allocation), pkt.FormatAddr(a.left))
	case a.arrives:
		s.find("access-eviction", buildPaging, "%s %s of %s, whose content was not moved there", x.name(u), x, s.of(x.allocation))
	}
	a.lost, a.arrives = false, false
}

// keepEvicted keeps what a submission that ends has copied to host memory.
func (s *Sanitizer) keepEvicted(serial uint64) {
	if s.peek == nil {
		return
	}
	s.mu.Lock()
	out := s.out[serial]
	delete(s.out, serial)
	s.mu.Unlock()
	for _, a := range out {
		p := make([]byte, a.bytes)
		ok := s.peekAt(a.memory.from, p) == nil
		s.mu.Lock()
		if ok && a.out == serial && a.locks == 0 {
			a.kept = p
		}
		s.mu.Unlock()
	}
}

// compareEvicted compares evicted allocations that the last submission brings back.
func (s *Sanitizer) compareEvicted() {
	for _, h := range take(s, &s.returning) {
		s.compareKept(h, s.allocations[h])
	}
}

// compareKept compares the host memory of an allocation with what was kept of it. Only the
// kernel has a pointer to it, unless the application has locked it.
func (s *Sanitizer) compareKept(h ddi.KMHandle, a *allocation) {
	now := make([]byte, a.bytes)
	ok := s.peekAt(a.memory.from, now) == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	was := a.kept
	a.kept = nil
	for i := range was {
		if !ok || was[i] == now[i] {
			continue
		}
		rule, function := "access-eviction", buildPaging
		if a.locked {
			rule, function = "access-cpu-write", "pfnLockCb"
		}
		s.find(rule, function, "byte %#x of %s is %#02x and was %#02x when it was evicted", i, s.of(h), now[i], was[i])
		return
	}
}
