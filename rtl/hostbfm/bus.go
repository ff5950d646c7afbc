// Package hostbfm is a bus functional model of a PC at the two ports of a device:
// host memory, the BARs, answers that come late, out of order or not at all, and
// readies that are held back. Bus does what it is told, and checks what the device
// drives; Stimulus does at random all that a PC may do. Everything follows from the
// seed and from what the device drives.
package hostbfm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// ErrProtocol is wrapped by Bus.Err: the device broke a rule of package port.
var ErrProtocol = errors.New("hostbfm: device broke the protocol")

// Indices of Timing.Stall.
const (
	StallCompletions = iota // the target's completions are not taken
	StallHeaders            // the initiator's headers are not taken
	StallBeats              // the initiator's beats are not taken
	StallAnswers            // no read of the device is answered
)

// Timing is how fast the host is. The zero value is one that is always ready and
// answers at once, in order.
type Timing struct {
	Stall   [4]int // per cent of clocks
	Gap     int    // per cent of clocks in which an offer at the target does not start
	Latency uint64 // clocks from a header to the first beat of its answer
	Jitter  uint64 // and up to so many more; 0: none
	Shuffle bool   // answers with different tags come in any order
	Errors  int    // per mille of the device's reads that fail
}

// A Read is a read of the device that is not answered, or not to its end.
type Read struct {
	Req  port.Request
	Due  uint64 // clock of its first answer
	Data []byte // as it was when the header was taken
	Good uint8  // beats before an error; NoError: there is none

	beat uint8
}

// NoError is a value of Read.Good.
const NoError = math.MaxUint8

// A Bus is the PC at both ports. Set Timing and the holds at any time between
// clocks.
type Bus struct {
	Dev  port.Device
	Rng  *rand.Rand
	Mem  []byte // of the host
	Base uint64 // bus address of Mem
	BARs

	Timing
	HoldHeaders bool // the initiator port takes nothing
	HoldBeats   bool // it takes headers, and no beat

	Clocks uint64         // so far
	Err    error          // the first ErrProtocol
	Reads  []*Read        // of the device
	Writes []port.Request // of the device, whose beats are owed

	// These are told, if they are not nil: each header that was taken of the device,
	// each beat, each write when its last beat was taken, with the bytes of whole
	// beats from Addr&^7 on, and the end of each request at the target.
	Took      func(r port.Request)
	Beat      func()
	Wrote     func(r port.Request, beats []byte)
	Completed func(s port.Status)

	beats []byte // of Writes[0]

	queue []Op // not sent; the first one may be under way
	sent  bool // the header of queue[0] was taken
	shown bool // what is next of queue[0] is offered, and stays so
	await []Op // sent, to be completed, in order

	req  port.Request // of the initiator, offered and not taken
	beat port.Beat
}

// percent is true so often.
func (b *Bus) percent(n int) bool { return n > 0 && b.Rng.IntN(100) < n }

func (b *Bus) fail(format string, args ...any) {
	if b.Err == nil {
		b.Err = fmt.Errorf("%w: clock %d: %s", ErrProtocol, b.Clocks, fmt.Sprintf(format, args...))
	}
}

// Step is one clock of the host and the device. It reports whether anything was
// driven into the device but readies.
func (b *Bus) Step() (driven bool) {
	cpl, reqReady, dataReady := b.Dev.Target()
	up, upBeat := b.Dev.Initiator()
	b.stable(up, upBeat)
	req, beat := b.offer()
	down := b.answer()
	cplReady := !b.percent(b.Stall[StallCompletions])
	upReady := !b.percent(b.Stall[StallHeaders]) && !b.HoldHeaders
	// A beat of a header that is taken in this clock is legal too.
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

// Quiet returns for how many clocks nothing is driven into the device.
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

// Skip is n clocks in which the device does nothing but count, at most Quiet.
func (b *Bus) Skip(n uint64) {
	b.Dev.Skip(n)
	b.Clocks += n
}

// Forget is what a reset input does to a host: all that was under way is gone.
func (b *Bus) Forget() {
	b.queue, b.await, b.sent, b.shown = nil, nil, false, false
	b.Reads, b.Writes, b.beats = nil, nil, nil
	b.req, b.beat = port.Request{}, port.Beat{}
}
