package wave

import (
	"math"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// flight is a flight recorder: it can reconstruct the last clocks.
//
// Design note: a clock of a GPU is a function of its state and its inputs. So
// flight stores the inputs, the VRAM words that were overwritten, and a copy of
// the state every depth clocks. To write the last clocks it undoes the VRAM
// writes, restores the state and emulates the clocks again. Sampling all
// registers in each clock would double the time of a clock.
type flight struct {
	depth     int
	old, past segment // past continues where old ends
}

// A segment is the state of the GPU at a clock and the inputs from then on.
type segment struct {
	clock   uint64
	words   []uint64
	buffers hdl.Copier
	inputs  []input
	undo    []undo
	pokes   []poke
}

// An input is one clock, several skipped clocks, or a reset.
type input struct {
	inputs
	skip uint64 // skipped clocks; 0: a normal clock
}

// reset is the value of skip that marks a reset.
const reset = math.MaxUint64

// An undo is the previous value of a word of VRAM.
type undo struct{ off, word uint64 }

// A poke is a write of VRAM from outside, before the input with index before.
type poke struct {
	before int
	off    uint64
	data   []byte
}

// start begins a segment at the state of g.
func (s *segment) start(clock uint64, g *gpu.GPU, depth int) {
	if s.words == nil {
		s.words = make([]uint64, gpu.GPUWords)
		s.inputs = make([]input, 0, depth)
		s.undo = make([]undo, 0, depth)
	}
	s.clock = clock
	g.Snapshot(s.words)
	s.buffers.Clear()
	g.Buffers(&s.buffers)
	s.inputs, s.undo, s.pokes = s.inputs[:0], s.undo[:0], s.pokes[:0]
}

// clocks returns the number of inputs that are clocks. A reset happens between
// two clocks and has no sample.
func (s *segment) clocks() int {
	n := 0
	for i := range s.inputs {
		if s.inputs[i].skip != reset {
			n++
		}
	}
	return n
}

// clear drops all recorded clocks. Recording restarts at the state of g.
func (f *flight) clear(clock uint64, g *gpu.GPU) {
	f.old.inputs, f.old.undo, f.old.pokes = f.old.inputs[:0], f.old.undo[:0], f.old.pokes[:0]
	f.old.words = nil
	f.past.start(clock, g, f.depth)
}

// keep records an input before it is applied.
func (f *flight) keep(clock uint64, g *gpu.GPU, in *inputs, skip uint64) {
	if len(f.past.inputs) == f.depth {
		f.old, f.past = f.past, f.old
		f.past.start(clock, g, f.depth)
	}
	s := &f.past
	s.inputs = s.inputs[:len(s.inputs)+1]
	i := &s.inputs[len(s.inputs)-1]
	i.inputs, i.skip = *in, skip
	if skip == 0 {
		if off, beat := g.WritingVRAM(); beat.Valid {
			s.undo = append(s.undo, undo{off, g.VRAMWord(off)})
		}
	}
}

// poke records a write of VRAM from outside, before it happens.
func (f *flight) poke(g *gpu.GPU, off uint64, p []byte) {
	s := &f.past
	if len(s.inputs) == 0 && f.old.words == nil {
		return // it happens before the recorded clocks
	}
	for at := off &^ 7; at < off+uint64(len(p)); at += 8 {
		s.undo = append(s.undo, undo{at, g.VRAMWord(at)})
	}
	s.pokes = append(s.pokes, poke{len(s.inputs), off, slices.Clone(p)})
}

// write writes the last depth clocks, but none before clock from.
func (f *flight) write(to *dump, g *gpu.GPU, from uint64) {
	g = g.Clone()
	for _, s := range []*segment{&f.past, &f.old} {
		for _, u := range slices.Backward(s.undo) {
			g.SetVRAMWord(u.off, u.word)
		}
	}
	first := &f.old
	if first.words == nil {
		first = &f.past
	}
	g.Restore(first.words)
	first.buffers.Back()
	g.Buffers(&first.buffers)
	clock, early := first.clock, f.old.clocks()+f.past.clocks()-f.depth
	for _, s := range []*segment{&f.old, &f.past} {
		pokes := s.pokes
		for i := range s.inputs {
			for len(pokes) > 0 && pokes[0].before == i {
				g.PokeVRAM(pokes[0].off, pokes[0].data)
				pokes = pokes[1:]
			}
			in := &s.inputs[i]
			if in.skip != reset {
				early--
				if early < 0 && clock >= from {
					in.sample(to, clock, g)
				}
			}
			clock += in.apply(g)
		}
		for _, p := range pokes {
			g.PokeVRAM(p.off, p.data)
		}
	}
}

// sample writes the clock of an input.
func (i *input) sample(to *dump, clock uint64, g *gpu.GPU) {
	p := ports{inputs: i.inputs}
	p.Target.sample(g)
	p.Initiator.sample(g)
	to.sample(clock, g, &p)
}

// apply applies the input and returns its number of clocks.
func (i *input) apply(g *gpu.GPU) uint64 {
	switch i.skip {
	case 0:
		g.Tick(i.req, i.beat, i.cplReady, i.cpl, i.reqReady, i.dataReady)
		return 1
	case reset:
		g.Reset()
		return 0
	}
	g.Skip(i.skip)
	return i.skip
}
