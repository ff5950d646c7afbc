// Package rootport is the host's side of the PCIe transaction layer: it turns
// the calls of bus.Link and bus.Clock into transaction-layer packets for a Port,
// and serves what the device asks of bus.Host.
//
// All of it happens on the goroutine that is inside a call: every wait of a call
// takes packets from the Port, so that the device's reads are answered while the
// host's own wait for room. Time is the Port's.
//
// Nothing that a device sends is believed. A packet that breaks a rule is
// refused: dropped, counted in Stats under a Reason, and answered where the
// specification says so. A completion that does not fit its request fails the
// request, and its data is not used.
//
// A tag whose request timed out or failed so is not used again before its
// answer has come after all, or a new session has begun (PCIe 3.0 §2.8): no late
// completion can be taken for that of another request.
//
// The host is function 00:00.0, the device 01:00.0.
package rootport

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// The kinds of error that package bus does not have. ErrPoisoned is a
// bus.ErrAbort: the completer says that the data is damaged. ErrProtocol is a
// completion that does not fit its request.
var (
	ErrOptions  = errors.New("rootport: bad options")
	ErrPoisoned = fmt.Errorf("%w: poisoned data", bus.ErrAbort)
	ErrProtocol = errors.New("rootport: device broke the protocol")
)

// A Port carries packets to and from one device, exactly once and in order,
// until it is down. Now and Close may be called from any goroutine, the others
// from one at a time.
type Port interface {
	// Send queues a copy of a packet. It fails with datalink.ErrFull if the
	// queue of the packet's class is full, with datalink.ErrSize, and with the
	// cause, which wraps bus.ErrLinkDown, if the port is down.
	Send(packet []byte) error

	// Receive returns the next packet, which is valid until the next Receive.
	// It returns nil and no error at the time-out, or earlier when a Send that
	// was full may be tried again. When the port is down and all packets that
	// arrived before are taken, it fails with the cause.
	Receive(timeout time.Duration) ([]byte, error)

	// Now returns the time since the port was opened. It goes on when the port
	// is down or closed.
	Now() time.Duration

	// Close ends the port, and a Receive that waits. Close is idempotent.
	Close() error
}

// Options of a root port. The zero value is the default.
type Options struct {
	// Timeout is how long a request may go unanswered, and a write may wait for
	// the port to take a packet; 0: 1 s. A line on which what a port may queue
	// takes as long needs more.
	Timeout time.Duration

	// Tags is the number of reads in flight, 1 to 2^TagBits; 0: 8.
	Tags int

	// TagBits is 8, or 5 without extended tags (PCIe 3.0 §2.2.6.2); 0: 8.
	TagBits int

	// MaxPayload is the most data of one packet in either direction, in bytes,
	// a power of two from 128 to 4096; 0: 128. A packet to the device also obeys
	// its Device Control register, which is 128 after reset.
	MaxPayload int

	// MaxReadRequest is the most that one read asks for, in bytes, a power of
	// two from 128 to 4096; 0: 128.
	MaxReadRequest int

	// Observer, if not nil, sees every packet that crosses the port, on the
	// goroutine of the call; at is the time of Now. It must neither keep the
	// packet nor call the root port.
	Observer func(dir Dir, at time.Duration, packet []byte)
}

// The functions at both ends.
const (
	hostID   tlp.ID = 0
	deviceID tlp.ID = 0x0100
)

// RootPort is a bus.Link and a bus.Clock whose tick is a nanosecond.
type RootPort struct {
	dial func() (Port, error)
	host bus.Host
	opt  Options

	closing atomic.Bool
	portMu  sync.Mutex // of port, which only changes while mu is held too
	port    Port

	mu    sync.Mutex // of everything below, and held in every call but Close
	base  time.Duration
	down  error // first cause, wraps bus.ErrLinkDown
	event bool  // a message arrived since Wait returned last
	stats Stats

	function function
	requests requests
	answers  answers
	in, out  tlp.Packet
	buf      []byte // the packet of the call
	answer   []byte // the completion that is sent
	word     [4]byte
}

var (
	_ bus.Link  = (*RootPort)(nil)
	_ bus.Clock = (*RootPort)(nil)
)

