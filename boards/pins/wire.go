// Package pins runs the gateware of a board: its exact top in Go, driven at its pins, in
// virtual time and in this process.
package pins

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// Gateware is a board at the byte port of its link.
type Gateware interface {
	// Tick advances one clock. If valid is set, in arrives. The board may send a byte if
	// ready is set.
	Tick(in byte, valid, ready bool) (out byte, sent bool)

	// Err returns why the board has failed, or nil.
	Err() error
}

// Options configure a Wire. The zero value of a field is the default in parentheses.
//
//	Hz      clocks of the board per second (25 MHz)
//	Clocks  clocks of a byte on the line, at least 2 (80: 8 clocks a bit)
//	Faults  injected into the frames of both directions; their seed also seeds the nonces
//	Link    of the host's end, except Role and Credits
//	UDP     the host of a board on Ethernet uses UDP and not raw frames
type Options struct {
	Hz     uint64
	Clocks uint64
	Faults fault.Config
	Link   datalink.Config
	UDP    bool
}

// A line carries the frames of a link to a board and back. send puts a frame on the line, to
// arrive at the given clock or later. clock advances the board by a clock, passes the frames
// that have arrived to the host, and returns why the board has failed, or nil. drop drops
// what is on the line. carried returns the bytes that were on it, to the board and to the
// host.
type line interface {
	send(f []byte, from uint64)
	clock(now uint64, host frame.Sink) error
	drop()
	carried() (down, up uint64)
}

// A Wire is a line in virtual time with a board at its end. Time passes only inside Dial
// and inside Receive of its ports. It is not safe for concurrent use.
type Wire struct {
	line line
	opt  Options

	clock  uint64 // of the board
	link   *datalink.Link
	out    datalink.Output
	down   *fault.Injector // to the board
	up     *fault.Injector
	from   uint64 // clock in which the next frame may arrive at the board
	nonce  uint32
	port   *end
	frames [][]byte // of the board, after faults
	due    uint64   // clock in which they may arrive
	cut    bool

	BytesDown, BytesUp uint64 // on the line
}

// New returns a wire to a board at the byte port of its link. The clocks of a byte of a
// *Serial are those of its rate, which each Dial raises if the board has more than one.
func New(dev Gateware, opt Options) (*Wire, error) {
	if s, ok := dev.(*Serial); ok {
		opt.Clocks = s.ByteClocks()
	}
	if opt.Clocks == 0 {
		opt.Clocks = 80
	}
	return newWire(newByteLine(dev, opt.Clocks), opt)
}

func newWire(l line, opt Options) (*Wire, error) {
	if opt.Hz == 0 {
		opt.Hz = 25_000_000
	}
	w := &Wire{line: l, opt: opt, nonce: uint32(opt.Faults.Seed)*0x9e3779b1 + 1}
	w.down, w.up = fault.New(opt.Faults, 0), fault.New(opt.Faults, 1)
	return w, w.newLink()
}

// newLink makes the host's end of the link, with times for the clocks of a byte.
func (w *Wire) newLink() error {
	c := w.opt.Link
	c.Role = datalink.Host
	c.Credits = datalink.Credits{{Headers: 64, Data: 64 * 16}, {Headers: 64}, {}}
	one := time.Duration(160 * w.opt.Clocks * uint64(time.Second) / w.opt.Hz) // a long frame
	setDefault(&c.AckDelay, max(one/2, 100*time.Microsecond))
	setDefault(&c.ReplayMin, 3*one+2*c.AckDelay)
	setDefault(&c.ReplayMax, 10*one+2*c.AckDelay)
	link, err := datalink.New(c)
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	w.link = link
	return nil
}

// clocksOf returns the clocks of a time, rounded down.
func (w *Wire) clocksOf(d time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(d), w.opt.Hz)
	q, _ := bits.Div64(hi, lo, uint64(time.Second))
	return q
}

func setDefault(v *time.Duration, d time.Duration) {
	if *v == 0 {
		*v = d
	}
}

// now returns the time of a clock, rounded down.
func (w *Wire) now() time.Duration {
	hi, lo := bits.Mul64(w.clock, uint64(time.Second))
	q, _ := bits.Div64(hi, lo, w.opt.Hz)
	return time.Duration(q)
}

// do calls the link, and puts its frames on the line.
func (w *Wire) do(f func(link *datalink.Link, now time.Duration, out *datalink.Output)) {
	f(w.link, w.now(), &w.out)
	for i := range w.out.Frames.Len() {
		if w.cut {
			continue
		}
		effect := w.down.Apply(w.out.Frames.At(i), func(f []byte) { w.line.send(f, w.from) })
		w.from = max(w.from, w.clock) + w.clocksOf(effect.Stall)
		if effect.Cut {
			w.Cut()
		}
	}
	for i := range w.out.Packets.Len() {
		if w.port != nil {
			w.port.arrived = append(w.port.arrived, append([]byte(nil), w.out.Packets.At(i)...))
		}
	}
	w.out.Reset()
	if err := w.link.Err(); err != nil && w.port != nil {
		w.port.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, err))
	}
}

