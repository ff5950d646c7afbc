package cmdbuf

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A Resource is one of the runtime. Its name is that of a trace of the driver interfaces, as
// "resource 2".
type Resource struct {
	Name        string
	Description string
	Texture     bool // its rows may have bytes between them

	runtime any // the runtime's handle
}

// String returns the name and the description, with the name that the application gave the resource, if there is one.
func (r Resource) String() string {
	if n, ok := r.runtime.(interface{ DebugName() string }); ok && n.DebugName() != "" {
		return fmt.Sprintf("%s %q, %s", r.Name, n.DebugName(), r.Description)
	}
	return r.Name + ", " + r.Description
}

// made is a resource of a device.
type made struct {
	Resource
	device *ddi.Root
}

// outermost notes a resource that a function creates, maps for reading or destroys.
func (h *Hook) outermost(name string, c *calls, args []any) {
	if h.to.Allocated == nil {
		return
	}
	switch name {
	case "pfnCreateResource":
		h.creates(c.device, args)
	case "pfnStagingResourceMap":
		if h.to.Mapped != nil && slices.Contains(args, any(umddi.MapRead)) {
			c.reads = h.handles[resourceOf(args)]
		}
	case "pfnDestroyResource":
		res := resourceOf(args)
		delete(h.resources, h.handles[res])
		delete(h.handles, res)
	}
}

// resourceOf returns the driver's resource in the arguments of a function, or nil.
func resourceOf(args []any) *ddi.Object {
	for _, a := range args {
		if res, ok := a.(umddi.HResource); ok {
			return res.Object
		}
	}
	return nil
}

// creates numbers a resource. A function without a description opens one in a deferred context.
func (h *Hook) creates(device *ddi.Root, args []any) {
	var arg *umddi.CreateResource
	var res umddi.HResource
	var rt umddi.HRTResource
	for _, a := range args {
		switch a := a.(type) {
		case *umddi.CreateResource:
			arg = a
		case umddi.HResource:
			res = a
		case umddi.HRTResource:
			rt = a
		}
	}
	if arg == nil {
		return
	}
	h.created++
	if isKey(rt.Runtime) {
		h.resources[rt.Runtime] = made{Resource{fmt.Sprintf("resource %d", h.created), describe(arg), arg.ResourceDimension != umddi.Buffer, rt.Runtime}, device}
		h.handles[res.Object] = rt.Runtime
	}
}

// isKey reports whether a handle can be the key of a map.
func isKey(v any) (ok bool) {
	defer func() { ok = recover() == nil && v != nil }()
	return map[any]bool{}[v]
}

// describe returns the dimension, the size and the format of a resource.
func describe(arg *umddi.CreateResource) string {
	if len(arg.MipInfoList) == 0 {
		return "of no size"
	}
	size := arg.MipInfoList[0]
	if arg.ResourceDimension == umddi.Buffer {
		return fmt.Sprintf("a buffer of %d bytes", size.TexelWidth)
	}
	text := fmt.Sprintf("a texture of %dx%d %s", size.TexelWidth, size.TexelHeight, arg.Format)
	if n := arg.MipLevels * arg.ArraySize; n > 1 {
		text += fmt.Sprintf(" with %d subresources", n)
	}
	return text
}

// allocated tells the allocations of a callback that succeeded.
func (h *Hook) allocated(arg any) {
	a, ok := arg.(*umddi.Allocate)
	if !ok || h.to.Allocated == nil {
		return
	}
	var r made
	if isKey(a.Resource.Runtime) {
		r = h.resources[a.Resource.Runtime]
	}
	for _, info := range a.AllocationInfo {
		h.to.Allocated(info.Allocation, r.Resource)
	}
}

// forget removes the resources of a device.
func (h *Hook) forget(device *ddi.Root) {
	for object, rt := range h.handles {
		if h.resources[rt].device == device {
			delete(h.resources, rt)
			delete(h.handles, object)
		}
	}
}
