package hal

import "github.com/hilgpu/hilgpu/runtime/ddi"

// An Access is an access of the host to a BAR.
type Access struct {
	Write  bool
	BAR    int
	Offset uint64 // in bytes
	Data   []byte // valid during the call; undefined if a read failed
	Err    error
}

// An Observer sees what passes between the host and a device. Its methods must not call
// the device or the machine.
type Observer interface {
	// Accessed is called after a read, before a write, and again after a write that
	// failed, on the thread of the access.
	Accessed(t *ddi.Thread, a Access)

	// Arrived is called when an interrupt message of the device arrives, on the
	// goroutine that serves the device.
	Arrived(vector uint32)
}

// Observe makes the device call o, or nobody if o is nil. It must not be called during
// an access.
func (d *Device) Observe(o Observer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.observer = o
}

func (d *Device) observe(t *ddi.Thread, a Access) {
	if d.observer != nil {
		d.observer.Accessed(t, a)
	}
}

func (d *Device) observeFailure(t *ddi.Thread, a Access) {
	if a.Err != nil {
		d.observe(t, a)
	}
}
