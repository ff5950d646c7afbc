package kmcheck

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A kind is the kind of an object that a handle stands for.
type kind string

// The kinds.
const (
	adapterKind    kind = "adapter"
	deviceKind     kind = "device"
	contextKind    kind = "context"
	allocationKind kind = "allocation"
	openedKind     kind = "opened allocation"
)

// creators are the functions that create objects.
var creators = map[kind]string{
	adapterKind: "DxgkDdiAddDevice", deviceKind: "DxgkDdiCreateDevice", contextKind: "DxgkDdiCreateContext",
	allocationKind: "DxgkDdiCreateAllocation", openedKind: "DxgkDdiOpenAllocation",
}

// A life is the state of an object.
type life uint8

// The states.
const (
	creating life = iota
	alive
	failed // its Create function failed
	destroyed
)

var lifeNames = [...]string{creating: "being created", alive: "alive", failed: "not created: its Create function failed", destroyed: "destroyed"}

// maxDestroyed bounds the objects that are remembered after their destruction.
const maxDestroyed = 256

// An object is an adapter, a device, a context, an allocation or an opened
// allocation.
type object struct {
	kind     kind
	id       uint64
	root     *ddi.Root
	life     life
	parents  []*object // objects that must outlive it
	children int       // objects that it must outlive
	driver   any       // Root.Driver after its Create function
	made     uint64    // its Create function, in the order of all calls

	info kmddi.AllocationInfo // of an allocation
}

// String names the object in reports.
func (o *object) String() string { return fmt.Sprintf("%s %d", o.kind, o.id) }

// create notes an object that fr creates.
func (k *Checker) create(fr *frame, root *ddi.Root, of kind, parents ...*object) {
	if old := k.objects[root]; old != nil && (old.life == alive || old.life == creating) {
		k.fail(fr, "object-life", "%v is created again", old)
		return
	}
	k.ids++
	fr.created = &object{kind: of, id: k.ids, root: root, parents: parents, made: fr.call}
	k.objects[root] = fr.created
	k.m.Label(fr.t, string(of), k.ids)
}

// use returns the object of a handle that fr gets, or nil after a violation.
func (k *Checker) use(fr *frame, root *ddi.Root, want kind) *object {
	o := k.objects[root]
	switch {
	case o == nil:
		k.fail(fr, "handle-kind", "gets a handle that refers to no object, want a handle of a live %s", want)
		return nil
	case o.kind != want:
		k.fail(fr, "handle-kind", "gets the handle of %v, want a handle of a live %s", o, want)
		return nil
	case o.life != alive:
		k.fail(fr, "object-life", "%v is %s", o, lifeNames[o.life])
		return nil
	}
	fr.objects = append(fr.objects, o)
	k.checkDriver(fr, o, "since it was created")
	return o
}

// useOf is use for a handle of an object that belongs to parent.
func (k *Checker) useOf(fr *frame, root *ddi.Root, want kind, parent *object) *object {
	o := k.use(fr, root, want)
	if o != nil && parent != nil && o.parents[0] != parent {
		k.fail(fr, "handle-kind", "%v belongs to %v, want one of %v", o, o.parents[0], parent)
	}
	return o
}

// destroy notes that fr destroys an object.
func (k *Checker) destroy(fr *frame, o *object) {
	if o == nil {
		return
	}
	k.m.Label(fr.t, string(o.kind), o.id)
	if o.children > 0 {
		k.fail(fr, "object-children", "%v still has %s", o, k.childrenOf(o))
	}
	fr.destroyed = o
}

// childrenOf lists the live objects that depend on o.
func (k *Checker) childrenOf(o *object) string {
	first := (*object)(nil)
	for _, c := range k.objects {
		for _, p := range c.parents {
			if p == o && c.life == alive && (first == nil || c.id < first.id) {
				first = c
			}
		}
	}
	if o.children == 1 {
		return first.String()
	}
	return fmt.Sprintf("%v and %d more", first, o.children-1)
}

// endObjects updates the objects that fr created or destroyed.
func (k *Checker) endObjects(fr *frame, ok bool) {
	if o := fr.created; o != nil {
		o.life, o.driver = alive, o.root.Driver
		if !ok {
			o.life = failed
			k.forget(o)
			return
		}
		if o.driver != nil {
			k.sets[o.kind] = true
		}
		for _, p := range o.parents {
			p.children++
		}
	}
	if o := fr.destroyed; o != nil {
		o.life = destroyed
		for _, p := range o.parents {
			p.children--
		}
		k.forget(o)
	}
}

// forget remembers an object that is gone for a while, so that its use can be
// reported by name.
func (k *Checker) forget(o *object) {
	o.driver, o.parents = nil, nil
	k.gone = append(k.gone, o)
	for len(k.gone) > maxDestroyed {
		if old := k.gone[0]; k.objects[old.root] == old {
			delete(k.objects, old.root)
		}
		k.gone = k.gone[1:]
	}
}

