package dxgkrnl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// A segment is memory that the GPU can access. In a System segment the GPU uses
// an allocation's host memory itself. In a memory segment the allocation has a
// place, [offset, offset+span), and in an aperture segment the pages of its host memory
// are mapped to one.
type segment struct {
	id   uint32 // from 1
	desc kmddi.SegmentDescriptor

	residents []*allocation // by offset; none of a System segment
	inserted  uint64        // number of allocations placed so far
	mapped    []uint64      // by page: Kernel.remaps of its last MAP or UNMAP; see noteMapping
}

// memory reports whether s has memory of its own.
func (s *segment) memory() bool { return !s.desc.Flags.System && !s.desc.Flags.Aperture }

// MemoryBytes returns the bytes of all memory segments.
func (k *Kernel) MemoryBytes() uint64 {
	var total uint64
	for _, s := range k.segments {
		if s.memory() {
			total += s.desc.Size
		}
	}
	return total
}

// spanOf returns the bytes that a takes in s.
func (s *segment) spanOf(a *allocation) uint64 {
	if s.desc.Flags.Aperture {
		return (a.span + hal.PageSize - 1) &^ (hal.PageSize - 1)
	}
	return a.span
}

// alignOf returns the alignment of a in s.
func (s *segment) alignOf(a *allocation) uint64 {
	if s.desc.Flags.Aperture {
		return max(uint64(a.info.Alignment), hal.PageSize)
	}
	return uint64(a.info.Alignment)
}

// gap returns the lowest offset with room for a, and its index in residents.
// GPU addresses, not offsets, are aligned.
func (s *segment) gap(a *allocation) (off uint64, i int, ok bool) {
	align, span := s.alignOf(a), s.spanOf(a)
	var at uint64
	for i := 0; ; i++ {
		start := (s.desc.BaseAddress+at+align-1)&^(align-1) - s.desc.BaseAddress
		end := s.desc.Size
		if i < len(s.residents) {
			end = s.residents[i].offset
		}
		if start >= at && start <= end && span <= end-start {
			return start, i, true
		}
		if i == len(s.residents) {
			return 0, 0, false
		}
		at = s.residents[i].offset + s.spanOf(s.residents[i])
	}
}

// insert gives a the place found by gap.
func (s *segment) insert(a *allocation, off uint64, i int) {
	a.segment, a.offset = s, off
	s.inserted++
	s.residents = slices.Insert(s.residents, i, a)
}

// remove removes a from the segment.
func (s *segment) remove(a *allocation) {
	i := slices.Index(s.residents, a)
	s.residents = slices.Delete(s.residents, i, i+1)
	a.segment = nil
}

// only returns a copy of s with only the allocations that stay, to try placements.
func (s *segment) only(stays func(*allocation) bool) *segment {
	p := &segment{id: s.id, desc: s.desc}
	for _, a := range s.residents {
		if stays(a) {
			p.residents = append(p.residents, a)
		}
	}
	return p
}

// dump describes the usage of the segment.
func (s *segment) dump(b *strings.Builder) {
	if s.desc.Flags.System {
		fmt.Fprintf(b, "kernel: segment %d: host memory at GPU address %#x\n", s.id, s.desc.BaseAddress)
		return
	}
	var used uint64
	for _, a := range s.residents {
		used += s.spanOf(a)
	}
	what := ""
	if s.desc.Flags.Aperture {
		what = "aperture, "
	}
	fmt.Fprintf(b, "kernel: segment %d: %s%d allocations, %#x of %#x bytes at GPU address %#x\n",
		s.id, what, len(s.residents), used, s.desc.Size, s.desc.BaseAddress)
}
