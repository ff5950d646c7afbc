package lockstep

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// ErrVariants is returned by Clock once every variant has differed.
var ErrVariants = errors.New("lockstep: every variant has differed")

// variantWorkers is how many variants are clocked at the same time.
const variantWorkers = 4

// Variants are circuits in one Verilog. An input port of the top that the Go
// side does not have, the last one of the manifest, has one of Values for each.
type Variants struct {
	Selector string   // name of the port
	Values   []uint64 // what it holds

	// Progress, if there is one, is told behind each batch how many clocks there
	// were and how many variants have not differed. Another goroutine calls it.
	Progress func(clocks uint64, left int)
}

// NewVariants is New for one Go side and many variants of its Verilog, each in
// a process of its own, which all see the same clocks. A variant that differs
// is ended, and Clock goes on until there is none left. Verdicts has what
// became of them. There are no waves.
func NewVariants(d *verilog.Design, c Circuit, v Variants, o Options) (*Lockstep, error) {
	if o.Batch == 0 {
		o.Batch = 512
	}
	plain, err := without(&d.Manifest, v.Selector)
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
	if l.fan, err = newFan(m, v.Values, o.Batch); err != nil {
		return nil, err
	}
	l.fan.progress = v.Progress
	go l.work()
	return l, l.Clock(true, l.in)
}

// without returns the manifest of the Go side.
func without(m *verilog.Manifest, selector string) (verilog.Manifest, error) {
	plain := *m
	last := len(m.Ports) - 1
	if last < 2 || m.Ports[last].Name != selector || !m.Ports[last].Input {
		return plain, fmt.Errorf("%w: the last port is not the selector %s, an input", ErrManifest, selector)
	}
	plain.Ports = m.Ports[:last:last]
	return plain, nil
}

// Verdicts returns, once the Lockstep is closed, for each of the variants in
// order the *Divergence that ended it, or ErrModel if its model stopped, or nil.
// It is nil for a Lockstep of New.
func (l *Lockstep) Verdicts() []error {
	if l.fan == nil {
		return nil
	}
	out := make([]error, len(l.fan.all))
	for i, v := range l.fan.all {
		out[i] = v.verdict
	}
	return out
}

// A fan is the comparing end of the variants.
type fan struct {
	all      []*variant
	layout   *sim.Layout // with the selector
	slots    []slot
	progress func(clocks uint64, left int) // or nil
}

// variant is a process and what became of it.
type variant struct {
	value   uint64
	worker  *worker // nil once it has ended
	verdict error
}

// slot is the memory of one goroutine.
type slot struct {
	in, got, x []byte
}

func newFan(m *sim.Model, values []uint64, clocks int) (*fan, error) {
	lay := m.Layout()
	f := &fan{layout: lay, slots: make([]slot, variantWorkers)}
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

// each calls do for every variant that has not ended, some at a time, and ends
// those for which it fails.
func (f *fan) each(do func(v *variant, s *slot) error) {
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

// end ends the process. A model that has been told to stop may complain.
func (v *variant) end() {
	if err := v.worker.process.Close(); errors.Is(v.verdict, ErrModel) {
		v.verdict = errors.Join(v.verdict, err)
	}
	v.worker = nil
}

// run replays a batch to the variants that have not ended.
func (f *fan) run(b *batch) error {
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

// left returns how many variants have not ended.
func (f *fan) left() int {
	n := 0
	for _, v := range f.all {
		if v.worker != nil {
			n++
		}
	}
	return n
}

// widen puts the selector behind the inputs of each clock.
func (f *fan) widen(to []byte, b *batch, value uint64) []byte {
	selector := &f.layout.In[len(f.layout.In)-1]
	size := f.layout.InBytes
	for i := range b.n {
		rec := to[i*size : (i+1)*size]
		copy(rec, b.in[i*selector.At:(i+1)*selector.At])
		selector.Put(rec, value)
	}
	return to
}

// memories compares those of the variants that have not ended.
func (f *fan) memories(mems []words, clocks uint64) {
	f.each(func(v *variant, _ *slot) error { return v.worker.memories(mems, clocks) })
}

// close ends all processes and returns how they ended.
func (f *fan) close() error {
	var errs []error
	for _, v := range f.all {
		if v.worker != nil {
			errs = append(errs, v.worker.process.Close())
			v.worker = nil
		}
	}
	return errors.Join(errs...)
}

// NewVariantDevice is NewVariants for a GPU as New returned it: whoever drives
// the device drives all variants.
func NewVariantDevice(g *gpu.GPU, d *verilog.Design, v Variants, o Options) (*Device, error) {
	plain, err := without(&d.Manifest, v.Selector)
	if err != nil {
		return nil, err
	}
	ports, err := sim.NewPorts(&plain)
	if err != nil {
		return nil, err
	}
	circuit := &gpuCircuit{g: g, ports: ports}
	l, err := NewVariants(d, circuit, v, o)
	if err != nil {
		return nil, err
	}
	return &Device{circuit: circuit, lock: l, values: make([]uint64, ports.NumInputs())}, nil
}

// Verdicts returns what became of the variants of a closed device; see Lockstep.
func (d *Device) Verdicts() []error { return d.lock.Verdicts() }
