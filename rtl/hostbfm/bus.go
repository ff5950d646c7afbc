// Package hostbfm is a bus functional model of a PC at the two ports of a device:
// host memory, the BARs, completions that are late, out of order or missing, and
// ready signals that are held back. Bus does what its caller asks and checks what
// the device drives. Stimulus does, at random, everything a PC may do. A run
// depends only on the seed and on what the device drives.
package hostbfm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// ErrProtocol is wrapped by Bus.Err when the device broke a rule of package port.
var ErrProtocol = errors.New("hostbfm: device broke the protocol")

// Indices of Timing.Stall.
const (
	StallCompletions = iota // do not accept the target's completions
	StallHeaders            // do not accept the initiator's headers
	StallBeats              // do not accept the initiator's beats
	StallAnswers            // do not answer the device's reads
)

// Timing sets the speed of the host. With the zero value the host is always ready
// and answers at once, in order.
type Timing struct {
	Stall   [4]int // percentage of stalled clocks, by StallCompletions to StallAnswers
	Gap     int    // percentage of clocks in which no request starts at the target
	Latency uint64 // clocks from a header to the first beat of its completion
	Jitter  uint64 // maximum random clocks added to Latency; 0: none
	Shuffle bool   // complete reads with different tags in random order
	Errors  int    // reads of the device that fail, per mille
}

// A Read is a read by the device that is not yet fully answered.
type Read struct {
	Req  port.Request
	Due  uint64 // clock of the first beat of the completion
	Data []byte // contents of memory when the header was accepted
	Good uint8  // beats before an error; NoError: no error

	beat uint8
}

// NoError as Read.Good means that the read does not fail.
const NoError = math.MaxUint8

// A Bus is the PC at both ports. The caller may change Timing and the holds
// between any two clocks.
type Bus struct {
	Dev  port.Device
	Rng  *rand.Rand
	Mem  []byte // host memory
	Base uint64 // bus address of Mem
	BARs

	Timing
	HoldHeaders bool // the initiator port accepts neither headers nor beats
	HoldBeats   bool // the initiator port accepts headers but no beats

	Clocks uint64         // clocks since the start
	Err    error          // the first ErrProtocol
	Reads  []*Read        // unanswered reads by the device
	Writes []port.Request // writes by the device that still lack beats

	// The hooks are called if they are not nil: Took for each accepted header of the
	// device, Reading for each of its reads, of which it may change Due and Good, Beat for each accepted beat, Wrote after the last beat of a write, with
	// its beats from Addr&^7, and Completed when a request at the target ends.
	Took      func(r port.Request)
	Reading   func(r *Read)
	Beat      func()
	Wrote     func(r port.Request, beats []byte)
	Completed func(s port.Status)

	beats []byte // bytes of Writes[0]

	queue []Op // requests not yet sent; the first may be partly sent
	sent  bool // the header of queue[0] was accepted
	shown bool // the next part of queue[0] is offered and must stay
	await []Op // requests sent and not completed, in order

	req  port.Request // offered by the initiator and not accepted
	beat port.Beat
}

// percent returns true with a probability of n percent.
func (b *Bus) percent(n int) bool { return n > 0 && b.Rng.IntN(100) < n }

func (b *Bus) fail(format string, args ...any) {
	if b.Err == nil {
		b.Err = fmt.Errorf("%w: clock %d: %s", ErrProtocol, b.Clocks, fmt.Sprintf(format, args...))
	}
}

// Step runs the host and the device for one clock. It reports whether the host
// drove anything but ready signals.
func (b *Bus) Step() (driven bool) {
	cpl, reqReady, dataReady := b.Dev.Target()
	up, upBeat := b.Dev.Initiator()
	b.stable(up, upBeat)
	req, beat := b.offer()
	down := b.answer()
	cplReady := !b.percent(b.Stall[StallCompletions])
	upReady := !b.percent(b.Stall[StallHeaders]) && !b.HoldHeaders
	// A beat may be accepted in the same clock as its header.
	owed := len(b.Writes) > 0 || upReady && up.Kind == port.MemWrite
	upBeatReady := owed && !b.percent(b.Stall[StallBeats]) && !b.HoldHeaders && !b.HoldBeats
	b.Dev.Tick(req, beat, cplReady, down, upReady, upBeatReady)
	b.Clocks++
	if up.Kind != port.None && upReady {
		b.take(up)
		b.req = port.Request{}
	}
	if upBeat.Valid && upBeatReady {
		b.takeBeat(upBeat)
		b.beat = port.Beat{}
	}
	b.sentOne(req.Kind != port.None && reqReady, beat.Valid && dataReady)
	if cpl.Status != port.CplNone && cplReady {
		b.completed(cpl)
	}
	return req.Kind != port.None || beat.Valid || down.Status != port.CplNone
}

// Quiet returns for how many clocks the host will drive nothing into the device.
func (b *Bus) Quiet() uint64 {
	if b.Busy() {
		return 0
	}
	n := uint64(math.MaxUint64)
	for _, r := range b.Reads {
		n = min(n, max(r.Due, b.Clocks)-b.Clocks)
	}
	return n
}

// Skip skips n idle clocks of the device. n must be at most Quiet.
func (b *Bus) Skip(n uint64) {
	b.Dev.Skip(n)
	b.Clocks += n
}

// Forget drops all requests in flight, as a reset input does to a host.
func (b *Bus) Forget() {
	b.queue, b.await, b.sent, b.shown = nil, nil, false, false
	b.Reads, b.Writes, b.beats = nil, nil, nil
	b.req, b.beat = port.Request{}, port.Beat{}
}
