package asm

// Depth returns how deep the calls of a program nest. A subroutine may also jump out, into
// code that is reached from the first instruction without a call: then its return address
// is not needed any more.
func (p *Program) Depth() int {
	d := &depths{words: p.Words, outer: map[int]bool{}, known: map[int]int{}}
	d.walk(0, d.outer, nil, func(int) {})
	most := 0
	for at := range d.outer {
		if target, ok := called(p.Words[at]); ok {
			most = max(most, 1+d.of(target))
		}
	}
	return most
}

type depths struct {
	words []uint64
	outer map[int]bool // code outside of all subroutines
	known map[int]int  // depth of a subroutine, by its address
}

// of returns how deep the calls in a subroutine nest. Recursion is as deep as MaxWords.
func (d *depths) of(entry int) int {
	if n, ok := d.known[entry]; ok {
		return n
	}
	d.known[entry] = MaxWords
	most := 0
	d.walk(entry, map[int]bool{}, d.outer, func(at int) {
		if target, ok := called(d.words[at]); ok {
			most = max(most, 1+d.of(target))
		}
	})
	d.known[entry] = most
	return most
}

// walk visits the instructions that are reached from one of them without a call, except
// those at which it stops.
func (d *depths) walk(at int, seen, stop map[int]bool, visit func(at int)) {
	for ; at < len(d.words) && !seen[at] && !stop[at]; at++ {
		seen[at] = true
		visit(at)
		in := uint16(d.words[at])
		if in == plain["ret"] {
			return
		}
		if in&Jump == 0 || in&Call == Call {
			continue
		}
		d.walk(int(in)&(1<<addressBits-1), seen, stop, visit)
		if in>>addressBits == Jump>>addressBits {
			return
		}
	}
}

// called returns the target of a call.
func called(w uint64) (target int, ok bool) {
	return int(w) & (1<<addressBits - 1), uint16(w)&Call == Call
}
