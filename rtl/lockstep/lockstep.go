// Package lockstep runs a circuit in Go and its Verilog side by side. At each clock it
// compares every port, every register and every RAM write; for a netlist, only the
// ports. At the end it also compares the words of all memories.
//
//	stimulus ── inputs ──┬── Circuit, the Go side ─────────────┐
//	                     │                                     ├── first Divergence
//	                     └── batches ── Simulation, a process ─┘
//
// A stimulus gets only the outputs of the Go side. So clocks are recorded in batches,
// and the Verilog replays them while the Go side continues.
package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A Circuit is the Go side.
type Circuit interface {
	// Root returns a pointer to the struct from which the manifest's Go paths start.
	// The pointer must not change.
	Root() any

	// Clock runs one rising clock edge: a reset if rst is true, otherwise a Tick with
	// in, the input ports after clk and rst, in the order of the manifest.
	Clock(rst bool, in []uint64)

	// Outputs stores the output ports in the order of the manifest.
	Outputs(out []uint64)
}

// Options configure the Verilog side. The zero value works.
type Options struct {
	Sim   Sim    // "": Verilator
	Cache string // directory for built simulations; "": hilgpu in os.UserCacheDir
	Wave  string // VCD file to write at a divergence; "": none
	Hz    uint64 // clock frequency in the wave; 0: the GPU's, or 100 MHz
	Batch int    // clocks per batch; 0: 1024
}

// A Lockstep is a circuit and its Verilog at the same clock. It is not safe for
// concurrent use. The caller must call Close.
type Lockstep struct {
	circuit Circuit
	layout  *sim.Layout
	probes  []probe
	mems    []goMemory
	in, out []uint64

	clocks   uint64 // clocks since the start, including the reset
	failed   error  // the last error of Clock
	cur      *batch
	free     chan *batch
	full     chan *batch
	err      error // of the worker, valid once done is closed
	done     chan struct{}
	closed   bool
	worker   *worker // nil with variants
	variants *variantSet
}

// A batch is a run of consecutive clocks: the inputs, and the Go side's state after
// each clock.
type batch struct {
	first   uint64
	n       int
	in, out []byte
}

// New builds the simulation of d, or takes it from the cache, starts it, and resets
// both sides for one clock. It fails with ErrTool, ErrBuild or ErrManifest.
func New(d *verilog.Design, c Circuit, o Options) (*Lockstep, error) {
	if o.Batch == 0 {
		o.Batch = 1024
	}
	if o.Hz == 0 {
		o.Hz = 100_000_000
	}
	d, build, err := prepared(d, o)
	if err != nil {
		return nil, err
	}
	l, err := newLockstep(&d.Manifest, c, o)
	if err != nil {
		return nil, err
	}
	m, err := sim.Build(d, build)
	if err != nil {
		return nil, err
	}
	p, err := m.Start()
	if err != nil {
		return nil, err
	}
	l.worker = newWorker(p, l.layout, o)
	go l.work()
	return l, l.Clock(true, l.in)
}

// newLockstep returns a Lockstep with only the Go side.
func newLockstep(m *verilog.Manifest, c Circuit, o Options) (*Lockstep, error) {
	lay, err := sim.NewLayout(m)
	if err != nil {
		return nil, err
	}
	l := &Lockstep{
		circuit: c, layout: lay, in: make([]uint64, len(lay.In)-1), out: make([]uint64, lay.Outputs),
		free: make(chan *batch, 3), full: make(chan *batch, 1), done: make(chan struct{}),
	}
	if l.probes, err = newProbes(c.Root(), lay); err != nil {
		return nil, err
	}
	if l.mems, err = newMemories(c.Root(), m.Memories); err != nil {
		return nil, err
	}
	for range cap(l.free) {
		l.free <- &batch{in: make([]byte, o.Batch*lay.InBytes), out: make([]byte, o.Batch*lay.OutBytes)}
	}
	l.cur = <-l.free
	return l, nil
}

// Clocks returns the number of clocks since the start, including the reset by New.
func (l *Lockstep) Clocks() uint64 { return l.clocks }

// Clock runs one rising clock edge of both sides; see Circuit. It returns the first
// *Divergence or simulation error, possibly some clocks after it happened.
func (l *Lockstep) Clock(rst bool, in []uint64) error {
	if len(in) != len(l.in) {
		return fmt.Errorf("%w: %d inputs, want %d", ErrManifest, len(in), len(l.in))
	}
	if l.failed != nil {
		return l.failed
	}
	b := l.cur
	l.layout.PackInputs(b.in[b.n*l.layout.InBytes:], rst, in)
	l.circuit.Clock(rst, in)
	l.circuit.Outputs(l.out)
	rec := b.out[b.n*l.layout.OutBytes:]
	l.layout.PackOutputs(rec, l.out)
	for i := range l.probes {
		l.probes[i].pack(rec)
	}
	b.n++
	l.clocks++
	if (b.n+1)*l.layout.InBytes <= len(b.in) {
		return nil
	}
	l.failed = l.flush()
	return l.failed
}

// flush hands the current batch to the worker unless the batch is empty.
func (l *Lockstep) flush() error {
	if l.cur.n == 0 {
		return nil
	}
	select {
	case l.full <- l.cur:
	case <-l.done:
		return l.err
	}
	select {
	case l.cur = <-l.free:
	case <-l.done:
		return l.err
	}
	l.cur.n, l.cur.first = 0, l.clocks
	return nil
}

// work compares batches until there are no more or until one differs.
func (l *Lockstep) work() {
	defer close(l.done)
	run := l.variants.run
	if l.worker != nil {
		run = l.worker.run
	}
	for b := range l.full {
		if l.err = run(b); l.err != nil {
			return
		}
		l.free <- b
	}
}

// Close compares the remaining clocks and every word of every memory, and ends the
// simulation. The first call returns the same error as Clock would; later calls
// return nil.
func (l *Lockstep) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	if l.failed == nil {
		l.failed = l.flush()
	}
	close(l.full)
	<-l.done
	err := l.err
	if l.variants != nil {
		if err == nil {
			l.variants.memories(l.mems, l.clocks)
		}
		return errors.Join(err, l.variants.close())
	}
	if err == nil {
		err = l.worker.memories(l.mems, l.clocks)
	}
	return errors.Join(err, l.worker.process.Close())
}
