package hal

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// reopener is implemented by links that can begin again once they are down.
type reopener interface {
	// Reopen begins a new session. Nothing of the one before arrives in it.
	Reopen() error
}

// note keeps the first error after which the link is down, and returns err.
func (d *Device) note(err error) error {
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
// down, or nil. It touches nothing.
func (d *Device) Down() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down
}

// Restore makes a device accessible that was attached before: if the link is
// down, also if nobody has noticed so far, it has it begin again, then it
// enumerates the device as Attach did, at the same addresses. Messages that are
// latched and a queued DPC are dropped; until bus mastering ends, which is the
// first that is written, the device may still reach what is pinned. Restore
// delivers nothing.
//
// It fails with the error of the link, which is down as before if it cannot
// begin again, and with ErrEnumerate if there is another device than before.
// Then the device, if it can be reached, is left without memory decode and bus
// mastering, and Restore may be called again.
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

// enumerateAgain is Restore over a link that works.
func (d *Device) enumerateAgain() error {
	found := &Device{machine: d.machine, link: d.link, address: d.address}
	e := enumerator{d: found, link: d.link, before: d}
	if e.run(); e.err == nil && (found.info != d.info || found.msix != d.msix) {
		e.failf("the device has %+v, MSI-X at %#x; it had %+v, at %#x", found.info, found.msix, d.info, d.msix)
	}
	d.drop()
	if e.err != nil {
		return errors.Join(d.note(e.err), e.quiesce())
	}
	return nil
}

// reopen has the link begin again.
func (d *Device) reopen() error {
	r, ok := d.link.(reopener)
	if !ok {
		return fmt.Errorf("hal: the link cannot begin again: %w", d.Down())
	}
	if err := r.Reopen(); err != nil {
		return fmt.Errorf("hal: the link does not begin again: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = nil
	return nil
}

// drop forgets what was latched and queued.
func (d *Device) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latched, d.queued = d.latched[:0], false
}
