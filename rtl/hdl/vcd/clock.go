package vcd

import (
	"fmt"
	"math"
	"math/bits"
)

// fsPerSecond is the number of femtoseconds in a second. A femtosecond is the
// finest unit of a dump.
const fsPerSecond = 1_000_000_000_000_000

// minUnits is the least number of units in a period if no unit divides the
// period, to make rounding negligible. Periods with fewer femtoseconds use
// femtoseconds.
const minUnits = 10_000_000

// A Timescale is the time unit of a dump and the times of the clock's edges. Use
// NewTimescale to create one.
type Timescale struct {
	hz   uint64
	unit uint64 // in femtoseconds, a power of ten
}

// NewTimescale returns the timescale for a clock of hz, 1 to 1<<32. The unit is
// the coarsest unit of IEEE 1364-2001 §18.2.3.6 that divides half a period. If
// there is none, it is the coarsest with at least minUnits in a period. Each edge
// is rounded separately, so edges do not drift.
func NewTimescale(hz uint64) Timescale {
	unit := uint64(fsPerSecond)
	for unit > 1 && !wide(hz, unit) {
		unit /= 10
	}
	return Timescale{hz, unit}
}

// wide reports whether a unit can represent the edges: exactly, or finely if no
// unit is exact.
func wide(hz, unit uint64) bool {
	per := fsPerSecond / unit // units in a second
	if fsPerSecond%(2*hz) == 0 {
		return per%(2*hz) == 0
	}
	return fsPerSecond%hz != 0 && per/hz >= minUnits
}

// String returns the unit in the format of a dump, as in "10 ns".
func (s Timescale) String() string {
	names := []string{"fs", "ps", "ns", "us", "ms", "s"}
	n, i := s.unit, 0
	for n >= 1000 {
		n, i = n/1000, i+1
	}
	return fmt.Sprintf("%d %s", n, names[i])
}

// Edge returns the time of the n-th edge, in units: clock c rises at edge 2c and
// falls at edge 2c+1. An edge too late for 64 bits is at math.MaxUint64.
func (s Timescale) Edge(n uint64) uint64 {
	hi, lo := bits.Mul64(n, fsPerSecond/s.unit)
	lo, carry := bits.Add64(lo, s.hz, 0) // half of the divisor
	hi += carry
	if hi >= 2*s.hz {
		return math.MaxUint64
	}
	t, _ := bits.Div64(hi, lo, 2*s.hz)
	return t
}

// A Clock writes the times of a dump and its clock variable. The variable rises
// with each written clock and falls half a period later. While clocks are left
// out it is unknown.
type Clock struct {
	out   *Writer
	scale Timescale
	v     int    // the variable
	last  uint64 // last written clock
	time  uint64
	begun bool
}

// NewClock returns the clock of a dump, whose variable is v.
func NewClock(out *Writer, scale Timescale, v int) *Clock {
	return &Clock{out: out, scale: scale, v: v}
}

// Rise begins clock n, which must be above the previous one. Changes that follow
// happen at its time.
func (c *Clock) Rise(n uint64) {
	if c.begun && n <= c.last {
		return
	}
	c.fall(n)
	c.edge(2 * n)
	c.out.Set(c.v, 1)
	c.last, c.begun = n, true
}

// End ends the dump at the beginning of clock n, unless clock n has begun.
func (c *Clock) End(n uint64) {
	if c.begun && n <= c.last {
		return
	}
	c.fall(n)
	c.edge(2 * n)
}

// fall ends the clock before clock n, and marks the clocks between as left out.
func (c *Clock) fall(n uint64) {
	if !c.begun {
		return
	}
	c.edge(2*c.last + 1)
	c.out.Set(c.v, 0)
	if n > c.last+1 {
		c.edge(2*c.last + 2)
		c.out.SetX(c.v, 0, 1)
	}
}

// edge begins the time of an edge.
func (c *Clock) edge(n uint64) {
	if t := c.scale.Edge(n); t > c.time || !c.begun {
		c.out.Time(t)
		c.time = t
	}
}
