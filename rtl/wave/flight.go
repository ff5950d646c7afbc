package wave

import (
	"math"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// flight keeps what the clocks that passed last are made from again.
//
// Design note: a clock of a GPU is a function of its state and its inputs, so
// what is kept of it are the inputs, and the words of VRAM that it wrote over.
// The state is kept once in depth clocks. To write them, VRAM is taken back, and
// the clocks pass once more. A sample of all registers for each clock took as
// long as the clock.
type flight struct {
	depth     int
	old, past segment // past goes on where old ends
}

// A segment is the state of the GPU at a clock and what happened from there on.
type segment struct {
	clock   uint64
	words   []uint64
	buffers hdl.Copier
	inputs  []input
	undo    []undo
	pokes   []poke
}

// An input is one clock, or several that were skipped, or a reset.
type input struct {
	inputs
	skip uint64 // 0: a clock
}

// reset is the skip of an input that is a reset.
const reset = math.MaxUint64

// An undo is what a word of VRAM was.
type undo struct{ off, word uint64 }

// A poke is a write of VRAM from outside, in front of an input.
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

// clocks returns how many inputs are clocks: a reset is between two of them and has
// no sample of its own.
func (s *segment) clocks() int {
	n := 0
	for i := range s.inputs {
		if s.inputs[i].skip != reset {
			n++
		}
	}
	return n
}

// clear forgets everything; what follows begins at the state of g.
func (f *flight) clear(clock uint64, g *gpu.GPU) {
	f.old.inputs, f.old.undo, f.old.pokes = f.old.inputs[:0], f.old.undo[:0], f.old.pokes[:0]
	f.old.words = nil
	f.past.start(clock, g, f.depth)
}

// keep takes an input in before it happens.
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

// poke takes in a write of VRAM from outside, before it happens.
func (f *flight) poke(g *gpu.GPU, off uint64, p []byte) {
	s := &f.past
	if len(s.inputs) == 0 && f.old.words == nil {
		return // it is before everything
	}
	for at := off &^ 7; at < off+uint64(len(p)); at += 8 {
		s.undo = append(s.undo, undo{at, g.VRAMWord(at)})
	}
	s.pokes = append(s.pokes, poke{len(s.inputs), off, slices.Clone(p)})
}

// write writes the last depth clocks of those from clock from on.
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
			clock += in.pass(g)
		}
		for _, p := range pokes {
			g.PokeVRAM(p.off, p.data)
		}
	}
}

// sample writes the clock of an input.
func (i *input) sample(to *dump, clock uint64, g *gpu.GPU) {
	p := ports{inputs: i.inputs}
	p.Target.look(g)
	p.Initiator.look(g)
	to.sample(clock, g, &p)
}

// pass has the input happen and returns how many clocks it is.
func (i *input) pass(g *gpu.GPU) uint64 {
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
