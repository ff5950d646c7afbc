package verifier

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// names gives the objects of handles names that are the same in each run: a
// kind and a number, counted from 1 in each order of calls. In the order of
// deferred context 2, the third resource is "resource 2.3"; in that of the
// executing context it is "resource 3".
type names struct {
	of    map[any]string // by *ddi.Root, *ddi.Object, or runtimeHandle
	given map[numbering]int
	lives map[*ddi.Object]int           // of a command list's handle that was recycled
	alias map[*ddi.Object]runtimeHandle // the runtime's handle of the same object
}

// A numbering counts the objects of a kind in an order.
type numbering struct {
	kind  string
	order int
}

// A runtimeHandle is a handle in which only its maker looks.
type runtimeHandle struct {
	kind  string
	value any
}

func newNames() *names {
	return &names{of: map[any]string{}, given: map[numbering]int{}, lives: map[*ddi.Object]int{}, alias: map[*ddi.Object]runtimeHandle{}}
}

// name returns the name of what a handle of a kind stands for. An object without one gets
// the next one of the order. No object is "".
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
	if o, ok := key.(*ddi.Object); ok && n.lives[o] > 1 {
		return fmt.Sprintf("%s:%d", name, n.lives[o])
	}
	return name
}

// keyOf returns the key of an object, or nil for none. A runtime may make any
// value its handle, also one that is no key: then the kind is all there is.
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
	// A handle that a deferred context opens has the device's handle in the place
	// of the runtime's.
	if o := objectOf(of); o != nil {
		return o
	}
	if !isKey(of) {
		of = nil
	}
	return runtimeHandle{kind, of}
}

// objectOf returns what a driver's handle of an object of a device stands for, or
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

// rootOf returns what a driver's handle of anything larger stands for, or nil.
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

// created gives the runtime's handles in the arguments of a function that creates
// something the names of what they stand for.
func (n *names) created(args []any, order int) {
	var object *ddi.Object // of the driver's handle, which is the argument before the runtime's
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

// pair names the driver's and the runtime's handle of an object alike.
func (n *names) pair(o *ddi.Object, h runtimeHandle, order int) {
	if o == nil || objectOf(h.value) != nil {
		return // the device's handle has a name
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

// recycled begins another life of a command list's handle.
func (n *names) recycled(o *ddi.Object) {
	if o == nil {
		return
	}
	n.lives[o] = max(n.lives[o], 1) + 1
}

// destroyed forgets what the last argument of a function stands for, if the
// function ends it.
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
		delete(n.lives, o)
	}
}
