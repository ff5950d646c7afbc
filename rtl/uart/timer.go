package uart

// A timer counts the clocks of bits.
type timer struct {
	left  uint16 `w:"12"`
	run   bool   // inside a bit; if not, left is the clocks of the next one
	part  uint8  `w:"4"` // 1/16 clocks that the bits so far were too short
	extra bool   // the bit takes one clock more
}

// ends reports whether a bit ends in this clock, or none is counted.
func (t *timer) ends() bool { return !t.run }

// countClocks is what a count takes beside left: the clock that loads left, and the one that
// finds it 0. It is in 1/16 clocks, as a period is.
const countClocks = 2 * 16

// tick counts a clock. In a clock in which a bit ends, begin starts another one. half
// makes the timer count twice as fast. count is the period of the bit, less countClocks.
//
// A borrow ends a bit. In the adder, run is an operand and also selects the sum, so a bit of
// left is one cell.
func (t *timer) tick(count uint16, begin, half bool) {
	step := uint16(0)
	if t.run {
		step = 0xffe
	}
	if t.run && !half {
		step |= 1
	}
	sum := uint16(0)
	if t.extra {
		sum = 1
	}
	sum += t.left + step
	if t.run {
		t.left, t.run, t.extra = sum&0xfff, sum>>12&1 != 0, false
	} else {
		t.left, t.run, t.extra = count>>4, begin, false
		if begin {
			part := t.part + uint8(count&0xf)
			t.part, t.extra = part&0xf, part > 0xf
		}
	}
}
