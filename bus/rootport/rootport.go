// Package rootport is the host's side of the PCIe transaction layer. It turns
// calls of bus.Link and bus.Clock into transaction-layer packets for a Port,
// and serves requests of the device from bus.Host.
//
// All work happens on the goroutine that is inside a call. Every wait of a call
// receives packets from the Port, so the device's reads are answered while the
// host's own requests wait for room. With Options.ServeAlways a goroutine of the
// root port serves the device while no call is in progress. Time is the Port's.
//
// The device is not trusted. A packet that breaks a rule is refused: dropped,
// counted in Stats under a Reason, and completed if the specification requires
// it. A completion that does not match its request fails the request, and its
// data is not used.
//
// The tag of a request that timed out or failed is not reused before its
// completion has arrived or a new session has begun (PCIe 3.0 §2.8). No late
// completion can therefore match another request. With Options.Quarantine the tag is
// also reused after that time, in which the Port must drop the completion.
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

// Error kinds beyond those of package bus. ErrPoisoned is a bus.ErrAbort: the
// completer reports that the data is damaged. ErrProtocol is a completion that
// does not match its request.
var (
	ErrOptions  = errors.New("rootport: bad options")
	ErrPoisoned = fmt.Errorf("%w: poisoned data", bus.ErrAbort)
	ErrProtocol = errors.New("rootport: device violated the protocol")
)

// A Port carries packets to and from one device, exactly once and in order,
// until it is down. Now, Interrupt and Close are safe for concurrent use; only one
// goroutine at a time may call the other methods.
type Port interface {
	// Send queues a copy of a packet. It fails with datalink.ErrFull if the
	// queue of the packet's class is full, with datalink.ErrSize for a bad
	// size, and with the cause, which wraps bus.ErrLinkDown, if the port is
	// down.
	Send(packet []byte) error

	// Flush sends what is queued. A port may wait with that until Flush is called, or
	// Receive has nothing to return.
	Flush()

	// Receive returns the next packet, which is valid until the next Receive.
	// It returns nil and no error at the time-out, or earlier when a Send that
	// found the queue full may be retried. When the port is down and all
	// earlier packets are taken, it fails with the cause.
	Receive(timeout time.Duration) ([]byte, error)

	// Interrupt makes the Receive in progress, or else the next one, return nil and
	// no error before its time-out. A packet that has arrived is returned first.
	Interrupt()

	// MaxPacket returns the size of the largest packet of the session, in bytes.
	MaxPacket() int

	// Ahead returns how long the port needs to move all packets that it has accepted,
	// and n bytes more, at the rate that it measures; 0 if it does not.
	Ahead(n int) time.Duration

	// Now returns the time since the port was opened. It continues after the
	// port is down or closed.
	Now() time.Duration

	// Close ends the port and a Receive in progress. Close is idempotent.
	Close() error
}

// A giver is a Port that can take the memory of a packet instead of a copy.
type giver interface {
	// Give is Send without a copy. It returns other memory for the next packet. The port
	// only reads the packet, and does not use the memory again before the next Send or
	// Give. If Give fails it returns the packet, which stays the caller's.
	Give(packet []byte) (spare []byte, err error)
}

// An arriver is a Port that tells at little cost what has arrived.
type arriver interface {
	// Arrived is a Receive that returns nil where Receive would wait or fail, and does not
	// look at the time.
	Arrived() []byte
}

// Options configure a root port. The zero value is the default. A line that needs
// longer than Timeout to send a full queue needs a larger one. A packet to the device
// also obeys the device's Device Control register, which allows 128 bytes after reset,
// and the size of packets that the port agreed on with the device.
//
// With ServeAlways a goroutine of the root port takes over within about two
// milliseconds of the last call. From New to the return of Close it then also calls the
// methods of bus.Host and Observer, one call at a time.
type Options struct {
	// Timeout is how long a completion, beyond Port.Ahead, or a write waits; 0: 1 s.
	Timeout time.Duration

	// Quarantine is the time before the tag of a lost request is used again; 0: never.
	Quarantine time.Duration

	// Tags is the number of reads in flight, 1 to 2^TagBits; 0: 8.
	Tags int

	// TagBits is 8, or 5 without extended tags (PCIe 3.0 §2.2.6.2); 0: 8.
	TagBits int

	// MaxPayload limits packets in both directions, bytes, a power of two in 128..4096; 0: 128.
	MaxPayload int

	// MaxReadRequest and Port.MaxPacket limit one read; bytes, a power of two in 128..4096; 0: 128.
	MaxReadRequest int

	// ServeAlways serves the device between calls too; needs a Port whose time passes by itself.
	ServeAlways bool

	// Observer, if not nil, is called with every packet that crosses the port,
	// on the goroutine that serves the device; at is the time of Now. It must
	// neither retain the packet nor call the root port, except Now.
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
	portMu  sync.Mutex // guards port and base, which change only while mu is held too
	port    Port
	base    time.Duration
	back    background

	mu    sync.Mutex // held in every call but Now and Close; guards the fields below
	cut   int        // largest payload that the port carries, in bytes; 0 if it carries none
	down  error      // first cause, wraps bus.ErrLinkDown
	event bool       // a message has arrived since the last Wait returned
	stats Stats

	received uint64 // calls of Receive so far

	function function
	requests requests
	answers  answers
	in, out  tlp.Packet
	buf      []byte // packet of the current call, until the port has taken it
	answer   []byte // completion to be sent, until the port has taken it
	word     [4]byte
}

