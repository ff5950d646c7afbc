// Package line is a serial line in virtual time with a device at its end: the
// real framing, the real link layer at both ends, and the injected faults of a
// bad line, in one process and without a goroutine. The same seed and the same
// calls give the same bytes at the same times.
//
// Time passes only inside a port's Receive and inside Dial, from event to
// event: a frame arrives, a timer of a link is due, or the device has a packet.
// The device's clock is tied to this time.
package line

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// Error kinds. ErrCut is the cause of a link that is down because the line was
// cut.
var (
	ErrOptions = errors.New("line: bad options")
	ErrCut     = errors.New("line: cut")
)

// Options configure the line. The zero value is the default, with at most the bytes
// in flight that the line carries in 64 ms.
type Options struct {
	// Baud is the rate in bits per second, with ten bits per byte, 1200 to 10^9; 0: 3000000.
	Baud int

	// Latency is the propagation time of a byte, at most one second; 0: 500 µs.
	Latency time.Duration

	// Hz is the number of device clocks per second; 0: 100 MHz.
	Hz uint64

	// Faults are injected into the frames of both directions; their seed also seeds the nonces.
	Faults fault.Config

	// Link configures both ends, except Role and Credits; zero fields are derived from the rate.
	Link datalink.Config
}

// Stats counts the traffic of the line since New. Index 0 is the host's end or
// the direction from it, 1 the board's.
type Stats struct {
	Bytes  [2]uint64 // on the wire, framing included
	Link   [2]datalink.Stats
	Frame  [2]frame.Stats // of the decoder at each end
	Fault  [2]fault.Stats
	Clocks uint64 // of the device
	Resets uint64 // sessions begun by the board
}

// The ends.
const (
	host = iota
	board
)

// Line is the line and the board at its end. Its methods are safe for
// concurrent use; see rootport.Port for those of its ports.
type Line struct {
	opt Options
	dev *endpoint.Endpoint

	mu       sync.Mutex
	now      time.Duration // since New
	rng      *rand.Rand    // of nonces
	ends     [2]end
	clocks   uint64 // device clocks
	sessions uint64 // sessions of the board's link at the last reset of dev
	resets   uint64
	arrived  packets // packets for the device that it has no room for
	held     []byte  // packet of the device that the link has no room for
	hold     bool    // the device's reads are held
	port     *port
}

// New returns a line to a device that has just been powered on. The board waits
// for a host; see Dial. New fails with ErrOptions, or as datalink.New does.
func New(dev *endpoint.Endpoint, opt Options) (*Line, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	l := &Line{opt: opt, dev: dev, rng: rand.New(rand.NewPCG(opt.Faults.Seed, math.MaxUint64))}
	for i, role := range []datalink.Role{datalink.Host, datalink.Board} {
		c := opt.Link
		c.Role = role
		if i == board {
			c.Observe = nil // the observer is the host's
		}
		c.Credits = datalink.Credits{{Headers: 64, Data: 64 * 16}, {Headers: 64}, {}}
		link, err := datalink.New(c)
		if err != nil {
			return nil, fmt.Errorf("line: %w", err)
		}
		l.ends[i].init(link, fault.New(opt.Faults, uint64(i)), opt.Link.MaxPacket)
	}
	l.do(board, func(link *datalink.Link, out *datalink.Output) { link.Open(l.rng.Uint32(), l.now, out) })
	return l, nil
}

// complete sets defaults and checks the options.
func (o *Options) complete() error {
	if o.Baud == 0 {
		o.Baud = 3_000_000
	}
	if o.Latency == 0 {
		o.Latency = 500 * time.Microsecond
	}
	if o.Hz == 0 {
		o.Hz = 100_000_000
	}
	switch {
	case o.Baud < 1200 || o.Baud > 1e9:
		return fmt.Errorf("%w: %d baud, want 1200 to 1000000000", ErrOptions, o.Baud)
	case o.Latency < 0 || o.Latency > time.Second:
		return fmt.Errorf("%w: latency %v, want at most 1s", ErrOptions, o.Latency)
	case o.Hz > 1e12:
		return fmt.Errorf("%w: %d Hz, want at most 10^12", ErrOptions, o.Hz)
	}
	o.completeLink()
	return nil
}

