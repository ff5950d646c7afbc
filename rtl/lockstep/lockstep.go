// Package lockstep runs a circuit in Go and its Verilog side by side and
// compares every port, every register and every write of a RAM at every clock, of
// a netlist the ports. The words of all memories are compared at the end, too.
//
//	stimulus ── inputs ──┬── Circuit, the Go side ────────┐
//	                     │                                ├── first Divergence
//	                     └── batches ── Model, a process ─┘
//
// The Verilog has inputs only, so a stimulus may look at what the Go side
// drives: clocks are recorded in batches and replayed while the Go side runs on.
package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A Circuit is the Go side.
type Circuit interface {
	// Root returns a pointer to the struct at which the manifest's Go paths
	// start. It is the same one for the life of the Circuit.
	Root() any

	// Clock is one rising clock edge: a reset if rst, and else a Tick with in,
	// the input ports behind clk and rst in the order of the manifest.
	Clock(rst bool, in []uint64)

	// Outputs stores the output ports in the order of the manifest.
	Outputs(out []uint64)
}

// Options choose the Verilog side. The zero value works.
type Options struct {
	Sim   Sim    // "": Verilator
	Cache string // directory of built models; "": hilgpu in os.UserCacheDir
	Wave  string // VCD file that a divergence writes; "": none
	Hz    uint64 // clocks in a second, for the wave; 0: 100 MHz, or what the GPU has
	Batch int    // clocks that are sent together; 0: 1024
}

// Lockstep is a circuit and its Verilog at the same clock. Its methods are for
// one goroutine. Close must be called.
type Lockstep struct {
	circuit Circuit
	layout  *sim.Layout
	probes  []probe
	mems    []words
	in, out []uint64

	clocks uint64 // so far, the reset included
	failed error  // what Clock has returned
	cur    *batch
	free   chan *batch
	full   chan *batch
	err    error // of the worker, valid once done is closed
	done   chan struct{}
	closed bool
	worker *worker // one of the two
	fan    *fan
}

// batch is some clocks in a row: what went in, and what the Go side had after
// each.
type batch struct {
	first   uint64
	n       int
	in, out []byte
}

// New builds the model of d, or finds it in the cache, starts it, and resets
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

// newLockstep is the Go side, with nothing yet to compare it with.
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
	if l.mems, err = newWords(c.Root(), m.Memories); err != nil {
		return nil, err
	}
	for range cap(l.free) {
		l.free <- &batch{in: make([]byte, o.Batch*lay.InBytes), out: make([]byte, o.Batch*lay.OutBytes)}
	}
	l.cur = <-l.free
	return l, nil
}

// Clocks returns the clocks so far. The first one is the reset by New.
func (l *Lockstep) Clocks() uint64 { return l.clocks }

// Clock is one rising clock edge of both sides; see Circuit. It returns the
// first *Divergence, or an error of the model, some clocks after it happened.
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

// flush hands the current batch to the worker, if there is anything in it.
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

// work compares batches until there are no more or they differ.
func (l *Lockstep) work() {
	defer close(l.done)
	run := l.fan.run
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

// Close compares what is left, and then every word of every memory, and ends
// the model. It returns what Clock would have, the first time only.
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
	if l.fan != nil {
		if err == nil {
			l.fan.memories(l.mems, l.clocks)
		}
		return errors.Join(err, l.fan.close())
	}
	if err == nil {
		err = l.worker.memories(l.mems, l.clocks)
	}
	return errors.Join(err, l.worker.process.Close())
}
