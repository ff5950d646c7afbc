package bringup

import (
	"encoding/binary"
	"fmt"
)

// blockBytes is the size of one access of the patterns.
const blockBytes = 4096

// A tally counts wrong bits of VRAM.
type tally struct {
	words  uint64 // words read
	wrong  uint64 // wrong words
	toHigh [64]int
	toLow  [64]int
	first  string
}

// memPatterns fills VRAM with patterns and counts wrong bits: marches over blocks
// of equal and of alternating bits, then random words and their inverse.
func memPatterns(s *session) outcome {
	n := min(s.opt.Bytes, s.vram) &^ 7
	var t tally
	for _, v := range []uint64{0, 0x5555555555555555} {
		s.march(&t, n, v)
	}
	for _, invert := range []uint64{0, ^uint64(0)} {
		fill := func(at uint64, p []byte) {
			rng := s.rng(3 + at)
			for i := 0; i < len(p); i += 8 {
				binary.LittleEndian.PutUint64(p[i:], rng.Uint64()^invert)
			}
		}
		s.blocks(n, false, func(at uint64, p []byte) { fill(at, p); s.WriteVRAM(at, p) })
		s.blocks(n, false, func(at uint64, p []byte) {
			want := make([]byte, len(p))
			fill(at, want)
			s.check(&t, at, want, p)
		})
	}
	var f finding
	t.report(&f)
	o := f.outcome(fmt.Sprintf("%s of %s, %d words read, 0 errors", size(n), size(s.vram), t.words))
	if o.status == Fail {
		o.summary = fmt.Sprintf("%d of %d words wrong", t.wrong, t.words)
		for i := range 64 {
			o.bits = append(o.bits, t.toHigh[i]+t.toLow[i])
		}
	}
	return o
}

// march is a March C- whose elements act on blocks instead of words.
func (s *session) march(t *tally, n, v uint64) {
	for _, e := range []struct {
		read  uint64
		write uint64
		down  bool
		first bool
		last  bool
	}{
		{write: v, first: true},
		{read: v, write: ^v},
		{read: ^v, write: v},
		{read: v, write: ^v, down: true},
		{read: ^v, write: v, down: true},
		{read: v, last: true},
	} {
		s.blocks(n, e.down, func(at uint64, p []byte) {
			if !e.first {
				s.check(t, at, repeated(e.read, len(p)), p)
			}
			if !e.last {
				s.WriteVRAM(at, repeated(e.write, len(p)))
			}
		})
	}
}

func repeated(v uint64, n int) []byte {
	p := make([]byte, 0, n)
	for len(p) < n {
		p = binary.LittleEndian.AppendUint64(p, v)
	}
	return p
}

// blocks calls do for each block of the first n bytes, from the last one if down is
// true.
func (s *session) blocks(n uint64, down bool, do func(at uint64, p []byte)) {
	buf := make([]byte, blockBytes)
	count := (n + blockBytes - 1) / blockBytes
	for i := range count {
		if down {
			i = count - 1 - i
		}
		at := i * blockBytes
		if s.Alive() {
			do(at, buf[:min(blockBytes, n-at)])
		}
	}
}

// check reads a block into p and counts its wrong bits.
func (s *session) check(t *tally, at uint64, want, p []byte) {
	s.ReadVRAM(at, p)
	if s.Err != nil {
		return
	}
	for i := 0; i < len(p); i += 8 {
		t.add(at+uint64(i), binary.LittleEndian.Uint64(want[i:]), binary.LittleEndian.Uint64(p[i:]))
	}
}

func (t *tally) add(at, want, got uint64) {
	t.words++
	if want == got {
		return
	}
	t.wrong++
	if t.first == "" {
		t.first = fmt.Sprintf("first at %#08x: %#016x, want %#016x", at, got, want)
	}
	for d := want ^ got; d != 0; d &= d - 1 {
		if i := trailing(d); got>>i&1 != 0 {
			t.toHigh[i]++
		} else {
			t.toLow[i]++
		}
	}
}

// maxNamedLines is the largest number of wrong data lines that are reported one by
// one.
const maxNamedLines = 8

// report adds the positions of the errors to f.
func (t *tally) report(f *finding) {
	if t.wrong == 0 {
		return
	}
	var lines []string
	for i := range 64 {
		if t.toHigh[i]+t.toLow[i] > 0 {
			lines = append(lines, fmt.Sprintf("D%d: %d wrong, %d read 1 for 0, %d read 0 for 1", i, t.toHigh[i]+t.toLow[i], t.toHigh[i], t.toLow[i]))
		}
	}
	if len(lines) > maxNamedLines {
		f.add("single bits flip at random: supply, clock or timing of the memory", "%s", t.first)
		return
	}
	f.add("few data lines fail: their timing, or weak cells", "%s", t.first)
	for _, l := range lines {
		f.add("", "%s", l)
	}
}
