package perf

import "math/bits"

const (
	// turns is the number of turns until a counter has its next one.
	turns = 13

	// settled is a number of clocks without an access in which every counter has two
	// turns and is not due at the second, even if all are due at the first.
	settled = 3 * turns
)

// Skip skips n clocks with the same levels and no moves.
func (m *Module) Skip(n uint64, l0, l1 Levels) {
	for ; n > 0 && m.turns(); n-- {
		if m.run && n >= settled && m.answer == answerNone {
			m.jump(n, l0, l1)
			return
		}
		m.follow(false, 0)
		m.answer = answerNone
		m.count(l0, l1, Moves{}, Moves{}, false)
	}
}

// jump skips n clocks, at least settled, while the counters run.
func (m *Module) jump(n uint64, l0, l1 Levels) {
	last := m.turn
	for range (n - uint64(bits.OnesCount16(m.due))) % turns {
		last = after(last)
	}
	for range turns { // all words as of now
		m.look()
		if m.due>>m.turn&1 != 0 {
			m.words.Tick(false, 0, 0xff, uint32(kept|m.turn), m.value())
			m.due &^= 1 << m.turn
		}
		m.words.Tick(false, 0, 0xff, uint32(m.turn), m.value())
		m.short &^= 1 << m.turn
		m.turn = after(m.turn)
	}
	m.turn = last
	rate := lows{cycles: 1}
	rate.node0.count(l0, Moves{}, false)
	if m.twoNodes {
		rate.node1.count(l1, Moves{}, false)
	}
	for age := uint64(turns); age > 0; age-- { // clocks from the last turn to the end
		m.look()
		m.words.Tick(false, 0, 0xff, uint32(m.turn), m.words.Out()+uint64(rate.at(m.turn))*(n-age))
		m.turn = after(m.turn)
	}
	m.look()
	m.now.cycles = uint8(uint64(m.now.cycles)+n) & lowMask
	m.now.node0.skip(rate.node0, n)
	m.now.node1.skip(rate.node1, n)
}

// look reads the word of the counter whose turn it is.
func (m *Module) look() {
	m.words.Tick(true, uint32(m.turn), 0, 0, 0)
	m.out = m.turn
}

// skip counts n clocks, in each of which the counters grow by rate.
func (c *low) skip(rate low, n uint64) {
	by := uint8(n)
	c.busy = (c.busy + rate.busy*by) & lowMask
	c.read = (c.read + rate.read*by) & lowMask
	c.write = (c.write + rate.write*by) & lowMask
	c.ring = (c.ring + rate.ring*by) & lowMask
}
