package bringup

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// memData tests the data lines with walking ones and zeros in one word of VRAM.
func memData(s *session) outcome {
	l := newLines(64)
	l.walk(func(v uint64) uint64 {
		s.setWord(0, v)
		return s.word(0)
	})
	var f finding
	if s.Err == nil {
		l.report(&f)
	}
	return f.outcome("64 data lines, walking ones and zeros")
}

// A probe is the result of probing base and base with each line inverted.
type probe struct {
	base  uint64
	cells []uint64 // offsets; cells[0] is base, cells[i+1] has line lines[i] inverted
	same  [][]bool // two offsets select the same cell
	wrong []string // values read that were not written to any offset
}

// firstLine is the lowest address line of a memory of 64-bit words.
const firstLine = 3

// memAddr writes a distinct value to every probe address, in both orders, and finds
// addresses that select the same cell. One polarity starts at 0, the other at the
// last word, so that a stuck line differs from two shorted lines.
func memAddr(s *session) outcome {
	var f finding
	top := bits.Len64(s.vram) - 2
	low := s.probe(0, top)
	high := s.probe(s.vram-8, top)
	if s.Err != nil {
		return failed("the probes got no answer", "", nil)
	}
	bad := diagnose(&f, low, high)
	for _, w := range append(low.wrong, high.wrong...) {
		f.add("not an address line: the word does not keep its value", "%s", w)
	}
	o := f.outcome(fmt.Sprintf("A%d to A%d, both polarities, %s usable", firstLine, top, size(s.vram)))
	if len(bad) > 0 {
		o.details = append(o.details, usable(s.vram, top, bad))
	}
	return o
}

// usable describes the usable part of a memory with bad lines.
func usable(vram uint64, top int, bad map[int]bool) string {
	lowest, stuck := top, 0
	for n := firstLine; n <= top; n++ {
		if bad[n] {
			lowest, stuck = min(lowest, n), stuck+1
		}
	}
	return fmt.Sprintf("other lines of A%d to A%d are independent; usable without a gap from 0: %s of %s declared",
		firstLine, top, size(1<<lowest), size(vram))
}

// probe writes and reads the probe addresses of one polarity.
func (s *session) probe(base uint64, top int) *probe {
	p := &probe{base: base, cells: []uint64{base}}
	for n := firstLine; n <= top; n++ {
		p.cells = append(p.cells, base^1<<n)
	}
	p.same = make([][]bool, len(p.cells))
	for i := range p.same {
		p.same[i] = make([]bool, len(p.cells))
	}
	rng := s.rng(1 + base)
	value := make([]uint64, len(p.cells))
	for range 2 {
		for i := range value {
			value[i] = rng.Uint64()
		}
		for i, at := range p.cells {
			s.setWord(at, value[i])
		}
		for i, at := range p.cells {
			p.identify(i, s.word(at), value)
		}
		for i := len(p.cells) - 1; i >= 0; i-- {
			s.setWord(p.cells[i], value[i])
		}
		for i, at := range p.cells {
			p.identify(i, s.word(at), value)
		}
	}
	p.close()
	return p
}

// close makes same transitive: if several offsets select one cell, each read shows
// only the last value written.
func (p *probe) close() {
	for k := range p.same {
		for i := range p.same {
			for j := range p.same {
				if i != j && p.same[i][k] && p.same[k][j] {
					p.same[i][j] = true
				}
			}
		}
	}
}

// identify finds the offset whose value cell i holds.
func (p *probe) identify(i int, got uint64, value []uint64) {
	for j, v := range value {
		if v == got {
			if i != j {
				p.same[i][j], p.same[j][i] = true, true
			}
			return
		}
	}
	if len(p.wrong) < maxDetails {
		p.wrong = append(p.wrong, fmt.Sprintf("%#x holds %#016x, which was never written; %s from the value written there",
			p.cells[i], got, differs(value[i], got)))
	}
}

