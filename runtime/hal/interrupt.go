package hal

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// SetInterrupt sets the interrupt service routine, called at DIRQL with the
// message number, and the deferred procedure call, called at DISPATCH_LEVEL.
// Messages latched without an ISR are kept for the next one. If both are nil,
// the interrupt is disconnected.
func (d *Device) SetInterrupt(isr func(t *ddi.Thread, message int), dpc func(t *ddi.Thread)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isr, d.dpc = isr, dpc
}

// Hold keeps messages latched without calling the interrupt service routine, or ends
// that. The next Deliver then delivers them.
func (d *Device) Hold(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = on
}

// QueueDPC requests a call of the DPC. It returns false if one is already
// queued and has not started.
func (d *Device) QueueDPC() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := !d.queued
	d.queued = true
	return fresh
}

// maxDeliveries is the largest number of calls of the ISR in one Deliver. A device
// that sends messages faster than the ISR returns would otherwise keep the thread
// for ever.
const maxDeliveries = 64

// Deliver calls the ISR for each latched message if the thread's IRQL is below
// DIRQL, and then the queued DPC if it is below DISPATCH_LEVEL. An interrupted
// DPC finishes first. A DPC that is queued while it runs runs again.
//
// In an interrupt storm Deliver returns after 64 calls of the ISR, so that its
// caller can look at a deadline. The next Deliver continues.
func (d *Device) Deliver(t *ddi.Thread) {
	left := maxDeliveries
	d.deliverMessages(t, &left)
	for left > 0 && t.IRQL() < ddi.DispatchLevel {
		dpc := d.beginDPC()
		if dpc == nil {
			return
		}
		d.runDPC(t, dpc)
		d.deliverMessages(t, &left)
	}
}

// runDPC restores the IRQL and the state even if the DPC unwinds because of a
// bugcheck.
func (d *Device) runDPC(t *ddi.Thread, dpc func(*ddi.Thread)) {
	old := t.Raise(ddi.DispatchLevel)
	defer func() {
		d.mu.Lock()
		d.inDPC = false
		d.mu.Unlock()
		t.Lower(old)
	}()
	dpc(t)
}

// Lower lowers the thread's IRQL to a level returned by Raise and delivers the
// interrupts that this allows.
func (d *Device) Lower(t *ddi.Thread, old ddi.IRQL) {
	t.Lower(old)
	d.Deliver(t)
}

// deliverMessages calls the ISR at most *left times, and counts *left down.
func (d *Device) deliverMessages(t *ddi.Thread, left *int) {
	for t.IRQL() < ddi.DIRQL {
		isr, message := d.beginISR(*left)
		if isr == nil {
			return
		}
		d.runISR(t, isr, message)
		*left--
	}
}

func (d *Device) runISR(t *ddi.Thread, isr func(*ddi.Thread, int), message int) {
	old := t.Raise(ddi.DIRQL)
	defer func() {
		d.mu.Lock()
		d.inISR = false
		d.mu.Unlock()
		t.Lower(old)
	}()
	isr(t, message)
}

// beginISR takes the oldest message. isr is nil if this thread has none to
// deliver, or may deliver no more.
func (d *Device) beginISR(left int) (isr func(*ddi.Thread, int), message int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inISR || d.held || d.isr == nil || len(d.latched) == 0 {
		return nil, 0
	}
	if left == 0 {
		d.stats.Storms++
		return nil, 0
	}
	message = d.latched[0]
	d.latched = append(d.latched[:0], d.latched[1:]...)
	d.inISR = true
	d.stats.Interrupts++
	return d.isr, message
}

func (d *Device) beginDPC() func(*ddi.Thread) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inDPC || d.dpc == nil || !d.queued {
		return nil
	}
	d.queued, d.inDPC = false, true
	d.stats.DPCs++
	return d.dpc
}

// deliverable reports whether a Deliver at the level of the thread has something
// to do.
func (d *Device) deliverable(t *ddi.Thread) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	isr := !d.inISR && !d.held && d.isr != nil && len(d.latched) > 0
	dpc := !d.inDPC && d.dpc != nil && d.queued
	return isr && t.IRQL() < ddi.DIRQL || dpc && t.IRQL() < ddi.DispatchLevel
}

// latch latches a message. Each vector has one pending bit, as in the interrupt
// request register of a local APIC (Intel SDM volume 3, section "Local APIC State,
// IRR"): a message merges with one that is not yet delivered.
func (d *Device) latch(message uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if message >= uint32(d.info.Messages) {
		d.stats.Spurious++
		return
	}
	d.stats.Messages++
	if d.observer != nil {
		d.observer.Arrived(message)
	}
	if slices.Contains(d.latched, int(message)) {
		d.stats.Merged++
		return
	}
	d.latched = append(d.latched, int(message))
}
