package events

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A Served is the log of a board that this program serves to hosts: the hosts' accesses as they reach the board, the
// device's fences and messages, what its GPU does, and the incidents of the board's end of the link. Configuration
// space is in no log.
type Served struct {
	Board
	clock  func() uint64 // of the device
	follow capture.Follower
	now    atomic.Uint64 // clock of the last packet
}

// Begin begins the log. sink takes it, and clock returns the clocks of the device; it is called on the goroutine that
// clocks it.
func (s *Served) Begin(selector string, hz uint64, sink Sink, clock func() uint64) {
	s.clock = clock
	s.r = New(sink, HeaderOf(selector, hz), s.now.Load)
	s.Link.Begin(s.r)
}

// Packet notes a packet, for serve.Options.Observer.
func (s *Served) Packet(up bool, _ time.Duration, packet []byte) {
	s.now.Store(s.clock())
	dir := capture.Down
	if up {
		dir = capture.Up
	}
	e, err := s.follow.Follow(dir, packet)
	p := &e.Packet
	switch {
	case err != nil: // the endpoint refuses it, and counts it
	case e.Space == capture.HostMemory && up && p.Kind.HasData():
		at, data := enabled(p)
		s.Wrote(e.Off+uint64(at), data)
	case e.Space == capture.HostMemory && p.IsCompletion() && p.Status != tlp.SC:
		s.Refused(e.Off, 4*e.Request.Len, false)
	case e.Space == capture.BAR && p.IsCompletion():
		s.completes(e)
	case e.Space == capture.BAR && p.Kind.HasData() && !empty(p):
		at, data := enabled(p)
		s.Accessed(true, e.BAR, e.Off+uint64(at), data, nil)
	}
}

// completes notes a read of the host. One whose completion comes in parts is noted in parts.
func (s *Served) completes(e capture.Event) {
	p := &e.Packet
	switch {
	case empty(e.Request):
	case p.Status != tlp.SC:
		s.Accessed(false, e.BAR, e.Off, nil, fmt.Errorf("%w: the device completes it with %s", bus.ErrUnsupported, p.Status))
	default:
		skip := int(p.Lower & 3)
		n, _ := p.Carries()
		s.Accessed(false, e.BAR, e.Off+uint64(skip), p.Data[skip:skip+n], nil)
	}
}

// empty reports whether a request has no enabled byte, as that of a flush.
func empty(p *tlp.Packet) bool { return p.Len == 1 && p.First&15 == 0 }

// enabled returns the data of a write from the first enabled byte to the last, and its offset.
func enabled(p *tlp.Packet) (int, []byte) {
	at := tlp.Offset(p.First)
	return at, p.Data[at : at+tlp.ByteCount(p.Len, p.First, p.Last)]
}
