package verifier

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/content"
)

// An objectState is the state of an object's handle.
type objectState uint8

const (
	objectAlive objectState = iota // for lists, executable
	objectRetired
	objectCached
	objectFailed
	objectDead
)

var objectStateNames = []string{"valid", "retired", "in the cache of its context", "failed to be created", "destroyed"}

// An object is the object of a handle: the device's handle, or one local to a
// deferred context.
type object struct {
	id     uint64
	h      *ddi.Object
	kind   umddi.HandleType
	device *context
	ctx    *context // local handles: the deferred context
	of     *object  // local handles: the device's handle
	dep    *object  // views: the resource, local if the view is
	state  objectState

	primary  bool
	mips     []extent // resources only: the sizes of the mip levels
	usage    umddi.Usage
	bind     uint32
	views    int    // number of living views
	locals   int    // number of open local handles
	size     int    // answer of CalcDeferredContextHandleSize; -1: not asked
	sizeCall uint64 // call that returned it

	discarded map[uint32]bool // local handles: subresources discarded in this list

	// Command lists only.
	owner   *context // deferred context that created the list
	maps    map[subresource]bool
	queries map[*object]bool

	last        [2]use // calls that got it last, except those of Calc functions; the latest is last[1]
	calc        uint64 // call that returned the size of its private memory
	made        uint64 // call that created it
	blank       bool   // its Create function left the private memory as it was
	rt          any    // resources only: the runtime's handle, or nil
	allocations int    // resources only: allocations that pfnAllocateCb attached to it
	query       umddi.QueryType
	content     *content.Resource            // resources only; nil: unknown
	view        umddi.CreateRenderTargetView // views only
	recorded    *content.List                // lists only

	private private
}

var kindNames = map[umddi.HandleType]string{
	umddi.HandleResource: "resource", umddi.HandleRenderTargetView: "view", umddi.HandleQuery: "query", umddi.HandleCommandList: "command list",
}

func (o *object) alive() bool { return o.state < objectFailed }

func (o *object) String() string { return fmt.Sprintf("%s %d", kindNames[o.kind], o.id) }

// source returns the object of the device's handle.
func (o *object) source() *object {
	if o.of != nil {
		return o.of
	}
	return o
}

// find returns the living object of a handle. It returns nil after a violation.
func (k *Checker) find(fr *frame, h *ddi.Object, kind umddi.HandleType) *object {
	o := k.objects[h]
	switch {
	case h == nil:
		k.fail(fr, "handle-unknown", "%s handle is missing", kindNames[kind])
	case o == nil:
		k.fail(fr, "handle-unknown", "%s handle was never created", kindNames[kind])
	case o.state == objectDead:
		k.fail(fr, "handle-destroyed", "%v is destroyed", o)
	case o.state == objectFailed:
		k.fail(fr, "handle-failed", "%v failed to be created", o)
	case o.kind != kind:
		k.fail(fr, "handle-unknown", "%v where a %s is needed", o, kindNames[kind])
	default:
		return o
	}
	return nil
}

// use checks a handle passed to the function of fr and returns its object, or
// nil after a violation. The handle must belong to the context of fr.
func (k *Checker) use(fr *frame, h *ddi.Object, kind umddi.HandleType) *object {
	o := k.find(fr, h, kind)
	if o == nil {
		return nil
	}
	switch c := fr.ctx; {
	case o.device != c.device:
		k.fail(fr, "handle-foreign", "%v is of %v, not of %v", o, o.device, c.device)
	case c.deferred && o.ctx == nil:
		k.fail(fr, "handle-foreign", "%v is the device's, not local to %v", o, c)
	case c.deferred && o.ctx != c, !c.deferred && o.ctx != nil:
		k.fail(fr, "handle-foreign", "%v is local to %v, not of %v", o, o.ctx, c)
	default:
		k.touch(fr, o)
		return o
	}
	return nil
}

// useOptional is use for a handle that may be null.
func (k *Checker) useOptional(fr *frame, h *ddi.Object, kind umddi.HandleType) *object {
	if h == nil {
		return nil
	}
	return k.use(fr, h, kind)
}

// touch records that fr gets o and, for a view, its resource.
func (k *Checker) touch(fr *frame, o *object) {
	k.comparePrivate(fr, o)
	fr.objects = append(fr.objects, o)
	if o.dep != nil {
		k.comparePrivate(fr, o.dep)
		fr.objects = append(fr.objects, o.dep)
	}
}

// create checks the entry of a Create function on the context of fr. h is the
// new handle and rt is the runtime's handle.
func (k *Checker) create(fr *frame, h *ddi.Object, kind umddi.HandleType, rt any) *object {
	if h == nil {
		k.fail(fr, "handle-unknown", "no handle for the %s", kindNames[kind])
		return nil
	}
	if o := k.objects[h]; o != nil && o.alive() {
		k.fail(fr, "handle-reused", "%v exists", o)
		return nil
	}
	k.ids++
	o := &object{id: k.ids, h: h, kind: kind, device: fr.ctx.device, size: -1}
	if fr.ctx.deferred {
		if o.of = k.opened(fr, kind, rt); o.of == nil {
			return nil
		}
		o.ctx = fr.ctx
		o.discarded = map[uint32]bool{}
	}
	k.checkSize(fr, o)
	o.made, fr.before = fr.call, append(fr.before, h.Private...)
	k.objects[h] = o
	fr.created = o
	return o
}

