package uart

// A timer counts the clocks of bits.
type timer struct {
	left  uint16 `w:"12"`
	run   bool   // inside a bit; if not, left is the clocks of the next one
	later bool   // run in the clock before
	part  uint8  `w:"4"` // 1/16 clocks that the bits so far were too short
	extra bool   // the bit takes one clock more
}

// ends reports whether a bit ends in this clock, or none is counted.
func (t *timer) ends() bool { return !t.run }

// tick counts a clock. In a clock in which a bit ends, begin starts another one. half
// makes the timer count twice as fast. period is that of the bit, in 1/16 clocks.
//
// A bit ends when a borrow sets run to false. With the clock that loads left, and the
// one that finds it 0, that would be two clocks too late: the first step is longer by
// two. In the adder, run is an operand and also selects the sum, so a bit of left is
// one cell.
func (t *timer) tick(period uint16, begin, half bool) {
	step := uint16(0)
	if t.run {
		step = 0xffc
	}
	if t.run && t.later {
		step |= 2
	}
	if t.run && !half {
		step |= 1
	}
	sum := uint16(0)
	if t.extra {
		sum = 1
	}
	sum += t.left + step
	t.later = t.run
	if t.run {
		t.left, t.run, t.extra = sum&0xfff, sum>>12&1 != 0, false
	} else {
		t.left, t.run, t.extra = period>>4, begin, false
		if begin {
			part := t.part + uint8(period&0xf)
			t.part, t.extra = part&0xf, part > 0xf
		}
	}
}
