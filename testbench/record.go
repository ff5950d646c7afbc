package testbench

import (
	"cmp"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/cmdbuf"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/sanitize"
)

// observeBoard makes an emulated board tell the log what its GPU does.
func (s *System) observeBoard(o *Options) {
	if o.Record == nil && s.sanitizer == nil {
		return
	}
	if o.Record != nil {
		o.Board.Watch = nil // this package sees more
		o.Board.Link = s.incidents.Incident
	}
	see := o.Board.Observe
	o.Board.Observe = func(seen boards.Observation) {
		if see != nil {
			see(seen)
		}
		if s.recorder != nil {
			s.recorder.Observe(seen)
		}
		if s.sanitizer != nil && seen.Desc.Op == dma.None {
			s.sanitizer.Observe(seen)
		}
	}
}

// record begins the log of a board that is open.
func (s *System) record(selector string, o *Options) error {
	if o.Record == nil {
		return nil
	}
	h := events.HeaderOf(selector, s.clock.Hz())
	h.TdrDelay = cmp.Or(o.TdrDelay, dxgkrnl.DefaultTdrDelay(h.Hz))
	sink, err := o.Record(h)
	if err != nil {
		return err
	}
	s.recorder = events.New(sink, h, s.clock.Now)
	s.recorder.Memory(s.machine.PeekMem)
	if !h.Observed {
		s.recorder.Fetches()
		s.fetches = true
	}
	s.incidents.Begin(s.recorder)
	text := o.Log
	o.Log = func(line string) {
		s.recorder.Text(line)
		if text != nil {
			text(line)
		}
	}
	return nil
}

// notOpened begins the log of a board that could not be opened, with the incidents of its link. The error of the opening
// is that of the system, so an error of the log is not returned.
func (s *System) notOpened(selector string, o *Options) {
	if o.Record == nil {
		return
	}
	if sink, err := o.Record(events.HeaderOf(selector, 0)); err == nil {
		s.incidents.NotOpened(sink)
	}
}

// Injects notes in the log, if there is one, that the caller injects a fault: see events.Recorder.Inject.
func (s *System) Injects(device ddi.KMHandle, name string, timeout, fault, stop bool) {
	if s.recorder != nil {
		s.recorder.Inject(device, name, timeout, fault, stop)
	}
}

// endRecord writes the events that are left. The sink keeps its error.
func (s *System) endRecord() {
	if s.recorder != nil {
		s.recorder.Flush()
	}
}

// found notes a broken rule.
func (s *System) found(v *verifier.Violation, stops bool) {
	if s.recorder != nil {
		s.recorder.Broken(v, stops)
	}
}

// newTrace returns the trace for the log and for o.DDI, or nil if there is neither.
func (s *System) newTrace(o Options) *verifier.Trace {
	switch {
	case s.recorder == nil && o.DDI == nil:
		return nil
	case s.recorder == nil:
		return verifier.NewTrace(o.DDI, s.clock.Now)
	}
	var failed error
	if o.DDI != nil {
		_, failed = o.DDI.Write(verifier.TraceHeader())
	}
	return verifier.NewTraceFunc(func(t *ddi.Thread, f *verifier.Func, enter bool, line []byte) error {
		number := uint64(0)
		if enter && s.monitor != nil {
			number = s.monitor.Number(t)
		}
		s.recorder.DDI(t, f, enter, number, line)
		if o.DDI != nil && failed == nil {
			_, failed = o.DDI.Write(line)
		}
		return failed
	}, s.clock.Now)
}