// opened returns the object that a Create function of a deferred context opens.
func (k *Checker) opened(fr *frame, kind umddi.HandleType, rt any) *object {
	h, ok := driverHandle(kind, rt)
	of := k.objects[h]
	switch {
	case !ok || of == nil || of.ctx != nil || of.device != fr.ctx.device || of.kind != kind || of.state != objectAlive:
		k.fail(fr, "local-open", "the runtime handle is not the driver's handle of a living %s of the device", kindNames[kind])
		return nil
	case fr.ctx.locals[of] != nil:
		k.fail(fr, "local-open", "%v is open in %v", of, fr.ctx)
		return nil
	}
	k.touch(fr, of)
	return of
}

// driverHandle returns the driver handle that the runtime passes as runtime
// handle on a deferred context.
func driverHandle(kind umddi.HandleType, rt any) (*ddi.Object, bool) {
	switch h := rt.(type) {
	case umddi.HResource:
		return h.Object, kind == umddi.HandleResource
	case umddi.HRenderTargetView:
		return h.Object, kind == umddi.HandleRenderTargetView
	case umddi.HQuery:
		return h.Object, kind == umddi.HandleQuery
	case umddi.HCommandList:
		return h.Object, kind == umddi.HandleCommandList
	}
	return nil, false
}

// createResource checks the entry of CreateResource.
func (k *Checker) createResource(fr *frame) {
	arg := fr.args[1].(*umddi.CreateResource)
	o := k.create(fr, fr.args[2].(umddi.HResource).Object, umddi.HandleResource, fr.args[3].(umddi.HRTResource).Runtime)
	switch {
	case o == nil:
	case o.of != nil:
		o.usage, o.bind, o.mips = o.of.usage, o.of.bind, o.of.mips
		if arg != nil {
			k.fail(fr, "local-open", "arguments for the open of %v, want nil", o.of)
		}
	case arg != nil:
		o.nameResource(fr.args[3].(umddi.HRTResource))
		o.primary, o.usage, o.bind = arg.Primary, arg.Usage, arg.BindFlags
		o.mips = extentsOf(arg)
	}
}

// createView checks the entry of CreateRenderTargetView.
func (k *Checker) createView(fr *frame) {
	arg := fr.args[1].(*umddi.CreateRenderTargetView)
	o := k.create(fr, fr.args[2].(umddi.HRenderTargetView).Object, umddi.HandleRenderTargetView, fr.args[3].(umddi.HRTRenderTargetView).Runtime)
	switch {
	case o == nil:
	case o.of == nil && arg != nil:
		o.dep, o.view = k.use(fr, arg.Resource.Object, umddi.HandleResource), *arg
	case o.of != nil && o.of.dep != nil:
		k.openView(fr, o, arg)
	}
	if o != nil && o.dep != nil {
		o.dep.views++
	}
}

// openView checks the resource of a local view.
func (k *Checker) openView(fr *frame, o *object, arg *umddi.CreateRenderTargetView) {
	o.dep = fr.ctx.locals[o.of.dep]
	if o.dep == nil {
		k.fail(fr, "view-order", "%v is opened in %v, %v is not", o.of, fr.ctx, o.of.dep)
	}
	if arg == nil {
		return
	}
	if want := (umddi.CreateRenderTargetView{Resource: arg.Resource}); *arg != want || o.dep == nil || arg.Resource.Object != o.dep.h {
		k.fail(fr, "local-open", "arguments for the open of %v, want nil or only its resource's local handle", o.of)
	}
}

// createQuery checks the entry of CreateQuery.
func (k *Checker) createQuery(fr *frame) {
	arg := fr.args[1].(umddi.CreateQuery)
	o := k.create(fr, fr.args[2].(umddi.HQuery).Object, umddi.HandleQuery, fr.args[3].(umddi.HRTQuery).Runtime)
	if o != nil {
		o.query = arg.Query
	}
	if o != nil && o.of != nil && arg != (umddi.CreateQuery{}) {
		k.fail(fr, "local-open", "arguments for the open of %v, want none", o.of)
	}
}

// endCreate checks the return of a Create function.
func (k *Checker) endCreate(fr *frame) {
	o := fr.created
	if o == nil {
		return
	}
	if len(fr.errors) > 0 {
		o.state = objectFailed
		delete(o.device.resources, o.rt)
		if o.dep != nil {
			o.dep.views--
		}
		k.forget(o)
		return
	}
	if o.of != nil {
		o.ctx.locals[o.of] = o
		o.of.locals++
	}
	o.blank = isBlank(fr.before, o.h.Private)
	k.worked[sized{o.kind, o.of != nil, len(o.h.Private)}] = true
	k.beginPrivate(o)
}

// destroy checks the entry of a Destroy function.
func (k *Checker) destroy(fr *frame, h *ddi.Object, kind umddi.HandleType) {
	o := k.use(fr, h, kind)
	if o == nil {
		return
	}
	if o.views > 0 {
		k.fail(fr, "view-order", "%v has %s", o, plural(o.views, "view"))
	}
	k.checkLocals(fr, o)
	if o.dep != nil {
		o.dep.views--
	}
	if o.ctx != nil {
		delete(o.ctx.locals, o.of)
		o.of.locals--
	}
	o.state = objectDead
	o.setRetired(false)
	k.forget(o)
	fr.destroyed = o
}

// checkLocals checks that o is not open in a deferred context.
func (k *Checker) checkLocals(fr *frame, o *object) {
	if o.locals > 0 {
		k.fail(fr, "local-outlives", "%v is open in %s", o, plural(o.locals, "deferred context"))
	}
}
