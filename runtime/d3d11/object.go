package d3d11

import (
	"fmt"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// An object is anything that a command list can refer to.
type object interface {
	// hold adds a runtime reference to an object that has a reference, and drop
	// drops it.
	hold()
	drop()
}

// A member is an object that embeds a child.
type member interface {
	object

	// destroy destroys the object. It is called once, when no references
	// remain.
	destroy()
}

// apiRef is one application reference in child.refs.
const apiRef = 1 << 32

// A child is ID3D11DeviceChild: the common part of all objects of a device.
// Command lists have their own reference count instead (commandlist.go).
type child struct {
	dev       *Device
	self      member
	id        uint32 // index in nativeContext.locals
	localSize int    // size of handles opened by deferred contexts, in bytes

	// Application references in units of apiRef, plus the runtime's. At 0 the object is destroyed.
	refs atomic.Uint64

	prev, next *child // dev.children; guarded by dev.mu
	pins       *local // locals with a reference; guarded by dev.mu

	private privateData

	offered atomic.Bool // a resource that OfferResources has given away
}

// adopt makes self, which embeds c, an object of d with one application
// reference.
func (c *child) adopt(d *Device, self member) {
	c.dev = d
	c.self = self
	c.refs.Store(apiRef)
	c.enter()
	d.mu.Lock()
	defer d.mu.Unlock()
	c.id = d.takeID()
	c.next = d.children
	if c.next != nil {
		c.next.prev = c
	}
	d.children = c
}

// GetDevice returns a reference to the device that created the object.
func (c *child) GetDevice() *Device {
	c.dev.AddRef()
	return c.dev
}

// AddRef adds an application reference and returns their number. It does
// nothing if the application holds no reference.
func (c *child) AddRef() uint32 {
	for {
		v := c.refs.Load()
		if v < apiRef {
			c.stale("AddRef")
			return 0
		}
		if c.refs.CompareAndSwap(v, v+apiRef) {
			return uint32(v/apiRef) + 1
		}
	}
}

// Release drops an application reference and returns the remaining number. It
// does nothing if the application holds no reference.
func (c *child) Release() uint32 {
	for {
		v := c.refs.Load()
		if v < apiRef {
			c.stale("Release")
			return 0
		}
		if c.refs.CompareAndSwap(v, v-apiRef) {
			switch {
			case v == apiRef:
				c.end()
			case v < 2*apiRef:
				c.unpin()
			}
			if v < 2*apiRef {
				c.leave()
			}
			return uint32(v/apiRef) - 1
		}
	}
}

// stale adds a message about a call on an object without a reference of the
// application.
func (c *child) stale(call string) { c.dev.stale(call, c.self) }

// stale adds a message about a call on an object without a reference of the
// application.
func (d *Device) stale(call string, object any) {
	text := fmt.Sprintf("%s: dropped: the application has no reference to the %T", call, object)
	d.queue.add(Message{CategoryCleanup, SeverityCorruption, MessageCorruptedThis, text})
}

// addRef adds an application reference to an object that has a reference.
func (c *child) addRef() {
	if c.refs.Add(apiRef) < 2*apiRef {
		c.enter()
	}
}

// hold adds a runtime reference to an object that has a reference.
func (c *child) hold() { c.refs.Add(1) }

// drop drops a reference added by hold.
func (c *child) drop() {
	if c.refs.Add(^uint64(0)) == 0 {
		c.end()
	}
}

// releaseAll drops all application references.
func (c *child) releaseAll() {
	for {
		v := c.refs.Load()
		if v < apiRef {
			return
		}
		if c.refs.CompareAndSwap(v, v%apiRef) {
			if v%apiRef == 0 {
				c.end()
			} else {
				c.unpin()
			}
			c.leave()
			return
		}
	}
}

// usable reports whether the application may pass the object to d.
func (c *child) usable(d *Device) bool {
	return c.dev == d && c.refs.Load() >= apiRef && !c.offered.Load()
}

// end removes the object from the device's list and destroys it.
func (c *child) end() {
	d := c.dev
	d.mu.Lock()
	if c.prev != nil {
		c.prev.next = c.next
	} else if d.children == c {
		d.children = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	d.mu.Unlock()
	c.self.destroy()
	c.private.clear()
	d.mu.Lock()
	d.freeID(c.id)
	d.mu.Unlock()
}

// takeID returns an unused object number. The caller holds mu.
func (d *Device) takeID() uint32 {
	if n := len(d.ids); n > 0 {
		id := d.ids[n-1]
		d.ids = d.ids[:n-1]
		return id
	}
	d.nextID++
	return d.nextID - 1
}

// freeID frees an object number. The caller holds mu.
func (d *Device) freeID(id uint32) { d.ids = append(d.ids, id) }

// snapshot returns the device's objects, newest first.
func (d *Device) snapshot() []*child {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*child
	for c := d.children; c != nil; c = c.next {
		all = append(all, c)
	}
	return all
}

// Private memory of the driver: fill byte before a Create call, maximum
// plausible size in bytes, and the size of a CPU cache line, in bytes, which
// handles of different threads must not share.
const (
	privateFill = 0xa5
	maxPrivate  = 1 << 20
	cacheLine   = 64
)

// privateSize reports whether n is a valid size of private memory.
func privateSize(n int) bool { return n >= 0 && n <= maxPrivate }

// sizeBroken removes the device because the last function returned n, which is
// not a valid size of private memory.
func (k *call) sizeBroken(n int) ddi.HRESULT {
	return k.contractBroken("returned a size of %d bytes, want 0 to %d", n, maxPrivate)
}

// private returns private memory of n bytes. It reports false if n is not a
// valid size.
func private(n int) (ddi.Object, bool) {
	if !privateSize(n) {
		return ddi.Object{}, false
	}
	p := make([]byte, n, (n+cacheLine-1)&^(cacheLine-1))[:n:n]
	for i := range p {
		p[i] = privateFill
	}
	return ddi.Object{Private: p}, true
}
