package hal

import "github.com/hilgpu/hilgpu/runtime/ddi"

// SetInterrupt sets the interrupt service routine, called at DIRQL with the
// message number, and the deferred procedure call, called at DISPATCH_LEVEL.
// Messages latched without an ISR are kept for the next one. If both are nil,
// the interrupt is disconnected.
func (d *Device) SetInterrupt(isr func(t *ddi.Thread, message int), dpc func(t *ddi.Thread)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isr, d.dpc = isr, dpc
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

// Deliver calls the ISR for each latched message if the thread's IRQL is below
// DIRQL, and then the queued DPC if it is below DISPATCH_LEVEL. An interrupted
// DPC finishes first. A DPC that is queued while it runs runs again.
func (d *Device) Deliver(t *ddi.Thread) {
	d.deliverMessages(t)
	for t.IRQL() < ddi.DispatchLevel {
		dpc := d.beginDPC()
		if dpc == nil {
			return
		}
		d.runDPC(t, dpc)
		d.deliverMessages(t)
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

func (d *Device) deliverMessages(t *ddi.Thread) {
	for t.IRQL() < ddi.DIRQL {
		isr, message := d.beginISR()
		if isr == nil {
			return
		}
		d.runISR(t, isr, message)
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
// deliver.
func (d *Device) beginISR() (isr func(*ddi.Thread, int), message int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inISR || d.isr == nil || len(d.latched) == 0 {
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

// latch latches a message.
func (d *Device) latch(message uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if message >= uint32(d.info.Messages) {
		d.stats.Spurious++
		return
	}
	d.stats.Messages++
	d.latched = append(d.latched, int(message))
}
