package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// EndedPage is what the pages of an MDL become when the operation that has it was built, if the memory
// that is lent is checked. The PC has no memory there, so the GPU cannot access it.
const EndedPage = hal.MemBase - hal.PageSize

// lendMDLs returns an operation with copies of its MDLs, if they are checked.
func (k *Kernel) lendMDLs(op kmddi.BuildPagingBuffer) kmddi.BuildPagingBuffer {
	if k.poison {
		op.MDL, op.Source.MDL, op.Destination.MDL = slices.Clone(op.MDL), slices.Clone(op.Source.MDL), slices.Clone(op.Destination.MDL)
	}
	return op
}

// endMDLs ends the lending of the MDLs of an operation.
func (k *Kernel) endMDLs(op kmddi.BuildPagingBuffer) {
	if !k.poison {
		return
	}
	for _, mdl := range []kmddi.MDL{op.MDL, op.Source.MDL, op.Destination.MDL} {
		for i := range mdl {
			mdl[i] = EndedPage
		}
	}
}
