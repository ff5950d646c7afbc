package hal

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// reopener is implemented by links that can restart after a failure.
type reopener interface {
	// Reopen starts a new session. Nothing of the previous session arrives in
	// it.
	Reopen() error
}

// noteDown records the first error after which the link is down, and returns err.
func (d *Device) noteDown(err error) error {
	if err == nil || !errors.Is(err, bus.ErrLinkDown) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down == nil {
		d.down = err
	}
	return err
}

// Down returns the first error by which an access or a wait found the link
// down, or nil. It does not access the link.
func (d *Device) Down() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down
}

// Restore makes an attached device accessible again. If the link is down, even
// if no access has noticed yet, Restore restarts it. Then it enumerates the
// device as Attach did, at the same addresses. Latched messages and a queued
// DPC are dropped. Restore first disables bus mastering; until then the device
// may access pinned memory. Restore delivers no interrupts.
//
// It fails with an error of the link, which remains down if it cannot be
// restarted, and with ErrEnumerate if the device is a different one. Memory
// decode and bus mastering are then disabled if the device can be reached, and
// Restore may be called again.
func (d *Device) Restore(_ *ddi.Thread) error {
	if d.Down() == nil {
		err := d.enumerateAgain()
		if d.Down() == nil {
			return err
		}
	}
	if err := d.reopen(); err != nil {
		return err
	}
	return d.enumerateAgain()
}

// enumerateAgain is Restore on a working link.
func (d *Device) enumerateAgain() error {
	found := &Device{machine: d.machine, link: d.link, address: d.address}
	e := enumerator{d: found, link: d.link, before: d}
	if e.run(); e.err == nil && (found.info != d.info || found.msix != d.msix) {
		e.failf("the device has %+v, MSI-X at %#x, want %+v, MSI-X at %#x as before", found.info, found.msix, d.info, d.msix)
	}
	d.drop()
	if e.err != nil {
		return e.quiesce(d.noteDown(e.err))
	}
	return nil
}

// reopen restarts the link.
func (d *Device) reopen() error {
	r, ok := bus.As[reopener](d.link)
	if !ok {
		return fmt.Errorf("hal: the link cannot be restarted: %w", d.Down())
	}
	if err := r.Reopen(); err != nil {
		return fmt.Errorf("hal: restart of the link failed: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = nil
	return nil
}

// drop drops latched messages and a queued DPC.
func (d *Device) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latched, d.queued = d.latched[:0], false
}