// completeLink sets the values that depend on the rate: on a slow line, neither
// a full window nor a packet before an acknowledgement may look like a loss.
func (o *Options) completeLink() {
	c := &o.Link
	if c.MaxPacket == 0 {
		c.MaxPacket = 280
	}
	one := o.span(frame.Size(largest(c.MaxPacket)))
	if c.Window == 0 {
		c.Window = 64
		for c.Window > 4 && time.Duration(c.Window)*one > 64*time.Millisecond {
			c.Window /= 2
		}
	}
	if c.AckEvery == 0 {
		c.AckEvery = max(2, c.Window/4) // at 1 no acknowledgement would wait for a frame to carry it
	}
	for _, v := range []struct {
		field *time.Duration
		d     time.Duration
	}{
		{&c.AckDelay, max(time.Millisecond, o.span(32))},
		{&c.ReplayMin, 2*max(time.Millisecond, o.span(32)) + 2*one + 2*o.Latency},
		{&c.ReplayMax, max(50*time.Millisecond, time.Duration(c.Window)*one) + 4*o.Latency + 2*one},
		{&c.KeepAlive, max(100*time.Millisecond, 4*one) + 2*o.Latency},
		{&c.HelloEvery, max(50*time.Millisecond, o.span(160)) + 2*o.Latency},
	} {
		if *v.field == 0 {
			*v.field = v.d
		}
	}
	if c.OpenTimeout == 0 {
		c.OpenTimeout = max(time.Second, 20*c.HelloEvery)
	}
}

// largest returns the size of the largest frame, in bytes.
func largest(maxPacket int) int {
	return datalink.LargestFrame(maxPacket)
}

// span returns how long n bytes take on the line.
func (o *Options) span(n int) time.Duration {
	return time.Duration((uint64(n)*10*uint64(time.Second) + uint64(o.Baud) - 1) / uint64(o.Baud))
}

// Dial restores the line if it is cut, begins a session and returns the host's
// port. The port of an earlier session goes down with bus.ErrStale. Dial fails
// with bus.ErrLinkDown and the cause, such as datalink.ErrOpen.
func (l *Line) Dial() (rootport.Port, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.port != nil {
		l.port.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, bus.ErrStale))
	}
	l.do(host, func(link *datalink.Link, out *datalink.Output) { link.Close(out) })
	for i := range l.ends {
		l.ends[i].restore()
	}
	p := &port{line: l, start: l.now}
	l.port = p
	l.do(host, func(link *datalink.Link, out *datalink.Output) { link.Open(l.rng.Uint32(), l.now, out) })
	for p.down == nil && l.ends[host].link.State() != datalink.Up {
		l.step(math.MaxInt64)
	}
	if p.down != nil {
		return nil, p.down
	}
	return p, nil
}

// Cut cuts the line in both directions, in the middle of bytes in flight. Both
// ends detect it by the silence. The line stays cut until Dial.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut()
}

// Unplug cuts the line and notifies the host, whose port goes down with ErrCut.
func (l *Line) Unplug() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unplug()
}

// cut delivers the bytes that have already arrived, and drops the rest.
func (l *Line) cut() {
	for i := range l.ends {
		if part := l.ends[i].breakWire(l.now, &l.opt); part != nil {
			l.feed(1-i, part)
		}
	}
}

func (l *Line) unplug() {
	l.cut()
	if l.port != nil {
		l.port.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, ErrCut))
	}
}

// Stats returns the counters.
func (l *Line) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Clocks: l.clocks, Resets: l.resets}
	for i := range l.ends {
		e := &l.ends[i]
		s.Bytes[i], s.Link[i], s.Frame[i], s.Fault[i] = e.bytes, e.link.Stats(), e.dec.Stats(), e.inj.Stats()
	}
	return s
}