// New dials and returns a root port on what dial returned. It fails with
// ErrOptions, or as dial does.
func New(dial func() (Port, error), host bus.Host, opt Options) (*RootPort, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	port, err := dial()
	if err != nil {
		return nil, err
	}
	r := &RootPort{dial: dial, host: host, opt: opt, port: port}
	r.stats.Sessions = 1
	r.requests.init(opt)
	return r, nil
}

// complete sets defaults and checks.
func (o *Options) complete() error {
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	for _, v := range []struct {
		p   *int
		def int
	}{{&o.Tags, 8}, {&o.TagBits, 8}, {&o.MaxPayload, 128}, {&o.MaxReadRequest, 128}} {
		if *v.p == 0 {
			*v.p = v.def
		}
	}
	switch {
	case o.Timeout < 0:
		return fmt.Errorf("%w: time-out %v", ErrOptions, o.Timeout)
	case o.TagBits != 5 && o.TagBits != 8:
		return fmt.Errorf("%w: tags of %d bits, want 5 or 8", ErrOptions, o.TagBits)
	case o.Tags < 1 || o.Tags > 1<<o.TagBits:
		return fmt.Errorf("%w: %d tags, want 1 to %d", ErrOptions, o.Tags, 1<<o.TagBits)
	case !validSize(o.MaxPayload) || !validSize(o.MaxReadRequest):
		return fmt.Errorf("%w: payload of %d bytes, reads of %d, want powers of two from 128 to 4096", ErrOptions, o.MaxPayload, o.MaxReadRequest)
	}
	return nil
}

func validSize(n int) bool { return n >= 128 && n <= 4096 && n&(n-1) == 0 }

// Now returns the nanoseconds since New.
func (r *RootPort) Now() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(r.now())
}

// Hz returns 1e9.
func (r *RootPort) Hz() uint64 { return 1e9 }

// maxWait is the most that one Wait lets pass, so that time cannot wrap.
const maxWait = 1 << 48

// Wait serves the device until a message has arrived since Wait returned last,
// in whichever call it arrived, or until Now is at least deadline.
func (r *RootPort) Wait(deadline uint64) (event bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.usable(); err != nil {
		return false, err
	}
	until := r.now() + maxWait
	if deadline < uint64(until) {
		until = time.Duration(deadline)
	}
	for !r.event && r.now() < until && r.down == nil {
		r.pump(until)
	}
	event, r.event = r.event, false
	return event, r.down
}

// Reopen ends the session, if there is one, and dials again. What was in flight
// is lost; the addresses of the BARs are read again when they are used. It fails
// with bus.ErrClosed, or with bus.ErrLinkDown and the error of dial; the root
// port is then down until the next Reopen.
func (r *RootPort) Reopen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing.Load() {
		return bus.ErrClosed
	}
	_ = r.port.Close() // what it fails with concerns a session that is over
	now := r.now()
	r.requests.reset()
	r.answers.reset()
	r.function, r.event = function{}, false
	port, err := r.dial()
	if err != nil {
		r.down = nil
		r.fail(err)
		return r.down
	}
	r.portMu.Lock()
	r.port = port
	r.portMu.Unlock()
	r.base = now - port.Now()
	r.down = nil
	r.stats.Sessions++
	if r.closing.Load() {
		return errors.Join(bus.ErrClosed, port.Close())
	}
	return nil
}

// Close ends the session; a call that waits and every later one return
// bus.ErrClosed.
func (r *RootPort) Close() error {
	if r.closing.Swap(true) {
		return nil
	}
	r.portMu.Lock()
	err := r.port.Close()
	r.portMu.Unlock()
	return err
}

// now returns the time since New.
func (r *RootPort) now() time.Duration { return r.base + r.port.Now() }

// usable returns why no call can succeed, or nil.
func (r *RootPort) usable() error {
	if r.closing.Load() {
		return bus.ErrClosed
	}
	return r.down
}

// fail takes the root port down; the first cause stays. Every request that
// waits has failed then.
func (r *RootPort) fail(cause error) {
	switch {
	case r.down != nil:
	case r.closing.Load():
		r.down = bus.ErrClosed
	case errors.Is(cause, bus.ErrLinkDown):
		r.down = cause
	default:
		r.down = fmt.Errorf("%w: %w", bus.ErrLinkDown, cause)
	}
}