// Frame implements frame.Sink.
func (w *Wire) Frame(f []byte) {
	if w.cut {
		return
	}
	effect := w.up.Apply(f, func(f []byte) { w.frames = append(w.frames, append([]byte(nil), f...)) })
	w.due = max(w.due, w.clock) + w.clocksOf(effect.Stall)
	if effect.Cut {
		w.Cut()
	}
}

// Text implements frame.Sink.
func (w *Wire) Text([]byte) {}

// Damaged implements frame.Sink.
func (w *Wire) Damaged(int) {}

// step advances one clock.
func (w *Wire) step() {
	err := w.line.clock(w.clock, w)
	w.clock++
	w.BytesDown, w.BytesUp = w.line.carried()
	if err != nil && w.port != nil {
		w.port.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, err))
	}
	for len(w.frames) > 0 && w.clock >= w.due {
		f := w.frames[0]
		w.frames = w.frames[1:]
		w.do(func(link *datalink.Link, now time.Duration, out *datalink.Output) { link.Receive(f, now, out) })
	}
	if at, ok := w.link.Next(); ok && at <= w.now() {
		w.do(func(link *datalink.Link, now time.Duration, out *datalink.Output) { link.Tick(now, out) })
	}
}

// Run advances n clocks.
func (w *Wire) Run(n uint64) {
	for range n {
		w.step()
	}
}

// Cut cuts the line, and drops what is on it, until the next Dial.
func (w *Wire) Cut() {
	w.cut, w.frames = true, nil
	w.line.drop()
}

// Dial begins a session. The port of an earlier one goes down with bus.ErrStale.
func (w *Wire) Dial() (rootport.Port, error) {
	again := w.port != nil
	if again {
		w.port.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, bus.ErrStale))
		w.port = nil
	}
	w.cut = false
	w.down.Restore()
	w.up.Restore()
	w.do(func(link *datalink.Link, _ time.Duration, out *datalink.Output) { link.Close(out) })
	if err := w.raise(again); err != nil {
		return nil, err
	}
	p := &end{wire: w, start: w.now()}
	w.port = p
	w.nonce = w.nonce*1664525 + 1013904223
	w.do(func(link *datalink.Link, now time.Duration, out *datalink.Output) { link.Open(w.nonce, now, out) })
	for p.down == nil && w.link.State() != datalink.Up {
		w.step()
	}
	if p.down != nil {
		return nil, p.down
	}
	return p, nil
}

// Clocks returns the clocks of the board so far.
func (w *Wire) Clocks() uint64 { return w.clock }

// Stats returns the counters of the host's end, since the rate of the line changed last.
func (w *Wire) Stats() datalink.Stats { return w.link.Stats() }

// An end is the host's end of one session.
type end struct {
	wire    *Wire
	start   time.Duration
	down    error
	arrived [][]byte
	given   []byte
	stop    bool // Interrupt was called
}

func (p *end) fail(err error) {
	if p.down == nil {
		p.down = err
	}
}

func (p *end) Send(packet []byte) (err error) {
	if p.down != nil {
		return p.down
	}
	p.wire.do(func(link *datalink.Link, now time.Duration, out *datalink.Output) { err = link.Send(packet, now, out) })
	if p.down != nil {
		return p.down
	}
	return err
}

func (p *end) Receive(timeout time.Duration) ([]byte, error) {
	w := p.wire
	if given := p.given; given != nil && p.down == nil {
		p.given = nil
		w.do(func(link *datalink.Link, now time.Duration, out *datalink.Output) { link.Release(given, now, out) })
	}
	_, full := w.link.InFlight()
	for deadline := w.now() + timeout; ; {
		_, waiting := w.link.InFlight()
		switch {
		case len(p.arrived) > 0:
			p.given, p.arrived = p.arrived[0], p.arrived[1:]
			return p.given, nil
		case p.down != nil:
			return nil, p.down
		case p.stop || waiting < full || w.now() >= deadline:
			p.stop = false
			return nil, nil
		}
		w.step()
	}
}

func (p *end) Flush()                  {}
func (p *end) Interrupt()              { p.stop = true }
func (p *end) Ahead(int) time.Duration { return 0 }
func (p *end) MaxPacket() int          { return p.wire.link.MaxPacket() }
func (p *end) Now() time.Duration      { return p.wire.now() - p.start }

func (p *end) Close() error {
	if p.wire.port == p && p.down == nil {
		p.wire.do(func(link *datalink.Link, _ time.Duration, out *datalink.Output) { link.Close(out) })
	}
	p.fail(errors.Join(bus.ErrLinkDown, bus.ErrClosed))
	return nil
}
