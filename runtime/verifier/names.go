package verifier

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// names gives objects names that are the same in each run, by their handles: a
// kind and a number, counted from 1 in each order of calls. The third resource
// in the order of deferred context 2 is "resource 2.3"; in the order of the
// immediate context it is "resource 3".
type names struct {
	of          map[any]string // by *ddi.Root, *ddi.Object, or runtimeHandle
	given       map[numbering]int
	generations map[*ddi.Object]int           // generation of a recycled command-list handle
	alias       map[*ddi.Object]runtimeHandle // runtime handle of the same object
}

// A numbering counts the objects of one kind in one order of calls.
type numbering struct {
	kind  string
	order int
}

// A runtimeHandle is a handle that is opaque to the driver.
type runtimeHandle struct {
	kind  string
	value any
}

func newNames() *names {
	return &names{of: map[any]string{}, given: map[numbering]int{}, generations: map[*ddi.Object]int{}, alias: map[*ddi.Object]runtimeHandle{}}
}

// name returns the name of the object that a handle of the given kind refers
// to. It assigns the next name of the order to an object without one. The name
// of no object is "".
func (n *names) name(kind string, of any, order int) string {
	key := keyOf(kind, of)
	if key == nil {
		return ""
	}
	name, ok := n.of[key]
	if !ok {
		at := numbering{kind, order}
		n.given[at]++
		name = fmt.Sprintf("%s %d", kind, n.given[at])
		if order != 0 {
			name = fmt.Sprintf("%s %d.%d", kind, order, n.given[at])
		}
		n.of[key] = name
	}
	if o, ok := key.(*ddi.Object); ok && n.generations[o] > 1 {
		return fmt.Sprintf("%s:%d", name, n.generations[o])
	}
	return name
}

// keyOf returns the map key of an object, or nil for no object. The runtime may
// use any value as a handle, even one that cannot be a map key; only the kind
// is known then.
func keyOf(kind string, of any) any {
	switch v := of.(type) {
	case nil:
		return nil
	case *ddi.Root:
		if v == nil {
			return nil
		}
		return v
	case *ddi.Object:
		if v == nil {
			return nil
		}
		return v
	}
	// A handle opened in a deferred context has the device's driver handle as
	// its runtime handle.
	if o := objectOf(of); o != nil {
		return o
	}
	if !isKey(of) {
		of = nil
	}
	return runtimeHandle{kind, of}
}

// objectOf returns the object of a driver handle to an object of a device, or
// nil.
func objectOf(handle any) *ddi.Object {
	switch h := handle.(type) {
	case umddi.HResource:
		return h.Object
	case umddi.HRenderTargetView:
		return h.Object
	case umddi.HQuery:
		return h.Object
	case umddi.HCommandList:
		return h.Object
	}
	return nil
}

// rootOf returns the root of a driver handle to an adapter, device or context,
// or nil.
func rootOf(handle any) *ddi.Root {
	switch h := handle.(type) {
	case umddi.HAdapter:
		return h.Root
	case umddi.HDevice:
		return h.Root
	case kmddi.HAdapter:
		return h.Root
	case kmddi.HDevice:
		return h.Root
	case kmddi.HContext:
		return h.Root
	case kmddi.HAllocation:
		return h.Root
	case kmddi.HDeviceAllocation:
		return h.Root
	}
	return nil
}

// isKey reports whether a value can be a key of a map.
func isKey(v any) (ok bool) {
	defer func() { ok = recover() == nil }()
	return v == v
}

// created gives the runtime handles in the arguments of a Create function the
// names of their objects.
func (n *names) created(args []any, order int) {
	var object *ddi.Object // from the driver handle, which precedes the runtime handle
	for _, a := range args {
		if o := objectOf(a); o != nil {
			object = o
		}
		switch a := a.(type) {
		case *umddi.OpenAdapter:
			n.same(runtimeHandle{"adapter", a.RTAdapter.Runtime}, n.name("adapter", a.Adapter.Root, order))
		case *umddi.CreateDevice:
			name := n.name("device", a.Device.Root, order)
			n.same(runtimeHandle{"device", a.RTDevice.Runtime}, name)
			n.same(runtimeHandle{"layer", a.RTCoreLayer.Runtime}, name)
		case *umddi.CreateDeferredContext:
			n.same(runtimeHandle{"layer", a.RTCoreLayer.Runtime}, n.name("device", a.Context.Root, order))
		case umddi.HRTResource:
			n.pair(object, runtimeHandle{"resource", a.Runtime}, order)
		case umddi.HRTRenderTargetView:
			n.pair(object, runtimeHandle{"view", a.Runtime}, order)
		case umddi.HRTQuery:
			n.pair(object, runtimeHandle{"query", a.Runtime}, order)
		case umddi.HRTCommandList:
			n.pair(object, runtimeHandle{"list", a.Runtime}, order)
		}
	}
}

// pair gives the driver handle and the runtime handle of an object the same
// name.
func (n *names) pair(o *ddi.Object, h runtimeHandle, order int) {
	if o == nil || objectOf(h.value) != nil {
		return // the device's handle already has a name
	}
	n.name(h.kind, o, order)
	n.same(h, n.of[o])
	n.alias[o] = h
}

func (n *names) same(h runtimeHandle, name string) {
	if h.value != nil && isKey(h.value) && name != "" {
		n.of[h] = name
	}
}

// recycled starts the next generation of a command-list handle.
func (n *names) recycled(o *ddi.Object) {
	if o == nil {
		return
	}
	n.generations[o] = max(n.generations[o], 1) + 1
}

// destroyed drops the name of the last argument if the function destroys that
// object.
func (n *names) destroyed(f *Func, args []any) {
	if len(args) == 0 || !strings.HasPrefix(f.Name, "pfnDestroy") && !strings.HasPrefix(f.Name, "DxgkDdiDestroy") &&
		f.Name != "DxgkDdiCloseAllocation" && f.Name != "DxgkCbUnmapMemory" {
		return
	}
	last := args[len(args)-1]
	if r := rootOf(last); r != nil {
		delete(n.of, r)
	}
	if m, ok := last.(kmddi.HMapping); ok && isKey(m.System) {
		delete(n.of, runtimeHandle{"mapping", m.System})
	}
	if o := objectOf(last); o != nil {
		if h, ok := n.alias[o]; ok {
			delete(n.of, h)
		}
		delete(n.of, o)
		delete(n.alias, o)
		delete(n.generations, o)
	}
}
