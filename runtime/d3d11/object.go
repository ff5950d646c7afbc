package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// An object is what a child is part of.
type object interface {
	base() *child

	// destroy ends the object, once, when nothing refers to it.
	destroy()
}

// apiRef is one reference of the application's in child.refs.
const apiRef = 1 << 32

// A child is ID3D11DeviceChild: the part that all objects of a device share.
type child struct {
	dev  *Device
	self object

	// The application's references in units of apiRef, and below them those
	// of bindings, views, lists and the like. The object ends at 0.
	refs atomic.Uint64

	prev, next *child // dev.children; guarded by dev.mu
}

func (c *child) base() *child { return c }

// adopt makes self, of which c is part, an object of d with one reference of
// the application's.
func (c *child) adopt(d *Device, self object) {
	c.dev = d
	c.self = self
	c.refs.Store(apiRef)
	d.mu.Lock()
	defer d.mu.Unlock()
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
			if v == apiRef {
				c.end()
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
}

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

// Driver-private memory: what it is filled with before a Create, and the size
// above which a driver must be mistaken.
const (
	garbage    = 0xa5
	maxPrivate = 1 << 20
)

// private returns private memory of n bytes, and false if n cannot be a size.
func private(n int) (ddi.Object, bool) {
	if n < 0 || n > maxPrivate {
		return ddi.Object{}, false
	}
	p := make([]byte, n)
	for i := range p {
		p[i] = garbage
	}
	return ddi.Object{Private: p}, true
}
