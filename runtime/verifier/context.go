package verifier

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/content"
)

// A contextState is the state of a context.
type contextState uint8

const (
	recording contextState = iota // always for an immediate context
	finished                      // its list was created
	abandoned
	failed // its creation reported an error
	dead
)

var contextStateNames = []string{"is recording", "has its list created", "was abandoned", "failed to be created", "is destroyed"}

// A context is a device with its immediate context, or a deferred context.
type context struct {
	id       uint64
	root     *ddi.Root
	core     any   // runtime's part of its core layer
	size     int   // of the private memory of a deferred context, in bytes
	at       *byte // its first byte; nil if there is none
	deferred bool
	device   *context // the device; for an immediate context, itself
	state    contextState
	last     use    // call that last created or recycled a deferred context
	calc     uint64 // call that returned the size of its private memory
	used     bool   // something was recorded since the last list

	// Thread in a function of this context, its call depth, and the first call.
	owner *ddi.Thread
	depth int
	since *frame

	bound     bindings
	locals    map[*object]*object // open handles, by the device's handle
	open      map[subresource]family
	begun     map[*object]bool
	mapped    map[subresource]writeMap // maps for writing
	recorded  *content.List            // work since the last list
	maps      map[subresource]bool     // subresources that the list maps
	queries   map[*object]bool         // queries that the list begins or ends
	submitted bool                     // since the last PerformAmortizedProcessingCb
	oldTable  *umddi.DeviceFuncs       // from which the driver's table has moved, until it is checked

	// Functions that may change any object of the context: entries plus returns, and running ones.
	implicit uint64
	inside   int

	// Devices only.
	runtime   umddi.HRTDevice // the runtime's handle
	free      bool            // the driver is free-threaded
	retired   []*object       // lists that are retired or cached, in that order
	lacks     map[string]bool // entries that the driver left nil
	lists     bool            // the driver reports CapsCommandListsBuild2
	sizes     []umddi.HandleSize
	sizeCall  uint64          // last call of CheckDeferredContextHandleSizes
	sizeCount int             // length that CheckDeferredContextHandleSizes returned; -1: not called
	calls     uint64          // driver functions entered
	running   int             // driver functions running
	kernel    *kernelState    // nil: no callback was made
	resources map[any]*object // by the runtime's handle
	unmapped  use             // last unmap function of the immediate context that called no UnlockCb
	work      *Func           // last work of the immediate context since RenderCb, or nil
	serial    *frame          // the running function, if the driver is not free-threaded
}

// A subresource identifies part of a resource by the device's handle.
type subresource struct {
	res *object
	sub uint32
}

func (c *context) String() string { return fmt.Sprintf("context %d", c.id) }

// newContext registers a context. A nil device makes it a device of its own.
func (k *Checker) newContext(root *ddi.Root, core any, device *context) *context {
	k.ids++
	c := &context{id: k.ids, root: root, device: device, deferred: device != nil, sizeCount: -1}
	if device == nil {
		c.device = c
	}
	c.clear()
	k.contexts[root] = c
	k.setLayer(c, core)
	return c
}

// clear drops recorded work and bindings.
func (c *context) clear() {
	c.used = false
	c.bound = bindings{}
	c.locals = map[*object]*object{}
	c.open = map[subresource]family{}
	c.begun = map[*object]bool{}
	c.mapped = map[subresource]writeMap{}
	c.recorded = new(content.List)
	c.maps = map[subresource]bool{}
	c.queries = map[*object]bool{}
}

// setLayer makes core the core layer of c.
func (k *Checker) setLayer(c *context, core any) {
	k.dropLayer(c)
	c.core = core
	if core != nil && reflect.TypeOf(core).Comparable() {
		k.cores[core] = c
	}
}

func (k *Checker) dropLayer(c *context) {
	if k.layer(c.core) == c {
		delete(k.cores, c.core)
	}
	c.core = nil
}

// layer returns the context of a core layer, or nil.
func (k *Checker) layer(core any) *context {
	if core == nil || !reflect.TypeOf(core).Comparable() {
		return nil
	}
	return k.cores[core]
}

// checkContext reports whether the context of fr can be called, and records a
// violation if not.
func (k *Checker) checkContext(fr *frame) bool {
	c := fr.ctx
	switch {
	case c == nil:
		k.fail(fr, "handle-unknown", "the context was never created")
	case c.state == dead:
		k.fail(fr, "handle-destroyed", "%v is destroyed", c)
	case c.state == failed:
		k.fail(fr, "handle-failed", "%v failed to be created", c)
	case c.deferred && fr.spec.excluded:
		k.fail(fr, "handle-foreign", "%v is deferred, and has no such function", c)
	case !c.deferred && fr.spec.deferredOnly:
		k.fail(fr, "handle-foreign", "%v is immediate, and has no such function", c)
	default:
		return true
	}
	return false
}

// checkState checks that a deferred context is in a state in which the function
// of fr may be called.
func (k *Checker) checkState(fr *frame) {
	c := fr.ctx
	if !c.deferred || fr.inRefresh {
		return
	}
	closes := strings.HasPrefix(fr.f.Name, "pfnDestroy")
	if closes {
		k.unbound(fr, c)
	}
	switch {
	case c.state == recording:
		c.used = c.used || !closes && !isCreate(fr.f.Name) && fr.f.Name != "pfnRecycleCommandList" && fr.f.Name != "pfnRelocateDeviceFuncs"
	case closes || fr.f.Name == "pfnRelocateDeviceFuncs":
	case c.state == abandoned && unbinds(fr):
	default:
		k.fail(fr, "context-state", "%v %s, want its handles closed, then a recycle or destroy call", c, contextStateNames[c.state])
	}
}

