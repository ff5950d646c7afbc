package boards

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
)

// errNoCopy: a GPU with injected faults is not copied, since its copy would not have them.
var errNoCopy = fmt.Errorf("%w: a GPU with injected faults is not copied", bus.ErrUnsupported)

// Served returns the link to a GPU that is served, for a reader: it implements Twinned, and each access of its own
// fails with bus.ErrUnsupported, since the GPU belongs to the host at the other end. visit calls its argument
// while no clock of the GPU runs and its ports are quiet. Served fails with bus.ErrUnsupported for a GPU with injected
// faults.
func Served(e *Emulator, visit func(func()) error) (bus.Link, error) {
	if len(e.injectors) > 0 {
		return nil, errNoCopy
	}
	return &served{
		unusable: unusable{fmt.Errorf("%w: an access to a board that is served", bus.ErrUnsupported)},
		dev:      e, visit: visit,
	}, nil
}

// served is the link of Served.
type served struct {
	unusable
	dev   *Emulator
	visit func(func()) error
	twin  *twin // nil before the first use; guarded by visit
}

// Twin implements Twinned. If the ports of the GPU are not quiet in time, the link of the copy fails. The memory
// of the host is at the other end of the link.
func (s *served) Twin(f func(bus.Link, func(uint64, []byte) error)) {
	memory := func(addr uint64, _ []byte) error {
		return fmt.Errorf("%w: host memory at %#x, which the host of a served board has", bus.ErrUnsupported, addr)
	}
	err := s.visit(func() {
		if s.twin == nil {
			s.twin = &twin{GPU: s.dev.gpu.Clone()}
		}
		s.twin.Follow(s.dev.gpu)
		defer s.twin.leave()
		link, err := inproc.New(s.twin, nil, inproc.Options{Hz: s.dev.hz})
		if err != nil {
			f(unusable{err}, memory)
			return
		}
		f(&copied{Link: link}, memory)
	})
	if err != nil {
		f(unusable{err}, memory)
	}
}

// unusable is a link that fails with an error.
type unusable struct{ err error }

// ReadConfig implements bus.Link.
func (u unusable) ReadConfig(int) (uint32, error) { return 0, u.err }

// WriteConfig implements bus.Link.
func (u unusable) WriteConfig(int, uint32) error { return u.err }

// Read implements bus.Link.
func (u unusable) Read(int, uint64, []byte) error { return u.err }

// Write implements bus.Link.
func (u unusable) Write(int, uint64, []byte) error { return u.err }

// Close implements bus.Link.
func (u unusable) Close() error { return nil }

// copied is the link to a copy of a GPU.
type copied struct {
	*inproc.Link
	enabled bool
}

// Read implements bus.Link. BARs that the host has not placed get addresses, in the copy.
func (c *copied) Read(bar int, off uint64, p []byte) error {
	if !c.enabled {
		if _, err := regs.Open(c.Link, regs.Options{AnyMap: true}); err != nil {
			return err
		}
		c.enabled = true
	}
	return c.Link.Read(bar, off, p)
}
