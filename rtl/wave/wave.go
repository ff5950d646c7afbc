// Package wave records an emulated GPU, every register and the ports, as a value
// change dump: clock by clock, or the last clocks from a ring.
//
// Time starts when the device is attached, in units of the configured frequency.
// gpu.clk is the clock. Values that change as clk rises belong to that clock: the
// registers, the outputs, and the inputs that the next edge samples. Skipped
// clocks are left out: clk is unknown meanwhile, and counters jump. Memories are
// left out. Registers have their Verilog names. Registers that hold states and
// kinds show their names; gpu.cp0.op is the opcode of the packet being executed.
package wave

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// ErrOptions is wrapped by the error for invalid options.
var ErrOptions = errors.New("wave: bad options")

// Options select the clocks to record. The zero value records every clock.
type Options struct {
	From, To uint64 // the clocks [From, To); To 0: to the end
	Fault    bool   // only around each fault of a node: Depth clocks before it and After clocks after it
	Depth    int    // size of the ring in clocks, 1 to 1<<20; 0: 4096
	After    uint64 // clocks after a fault; 0: 1024
}

// A Recorder records the first device or board that is attached to it. Attached, Empty and
// Close may be called at any time. The other methods must not be called while the
// device is clocked.
type Recorder struct {
	w   io.Writer
	opt Options

	mu   sync.Mutex // of dev and pins
	dev  *Device
	pins *Pins
}

// New returns a recorder that writes to w. If w is nil, it only fills the ring,
// for Dump. It fails with ErrOptions.
func New(w io.Writer, o Options) (*Recorder, error) {
	if o.To == 0 {
		o.To = math.MaxUint64
	}
	if o.Depth == 0 {
		o.Depth = 4096
	}
	if o.After == 0 {
		o.After = 1024
	}
	if o.Depth < 1 || o.Depth > 1<<20 {
		return nil, fmt.Errorf("%w: depth %d, want 1 to %d", ErrOptions, o.Depth, 1<<20)
	}
	if o.From >= o.To {
		return nil, fmt.Errorf("%w: from clock %d to %d", ErrOptions, o.From, o.To)
	}
	return &Recorder{w: w, opt: o}, nil
}

// Attach returns g as a device that is recorded, unless a device is already
// attached.
func (r *Recorder) Attach(g *gpu.GPU) *Device {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &Device{GPU: g}
	if r.dev != nil || r.pins != nil {
		return d
	}
	r.dev = d
	d.opt = r.opt
	if r.w != nil {
		d.live = newDump(r.w, g)
	}
	if r.w == nil || r.opt.Fault {
		d.flight = &flight{depth: r.opt.Depth}
		d.flight.clear(0, g)
	} else {
		d.from, d.to = r.opt.From, r.opt.To
	}
	return d
}

// Attached reports whether a device or a board is attached.
func (r *Recorder) Attached() bool { return r.device() != nil || r.board() != nil }

func (r *Recorder) board() *Pins {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pins
}

func (r *Recorder) device() *Device {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dev
}

// Dump writes the clocks in the ring, up to now. It fails with ErrOptions if
// there is no device, or no ring.
func (r *Recorder) Dump(w io.Writer) error {
	d := r.device()
	if d == nil || d.flight == nil {
		return fmt.Errorf("%w: nothing is recorded", ErrOptions)
	}
	out := newDump(w, d.GPU)
	d.flight.write(out, d.GPU, 0)
	d.sample(out)
	return out.close(d.clock)
}

// Fault acts as if a node had just stopped on a fault, unless one has: it writes
// the clocks that Options.Fault asks for.
func (r *Recorder) Fault() {
	if d := r.device(); d != nil && r.opt.Fault && d.to == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.fault()
	}
}

