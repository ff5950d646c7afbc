package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/boards/regs"
)

// maxValues is the number of different values of a register that are counted one by one.
const maxValues = 32

// Samples are how often a register had which value in the reads for all clients, and the wall-clock time between each two
// reads of it, in milliseconds. After one read the times are 0.
type Samples struct {
	Count  int       `json:"count"`
	Values []Sampled `json:"values"`           // the most frequent first
	Others int       `json:"others,omitempty"` // reads of further values, after 32 different ones
	Last   int64     `json:"last_ms"`          // between the last two
	Least  int64     `json:"least_ms"`
	Most   int64     `json:"most_ms"`
}

// A Sampled value was read a number of times.
type Sampled struct {
	Value regs.Hex `json:"value"`
	Count int      `json:"count"`
}

// samples counts the values of a register.
type samples struct {
	values            map[uint32]int
	others, count     int
	at                time.Duration // of the last read
	last, least, most time.Duration // between two reads
}

// add counts a value that is read at a time.
func (s *samples) add(value uint32, at time.Duration) {
	if s.count++; s.count > 1 {
		s.last = at - s.at
		if s.count == 2 || s.last < s.least {
			s.least = s.last
		}
		s.most = max(s.most, s.last)
	}
	s.at = at
	if s.values == nil {
		s.values = map[uint32]int{}
	}
	if _, known := s.values[value]; !known && len(s.values) == maxValues {
		s.others++
		return
	}
	s.values[value]++
}

// answer returns the counts for a client, or nil if there is no read.
func (s *samples) answer() *Samples {
	if s == nil {
		return nil
	}
	out := Samples{Count: s.count, Others: s.others, Last: s.last.Milliseconds(), Least: s.least.Milliseconds(), Most: s.most.Milliseconds()}
	for v, n := range s.values {
		out.Values = append(out.Values, Sampled{regs.Hex(v), n})
	}
	slices.SortFunc(out.Values, func(a, b Sampled) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	return &out
}

// sampled counts the value of the register at an offset.
func (b *board) sampled(off, value uint32, at time.Duration) {
	s := b.samples[off]
	if s == nil {
		s = &samples{}
		b.samples[off] = s
	}
	s.add(value, at)
}
