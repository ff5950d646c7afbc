package lockstep

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// ErrVariants is returned by Clock once every variant has differed.
var ErrVariants = errors.New("lockstep: every variant has differed")

// variantWorkers is the number of variants that are clocked concurrently.
const variantWorkers = 4

// Variants describes circuits that share one Verilog design. The last input port of
// the top module, which the Go side does not have, selects the variant.
type Variants struct {
	Selector string   // name of the port
	Values   []uint64 // value of the port for each variant

	// Progress, if not nil, is called after each batch with the number of clocks and the
	// number of variants that have not differed. It runs in another goroutine.
	Progress func(clocks uint64, left int)
}

// NewVariants is like New, but compares one Go side with many variants of its Verilog,
// each in its own process, with the same inputs. A variant that differs is ended, and
// Clock continues until none is left. Verdicts returns the outcome of each variant. No
// waves are written.
func NewVariants(d *verilog.Design, c Circuit, v Variants, o Options) (*Lockstep, error) {
	if o.Batch == 0 {
		o.Batch = 512
	}
	plain, err := withoutSelector(&d.Manifest, v.Selector)
	if err != nil {
		return nil, err
	}
	l, err := newLockstep(&plain, c, o)
	if err != nil {
		return nil, err
	}
	m, err := sim.Build(d, sim.BuildOptions{Sim: o.Sim, Cache: o.Cache, Probes: true})
	if err != nil {
		return nil, err
	}
	if l.variants, err = newVariantSet(m, v.Values, o.Batch); err != nil {
		return nil, err
	}
	l.variants.progress = v.Progress
	go l.work()
	return l, l.Clock(true, l.in)
}

// withoutSelector returns the manifest without the selector port.
func withoutSelector(m *verilog.Manifest, selector string) (verilog.Manifest, error) {
	plain := *m
	last := len(m.Ports) - 1
	if last < 2 || m.Ports[last].Name != selector || !m.Ports[last].Input {
		return plain, fmt.Errorf("%w: the last port must be the selector %s, an input", ErrManifest, selector)
	}
	plain.Ports = m.Ports[:last:last]
	return plain, nil
}

// Verdicts returns the outcome of each variant, in order, after Close: the
// *Divergence that ended it, ErrSimulation if its simulation stopped, or nil. For a
// Lockstep made by New, Verdicts returns nil.
func (l *Lockstep) Verdicts() []error {
	if l.variants == nil {
		return nil
	}
	out := make([]error, len(l.variants.all))
	for i, v := range l.variants.all {
		out[i] = v.verdict
	}
	return out
}

// A variantSet runs and compares the variants.
type variantSet struct {
	all      []*variant
	layout   *sim.Layout // including the selector
	slots    []slot
	progress func(clocks uint64, left int) // or nil
}

// A variant is a process and its outcome.
type variant struct {
	value   uint64
	worker  *worker // nil once it has ended
	verdict error
}

// A slot holds the buffers of one goroutine.
type slot struct {
	in, got, x []byte
}

func newVariantSet(m *sim.Simulation, values []uint64, clocks int) (*variantSet, error) {
	lay := m.Layout()
	f := &variantSet{layout: lay, slots: make([]slot, variantWorkers)}
	for i := range f.slots {
		s := &f.slots[i]
		s.in, s.got = make([]byte, clocks*lay.InBytes), make([]byte, clocks*lay.OutBytes)
		if m.Sim() == Icarus {
			s.x = make([]byte, len(s.got))
		}
	}
	for _, v := range values {
		p, err := m.Start()
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.all = append(f.all, &variant{value: v, worker: &worker{process: p, layout: lay}})
	}
	return f, nil
}

// each calls do for every variant that has not ended, several at a time, and ends
// those for which do fails.
func (f *variantSet) each(do func(v *variant, s *slot) error) {
	next := make(chan *variant)
	var wg sync.WaitGroup
	for i := range f.slots {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for v := range next {
				if v.verdict = do(v, &f.slots[i]); v.verdict != nil {
					v.end()
				}
			}
		}()
	}
	for _, v := range f.all {
		if v.worker != nil {
			next <- v
		}
	}
	close(next)
	wg.Wait()
}

// end ends the process. A simulation that is ended early may report an error.
func (v *variant) end() {
	if err := v.worker.process.Close(); errors.Is(v.verdict, ErrSimulation) {
		v.verdict = errors.Join(v.verdict, err)
	}
	v.worker = nil
}

// run replays a batch in the variants that have not ended.
func (f *variantSet) run(b *batch) error {
	f.each(func(v *variant, s *slot) error {
		v.worker.got, v.worker.x = s.got, s.x
		return v.worker.run(&batch{first: b.first, n: b.n, in: f.widen(s.in, b, v.value), out: b.out})
	})
	left := f.left()
	if f.progress != nil {
		f.progress(b.first+uint64(b.n), left)
	}
	if left == 0 {
		return ErrVariants
	}
	return nil
}

// left returns the number of variants that have not ended.
func (f *variantSet) left() int {
	n := 0
	for _, v := range f.all {
		if v.worker != nil {
			n++
		}
	}
	return n
}

// widen appends the selector to the inputs of each clock.
func (f *variantSet) widen(to []byte, b *batch, value uint64) []byte {
	selector := &f.layout.In[len(f.layout.In)-1]
	size := f.layout.InBytes
	for i := range b.n {
		rec := to[i*size : (i+1)*size]
		copy(rec, b.in[i*selector.At:(i+1)*selector.At])
		selector.Put(rec, value)
	}
	return to
}

// memories compares the memories of the variants that have not ended.
func (f *variantSet) memories(mems []goMemory, clocks uint64) {
	f.each(func(v *variant, _ *slot) error { return v.worker.memories(mems, clocks) })
}

// close ends all processes and returns their errors.
func (f *variantSet) close() error {
	var errs []error
	for _, v := range f.all {
		if v.worker != nil {
			errs = append(errs, v.worker.process.Close())
			v.worker = nil
		}
	}
	return errors.Join(errs...)
}

// NewVariantDevice is like NewVariants for a GPU in its initial state: each clock of
// the device drives all variants.
func NewVariantDevice(top Top, d *verilog.Design, v Variants, o Options) (*Device, error) {
	plain, err := withoutSelector(&d.Manifest, v.Selector)
	if err != nil {
		return nil, err
	}
	ports, err := sim.NewPorts(&plain)
	if err != nil {
		return nil, err
	}
	circuit := &gpuCircuit{top, ports}
	l, err := NewVariants(d, circuit, v, o)
	if err != nil {
		return nil, err
	}
	return startDevice(circuit, l), nil
}

// Verdicts returns the outcome of each variant of a closed device; see Lockstep.
func (d *Device) Verdicts() []error { return d.lock.Verdicts() }