// hook returns the hook of the trace and of the log, with another one or without.
func (s *System) hook(other verifier.Hook) verifier.Hook {
	var all []verifier.Hook
	if s.trace != nil {
		all = append(all, s.trace)
	}
	if s.recorder != nil || s.sanitizer != nil {
		all = append(all, s.followBuffers())
	}
	if other != nil {
		all = append(all, other)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return verifier.Hooks(all...)
}

// followBuffers returns the hook that follows command buffers.
func (s *System) followBuffers() verifier.Hook {
	var to cmdbuf.Listener
	if s.recorder != nil {
		to.Wrote = s.recorder.Emitted
	}
	if s.sanitizer != nil {
		to.Renders, to.Allocated, to.Mapped = s.sanitizer.Render, s.sanitizer.Allocated, s.sanitizer.Mapped
	}
	return cmdbuf.New(to)
}

// observeKernel returns the observer of the graphics kernel, or nil.
func (s *System) observeKernel(lost func(reason, state string)) func(*ddi.Thread, dxgkrnl.Event) {
	seen := s.observed()
	if lost == nil {
		return seen
	}
	return func(t *ddi.Thread, e dxgkrnl.Event) {
		if e.Kind == dxgkrnl.EventReset || e.Kind == dxgkrnl.EventStop {
			reason, state, _ := strings.Cut(e.Text, "\n")
			lost(reason, state)
		}
		if seen != nil {
			seen(t, e)
		}
	}
}

// observed returns the observer for the log and the sanitizer, or nil.
func (s *System) observed() func(*ddi.Thread, dxgkrnl.Event) {
	switch {
	case s.sanitizer == nil && s.recorder == nil:
		return nil
	case s.recorder == nil:
		return s.sanitizer.Kernel
	}
	rated, _ := bus.As[boards.Rated](s.link)
	return func(t *ddi.Thread, e dxgkrnl.Event) {
		switch {
		case rated != nil && e.Kind == dxgkrnl.EventWaitEnd:
			s.recorder.Rate(rated.BytesPerSecond())
		case e.Kind == dxgkrnl.EventRestart:
			s.recorder.LinkUp(t)
		}
		s.recorder.Kernel(t, e)
		if s.sanitizer != nil {
			s.sanitizer.Kernel(t, e)
		}
	}
}

// observeAPI returns the observer of the API, or nil.
func (s *System) observeAPI() d3d11.Observer {
	if s.recorder == nil {
		return nil
	}
	return s.recorder
}

// observeDevice makes the device tell each access of the host to it, to the log and to the sanitizer.
func (s *System) observeDevice() {
	switch {
	case s.sanitizer != nil:
		s.device.Observe(registers{s.recorder, s.sanitizer})
	case s.recorder != nil:
		s.device.Observe(s.recorder)
	}
}

// vramBAR is the BAR of the aperture to VRAM.
const vramBAR = 2

// registers tells the sanitizer the writes of registers and of VRAM, answers to reads, and a link that is down. The recorder may be nil.
type registers struct {
	*events.Recorder
	sanitizer *sanitize.Sanitizer
}

// Accessed implements hal.Observer.
func (r registers) Accessed(t *ddi.Thread, a hal.Access) {
	switch {
	case errors.Is(a.Err, bus.ErrLinkDown):
		r.sanitizer.LinkDown()
	case a.Err != nil && a.Write && a.BAR == vramBAR:
		r.sanitizer.Failed(a.Offset, len(a.Data))
	case a.Err != nil:
	case !a.Write:
		r.sanitizer.Answered(t)
	case a.BAR == vramBAR:
		r.sanitizer.Memory(t, a.Offset, a.Data)
	case a.BAR == 0 && len(a.Data) == 4:
		r.sanitizer.Register(t, a.Offset, binary.LittleEndian.Uint32(a.Data))
	}
	if r.Recorder != nil {
		r.Recorder.Accessed(t, a)
	}
}

// Arrived implements hal.Observer.
func (r registers) Arrived(vector uint32) {
	if r.Recorder != nil {
		r.Recorder.Arrived(vector)
	}
}

// observeMemory makes the machine tell each access of the device to memory: check gets the
// writes.
func (s *System) observeMemory(check func(addr uint64, p []byte)) {
	switch read := s.sanitizer; {
	case read != nil && s.fetches:
		s.machine.ObserveReads(func(addr uint64, p []byte) {
			s.recorder.Read(addr, p)
			read.Read(addr, p)
		})
	case read != nil:
		s.machine.ObserveReads(read.Read)
	case s.fetches:
		s.machine.ObserveReads(s.recorder.Read)
	}
	s.machine.ObserveWrites(s.deviceWrote(check))
	if s.sanitizer != nil || s.recorder != nil {
		s.machine.ObserveRefused(s.deviceRefused)
	}
}

// deviceRefused is told each access of the device to an address without memory.
func (s *System) deviceRefused(addr uint64, n int, write bool) {
	if s.recorder != nil {
		s.recorder.Refused(addr, n, write)
	}
	if s.sanitizer != nil {
		s.sanitizer.Refused(addr, n, write)
	}
}

// deviceWrote returns what is told each write of the device to memory: check, and the log.
func (s *System) deviceWrote(check func(addr uint64, p []byte)) func(addr uint64, p []byte) {
	if s.recorder == nil && s.sanitizer == nil {
		return check
	}
	return func(addr uint64, p []byte) {
		if check != nil {
			check(addr, p)
		}
		if s.recorder != nil {
			s.recorder.Wrote(addr, p)
		}
		if s.sanitizer != nil {
			s.sanitizer.Wrote(addr, p)
		}
	}
}