func differs(want, got uint64) string {
	n := bits.OnesCount64(want ^ got)
	if n > 4 {
		return fmt.Sprintf("%d bits differ", n)
	}
	var names []string
	for d := want ^ got; d != 0; d &= d - 1 {
		names = append(names, fmt.Sprintf("D%d", trailing(d)))
	}
	return strings.Join(names, " and ") + " differs"
}

// diagnose reports the bad lines and returns them.
func diagnose(f *finding, low, high *probe) map[int]bool {
	bad := map[int]bool{}
	line := func(i int) int { return firstLine + i - 1 }
	for i := 1; i < len(low.cells); i++ {
		if low.same[0][i] && high.same[0][i] {
			bad[line(i)] = true
			f.add(fmt.Sprintf("A%d is stuck or not routed, or the memory is smaller than declared", line(i)),
				"A%d: %#08x and %#08x are the same cell, and so are %#08x and %#08x (stuck, both polarities)",
				line(i), low.cells[0], low.cells[i], high.cells[i], high.cells[0])
		}
	}
	for i := 1; i < len(low.cells); i++ {
		for j := i + 1; j < len(low.cells); j++ {
			if bad[line(i)] || bad[line(j)] || !low.same[i][j] || !high.same[i][j] {
				continue
			}
			kind := "OR"
			if low.same[0][i] && low.same[0][j] {
				kind = "AND"
			}
			bad[line(i)], bad[line(j)] = true, true
			f.add("two address lines are shorted", "A%d and A%d: %#08x and %#08x are the same cell (shorted, both carry the %s)",
				line(i), line(j), low.cells[i], low.cells[j], kind)
		}
	}
	for _, p := range []*probe{low, high} {
		p.unexplained(f, bad, line)
	}
	return bad
}

// unexplained reports offsets that select the same cell although neither line is
// known to be bad.
func (p *probe) unexplained(f *finding, bad map[int]bool, line func(int) int) {
	for i := range p.cells {
		for j := i + 1; j < len(p.cells); j++ {
			if p.same[i][j] && !bad[line(j)] && (i == 0 || !bad[line(i)]) {
				f.add("a line that fails in one polarity, or at times", "A%d: %#08x and %#08x are the same cell (one polarity)",
					line(j), p.cells[i], p.cells[j])
			}
		}
	}
}

// memEnables writes parts of a word and checks that the rest does not change.
func memEnables(s *session) outcome {
	const at = 0x100
	var f finding
	rng := s.rng(2)
	extra, dead := [8]bool{}, [8]bool{}
	check := func(first, n int, write func(v uint64)) {
		for range 4 {
			was := rng.Uint64()
			v := ^was ^ rng.Uint64()&0x0101010101010101
			s.setWord(at, was)
			write(v)
			got := s.word(at)
			for lane := range 8 {
				b, old := byte(got>>(8*lane)), byte(was>>(8*lane))
				switch inside := lane >= first && lane < first+n; {
				case s.Err != nil:
				case inside && b != byte(v>>(8*lane)):
					dead[lane] = true
				case !inside && b != old:
					extra[lane] = true
				}
			}
		}
	}
	for half := range 2 {
		check(4*half, 4, func(v uint64) {
			var p [4]byte
			binary.LittleEndian.PutUint32(p[:], uint32(v>>(32*half)))
			s.WriteVRAM(at+4*uint64(half), p[:])
		})
	}
	n, problem := s.newNode(minRing)
	for lane := 0; lane < 8 && problem == ""; lane++ {
		check(lane, 1, func(v uint64) {
			if problem == "" {
				problem = n.fill(at+uint64(lane), 1, v>>(8*lane)&0xff)
			}
		})
	}
	for lane := range 8 {
		if extra[lane] {
			f.add("the byte enable of the lane is stuck on", "byte lane %d changes when other lanes are written", lane)
		}
		if dead[lane] && problem == "" {
			f.add("the byte enable of the lane is stuck off", "byte lane %d is not written when only it is enabled", lane)
		}
	}
	if problem != "" {
		f.add("", "single bytes: %s", problem)
	}
	if !s.aperture {
		return f.outcome("2 halves and 8 single lanes by the DMA engine")
	}
	return f.outcome("2 halves by the host, 8 single lanes by the DMA engine")
}