// unbound checks that no handle is bound to an abandoned context, whose handles
// are closed next. From here on a refresh shows nothing, as after the creation
// of a list: topology, viewports and scissors are not handles, and the runtime
// does not unbind them.
func (k *Checker) unbound(fr *frame, c *context) {
	if c.state != abandoned {
		return
	}
	for h := range c.bound.handles {
		if o := k.objects[h]; o != nil {
			k.fail(fr, "abandon-bound", "%v is bound to %v, which was abandoned", o.source(), c)
			break
		}
	}
	c.bound = bindings{}
}

// createContext checks the entry of CreateDeferredContext and
// RecycleCreateDeferredContext.
func (k *Checker) createContext(fr *frame, fresh bool) {
	arg := fr.args[1].(*umddi.CreateDeferredContext)
	c := k.contexts[arg.Context.Root]
	switch {
	case fresh && c != nil && c.state != dead && c.state != failed:
		k.fail(fr, "handle-reused", "%v exists", c)
		return
	case fresh:
		fr.target = k.newContext(arg.Context.Root, arg.RTCoreLayer.Runtime, fr.ctx.device)
		memory := arg.Context.Root.Private
		fr.target.size, fr.target.at = len(memory), start(memory)
		want := answered(fr, len(memory))
		fr.target.calc = want.call
		k.checkMemory(fr, fr.target, memory, want.size)
		return
	}
	if c = k.deferredOf(fr, arg.Context); c == nil {
		return
	}
	fr.target = c
	k.checkContextMoved(fr, c)
	k.unbound(fr, c)
	if c.state == recording && c.used {
		k.fail(fr, "context-state", "%v %s, want its list created or abandoned", c, contextStateNames[c.state])
	}
	k.checkClosed(fr, c)
}

// checkClosed checks that no handle is open in c.
func (k *Checker) checkClosed(fr *frame, c *context) {
	if n := len(c.locals); n > 0 {
		k.fail(fr, "context-open", "%v has %d handles open", c, n)
	}
}

// deferredOf returns the deferred context that an argument names, or nil.
func (k *Checker) deferredOf(fr *frame, h umddi.HDevice) *context {
	c := k.contexts[h.Root]
	switch {
	case c == nil:
		k.fail(fr, "handle-unknown", "the deferred context was never created")
	case c.state == dead:
		k.fail(fr, "handle-destroyed", "%v is destroyed", c)
	case c.state == failed:
		k.fail(fr, "handle-failed", "%v failed to be created", c)
	case !c.deferred || c.device != fr.ctx.device:
		k.fail(fr, "handle-foreign", "%v is not a deferred context of %v", c, fr.ctx.device)
	default:
		return c
	}
	return nil
}

// endContext checks the return of CreateDeferredContext and
// RecycleCreateDeferredContext.
func (k *Checker) endContext(fr *frame, fresh, ok bool) {
	c := fr.target
	if c == nil {
		return
	}
	arg := fr.args[1].(*umddi.CreateDeferredContext)
	if !ok {
		if fresh {
			c.state = failed
			k.dropLayer(c)
			k.forgetContext(c)
		}
		return
	}
	k.dropLocals(c)
	c.clear()
	c.state, c.last = recording, use{f: fr.f, call: fr.call}
	k.setLayer(c, arg.RTCoreLayer.Runtime)
	k.checkTable(fr, arg.ContextFuncs, true)
	k.checkOldTable(fr, c)
}

// dropLocals drops the local handles of c.
func (k *Checker) dropLocals(c *context) {
	for of, o := range c.locals {
		o.state = objectDead
		of.locals--
		if k.objects[o.h] == o {
			delete(k.objects, o.h)
		}
	}
}

// destroyContext checks the entry of DestroyDevice.
func (k *Checker) destroyContext(fr *frame) {
	c := fr.ctx
	k.checkOldTable(fr, c)
	if c.deferred {
		k.checkContextMoved(fr, c)
		if c.state == recording && c.used {
			k.fail(fr, "context-state", "%v %s, want its list created or abandoned", c, contextStateNames[c.state])
		}
		k.checkClosed(fr, c)
		return
	}
	if left := k.leaked(c); len(left) > 0 {
		more := ""
		if n := len(left) - 1; n > 0 {
			more = " and " + plural(n, "other")
		}
		k.fail(fr, "handle-leak", "leaves %s%s", left[0], more)
	}
}

// leaked names the objects and deferred contexts that a device still has.
func (k *Checker) leaked(dev *context) []string {
	type named struct {
		id   uint64
		name string
	}
	var all []named
	for _, o := range k.objects {
		if o.device == dev && o.ctx == nil && o.alive() {
			all = append(all, named{o.id, o.String()})
		}
	}
	for _, c := range k.contexts {
		if c.deferred && c.device == dev && c.state < failed {
			all = append(all, named{c.id, c.String()})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return int(a.id) - int(b.id) })
	var names []string
	for _, n := range all {
		names = append(names, n.name)
	}
	return names
}

// endDestroy ends DestroyDevice, which destroys everything of the device.
func (k *Checker) endDestroy(c *context) {
	k.dropLocals(c)
	c.clear()
	c.state = dead
	k.dropLayer(c)
	k.forgetContext(c)
	if c.deferred {
		return
	}
	maps.DeleteFunc(k.objects, func(_ *ddi.Object, o *object) bool { return o.device == c })
	maps.DeleteFunc(k.contexts, func(_ *ddi.Root, d *context) bool { return d != c && d.device == c })
}
