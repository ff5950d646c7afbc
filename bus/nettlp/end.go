package nettlp

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// An end is what both ends have in common. Its methods are called by one goroutine at a
// time, but now, interrupt, close and stats.
type end struct {
	*sockets
	started time.Time
	awake   atomic.Bool // interrupt was called
	number  uint16      // of the next datagram
	out     []byte
	in      tlp.Packet // decoded by cut
	queue   [][]byte   // packets for Receive, in order
	given   []byte     // packet that Receive returned last
	later   []datagram // of gather

	// packet, if not nil, is called with each packet that crosses the wire.
	packet func(sent bool, at time.Duration, packet []byte)

	mu    sync.Mutex // guards count
	count Stats
}

// ports returns n ports from first on.
func ports(first, n int) (all []int) {
	for i := range n {
		all = append(all, first+i)
	}
	return all
}

// open opens the sockets of an end: those of all requests and completions.
func (e *end) open(ends Ends) (Ends, error) {
	if !ends.Peer.Is4() {
		return ends, fmt.Errorf("%w: %v, want an IPv4 address", ErrAddress, ends.Peer)
	}
	var err error
	if !ends.Local.IsValid() {
		if ends.Local, err = localTo(ends.Peer); err != nil {
			return ends, err
		}
	}
	e.started = time.Now()
	e.sockets, err = openSockets(ends, append(ports(DevicePorts, deviceTags), ports(HostPorts, hostTags)...))
	return ends, err
}

func (e *end) now() time.Duration { return time.Since(e.started) }

// cross sends a packet to the port of a tag.
func (e *end) cross(first int, tag uint16, packet []byte) {
	e.out = Append(e.out[:0], e.number, e.now(), packet)
	e.number++
	e.send(portOf(first, tag), e.out)
	e.note(func(s *Stats) { s.Sent++ })
	if e.packet != nil {
		e.packet(true, e.now(), packet)
	}
}

// note changes the counters.
func (e *end) note(change func(s *Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.count)
}

// Stats returns the counts so far.
func (e *end) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

func (e *end) refuse(why Refusal, format string, args ...any) {
	e.note(func(s *Stats) { s.refuse(why, format, args...) })
}

// cut decodes the packet of a datagram at a port into e.in. It reports false for one
// that is refused.
func (e *end) cut(port int, d []byte) (packet []byte, ok bool) {
	e.note(func(s *Stats) { s.Received++ })
	packet, err := Cut(d)
	if err == nil {
		err = e.in.Decode(packet)
	}
	if err != nil {
		e.refuse(Malformed, "%v", err)
		return nil, false
	}
	first := HostPorts
	if port < HostPorts {
		first = DevicePorts
	}
	if port != portOf(first, e.in.Tag) {
		e.refuse(WrongPort, "%v at port %#x", &e.in, port)
		return nil, false
	}
	if e.packet != nil {
		e.packet(false, e.now(), packet)
	}
	return packet, true
}

// push encodes a packet and adds it to the queue, whose length the sockets bound: it is
// emptied before they are read.
func (e *end) push(p *tlp.Packet) {
	if b, err := p.Append(nil); err == nil { // p was decoded, or is a completion of such a one
		e.queue = append(e.queue, b)
	}
}

// A datagram has arrived at a port.
type datagram struct {
	port int
	from netip.AddrPort
	data []byte
}

// gather takes the datagrams that wait, after at most the given time, and passes the
// writes to each before the others.
//
// A datagram can arrive at one port while another is read. So the ports are read once
// more for the writes that were sent before what the first pass has found; the others of
// that pass wait for the next call.
func (e *end) gather(timeout time.Duration, each func(d datagram)) (refused bool, err error) {
	if len(e.later) > 0 {
		timeout = 0
	}
	others := e.later
	e.later = nil
	writes, more, refused, err := e.sort(nil, timeout)
	if others = append(others, more...); len(others) > 0 && err == nil {
		writes, e.later, refused, err = e.sort(writes, 0)
	}
	for _, d := range append(writes, others...) {
		each(d)
	}
	return refused, err
}

// sort takes the datagrams that wait. It appends writes to the given ones.
func (e *end) sort(writes []datagram, timeout time.Duration) (all, others []datagram, refused bool, err error) {
	refused, err = e.wait(timeout, func(port int, from netip.AddrPort, b []byte) {
		d := datagram{port, from, append([]byte(nil), b...)}
		if len(b) > headerLen && tlp.KindOf(b[headerLen]).Class() == tlp.Posted {
			writes = append(writes, d)
		} else {
			others = append(others, d)
		}
	})
	return writes, others, refused, err
}

// next returns the first packet of the queue, or nil.
func (e *end) next() []byte {
	if len(e.queue) == 0 {
		return nil
	}
	e.given, e.queue = e.queue[0], e.queue[1:]
	return e.given
}

// Flush does nothing: Send leaves nothing to be written.
func (e *end) Flush() {}

// Interrupt makes the Receive in progress, or else the next one, return nil and no error
// before its time-out. A packet that has arrived is returned first.
func (e *end) Interrupt() {
	e.awake.Store(true)
	e.interrupt()
}
