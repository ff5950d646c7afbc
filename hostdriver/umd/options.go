package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Options configure a driver. The zero value gives the driver of OpenAdapter.
type Options struct {
	// EmulatedLists hides the driver's command lists, so that the runtime emulates them.
	EmulatedLists bool

	// Memory allocates the memory of command lists. If nil, the Go heap is used.
	Memory Memory
}

// A Memory allocates system memory. Its methods must be safe for concurrent
// use.
type Memory interface {
	// Alloc returns n bytes with undefined content, or nil if there is no
	// memory.
	Alloc(n int) []byte

	// Free frees memory returned by Alloc. p must be the entire slice and must
	// not be used afterwards.
	Free(p []byte)
}

// heap is the default Memory.
type heap struct{}

func (heap) Alloc(n int) []byte { return make([]byte, n) }

func (heap) Free([]byte) {}

// New returns the entry point of a driver with the options o, an
// OpenAdapterFunc.
func New(o Options) umddi.OpenAdapterFunc {
	if o.Memory == nil {
		o.Memory = heap{}
	}
	return func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT { return openAdapter(t, arg, o) }
}
