// Package endpoint is the device's side of the transaction layer. It turns
// packets from the host into requests at a function's target port, and requests
// of the function into packets for the host.
//
// It has no goroutine, and only the device's clock. The caller passes it
// received packets (Receive), advances device clocks (Run), and sends the
// resulting packets (Next). The same calls give the same packets at the same
// clocks.
//
// The order is PCIe's (PCIe 3.0 §2.4.1). Packets of the device stay in order,
// except that posted writes and completions may pass reads that cannot be sent;
// see HoldReads. Requests of the host reach the target port in order; a
// completion waits for the writes that arrived before it and passes everything
// else.
//
// Design note: the ports have no byte enables for reads. A read with only some
// bytes enabled reads complete dwords. A read or configuration write without
// enabled bytes has no effect but a flush; it is replaced by a read of a dword
// of configuration space, which has no side effect and which the device
// completes in order.
package endpoint

import (
	"errors"
	"fmt"
	"math"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// Error kinds.
var (
	ErrOptions    = errors.New("endpoint: bad options")
	ErrFull       = errors.New("endpoint: no room")               // the packet may be offered again
	ErrPoisoned   = errors.New("endpoint: poisoned")              // data that must not be used
	ErrUnexpected = errors.New("endpoint: unexpected completion") // no read of the device waits for it
	ErrProtocol   = errors.New("endpoint: device violated the port protocol")
)

// RCB is the read completion boundary, in bytes (PCIe 3.0 §2.3.1.1).
const RCB = 128

// maxRequest is the largest size of a request at the ports, in bytes. No
// request crosses a multiple of it.
const maxRequest = 4 * port.MaxLen

const beatBytes = 8

// Options configure an Endpoint. The zero value is the default. MaxPayload is by
// default the Max_Payload_Size after reset (PCIe 3.0 §7.8.4). A completion also obeys
// the Max_Payload_Size that the host writes to the Device Control register, with 128
// bytes until then. A device read that
// times out ends with port.CplAbort. The default Queue holds all reads of a root
// port with 8-bit tags, so a completion is never stuck after them.
type Options struct {
	// MaxPayload limits packets to the host, bytes, a power of two in 128..4096; 0: 128.
	MaxPayload int

	// Timeout is the completion time-out of device reads, in clocks, 1 to 2^62; 0: 2^27.
	Timeout uint64

	// Queue is the largest number of waiting requests of the host, 1 to 1024; 0: 256.
	Queue int

	// Reads is the largest number of non-posted requests at the device at once, 1 to 256; 0: 32.
	Reads int
}

func (o *Options) setDefaults() {
	for _, v := range []struct {
		field *int
		def   int
	}{{&o.MaxPayload, RCB}, {&o.Queue, 256}, {&o.Reads, 32}} {
		if *v.field == 0 {
			*v.field = v.def
		}
	}
	if o.Timeout == 0 {
		o.Timeout = 1 << 27
	}
}

func (o *Options) check() error {
	switch {
	case o.MaxPayload < RCB || o.MaxPayload > 4096 || o.MaxPayload&(o.MaxPayload-1) != 0:
		return fmt.Errorf("%w: MaxPayload %d bytes, want a power of two, 128 to 4096", ErrOptions, o.MaxPayload)
	case o.Timeout > 1<<62:
		return fmt.Errorf("%w: Timeout %d clocks, want 1 to 2^62", ErrOptions, o.Timeout)
	case o.Queue < 1 || o.Queue > 1024:
		return fmt.Errorf("%w: Queue %d requests, want 1 to 1024", ErrOptions, o.Queue)
	case o.Reads < 1 || o.Reads > 256:
		return fmt.Errorf("%w: Reads %d, want 1 to 256", ErrOptions, o.Reads)
	}
	return nil
}

// A Runner is a device that runs many clocks in one call faster than one by
// one, although it cannot predict how long it will send nothing.
type Runner interface {
	port.Device

	// Run runs up to n clocks without input, n at least 1, and returns the
	// number of clocks run. It stops after a clock in which the device begins
	// to offer a request, a beat or a completion, and may stop earlier. If the
	// device offers one already, Run returns 0.
	Run(n uint64) uint64
}

// An Endpoint connects one device to one host. It is not safe for concurrent
// use.
type Endpoint struct {
	dev    port.Device
	runner Runner // dev if it implements Runner, else nil
	opt    Options

	now    uint64 // device clocks since New
	id     tlp.ID // captured from configuration writes
	err    error  // first cause, wraps ErrProtocol
	in     tlp.Packet
	out    output
	target target
	master master
	stats  Stats

	payload int // largest of a packet of the device, in bytes
	stalled int // consecutive clocks with an offer but no transfer
}

// New returns the endpoint of dev, which has just been powered on. It fails
// with ErrOptions if opt is out of range.
func New(dev port.Device, opt Options) (*Endpoint, error) {
	opt.setDefaults()
	if err := opt.check(); err != nil {
		return nil, err
	}
	runner, _ := dev.(Runner)
	return &Endpoint{
		dev: dev, runner: runner, opt: opt,
		out:    newOutput(opt.MaxPayload),
		target: newTarget(opt),
		master: newMaster(), payload: opt.MaxPayload,
	}, nil
}

// Now returns the clocks since New, including those in which the device's clock
// was stopped.
func (e *Endpoint) Now() uint64 { return e.now }

// Err returns how the device violated the protocol of its ports, wrapped in
// ErrProtocol, or nil. After an error Run does nothing.
func (e *Endpoint) Err() error { return e.err }

// Reads returns the number of the device's reads that wait for the host. While
// it is not 0, device clocks should not run far ahead of the host, because
// Options.Timeout counts them.
func (e *Endpoint) Reads() int { return e.master.waiting }

// Next returns the next packet for the host. The packet is valid until the next
// call of Next or Reset.
func (e *Endpoint) Next() (packet []byte, ok bool) { return e.out.next() }

// HoldReads makes Next skip the device's reads, or return them again. A caller
// that cannot send a read must hold reads until it can: posted writes and
// completions must be able to pass it (PCIe 3.0 table 2-39). A read that Next
// has just returned counts as not sent and will be returned again.
func (e *Endpoint) HoldReads(hold bool) { e.out.holdReads(hold) }

// Run runs up to n device clocks and returns their number. It stops early when
// a packet becomes ready for Next, and returns 0 if one is ready without a
// clock, or after Err. Clocks without activity are skipped.
//
// If the device offers something for which there is no room, and transfers
// nothing else for stallClocks, its clock stops until there is room or a packet
// for it: only the first clock of each Run reaches it.
func (e *Endpoint) Run(n uint64) uint64 {
	made := e.out.made
	e.emit()
	ran := uint64(0)
	for ran < n && e.out.made == made && e.err == nil {
		if k := e.quiet(n - ran); k > 0 {
			ran += k
			continue
		}
		if e.stalled >= stallClocks && ran > 0 {
			e.now += n - ran
			return n
		}
		e.clock()
		ran++
		e.emit()
	}
	return ran
}

// stallClocks is the time that a stalled device has for work without the host.
// Longer work, such as a long copy in its own memory, continues when the host
// accepts something.
const stallClocks = 512

// Idle returns how many clocks can pass without activity: 0 if work is pending,
// math.MaxUint64 if only an input can wake the device.
func (e *Endpoint) Idle() uint64 {
	if e.err != nil {
		return math.MaxUint64
	}
	if e.busy() || e.canEmit() {
		return 0
	}
	return min(e.dev.IdleFor(), e.master.left(e.now))
}

// Reset begins a new session with the host. It drops queued packets and waiting
// requests, and ends the device's outstanding reads with port.CplAbort. A
// request already at the target port completes there, and its completion is
// dropped. The device gets no notice.
func (e *Endpoint) Reset() {
	e.out.reset()
	e.target.reset()
	e.master.reset(&e.stats)
	e.payload, e.target.maxPayload = e.opt.MaxPayload, e.opt.MaxPayload
	e.stats.Resets++
}

// SetMaxPacket sets the size of the largest packet that the session carries, in
// bytes, at least 20; Options.MaxPayload applies too. It is called after Reset. Without
// it, the session carries packets of every size. A device's write is cut, and a read
// of the host whose completion cannot be cut to it is completed with CA.
func (e *Endpoint) SetMaxPacket(size int) {
	e.payload = max(4, min(tlp.PayloadFor(size), e.opt.MaxPayload))
	e.target.maxPayload = e.payload
}

// busy reports whether the device has an input now or at the next clock.
func (e *Endpoint) busy() bool {
	return e.target.busy() || e.target.loadable() || e.master.deliverable(e.target.done)
}

// quiet runs up to n clocks without transfers, n at least 1.
func (e *Endpoint) quiet(n uint64) uint64 {
	if e.busy() {
		return 0
	}
	left := e.master.left(e.now)
	if left == 0 {
		return 0
	}
	n = min(n, left)
	if sleep := min(e.dev.IdleFor(), n); sleep > 0 {
		e.dev.Skip(sleep)
		e.now += sleep
		return sleep
	}
	if e.runner == nil {
		return 0
	}
	n = e.runner.Run(n)
	e.now += n
	return n
}

// clock runs one device clock.
func (e *Endpoint) clock() {
	e.master.expire(e.now, &e.stats)
	cpl, reqReady, dataReady := e.dev.Target()
	req, beat := e.dev.Initiator()
	inReq, inBeat := e.target.drive(reqReady, dataReady)
	inCpl := e.master.deliver(e.target.done)
	upReq, upBeat, upCpl := e.accept(req, beat, cpl)
	e.dev.Tick(inReq, inBeat, upCpl, inCpl, upReq, upBeat)
	e.now++
	in := inReq.Kind != port.None || inBeat.Valid || inCpl.Status != port.CplNone
	if offers := req.Kind != port.None || beat.Valid; offers && !in && !upReq && !upBeat && !upCpl {
		e.stalled++
	} else {
		e.stalled = 0
	}
}

// protocol records a violation by the device. The first cause stays.
func (e *Endpoint) protocol(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
	}
}
