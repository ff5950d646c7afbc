package d3d11

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// fakeLocal is an open handle of a deferred context.
type fakeLocal struct {
	typ umddi.HandleType
	ic  *ddi.Object // the device's handle
	of  *ddi.Object // the resource of a view
}

// fakeContext is a deferred context of the fake driver.
type fakeContext struct {
	f      *fakeDriver
	arg    umddi.CreateDeferredContext
	state  int
	ops    []func(*ddi.Thread)
	locals map[*ddi.Object]*fakeLocal
	bound  map[string]*ddi.Object
	maps   map[*ddi.Object][]byte // memory discarded in the list, by the device's handle
	mapped map[*ddi.Object]bool
	begun  map[*ddi.Object]bool
	busy   atomic.Int32
	memory []byte // content of the private memory at the end of the last function
	thread *ddi.Thread
}

// enter enters a function of a deferred context. It returns false if the function
// must do nothing because an error was reported. The caller must call out.
func (c *fakeContext) enter(t *ddi.Thread, h umddi.HDevice, name string, lives ...int) bool {
	f := c.f
	if h != c.arg.Context {
		f.wrong("%s with another context", name)
	}
	if c.busy.Add(1) != 1 && c.thread != t {
		f.wrong("%s overlaps", name)
	}
	c.thread = t
	if len(lives) == 0 {
		lives = []int{fakeRecording}
	}
	if !slices.Contains(lives, c.state) {
		f.wrong("%s in state %d", name, c.state)
	}
	hr := f.logCall(c, t, name)
	if hr != ddi.OK {
		core := c.arg.RTCoreLayer
		if len(name) > 4 && name[:4] == "Open" {
			core = f.arg.RTCoreLayer
		}
		f.reportTo(t, core, hr)
	}
	return hr == ddi.OK
}

func (c *fakeContext) leave() {
	p := c.arg.Context.Root.Private
	p[len(p)-1]++
	c.memory = append(c.memory[:0], p...)
	c.busy.Add(-1)
}

// ic returns the device's handle of a local handle.
func (c *fakeContext) ic(o *ddi.Object, typ umddi.HandleType) *ddi.Object {
	if o == nil {
		return nil
	}
	l := c.locals[o]
	if l == nil || l.typ != typ {
		c.f.wrong("a handle of type %d is not open", typ)
		return nil
	}
	return l.ic
}

// open opens a local handle.
func (c *fakeContext) open(t *ddi.Thread, h umddi.HDevice, name string, o *ddi.Object, l *fakeLocal, size int) {
	defer c.leave()
	if !c.enter(t, h, "Open"+name) {
		return
	}
	if len(o.Private) != size {
		c.f.wrong("a local handle of %d bytes", len(o.Private))
	}
	if c.locals[o] != nil {
		c.f.wrong("Open%s of an open handle", name)
	}
	for _, other := range c.locals {
		if other.ic == l.ic {
			c.f.wrong("Open%s of an object that is open", name)
		}
	}
	if l.of != nil && c.locals[l.of] == nil {
		c.f.wrong("a view is opened before its resource")
	}
	c.locals[o] = l
}

func (c *fakeContext) closeLocal(t *ddi.Thread, h umddi.HDevice, name string, o *ddi.Object) {
	defer c.leave()
	c.enter(t, h, "Close"+name, fakeFinished, fakeAbandoned)
	if c.locals[o] == nil {
		c.f.wrong("Close%s of a handle that is not open", name)
	}
	for _, l := range c.locals {
		if l.of == o {
			c.f.wrong("a resource is closed before its view")
		}
	}
	if c.state == fakeAbandoned {
		for slot, b := range c.bound {
			if b == o {
				c.f.wrong("%s is closed while bound to %s", name, slot)
			}
		}
	}
	delete(c.locals, o)
}

// record makes the execution of the list call op.
func (c *fakeContext) record(op func(*ddi.Thread)) {
	if c.state == fakeRecording {
		c.ops = append(c.ops, op)
	}
}

// inherit gives the context its own memory for what an executed list has
// discarded. Bytes that are changed there later are written after the list.
func (c *fakeContext) inherit(l *fakeList) {
	for o, base := range l.contents {
		data := bytes.Clone(base)
		c.maps[o] = data
		c.record(func(*ddi.Thread) {
			c.f.mu.Lock()
			defer c.f.mu.Unlock()
			for i, b := range data {
				if b != base[i] {
					c.f.resources[id(o)].subs[0][i] = b
				}
			}
		})
	}
}

// bind records the content of a slot.
func (c *fakeContext) bind(slot string, o *ddi.Object, typ umddi.HandleType) *ddi.Object {
	if o == nil {
		delete(c.bound, slot)
		return nil
	}
	if c.state != fakeRecording && c.bound[slot] != o {
		c.f.wrong("%s is bound after the end of a list", slot)
	}
	c.bound[slot] = o
	return c.ic(o, typ)
}

func (c *fakeContext) clear() {
	c.state = fakeRecording
	c.ops = nil
	c.locals = map[*ddi.Object]*fakeLocal{}
	c.bound = map[string]*ddi.Object{}
	c.maps = map[*ddi.Object][]byte{}
	c.mapped = map[*ddi.Object]bool{}
	c.begun = map[*ddi.Object]bool{}
}
