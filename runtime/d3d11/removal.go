package d3d11

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A loss is how the kernel lost the GPU.
type loss struct {
	reason ddi.HRESULT
	text   string
	cause  error // from Config.Err, or nil
}

// lose remembers that a thunk reported the GPU as lost. The first report counts.
func (d *Device) lose(thunk string, s ddi.Status, reason ddi.HRESULT) {
	if d.loss.Load() != nil {
		return
	}
	l := &loss{reason: reason, text: fmt.Sprintf("%s of the kernel returned %v", thunk, s)}
	if d.kernelErr != nil {
		l.cause = d.kernelErr(d.km)
	}
	d.loss.CompareAndSwap(nil, l)
}

// removeLost removes the device because the GPU was lost, as the kernel knows,
// or else as text says.
func (d *Device) removeLost(k *call, text string) {
	if l := d.loss.Load(); l != nil {
		d.remove(k, l.reason, text+": "+l.text, l.cause)
		return
	}
	d.remove(k, ddi.DXGIDeviceRemoved, text, nil)
}

// removeBroken removes the device because the driver broke its contract.
func (d *Device) removeBroken(k *call, format string, args ...any) {
	d.remove(k, ddi.DXGIInternalError, fmt.Sprintf(format, args...), nil)
}

// remove removes the device. The first reason is kept. k is the call in whose
// function the reason was found, or nil.
func (d *Device) remove(k *call, reason ddi.HRESULT, text string, cause error) {
	m, breaks := d.setRemoved(reason, text, cause)
	switch {
	case !breaks:
	case k != nil && k.running:
		k.breaks = append(k.breaks, m)
	default:
		d.queue.breakOn(m)
	}
}

// setRemoved is remove without a break. It returns the message and reports
// whether the caller must break on it.
func (d *Device) setRemoved(reason ddi.HRESULT, text string, cause error) (m Message, breaks bool) {
	if d.removal.Load() != nil {
		return m, false
	}
	e := &Error{HRESULT: reason, Call: "GetDeviceRemovedReason", Text: text, cause: cause}
	if !d.removal.CompareAndSwap(nil, e) {
		return m, false
	}
	m = Message{CategoryExecution, SeverityError, MessageDeviceRemovalNotAtFault, e.Error()}
	if reason == ddi.DXGIDeviceHung {
		m.ID = MessageDeviceRemovalPossiblyAtFault
	}
	return m, d.queue.store(m)
}

// removed reports whether the device was removed.
func (d *Device) removed() bool { return d.removal.Load() != nil || d.halted() }

// halted removes the device if the system was stopped, and reports whether it was.
func (d *Device) halted() bool {
	if d.stopped == nil {
		return false
	}
	err := d.stopped()
	if err != nil {
		d.Stop(err)
	}
	return err != nil
}

// gone returns the error of a call on a removed device.
func (d *Device) gone(k *call, call string) error {
	return d.failed(k, call, ddi.DXGIDeviceRemoved, d.goneProblem(), d.removal.Load())
}

// goneProblem is why a call is dropped on a removed device.
func (d *Device) goneProblem() problem {
	return problem{MessageDeviceRemoved, "the device is removed"}
}

// GetDeviceRemovedReason returns nil while the device works. Afterwards it
// returns an [*Error] with the result DXGIDeviceHung (the GPU faulted or stopped
// responding), DXGIDeviceRemoved (the GPU was lost or the device closed) or
// DXGIInternalError (the driver broke its contract, or Stop was called). The
// error names the function of the driver, or wraps the error of Config.Err or
// the cause that Stop got. The first reason is kept.
func (d *Device) GetDeviceRemovedReason() error {
	if !d.removed() {
		return nil
	}
	return d.removal.Load()
}

// Stop removes the device, as if the driver had broken its contract. A monitor
// of the driver calls it when it finds a mistake. cause, which may be nil, is
// wrapped by the error of GetDeviceRemovedReason. On a removed device Stop does
// nothing. It may be called from any goroutine, and within a function of the
// driver. Its message in the InfoQueue does not call Config.Break.
func (d *Device) Stop(cause error) {
	d.setRemoved(ddi.DXGIInternalError, "the device was stopped", cause)
}
