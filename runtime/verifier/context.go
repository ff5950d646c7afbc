package verifier

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A life is the state of a context.
type life uint8

const (
	recording life = iota // an immediate context always
	finished              // its list is made
	abandoned
	failed // its creation reported an error
	dead
)

var lifeNames = []string{"is recording", "has its list made", "was abandoned", "failed to be created", "is destroyed"}

// A context is a device with its immediate context, or a deferred context.
type context struct {
	id       uint64
	root     *ddi.Root
	core     any // runtime's part of its core layer
	deferred bool
	device   *context // the device; of an immediate context itself
	life     life
	used     bool // something was recorded

	// Who is in a function of the context's thread, how often, since when.
	owner *ddi.Thread
	depth int
	since *frame

	bound     bindings
	locals    map[*object]*object // open handles, by the device's
	open      map[subresource]family
	begun     map[*object]bool
	maps      map[subresource]bool // that the list has recorded
	queries   map[*object]bool     // that the list began or ended
	submitted bool                 // since PerformAmortizedProcessingCb

	// Functions that may change what belongs to the context without naming
	// it: how many have begun or ended, and how many are running.
	implicit uint64
	inside   int

	// Of a device.
	free    bool            // the driver is free-threaded
	resting []*object       // lists that are retired or cached, in that order
	lacks   map[string]bool // entries that the driver left nil
	lists   bool            // and has command lists
	sizes   []umddi.HandleSize
	counted int    // sizes that CheckDeferredContextHandleSizes spoke of; -1: not asked
	calls   uint64 // functions of the driver that have begun
	running int    // and have not ended
	serial  *frame // the function that runs, if the driver is not free-threaded
}

// A subresource names a part of a resource by the device's handle.
type subresource struct {
	res *object
	sub uint32
}

func (c *context) String() string { return fmt.Sprintf("context %d", c.id) }

// newContext makes a context known. A device is its own.
func (k *Checker) newContext(root *ddi.Root, core any, device *context) *context {
	k.ids++
	c := &context{id: k.ids, root: root, device: device, deferred: device != nil, counted: -1}
	if device == nil {
		c.device = c
	}
	c.clear()
	k.contexts[root] = c
	k.setLayer(c, core)
	return c
}

// clear forgets what is recorded and bound.
func (c *context) clear() {
	c.used = false
	c.bound = bindings{}
	c.locals = map[*object]*object{}
	c.open = map[subresource]family{}
	c.begun = map[*object]bool{}
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

// checkContext says whether the context of fr can be called, and fails if not.
func (k *Checker) checkContext(fr *frame) bool {
	c := fr.ctx
	switch {
	case c == nil:
		k.fail(fr, "handle-unknown", "the context was never created")
	case c.life == dead:
		k.fail(fr, "handle-destroyed", "%v is destroyed", c)
	case c.life == failed:
		k.fail(fr, "handle-failed", "%v failed to be created", c)
	case c.deferred && fr.spec.excluded:
		k.fail(fr, "handle-foreign", "%v is deferred, and has no such function", c)
	case !c.deferred && fr.spec.only:
		k.fail(fr, "handle-foreign", "%v is immediate, and has no such function", c)
	default:
		return true
	}
	return false
}

// checkLife fails if a deferred context is in a state in which the function of
// fr cannot be called.
func (k *Checker) checkLife(fr *frame) {
	c := fr.ctx
	if !c.deferred || fr.inside {
		return
	}
	closes := strings.HasPrefix(fr.f.Name, "pfnDestroy")
	switch {
	case c.life == recording:
		c.used = c.used || !closes && !isCreate(fr.f.Name) && fr.f.Name != "pfnRecycleCommandList" && fr.f.Name != "pfnRelocateDeviceFuncs"
	case closes || fr.f.Name == "pfnRelocateDeviceFuncs":
	case c.life == abandoned && unbinds(fr):
	default:
		k.fail(fr, "context-state", "%v %s, want its handles closed, and it recycled or destroyed", c, lifeNames[c.life])
	}
}

// createContext begins CreateDeferredContext and RecycleCreateDeferredContext.
func (k *Checker) createContext(fr *frame, fresh bool) {
	arg := fr.args[1].(*umddi.CreateDeferredContext)
	c := k.contexts[arg.Context.Root]
	switch {
	case fresh && c != nil && c.life != dead && c.life != failed:
		k.fail(fr, "handle-reused", "%v exists", c)
		return
	case fresh:
		fr.target = k.newContext(arg.Context.Root, arg.RTCoreLayer.Runtime, fr.ctx.device)
		return
	}
	if c = k.deferredOf(fr, arg.Context); c == nil {
		return
	}
	fr.target = c
	if c.life == recording && c.used {
		k.fail(fr, "context-state", "%v %s, want its list made or abandoned", c, lifeNames[c.life])
	}
	k.checkClosed(fr, c)
}

// checkClosed fails if handles are open in c.
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
	case c.life == dead:
		k.fail(fr, "handle-destroyed", "%v is destroyed", c)
	case c.life == failed:
		k.fail(fr, "handle-failed", "%v failed to be created", c)
	case !c.deferred || c.device != fr.ctx.device:
		k.fail(fr, "handle-foreign", "%v is not a deferred context of %v", c, fr.ctx.device)
	default:
		return c
	}
	return nil
}

// endContext ends CreateDeferredContext and RecycleCreateDeferredContext.
func (k *Checker) endContext(fr *frame, fresh, ok bool) {
	c := fr.target
	if c == nil {
		return
	}
	arg := fr.args[1].(*umddi.CreateDeferredContext)
	if !ok {
		if fresh {
			c.life = failed
			k.dropLayer(c)
			k.bury(c)
		}
		return
	}
	k.drop(c)
	c.clear()
	c.life = recording
	k.setLayer(c, arg.RTCoreLayer.Runtime)
	k.checkTable(fr, arg.ContextFuncs, true)
}

// drop forgets the local handles of c.
func (k *Checker) drop(c *context) {
	for of, o := range c.locals {
		o.life = objectDead
		of.locals--
		if k.objects[o.h] == o {
			delete(k.objects, o.h)
		}
	}
}

// destroyContext begins DestroyDevice.
func (k *Checker) destroyContext(fr *frame) {
	c := fr.ctx
	if c.deferred {
		if c.life == recording && c.used {
			k.fail(fr, "context-state", "%v %s, want its list made or abandoned", c, lifeNames[c.life])
		}
		k.checkClosed(fr, c)
		return
	}
	if left := k.left(c); len(left) > 0 {
		more := ""
		if n := len(left) - 1; n > 0 {
			more = " and " + plural(n, "other")
		}
		k.fail(fr, "handle-leak", "leaves %s%s", left[0], more)
	}
}

// left names the objects and deferred contexts that a device has.
func (k *Checker) left(dev *context) []string {
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
		if c.deferred && c.device == dev && c.life < failed {
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

// endDestroy ends DestroyDevice: a device takes all with it.
func (k *Checker) endDestroy(c *context) {
	k.drop(c)
	c.clear()
	c.life = dead
	k.dropLayer(c)
	k.bury(c)
	if c.deferred {
		return
	}
	maps.DeleteFunc(k.objects, func(_ *ddi.Object, o *object) bool { return o.device == c })
	maps.DeleteFunc(k.contexts, func(_ *ddi.Root, d *context) bool { return d != c && d.device == c })
}
