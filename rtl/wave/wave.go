// Package wave records an emulated GPU: every register and the ports, clock by
// clock, as a value change dump, or the last clocks in a ring.
//
// Time is that of the configured frequency, from when the device was attached,
// and gpu.clk is its clock. Values that change as clk rises are those of that clock:
// the registers, what the ports drive, and the inputs that the next edge sees.
// Clocks that are skipped are not there: clk is unknown meanwhile, and counters
// jump. Memories are left out.
// Registers have the names of the Verilog, and those that count states and
// kinds show their names; gpu.cp0.op is the opcode of the packet in work.
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

// ErrOptions is returned, wrapped, for options that cannot be.
var ErrOptions = errors.New("wave: bad options")

// Options say what is recorded. The zero value is every clock.
type Options struct {
	From, To uint64 // the clocks [From, To); To 0: to the end
	Fault    bool   // only around each fault of a node, Depth clocks before and After behind
	Depth    int    // clocks that the ring keeps, 1 to 1<<20; 0: 4096
	After    uint64 // 0: 1024
}

// A Recorder records the first device that is attached to it. Attached, Empty and
// Close may be called at any time, the other methods not while the device is clocked.
type Recorder struct {
	w   io.Writer
	opt Options

	mu  sync.Mutex // of dev
	dev *Device
}

// New returns a recorder that writes to w. If w is nil, it only keeps the ring,
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

// Attach returns a device that is g and is recorded, unless another one is
// already.
func (r *Recorder) Attach(g *gpu.GPU) *Device {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &Device{GPU: g}
	if r.dev != nil {
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

// Attached reports whether there is a device.
func (r *Recorder) Attached() bool { return r.device() != nil }

func (r *Recorder) device() *Device {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dev
}

// Dump writes the clocks that the ring holds, up to the present. It fails with
// ErrOptions if there is no device, or no ring.
func (r *Recorder) Dump(w io.Writer) error {
	d := r.device()
	if d == nil || d.flight == nil {
		return fmt.Errorf("%w: nothing is kept", ErrOptions)
	}
	out := newDump(w, d.GPU)
	d.flight.write(out, d.GPU, 0)
	d.sample(out)
	return out.close(d.clock)
}

// Fault records what Options.Fault says as if a node had just stopped, unless
// one has.
func (r *Recorder) Fault() {
	if d := r.device(); d != nil && r.opt.Fault && d.to == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.fault()
	}
}

// Empty reports whether no clock has been written, as when no node has stopped.
// It may be called at any time.
func (r *Recorder) Empty() bool {
	d := r.device()
	if d == nil || d.live == nil {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.live.any
}

// Close ends the dump, behind the clock that passes, and returns its first
// error. Clocks that follow are not recorded.
func (r *Recorder) Close() error {
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

	mu     sync.Mutex // held while clocks pass, and whenever something is written
	clock  uint64
	ports  ports
	fresh  struct{ target, initiator bool } // ports has what the registers drive
	live   *dump                            // nil: none
	closed bool                             // live is complete, or failed with err
	err    error
	from   uint64
	to     uint64  // clocks [from, to) are written as they pass
	flight *flight // nil: none
}

var _ port.Device = (*Device)(nil)

// Target returns what the target port drives.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	t := &d.ports.Target
	if !d.fresh.target {
		t.look(d.GPU)
		d.fresh.target = true
	}
	return t.cpl, t.reqReady, t.dataReady
}

// Initiator returns what the initiator port drives.
func (d *Device) Initiator() (req port.Request, beat port.Beat) {
	i := &d.ports.Initiator
	if !d.fresh.initiator {
		i.look(d.GPU)
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

// Skip is n clocks without input.
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

// Load takes the GPU to the state of a checkpoint, as GPU.Load does. The ring
// begins again there.
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

// passed counts clocks, after which the ports drive something else.
func (d *Device) passed(n uint64) {
	d.clock += n
	d.fresh.target, d.fresh.initiator = false, false
}

// recording reports whether the clock that comes is written as it passes.
func (d *Device) recording() bool {
	return d.live != nil && !d.closed && d.clock >= d.from && d.clock < d.to
}

// record writes and keeps the clock that comes, or those that are skipped.
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

// sample writes the registers as they are, and no inputs.
func (d *Device) sample(to *dump) {
	var p ports
	p.Target.look(d.GPU)
	p.Initiator.look(d.GPU)
	to.sample(d.clock, d.GPU, &p)
}

// fault writes what the ring holds of the clocks that are not written, and has
// those that follow written.
func (d *Device) fault() {
	if d.closed {
		return
	}
	d.flight.write(d.live, d.GPU, d.to)
	d.from, d.to = d.clock, d.clock+d.opt.After
}
