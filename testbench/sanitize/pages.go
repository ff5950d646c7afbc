package sanitize

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// The sanitizer gives contiguous addresses to host memory that is not contiguous. They begin at
// linearStart, where no machine has memory. It translates the GPU's accesses to them page by page,
// and the accesses of packets to an aperture segment allocation by allocation.
const (
	linearStart = pkt.Host | 1<<56
	pageBytes   = 4096
)

// giveMemory gives a its host memory.
func (s *Sanitizer) giveMemory(a *allocation, e dxgkrnl.Event) {
	if a.pages = append([]uint64(nil), e.Pages...); a.pages == nil {
		at := pkt.Host | e.Address
		a.memory = span{at, at + e.Bytes}
		return
	}
	at := linearStart + s.given
	a.memory = span{at, at + e.Bytes}
	for i, page := range a.pages {
		s.linear[page] = at + uint64(i)*pageBytes
	}
	s.given += uint64(len(a.pages)) * pageBytes
}

// takeMemory takes the host memory of a, which is freed.
func (s *Sanitizer) takeMemory(a *allocation) {
	for _, page := range a.pages {
		delete(s.linear, page)
	}
}

// hostAt returns the address here of a physical address of host memory.
func (s *Sanitizer) hostAt(addr uint64) uint64 {
	if at, ok := s.linear[addr&^(pageBytes-1)]; ok {
		return at + addr%pageBytes
	}
	return pkt.Host | addr
}

// translate gives an access of host memory the addresses here.
func (s *Sanitizer) translate(x *access) {
	a := s.allocations[x.allocation]
	switch {
	case x.bytes.from&pkt.Host != 0:
		x.move(s.hostAt(x.bytes.from&^pkt.Host) - x.bytes.from)
	case a != nil && a.mapped && a.place.has(x.bytes):
		x.move(a.memory.from - a.place.from)
	}
}

// move adds to the addresses of an access, modulo 2^64. What it is named by stays.
func (x *access) move(by uint64) {
	x.named = x.bytes
	x.bytes = span{x.bytes.from + by, x.bytes.to + by}
	x.rows.from += by
}

// peekAt reads host memory at an address here.
func (s *Sanitizer) peekAt(at uint64, p []byte) error {
	s.mu.Lock()
	parts := s.physical(at, uint64(len(p)))
	s.mu.Unlock()
	for _, part := range parts {
		n := part.to - part.from
		if err := s.peek(part.from, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// physical returns the ranges of physical addresses of n bytes at an address here.
func (s *Sanitizer) physical(at, n uint64) (parts []span) {
	if at < linearStart {
		at &^= pkt.Host
		return []span{{at, at + n}}
	}
	for _, a := range s.allocations {
		if a.pages == nil || !a.memory.overlaps(span{at, at + 1}) {
			continue
		}
		for n > 0 {
			off := at - a.memory.from
			page := a.pages[min(off/pageBytes, uint64(len(a.pages)-1))] + off%pageBytes
			part := min(n, pageBytes-off%pageBytes)
			parts = append(parts, span{page, page + part})
			at, n = at+part, n-part
		}
	}
	return parts
}
