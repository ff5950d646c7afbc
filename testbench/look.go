package testbench

import (
	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
)

// looks returns how the graphics kernel looks at an emulated GPU for its checks: at the memory of a BAR,
// and at the pages of the aperture. Both are nil without a verifier, and each if the GPU cannot be
// looked at.
func (s *System) looks() (peek func(bar int, off uint64, p []byte) bool, translate func(addr uint64) (page uint64, mapped, known bool)) {
	if s.monitor == nil {
		return nil, nil
	}
	if p, ok := bus.As[boards.Peeker](s.link); ok {
		peek = p.Peek
	}
	if p, ok := bus.As[boards.Translator](s.link); ok {
		translate = func(addr uint64) (page uint64, mapped, known bool) { return translated(p, addr) }
	}
	return peek, translate
}

// translated returns the page of host memory that an access of the GPU uses. A page that the GPU cannot
// write counts as not mapped.
func translated(of boards.Translator, addr uint64) (page uint64, mapped, known bool) {
	const both = gartreg.EntryValid | gartreg.EntryWritable
	entry, ok := of.Translate(addr)
	return entry & gartreg.EntryPage, entry&both == both, ok
}
