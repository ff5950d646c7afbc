package kernelmutant

import (
	"math/rand/v2"
	"slices"
)

// A drawer has the mutants of a file, in the order in which they are drawn.
type drawer struct {
	operators []Operator
	left      map[Operator][]*Mutant
	next      int // of operators
}

// Pick draws up to count mutants that compile and that change what the kernel does. The
// files take turns, and in a file the operators. The same seed always gives the same
// mutants in the same order.
func (s *Source) Pick(seed uint64, count int) []*Mutant {
	rng := rand.New(rand.NewPCG(seed, 0))
	drawers := s.drawers(rng)
	var out []*Mutant
	for len(out) < count && len(drawers) > 0 {
		drawers = slices.DeleteFunc(drawers, func(d *drawer) bool {
			if len(out) == count {
				return false
			}
			m := d.draw(s)
			if m != nil {
				out = append(out, m)
			}
			return m == nil
		})
	}
	return out
}

// drawers returns the drawers of all files, in random order.
func (s *Source) drawers(rng *rand.Rand) []*drawer {
	var all []*drawer
	files := map[string]*drawer{}
	for _, m := range s.Mutants() {
		d := files[m.File]
		if d == nil {
			d = &drawer{left: map[Operator][]*Mutant{}}
			files[m.File], all = d, append(all, d)
		}
		if d.left[m.Operator] == nil {
			d.operators = append(d.operators, m.Operator)
		}
		d.left[m.Operator] = append(d.left[m.Operator], m)
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, d := range all {
		rng.Shuffle(len(d.operators), func(i, j int) { d.operators[i], d.operators[j] = d.operators[j], d.operators[i] })
		for _, op := range d.operators {
			l := d.left[op]
			rng.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		}
	}
	return all
}

// draw returns the next mutant of a file, or nil.
func (d *drawer) draw(s *Source) *Mutant {
	for misses := 0; misses < len(d.operators); misses++ {
		op := d.operators[d.next%len(d.operators)]
		d.next++
		for len(d.left[op]) > 0 {
			m := d.left[op][0]
			d.left[op] = d.left[op][1:]
			if m.equivalent() == "" && s.compiles(m) {
				return m
			}
		}
	}
	return nil
}
