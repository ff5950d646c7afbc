package boards

import (
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// A Watcher sees what passes between a host and the board that it opens.
type Watcher interface {
	// Opened is called when the board is open. If it fails, the board is closed.
	Opened(selector string, clock bus.Clock) error

	// Accessed is called after a read of a BAR, before a write, and again after a write that
	// failed. p is valid during the call, and undefined after a read that failed.
	Accessed(write bool, bar int, off uint64, p []byte, err error)

	// Wrote is called after a write of the device, to memory or of an interrupt message,
	// on the goroutine that serves the device. It must not call the link.
	Wrote(addr uint64, p []byte)

	// Refused is called after an access of the device that the host refuses, as Wrote is: n bytes at an
	// address without memory.
	Refused(addr uint64, n int, write bool)

	// Observe is told what an emulated GPU does, as Options.Observe.
	Observe(o Observation)
}

// A failureWatcher is a Watcher that is told that the board could not be opened, but for a mistake in its selector. Opened
// may have been called before.
type failureWatcher interface {
	NotOpened(selector string)
}

// A linkWatcher is a Watcher that is told the incidents of the link, as Options.Link.
type linkWatcher interface {
	Incident(i datalink.Incident)
}

// watched opens a board for a watcher.
func (s scheme) watched(selector string, o opening) (bus.Link, bus.Clock, error) {
	w := o.Watch
	o.host, o.Watch = watchedHost{o.host, w}, nil
	see := o.Observe
	o.Observe = func(seen Observation) {
		if see != nil {
			see(seen)
		}
		w.Observe(seen)
	}
	if l, ok := w.(linkWatcher); ok {
		o.Link = l.Incident
	}
	link, clock, err := s.open(o)
	if err != nil {
		return nil, nil, err
	}
	if err := w.Opened(selector, clock); err != nil {
		link.Close() // the error of the watcher is the cause
		return nil, nil, err
	}
	return watchedLink{link, w}, clock, nil
}

// watchedHost is a host whose memory is watched.
type watchedHost struct {
	bus.Host
	watcher Watcher
}

// ReadMem implements bus.Host.
func (h watchedHost) ReadMem(addr uint64, p []byte) error {
	err := h.Host.ReadMem(addr, p)
	if err != nil {
		h.watcher.Refused(addr, len(p), false)
	}
	return err
}

// WriteMem implements bus.Host.
func (h watchedHost) WriteMem(addr uint64, p []byte) error {
	err := h.Host.WriteMem(addr, p)
	if err == nil {
		h.watcher.Wrote(addr, p)
	} else {
		h.watcher.Refused(addr, len(p), true)
	}
	return err
}

// PeekMem implements peeker.
func (h watchedHost) PeekMem(addr uint64, p []byte) error { return peekMem(h.Host, addr, p) }

// watchedLink is a link whose accesses are watched.
type watchedLink struct {
	bus.Link
	watcher Watcher
}

// Unwrap returns the link of the board, for bus.As.
func (l watchedLink) Unwrap() bus.Link { return l.Link }

// Read implements bus.Link.
func (l watchedLink) Read(bar int, off uint64, p []byte) error {
	err := l.Link.Read(bar, off, p)
	l.watcher.Accessed(false, bar, off, p, err)
	return err
}

// Write implements bus.Link.
func (l watchedLink) Write(bar int, off uint64, p []byte) error {
	l.watcher.Accessed(true, bar, off, p, nil)
	err := l.Link.Write(bar, off, p)
	if err != nil {
		l.watcher.Accessed(true, bar, off, p, err)
	}
	return err
}
