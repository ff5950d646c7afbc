package stress

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// A spoiled submission is one of a device with a fault of its own.
type spoiled struct {
	fault  Fault
	at     mark        // its last one: after a preemption it gets another fence
	buffer *byte       // its DMA buffer; nil: that has other commands by now
	start  uint32      // in the buffer
	hit    func() bool // the fault has hit
	over   bool        // it was taken back before it has hit
}

// hits is that of a fault which is in the commands.
func hits() bool { return true }

// of reports whether a part of a DMA buffer is the submission.
func (s *spoiled) of(arg *kmddi.Patch) bool {
	return s.buffer == &arg.DmaBuffer[0] && s.start == arg.DmaBufferSubmissionStartOffset
}

// spoil notes a fault of a submission.
func (d *device) spoil(f Fault, arg *kmddi.Patch, hit func() bool) *spoiled {
	s := &spoiled{fault: f, at: mark{arg.NodeOrdinal, arg.SubmissionFenceID}, buffer: &arg.DmaBuffer[0], start: arg.DmaBufferSubmissionStartOffset, hit: hit}
	d.spoiled = append(d.spoiled, s)
	return s
}

// patched follows the submissions of a device: one that was preempted is submitted again with another
// fence, and one whose place in the buffer another one takes is not.
func (d *device) patched(arg *kmddi.Patch) {
	for _, s := range d.spoiled {
		switch {
		case !s.of(arg):
		case arg.Flags.Resubmission:
			s.at = mark{arg.NodeOrdinal, arg.SubmissionFenceID}
		default:
			s.buffer = nil
		}
	}
}

// explains reports whether a fault of a submission of the device ends in a loss because of e.
func (d *device) explains(e *dxgkrnl.DeviceError) bool {
	return slices.ContainsFunc(d.spoiled, func(s *spoiled) bool {
		if s.at != (mark{e.Node, e.Fence}) || s.over || !s.hit() {
			return false
		}
		switch s.fault {
		case hang: // a reset for another queue of the firmware may have ended it, and then it fails when it is submitted again
			return e.Kind == dxgkrnl.Timeout || e.Kind == dxgkrnl.Fault && d.bench.System.Queues.Use
		case HostRead: // the node has a time-out for reads, or not
			return e.Kind == dxgkrnl.Timeout || e.Kind == dxgkrnl.Fault
		}
		return e.Kind == dxgkrnl.Fault
	})
}

// written is called when a process writes its commands to a DMA buffer. The kernel does not submit the commands that were
// in it again. Their faults stay known, since a process may ask later why it has lost its device.
func (s *spoiler) written(process uint32, buffer []byte) {
	for _, p := range s.bench.processes {
		if p.device == nil {
			continue
		}
		for _, o := range p.device.spoiled {
			if o.buffer == &buffer[0] {
				o.buffer = nil
			}
		}
	}
	if p := s.bench.process(process); p != nil && p.device != nil && p.device.hanging {
		s.hung[&buffer[0]] = p.device
	} else {
		delete(s.hung, &buffer[0])
	}
}
