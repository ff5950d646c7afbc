package lockstep

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A Difference is one signal whose values differ between the two sides.
type Difference struct {
	Instance string // "" for a port
	Register string // register, port, or word of a memory
	GoPath   string // path from the circuit's root, or name of a port
	Verilog  string // hierarchical name below the top module
	Pos      string // position of the Go field, file:line; "" for a port
	Width    int
	Want     uint64 // value on the Go side
	Got      uint64 // value on the Verilog side
	X        uint64 // bits of Got that are x
}

// String formats the difference in one line.
func (d Difference) String() string {
	where := d.Register
	if d.Instance != "" {
		where = d.Instance + "." + d.Register
	}
	got := fmt.Sprintf("%#x", d.Got)
	if d.X != 0 {
		got += fmt.Sprintf(" (x in %#x)", d.X)
	}
	s := fmt.Sprintf("%s: Go %s = %#x, Verilog %s = %s", where, d.GoPath, d.Want, d.Verilog, got)
	if d.Pos != "" {
		s += " (" + d.Pos + ")"
	}
	return s
}

// A Divergence is the first clock after which the two sides differ. Clock 0 is the
// initial reset. Differences lists every signal that differs after that clock, in the
// order of the manifest, but registers before ports, because ports only show the
// contents of registers. Memories are compared at the end; Differences has the first
// differing word of each.
type Divergence struct {
	Clock       uint64
	Differences []Difference
	Wave        string // VCD file with the last clocks; "": none
}

// Error returns one line for the clock and one line for each signal.
func (d *Divergence) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lockstep: Go and Verilog differ after clock %d in %d signals", d.Clock, len(d.Differences))
	for i, diff := range d.Differences {
		if i == 20 {
			fmt.Fprintf(&b, "\n  and %d more", len(d.Differences)-i)
			break
		}
		b.WriteString("\n  " + diff.String())
	}
	if d.Wave != "" {
		b.WriteString("\n  wave: " + d.Wave)
	}
	return b.String()
}

// differences compares two records. x may be nil.
func differences(l *sim.Layout, want, got, x []byte) []Difference {
	var ds []Difference
	for i := range l.Out {
		s := &l.Out[(i+l.Outputs)%len(l.Out)]
		d := Difference{
			Instance: s.Instance, Register: s.Local, GoPath: s.GoPath, Verilog: s.Name, Pos: s.Pos,
			Width: s.Width, Want: s.Get(want), Got: s.Get(got),
		}
		if x != nil {
			d.X = s.Get(x)
		}
		if d.Want != d.Got || d.X != 0 {
			ds = append(ds, d)
		}
	}
	return ds
}

// waveDepth is the number of clocks in a wave.
const waveDepth = 200

// A worker compares batches with one Verilog process.
type worker struct {
	process *sim.Process
	layout  *sim.Layout
	wave    string
	hz      uint64
	got, x  []byte
	past    []sample // the clocks before the batch, at most waveDepth
}

// A sample is the state of both sides after a clock.
type sample struct {
	clock        uint64
	want, got, x []byte
}

func newWorker(p *sim.Process, l *sim.Layout, o Options) *worker {
	w := &worker{process: p, layout: l, wave: o.Wave, hz: o.Hz, got: make([]byte, o.Batch*l.OutBytes)}
	if p.Simulation().Sim() == Icarus {
		w.x = make([]byte, len(w.got))
	}
	return w
}

// run replays a batch in the process and compares the results.
func (w *worker) run(b *batch) error {
	size := w.layout.OutBytes
	got, x := w.got[:b.n*size], w.x
	if x != nil {
		x = x[:len(got)]
	}
	if err := w.process.Run(b.in[:b.n*w.layout.InBytes], got, x); err != nil {
		return err
	}
	known := len(bytes.Trim(x, "\x00")) == 0
	if known && bytes.Equal(got, b.out[:len(got)]) {
		w.keep(b, b.n)
		return nil
	}
	for i := range b.n {
		s := w.sample(b, i)
		if ds := differences(w.layout, s.want, s.got, s.x); len(ds) > 0 {
			w.keep(b, i+1)
			return w.diverged(&Divergence{Clock: s.clock, Differences: ds})
		}
	}
	return fmt.Errorf("%w: records differ outside all signals", ErrSimulation)
}

// sample returns clock i of the batch that run has replayed.
func (w *worker) sample(b *batch, i int) sample {
	lo, hi := i*w.layout.OutBytes, (i+1)*w.layout.OutBytes
	s := sample{clock: b.first + uint64(i), want: b.out[lo:hi], got: w.got[lo:hi]}
	if w.x != nil {
		s.x = w.x[lo:hi]
	}
	return s
}

// keep copies the last of the first n clocks of the batch for a wave.
func (w *worker) keep(b *batch, n int) {
	if w.wave == "" {
		return
	}
	for i := max(0, n-waveDepth); i < n; i++ {
		s := w.sample(b, i)
		s.want, s.got, s.x = bytes.Clone(s.want), bytes.Clone(s.got), bytes.Clone(s.x)
		w.past = append(w.past, s)
	}
	w.past = w.past[max(0, len(w.past)-waveDepth):]
}

// diverged writes the wave of a divergence.
func (w *worker) diverged(d *Divergence) error {
	if w.wave == "" {
		return d
	}
	if err := writeWave(w.wave, w.layout, w.hz, w.past); err != nil {
		return fmt.Errorf("%w\nlockstep: cannot write the wave: %w", d, err)
	}
	d.Wave = w.wave
	return d
}

// memories compares every word of every memory. For a word of more than 64 bits, the
// difference has the 64 bits around the first differing bit.
func (w *worker) memories(mems []goMemory, clocks uint64) error {
	var ds []Difference
	err := w.process.Memories(func(i int, got, x []byte) error {
		m := mems[i]
		size := sim.WordBytes(m.memory)
		want := make([]byte, size)
		for k := range m.memory.Words {
			m.word(k, want)
			g, gx := got[k*size:(k+1)*size], x[k*size:(k+1)*size]
			if !bytes.Equal(want, g) || len(bytes.Trim(gx, "\x00")) > 0 {
				ds = append(ds, m.difference(k, want, g, gx))
				break
			}
		}
		return nil
	})
	if err != nil || len(ds) == 0 {
		return err
	}
	return w.diverged(&Divergence{Clock: clocks - 1, Differences: ds})
}

// difference describes the differing word k.
func (m *goMemory) difference(k int, want, got, x []byte) Difference {
	at := 0
	for at+8 < len(want) && bytes.Equal(want[:at+4], got[:at+4]) && len(bytes.Trim(x[:at+4], "\x00")) == 0 {
		at += 4
	}
	low := func(p []byte) uint64 {
		var b [8]byte
		copy(b[:], p[at:])
		return binary.LittleEndian.Uint64(b[:])
	}
	d := Difference{
		Instance: m.memory.Instance, Register: fmt.Sprintf("word %d", k),
		GoPath: fmt.Sprintf("%s[%d]", m.memory.Go, k), Verilog: fmt.Sprintf("%s[%d]", m.memory.Verilog, k),
		Width: m.memory.Width, Want: low(want), Got: low(got), X: low(x),
	}
	if at > 0 {
		d.Register += fmt.Sprintf(" from bit %d", 8*at)
	}
	return d
}
