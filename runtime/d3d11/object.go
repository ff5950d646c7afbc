package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// An object is what a command list can refer to.
type object interface {
	// hold adds a reference of the runtime's to an object that has one, and
	// drop gives it back.
	hold()
	drop()
}

// A member is what a child is part of.
type member interface {
	object

	// destroy ends the object, once, when nothing refers to it.
	destroy()
}

// apiRef is one reference of the application's in child.refs.
const apiRef = 1 << 32

// A child is ID3D11DeviceChild: the part that all objects of a device share,
// but for command lists, which are counted on their own (commandlist.go).
type child struct {
	dev       *Device
	self      member
	id        uint32 // place in nativeContext.locals
	localSize int    // of the handles that deferred contexts open, in bytes

	// The application's references in units of apiRef, and below them those
	// of bindings, views, lists and the like. The object ends at 0.
	refs atomic.Uint64

	prev, next *child // dev.children; guarded by dev.mu
	pins       *local // handles whose pins it cancels when the application lets go; guarded by dev.mu
}

// adopt makes self, of which c is part, an object of d with one reference of
// the application's.
func (c *child) adopt(d *Device, self member) {
	c.dev = d
	c.self = self
	c.refs.Store(apiRef)
	d.mu.Lock()
	defer d.mu.Unlock()
	c.id = d.takeID()
	c.next = d.children
	if c.next != nil {
		c.next.prev = c
	}
	d.children = c
}

// GetDevice returns the device that made the object.
func (c *child) GetDevice() *Device { return c.dev }

// AddRef adds a reference and returns how many the application holds. It does
// nothing to an object that the application has no reference to.
func (c *child) AddRef() uint32 {
	for {
		v := c.refs.Load()
		if v < apiRef {
			return 0
		}
		if c.refs.CompareAndSwap(v, v+apiRef) {
			return uint32(v/apiRef) + 1
		}
	}
}

// Release gives a reference back and returns how many the application still
// holds. It does nothing to an object that the application has no reference to.
func (c *child) Release() uint32 {
	for {
		v := c.refs.Load()
		if v < apiRef {
			return 0
		}
		if c.refs.CompareAndSwap(v, v-apiRef) {
			switch {
			case v == apiRef:
				c.end()
			case v < 2*apiRef:
				c.unpin()
			}
			return uint32(v/apiRef) - 1
		}
	}
}

// addRef adds a reference of the application's to an object that is held.
func (c *child) addRef() { c.refs.Add(apiRef) }

// hold adds a reference of the runtime's to an object that has one.
func (c *child) hold() { c.refs.Add(1) }

// drop gives back what hold added.
func (c *child) drop() {
	if c.refs.Add(^uint64(0)) == 0 {
		c.end()
	}
}

// strip gives back all references of the application's.
func (c *child) strip() {
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
			return
		}
	}
}

// usable says whether the application may pass the object to d.
func (c *child) usable(d *Device) bool { return c.dev == d && c.refs.Load() >= apiRef }

// end takes the object off the device's list and destroys it.
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
	d.mu.Lock()
	d.giveID(c.id)
	d.mu.Unlock()
}

// takeID returns a number that no other object has. The caller holds mu.
func (d *Device) takeID() uint32 {
	if n := len(d.ids); n > 0 {
		id := d.ids[n-1]
		d.ids = d.ids[:n-1]
		return id
	}
	d.nextID++
	return d.nextID - 1
}

// giveID takes a number back. The caller holds mu.
func (d *Device) giveID(id uint32) { d.ids = append(d.ids, id) }

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

// Driver-private memory: what it is filled with before a Create, the size above
// which a driver must be mistaken, and the line of the CPU's cache that handles
// of different threads must not share, in bytes.
const (
	garbage    = 0xa5
	maxPrivate = 1 << 20
	cacheLine  = 64
)

// privateSize says whether n can be the size of private memory.
func privateSize(n int) bool { return n >= 0 && n <= maxPrivate }

// private returns private memory of n bytes, and false if n cannot be a size.
func private(n int) (ddi.Object, bool) {
	if !privateSize(n) {
		return ddi.Object{}, false
	}
	p := make([]byte, n, (n+cacheLine-1)&^(cacheLine-1))[:n:n]
	for i := range p {
		p[i] = garbage
	}
	return ddi.Object{Private: p}, true
}