// beginObjects checks the handles that a function gets.
func (k *Checker) beginObjects(fr *frame) {
	var a *object
	if h, ok := fr.args[0].(kmddi.HAdapter); ok && fr.f.Name != "DxgkDdiAddDevice" {
		if a = k.use(fr, h.Root, adapterKind); a == nil {
			return
		}
	}
	switch fr.f.Name {
	case "DxgkDdiAddDevice":
		k.create(fr, fr.args[0].(kmddi.HAdapter).Root, adapterKind)
	case "DxgkDdiStopDevice":
		if a.children > 0 {
			k.fail(fr, "object-children", "%v still has %s", a, k.childrenOf(a))
		}
	case "DxgkDdiRemoveDevice":
		fr.destroyed = a
	case "DxgkDdiCreateDevice":
		k.create(fr, fr.args[1].(kmddi.HDevice).Root, deviceKind, a)
	case "DxgkDdiDestroyDevice":
		k.destroy(fr, k.use(fr, fr.args[0].(kmddi.HDevice).Root, deviceKind))
	case "DxgkDdiCreateContext":
		if d := k.use(fr, fr.args[0].(kmddi.HDevice).Root, deviceKind); d != nil {
			k.create(fr, fr.args[1].(kmddi.HContext).Root, contextKind, d)
		}
	case "DxgkDdiDestroyContext":
		k.destroy(fr, k.use(fr, fr.args[0].(kmddi.HContext).Root, contextKind))
	default:
		k.beginMemory(fr, a)
	}
}

// beginMemory is beginObjects for the functions that get allocations.
func (k *Checker) beginMemory(fr *frame, a *object) {
	switch arg := lastArg(fr).(type) {
	case kmddi.CreateAllocation:
		k.create(fr, fr.args[1].(kmddi.HAllocation).Root, allocationKind, a)
	case kmddi.HAllocation:
		k.destroy(fr, k.use(fr, arg.Root, allocationKind))
	case kmddi.OpenAllocation:
		d := k.use(fr, fr.args[0].(kmddi.HDevice).Root, deviceKind)
		al := k.use(fr, arg.Allocation.Root, allocationKind)
		if d != nil && al != nil {
			k.create(fr, fr.args[1].(kmddi.HDeviceAllocation).Root, openedKind, d, al)
		}
	case kmddi.HDeviceAllocation:
		d := k.use(fr, fr.args[0].(kmddi.HDevice).Root, deviceKind)
		k.destroy(fr, k.useOf(fr, arg.Root, openedKind, d))
	case kmddi.Render:
		k.useContext(fr, fr.args[0].(kmddi.HContext), arg.AllocationList)
	case kmddi.Present:
		k.useContext(fr, fr.args[0].(kmddi.HContext), arg.AllocationList)
	case kmddi.BuildPagingBuffer:
		if arg.Allocation.Root != nil {
			k.use(fr, arg.Allocation.Root, allocationKind)
		}
	case kmddi.Patch:
		if k.useSubmission(fr, arg.Device, arg.Context) {
			k.useList(fr, arg.AllocationList, k.objects[arg.Device.Root])
		}
	case kmddi.SubmitCommand:
		k.useSubmission(fr, arg.Device, arg.Context)
	}
}

// lastArg returns the last argument of a function.
func lastArg(fr *frame) any { return fr.args[len(fr.args)-1] }

// useContext checks the context and the allocation list of a function that writes
// a DMA buffer.
func (k *Checker) useContext(fr *frame, h kmddi.HContext, list []kmddi.AllocationList) {
	if c := k.use(fr, h.Root, contextKind); c != nil {
		k.m.Label(fr.t, string(c.kind), c.id)
		k.useList(fr, list, c.parents[0])
	}
}

// useSubmission checks the handles of a submission, which are nil for paging. It
// reports whether there are handles, and they are right.
func (k *Checker) useSubmission(fr *frame, dev kmddi.HDevice, ctx kmddi.HContext) bool {
	if dev.Root == nil && ctx.Root == nil {
		return false
	}
	d := k.use(fr, dev.Root, deviceKind)
	return d != nil && k.useOf(fr, ctx.Root, contextKind, d) != nil
}

// useList checks an allocation list.
func (k *Checker) useList(fr *frame, list []kmddi.AllocationList, dev *object) {
	for _, e := range list {
		if e.DeviceSpecificAllocation.Root != nil {
			k.useOf(fr, e.DeviceSpecificAllocation.Root, openedKind, dev)
		}
	}
}

// checkDriver checks that the driver's object of o is that of its Create
// function.
func (k *Checker) checkDriver(fr *frame, o *object, when string) {
	if o.life != alive || o == fr.destroyed || fr.spec.class == exclusive || same(o.driver, o.root.Driver) {
		return
	}
	k.failBy(fr, k.replacedBy(o), "driver-replaced", "Driver of %v has changed %s, want that of %s", o, when, creators[o.kind])
	o.driver = o.root.Driver
}

// checkDrivers checks the objects that a function got.
func (k *Checker) checkDrivers(fr *frame) {
	for _, o := range fr.objects {
		k.checkDriver(fr, o, "in the function")
		if o.kind == adapterKind && fr.spec.class == exclusive {
			o.driver = o.root.Driver
		}
	}
}

// same compares two values. Values that Go cannot compare count as the same.
func same(a, b any) (eq bool) {
	defer func() {
		if recover() != nil {
			eq = true
		}
	}()
	return a == b
}
