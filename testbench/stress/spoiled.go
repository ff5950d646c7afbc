package stress

import (
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// A spoiled submission is one of a device with a fault of its own.
type spoiled struct {
	fault Fault
	at    mark        // its last one: when it is patched again it has another fence
	place place       // zero: the buffer has other commands by now
	hit   func() bool // the fault has hit
	over  bool        // it was taken back before it has hit
}

// A place is the beginning of a submission in a DMA buffer. It stays the same when the submission is patched again.
type place struct {
	buffer *byte
	start  uint32
}

func placeOf(arg *kmddi.Patch) place {
	return place{&arg.DmaBuffer[0], arg.DmaBufferSubmissionStartOffset}
}

// hits is that of a fault which is in the commands.
func hits() bool { return true }

// spoil notes a fault of a submission.
func (d *device) spoil(f Fault, arg *kmddi.Patch, hit func() bool) *spoiled {
	s := &spoiled{fault: f, at: mark{arg.NodeOrdinal, arg.SubmissionFenceID}, place: placeOf(arg), hit: hit}
	d.spoiled = append(d.spoiled, s)
	return s
}

// first reports whether a submission is patched for the first time since the commands were written to its buffer.
func (d *device) first(arg *kmddi.Patch) bool {
	if _, again := d.bad[placeOf(arg)]; again {
		return false
	}
	if d.bad == nil {
		d.bad = map[place]bool{}
	}
	d.bad[placeOf(arg)] = false
	return true
}

// patched follows the submissions of a device: one that is patched again has another fence.
func (d *device) patched(arg *kmddi.Patch) {
	for _, s := range d.spoiled {
		if s.place == placeOf(arg) {
			s.at = mark{arg.NodeOrdinal, arg.SubmissionFenceID}
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
			if o.place.buffer == &buffer[0] {
				o.place = place{}
			}
		}
		maps.DeleteFunc(p.device.bad, func(at place, _ bool) bool { return at.buffer == &buffer[0] })
	}
	if p := s.bench.process(process); p != nil && p.device != nil && p.device.hanging {
		s.hung[&buffer[0]] = p.device
	} else {
		delete(s.hung, &buffer[0])
	}
}
