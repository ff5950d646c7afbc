package d3d11

import "sync/atomic"

// deviceRefs counts the references to a device: the application's, and one for
// each child that the application has a reference to. At 0 the device is closed.
//
// Design note: contexts that record in parallel create and release many lists,
// and must share no counter. A deferred context and the lists that it recorded
// therefore share one reference to the device, and count their own references in
// Context.leases.
type deviceRefs struct{ n atomic.Int64 }

// AddRef adds a reference and returns their number, which includes one for each
// object of the device that the application has a reference to. It does nothing
// on a closed device.
func (d *Device) AddRef() uint32 {
	if d.isClosed() {
		d.stale("AddRef", d)
		return 0
	}
	return uint32(d.refs.n.Add(1))
}

// Release drops a reference and returns the remaining number. If it is 0, the
// device is closed, see Close. The last Release, of the device or of one of its
// objects, must be on the immediate context's goroutine.
func (d *Device) Release() uint32 {
	if d.isClosed() {
		d.stale("Release", d)
		return 0
	}
	return d.dropRef()
}

// dropRef drops a reference and returns the remaining number.
func (d *Device) dropRef() uint32 {
	n := d.refs.n.Add(-1)
	if n == 0 {
		d.Close()
	}
	return uint32(max(0, n))
}

// isClosed reports whether the device is closed.
func (d *Device) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// enter adds the reference to the device of a child that gets its first
// reference of the application.
func (c *child) enter() { c.dev.refs.n.Add(1) }

// leave drops the reference to the device of a child that has lost its last
// reference of the application.
func (c *child) leave() {
	if x, ok := c.self.(*Context); ok && x.deferred {
		x.unlease()
		return
	}
	c.dev.dropRef()
}

// unlease ends the use of the device by a deferred context or one of its lists.
func (c *Context) unlease() {
	if c.retired.leases.Add(-1) == 0 {
		c.dev.dropRef()
	}
}
