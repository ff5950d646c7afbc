// Package inproc connects a PCIe function in the same process. It is a
// clock-by-clock model of the wire between the function's ports and the host.
//
// Each direction is one queue. Data leaves it Latency clocks after it entered
// at the earliest, and at most BytesPerClock bytes per clock, counted in beats
// of 8 bytes; headers are free. A device read is answered from bus.Host in the
// clock in which it arrives; a device write reaches bus.Host when its last beat
// has arrived.
//
// The order is PCIe's (PCIe 3.0 §2.4.1). Upstream traffic stays in the order in
// which the function sent it, so an interrupt arrives after the data it
// announces, and a completion after the writes before it. So does downstream
// traffic, with one exception that avoids a deadlock: a completion may pass a
// read or a configuration request that the function does not accept yet.
//
// Time passes only inside a Link or Clock call, and only as much as the call
// needs. While the wire is empty and the function idle, clocks are skipped. A
// Runner that may be idle runs by itself.
package inproc

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// ErrOptions is returned, wrapped, for options out of range.
var ErrOptions = errors.New("inproc: bad options")

// Options configure the wire. The zero value is the default.
type Options struct {
	Latency       int    // clocks in one direction, 1 to 65536; 0: 16
	BytesPerClock int    // per direction, 1 to 64; 0: 8
	Hz            uint64 // clocks per second; 0: 100 MHz
	Timeout       uint64 // completion time-out in clocks; 0: 1<<20
	Tags          int    // host reads in flight, 1 to 64; 0: 8

	// Observer, if not nil, is called with every transaction at the host's end
	// of the wire, on the goroutine of the Link or Clock call. It must not call
	// the link.
	Observer func(Transaction)
}

// A Runner is a device that runs many clocks in one call faster than one by
// one, although it cannot predict how long it will send nothing. The link calls
// Run while the wire is empty.
type Runner interface {
	port.Device

	// Run runs up to n clocks without input, n at least 1, and returns the
	// number of clocks run. It stops after a clock in which the device begins
	// to offer a request, a beat or a completion, and may stop earlier. If the
	// device offers one already, Run returns 0.
	Run(n uint64) uint64
}

// A device write in [messageBase, messageEnd) is a message.
const (
	messageBase = 0xfee00000
	messageEnd  = 0xfef00000
)

// maxWait is the longest Wait, in clocks, so that time cannot wrap.
const maxWait = 1 << 48

// Link is the host's end: a bus.Link and a bus.Clock.
type Link struct {
	dev    port.Device
	runner Runner   // dev if it implements Runner, else nil
	host   bus.Host // nil in a fork
	opt    Options

	visits  sync.Mutex             // held in Visit
	visitor atomic.Pointer[func()] // of Visit, until it is called

	mu     sync.Mutex // held in every call; guards the fields below
	now    uint64     // time in clocks
	closed bool
	down   error // first cause, wraps bus.ErrLinkDown
	event  bool  // a message has arrived since the last Wait returned
	bars   function
	stats  Stats

	wire     wire
	requests requests
	receiver receiver
	word     [8]byte // data of a configuration request
}

var (
	_ bus.Link  = (*Link)(nil)
	_ bus.Clock = (*Link)(nil)
)

// New connects dev to host. The device's clock is the link's clock. New fails
// with ErrOptions.
func New(dev port.Device, host bus.Host, opt Options) (*Link, error) {
	for _, o := range []struct {
		name string
		v    *int
		def  int
		hi   int
	}{
		{"latency", &opt.Latency, 16, 65536},
		{"bytes per clock", &opt.BytesPerClock, 8, 64},
		{"tags", &opt.Tags, 8, 64},
	} {
		if *o.v == 0 {
			*o.v = o.def
		}
		if *o.v < 1 || *o.v > o.hi {
			return nil, fmt.Errorf("%w: %s %d, want 1 to %d", ErrOptions, o.name, *o.v, o.hi)
		}
	}
	if opt.Hz == 0 {
		opt.Hz = 100_000_000
	}
	if opt.Timeout == 0 {
		opt.Timeout = 1 << 20
	}
	runner, _ := dev.(Runner)
	return &Link{dev: dev, runner: runner, host: host, opt: opt, wire: newWire(opt)}, nil
}

// Now returns the clocks since New.
func (l *Link) Now() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Hz returns the number of clocks per second.
func (l *Link) Hz() uint64 { return l.opt.Hz }

// Wait runs clocks until a message has arrived since the last Wait returned, in
// any call, or until Now is at least deadline.
func (l *Link) Wait(deadline uint64) (event bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	deadline = min(deadline, l.now+maxWait)
	if err := l.usable(); err != nil {
		return false, err
	}
	for !l.event && l.now < deadline && l.down == nil {
		l.visit()
		l.advance(deadline)
	}
	event, l.event = l.event, false
	return event, l.down
}

// Break removes the device, like unplugging a card: a call in progress and
// every later one end with an error that wraps bus.ErrLinkDown and cause.
func (l *Link) Break(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(cause)
}

// Close releases the link; later calls return bus.ErrClosed.
func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}

// Stats returns the counts so far.
func (l *Link) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Sample calls f while no clock runs, so that f can inspect the device. f must
// not call the link.
func (l *Link) Sample(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// Visit is Sample, but does not wait for the end of a Wait, which may be long: f is then called
// between two of its clocks, on another goroutine than that of the caller.
func (l *Link) Visit(f func()) {
	l.visits.Lock()
	defer l.visits.Unlock()
	done := make(chan struct{})
	visit := func() {
		defer close(done)
		f()
	}
	l.visitor.Store(&visit)
	go l.Sample(l.visit) // in case no Wait is in progress
	<-done
}

// visit calls the visitor if there is one.
func (l *Link) visit() {
	if l.visitor.Load() == nil {
		return
	}
	if f := l.visitor.Swap(nil); f != nil {
		(*f)()
	}
}

// usable returns the reason why no call can succeed, or nil.
func (l *Link) usable() error {
	if l.closed {
		return bus.ErrClosed
	}
	return l.down
}

// fail takes the link down. The first cause stays.
func (l *Link) fail(cause error) {
	if l.down == nil {
		l.down = fmt.Errorf("%w: %w", bus.ErrLinkDown, cause)
	}
}