// Empty reports whether no clock has been written, for example because no node
// has stopped. It may be called at any time.
func (r *Recorder) Empty() bool {
	if p := r.board(); p != nil {
		return p.empty()
	}
	d := r.device()
	if d == nil || d.live == nil {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.live.written
}

// Close ends the dump after the current clock and returns its first error. Later
// clocks are not recorded.
func (r *Recorder) Close() error {
	if p := r.board(); p != nil {
		return p.close()
	}
	d := r.device()
	if d == nil || d.live == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		if d.recording() {
			d.sample(d.live)
		}
		d.closed, d.err = true, d.live.close(min(d.clock, d.to))
	}
	return d.err
}

// A Device is a GPU that is recorded.
type Device struct {
	*gpu.GPU
	opt Options

	mu     sync.Mutex // held during a clock and while the dump is written
	clock  uint64
	ports  ports
	fresh  struct{ target, initiator bool } // ports holds the current outputs
	live   *dump                            // the dump written clock by clock, or nil
	closed bool                             // live is complete, or failed with err
	err    error
	from   uint64
	to     uint64  // clocks [from, to) are written as they pass
	flight *flight // nil without a ring
}

var _ port.Device = (*Device)(nil)

// Target returns the outputs of the target port.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	t := &d.ports.Target
	if !d.fresh.target {
		t.sample(d.GPU)
		d.fresh.target = true
	}
	return t.cpl, t.reqReady, t.dataReady
}

// Initiator returns the outputs of the initiator port.
func (d *Device) Initiator() (req port.Request, beat port.Beat) {
	i := &d.ports.Initiator
	if !d.fresh.initiator {
		i.sample(d.GPU)
		d.fresh.initiator = true
	}
	return i.req, i.beat
}

// Tick advances one clock.
func (d *Device) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ports.inputs = inputs{req, beat, cplReady, cpl, reqReady, dataReady}
	d.record(0)
	d.GPU.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	d.passed(1)
	if d.opt.Fault && d.GPU.Faulted() {
		d.fault()
	}
}

// Skip advances n clocks without input.
func (d *Device) Skip(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ports.inputs = inputs{}
	d.record(n)
	d.GPU.Skip(n)
	d.passed(n)
}

// Reset is a fundamental reset, between clocks.
func (d *Device) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ports.inputs = inputs{}
	if d.flight != nil {
		d.flight.keep(d.clock, d.GPU, &d.ports.inputs, reset)
	}
	d.GPU.Reset()
	d.passed(0)
}

// Load loads a checkpoint, as GPU.Load does. The ring restarts there.
func (d *Device) Load(r io.Reader) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.GPU.Load(r); err != nil {
		return err
	}
	if d.flight != nil {
		d.flight.clear(d.clock, d.GPU)
	}
	d.passed(0)
	return nil
}

// PokeVRAM writes p to VRAM at off, in bytes, outside of any clock.
func (d *Device) PokeVRAM(off uint64, p []byte) {
	if d.flight != nil {
		d.flight.poke(d.GPU, off, p)
	}
	d.GPU.PokeVRAM(off, p)
}

// passed counts clocks. The ports may have changed after them.
func (d *Device) passed(n uint64) {
	d.clock += n
	d.fresh.target, d.fresh.initiator = false, false
}

// recording reports whether the next clock is written as it passes.
func (d *Device) recording() bool {
	return d.live != nil && !d.closed && d.clock >= d.from && d.clock < d.to
}

// record writes and records the next clock, or the next skip clocks.
func (d *Device) record(skip uint64) {
	if d.recording() {
		d.Target()
		d.Initiator()
		d.live.sample(d.clock, d.GPU, &d.ports)
	}
	if d.flight != nil {
		d.flight.keep(d.clock, d.GPU, &d.ports.inputs, skip)
	}
}

// sample writes the current registers, without inputs.
func (d *Device) sample(to *dump) {
	var p ports
	p.Target.sample(d.GPU)
	p.Initiator.sample(d.GPU)
	to.sample(d.clock, d.GPU, &p)
}

// fault writes the unwritten clocks of the ring, and enables writing of the
// clocks that follow.
func (d *Device) fault() {
	if d.closed {
		return
	}
	d.flight.write(d.live, d.GPU, d.to)
	d.from, d.to = d.clock, d.clock+d.opt.After
}
