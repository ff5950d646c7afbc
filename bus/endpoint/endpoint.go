// Package endpoint is the device's side of the transaction layer: packets from
// the host become requests at a function's target port, and what the function
// sends becomes packets for the host.
//
// It has no goroutine and no clock but the device's. Its user hands it what
// arrives (Receive), lets device clocks pass (Run), and sends what comes out
// (Next). The same calls give the same packets at the same clocks.
//
// The order is PCIe's (PCIe 3.0 §2.4.1). What the device sends stays in order,
// but that posted writes and completions may pass reads that cannot be sent; see
// HoldReads. What the host sends reaches the target port in order; a completion
// waits for the writes that came before it and passes everything else.
//
// Design note: the ports have no lane for the byte enables of a read. A read
// with a few bytes enabled reads its dwords whole. A read of no byte, which
// only flushes, and a configuration write of none, read a dword of
// configuration space in its place, since nothing changes by that and the
// device answers it in order.
package endpoint

import (
	"errors"
	"fmt"
	"math"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// The kinds of error.
var (
	ErrOptions  = errors.New("endpoint: bad options")
	ErrFull     = errors.New("endpoint: no room")               // the packet may be offered again
	ErrPoisoned = errors.New("endpoint: poisoned")              // data that must not be used
	ErrUnasked  = errors.New("endpoint: unexpected completion") // no read of the device waits for it
	ErrProtocol = errors.New("endpoint: device broke the protocol")
)

// RCB is the read completion boundary, in bytes (PCIe 3.0 §2.3.1.1).
const RCB = 128

// maxRequest is the most that one request at the ports moves, and what none
// crosses a multiple of, in bytes.
const maxRequest = 4 * port.MaxLen

const beatBytes = 8

// Options are the sizes of an Endpoint. The zero value is the default.
type Options struct {
	// MaxPayload is the most data in one packet to the host, in bytes, a power
	// of two, 128 to 4096; 0: 128, the Max_Payload_Size after reset (PCIe 3.0
	// §7.8.4).
	MaxPayload int

	// Timeout is how long a read of the device may go unanswered, in device
	// clocks, 1 to 2^62; 0: 2^27. It then ends with port.CplAbort.
	Timeout uint64

	// Queue is how many requests of the host may wait, 1 to 1024; 0: 256. A
	// root port with tags of 8 bits has at most 256 reads in flight, so a
	// completion is never stuck behind them.
	Queue int

	// Reads is how many requests with an answer are at the device at a time, 1
	// to 256; 0: 32.
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
		return fmt.Errorf("%w: payload of %d bytes, want a power of two, 128 to 4096", ErrOptions, o.MaxPayload)
	case o.Timeout > 1<<62:
		return fmt.Errorf("%w: time-out of %d clocks, want 1 to 2^62", ErrOptions, o.Timeout)
	case o.Queue < 1 || o.Queue > 1024:
		return fmt.Errorf("%w: queue of %d requests, want 1 to 1024", ErrOptions, o.Queue)
	case o.Reads < 1 || o.Reads > 256:
		return fmt.Errorf("%w: %d reads at a time, want 1 to 256", ErrOptions, o.Reads)
	}
	return nil
}

// A Runner is a device for which many clocks in one call are cheaper than one
// by one, though it cannot tell in advance how long it will send nothing.
type Runner interface {
	port.Device

	// Run is up to n clocks without input, n at least 1, and returns how many:
	// it ends with a clock after which the device offers a request, a beat or
	// a completion, and may end earlier. If the device offers one now, it is
	// none.
	Run(n uint64) uint64
}

// An Endpoint joins one device to one host. It is not safe for concurrent use.
type Endpoint struct {
	dev    port.Device
	runner Runner // dev if it is one, or nil
	opt    Options

	now    uint64 // device clocks since New
	id     tlp.ID // captured from configuration writes
	err    error  // first cause, wraps ErrProtocol
	in     tlp.Packet
	out    output
	target target
	master master
	stats  Stats

	stalled int // clocks in a row in which nothing went in or out, though the device offered something
}

// New returns the endpoint of dev, which has just been powered on. It fails with
// ErrOptions.
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
		master: newMaster(),
	}, nil
}

// Now returns the clocks since New, those included in which the device's stood
// still.
func (e *Endpoint) Now() uint64 { return e.now }

// Err returns how the device broke the protocol of its ports, wrapping
// ErrProtocol, or nil. Run then does nothing any more.
func (e *Endpoint) Err() error { return e.err }

// Reads returns how many reads of the device wait for the host. While there are
// any, device clocks should not run far ahead of the host: Options.Timeout
// counts them.
func (e *Endpoint) Reads() int { return e.master.waiting }

// Next returns the next packet for the host, valid until the next call of Next
// or Reset.
func (e *Endpoint) Next() (packet []byte, ok bool) { return e.out.next() }

// HoldReads makes Next pass over the device's reads, or return them again. Who
// finds that a read cannot be sent holds reads until it can: posted writes and
// completions must be able to pass it (PCIe 3.0 table 2-39). A read that Next
// has just returned counts as not sent, and will be returned again.
func (e *Endpoint) HoldReads(hold bool) { e.out.holdReads(hold) }

// Run lets up to n device clocks pass and returns how many. It ends early when a
// packet has become ready for Next; none pass if that needs no clock, or after
// Err. Clocks in which nothing happens are skipped.
//
// A device that has offered what there is no room for during stallClocks, and
// got and gave nothing else, has its clock stopped until there is room or a
// packet for it: it has the first clock of each Run, and the others pass without
// it.
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

// stallClocks gives a device time for what it can do without the host. Work that
// takes longer, such as a long copy in its own memory, goes on when the host
// takes something.
const stallClocks = 512

// Idle returns how many clocks can pass without anything happening: 0 if work
// is pending, math.MaxUint64 if only an input can wake the device.
func (e *Endpoint) Idle() uint64 {
	if e.err != nil {
		return math.MaxUint64
	}
	if e.busy() || e.canEmit() {
		return 0
	}
	return min(e.dev.IdleFor(), e.master.left(e.now))
}

// Reset begins another session with the host: packets that are queued and
// requests that wait are forgotten, and reads of the device that the old session
// did not answer end with port.CplAbort. A request that is at the target port
// already is finished there, and its answer dropped. The device is not told.
func (e *Endpoint) Reset() {
	e.out.reset()
	e.target.reset()
	e.master.reset(&e.stats)
	e.stats.Resets++
}

// busy reports whether the device has an input, or will have at the next clock.
func (e *Endpoint) busy() bool {
	return e.target.busy() || e.target.loadable() || e.master.deliverable(e.target.done)
}

// quiet lets up to n clocks pass in which nothing is moved, n at least 1.
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

// clock is one device clock.
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

// protocol notes what the device did wrong; the first cause stays.
func (e *Endpoint) protocol(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
	}
}