var (
	_ bus.PayloadLink = (*RootPort)(nil)
	_ bus.Clock       = (*RootPort)(nil)
)

// New calls dial and returns a root port on the resulting port. It fails with
// ErrOptions, or as dial does.
func New(dial func() (Port, error), host bus.Host, opt Options) (*RootPort, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	port, err := dial()
	if err != nil {
		return nil, err
	}
	r := &RootPort{dial: dial, host: host, opt: opt, port: port, cut: tlp.PayloadFor(port.MaxPacket())}
	r.stats.Sessions = 1
	r.requests.init(opt)
	r.startBackground()
	return r, nil
}

// complete sets defaults and checks the options.
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
	case o.Timeout < 0 || o.Quarantine < 0:
		return fmt.Errorf("%w: Timeout %v, Quarantine %v, want more than 0", ErrOptions, o.Timeout, o.Quarantine)
	case o.TagBits != 5 && o.TagBits != 8:
		return fmt.Errorf("%w: TagBits %d, want 5 or 8", ErrOptions, o.TagBits)
	case o.Tags < 1 || o.Tags > 1<<o.TagBits:
		return fmt.Errorf("%w: Tags %d, want 1 to %d", ErrOptions, o.Tags, 1<<o.TagBits)
	case !validSize(o.MaxPayload) || !validSize(o.MaxReadRequest):
		return fmt.Errorf("%w: MaxPayload %d bytes, MaxReadRequest %d bytes, want powers of two from 128 to 4096", ErrOptions, o.MaxPayload, o.MaxReadRequest)
	}
	return nil
}

func validSize(n int) bool { return n >= 128 && n <= 4096 && n&(n-1) == 0 }

// Now returns the nanoseconds since New. It does not wait for a call in progress.
// So it orders no accesses to host memory, and methods of bus.Host may call it.
func (r *RootPort) Now() uint64 {
	r.portMu.Lock()
	port, base := r.port, r.base
	r.portMu.Unlock()
	return uint64(base + port.Now())
}

// Hz returns 1e9.
func (r *RootPort) Hz() uint64 { return 1e9 }

// Timeout returns Options.Timeout.
func (r *RootPort) Timeout() time.Duration { return r.opt.Timeout }

// maxWait is the longest Wait, so that time cannot wrap.
const maxWait = 1 << 48

// Wait serves the device until a message has arrived since the last Wait
// returned, in any call, or until Now is at least deadline. On a link with its own clock it
// returns early if another call is made, so that this call need not wait for the deadline.
func (r *RootPort) Wait(deadline uint64) (event bool, err error) {
	r.back.waiters.Add(1)
	defer r.back.waiters.Add(-1)
	r.enter()
	defer r.leave()
	if err := r.usable(); err != nil {
		return false, err
	}
	until := r.now() + maxWait
	if deadline < uint64(until) {
		until = time.Duration(deadline)
	}
	r.back.waits.Store(r.opt.ServeAlways)
	for !r.event && r.now() < until && r.down == nil && !r.wanted() {
		r.pump(until)
	}
	r.back.waits.Store(false)
	event, r.event = r.event, false
	return event, r.down
}

// wanted reports whether a call other than Wait waits for the end of a Wait.
func (r *RootPort) wanted() bool {
	return r.opt.ServeAlways && r.back.callers.Load() > r.back.waiters.Load()
}

// Reopen ends the current session, if any, and dials again. Requests in flight
// are lost; the addresses of the BARs are read again at their next use. It
// fails with bus.ErrClosed, or with bus.ErrLinkDown and the error of dial; the
// root port then stays down until the next Reopen.
func (r *RootPort) Reopen() error {
	r.enter()
	defer r.leave()
	if r.closing.Load() {
		return bus.ErrClosed
	}
	_ = r.port.Close() // the error concerns a session that has ended
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
	r.port, r.base = port, now-port.Now()
	r.portMu.Unlock()
	r.cut, r.down = tlp.PayloadFor(port.MaxPacket()), nil
	r.stats.Sessions++
	r.resumeBackground()
	if r.closing.Load() {
		return errors.Join(bus.ErrClosed, port.Close())
	}
	return nil
}

// Close ends the session. A call in progress and every later call return
// bus.ErrClosed. When Close returns, the device is no longer served between calls.
// Neither a method of bus.Host nor Observer may call it.
func (r *RootPort) Close() (err error) {
	first := !r.closing.Swap(true)
	if first {
		r.portMu.Lock()
		port := r.port
		r.portMu.Unlock()
		err = port.Close()
	}
	r.stopBackground(first)
	return err
}

// now returns the time since New.
func (r *RootPort) now() time.Duration { return r.base + r.port.Now() }

// usable returns the reason why no call can succeed, or nil.
func (r *RootPort) usable() error {
	if r.closing.Load() {
		return bus.ErrClosed
	}
	return r.down
}

// fail takes the root port down and fails all requests in flight. The first
// cause stays.
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
