package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Options are what can be chosen of a driver. The zero value is the driver as
// OpenAdapter gives it.
type Options struct {
	// EmulatedLists keeps the driver from reporting that it has command lists,
	// and leaves their functions nil. The runtime then emulates them.
	EmulatedLists bool

	// Memory is where the driver gets the memory of command lists; nil is the
	// Go heap.
	Memory Memory
}

// A Memory gives and takes system memory. Its methods may be called from
// several threads.
type Memory interface {
	// Alloc returns n bytes with any contents, or nil if there are none.
	Alloc(n int) []byte

	// Free takes back what Alloc returned, all of it. Nothing uses it any more.
	Free(p []byte)
}

// heap is the Memory of a driver without one.
type heap struct{}

func (heap) Alloc(n int) []byte { return make([]byte, n) }

func (heap) Free([]byte) {}

// New returns the entry of a driver with the options o, an OpenAdapterFunc.
func New(o Options) umddi.OpenAdapterFunc {
	if o.Memory == nil {
		o.Memory = heap{}
	}
	return func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT { return openAdapter(t, arg, o) }
}
