package hdl

import "math/bits"

// A Signal is one register, as waves show it.
type Signal struct {
	Name  string   // with its instance, as in gpu.cp0.decode_state
	Width int      // in bits, 1 to 64
	Max   uint64   // largest value, or 0 for any of the width or the names
	Names []string // of the values from 0 on, or nil for a number
}

// Holds reports whether the register can have a value.
func (s Signal) Holds(v uint64) bool {
	return v>>(s.Width-1)>>1 == 0 && (s.Max == 0 || v <= s.Max) && (s.Names == nil || v < uint64(len(s.Names)))
}

// A Visitor sees the words of memories, one call for each run of them, in an
// order that depends on the configuration alone.
type Visitor interface {
	// Words sees a run. What it changes is written back.
	Words(p []uint64)

	// Room returns n words for a run that is no memory of words, until the
	// next call.
	Room(n int) []uint64
}

// RAMWords and FIFOWords are how many words a Snapshot of them fills.
const (
	RAMWords  = 1
	FIFOWords = 2
)

// Bit returns 1 if v is set.
func Bit(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// Snapshot stores the output register in s.
func (m *RAM) Snapshot(s []uint64) { s[0] = m.q }

// Restore sets the output register to what Snapshot stored.
func (m *RAM) Restore(s []uint64) { m.q = s[0] }

// Signals appends what the words of Snapshot are; at is the instance.
func (m *RAM) Signals(at string, s []Signal) []Signal {
	return append(s, Signal{Name: at + ".q", Width: 64})
}

// Words returns the words, outside of any clock.
func (m *RAM) Words() []uint64 { return m.words }

// Snapshot stores the registers in s.
func (f *FIFO[T]) Snapshot(s []uint64) { s[1], s[0] = uint64(f.count), uint64(f.first) }

// Restore sets the registers to what Snapshot stored.
func (f *FIFO[T]) Restore(s []uint64) { f.count, f.first = uint32(s[1]), uint32(s[0]) }

// Signals appends what the words of Snapshot are; at is the instance.
func (f *FIFO[T]) Signals(at string, s []Signal) []Signal {
	n := bits.Len(uint(len(f.slots)))
	return append(s, Signal{Name: at + ".first", Width: max(1, n-1)}, Signal{Name: at + ".count", Width: n, Max: uint64(len(f.slots))})
}

// Slots returns the places for values, outside of any clock.
func (f *FIFO[T]) Slots() []T { return f.slots }

// Scratch is the half of a Visitor that all have in common.
type Scratch struct{ room []uint64 }

// Room returns n words.
func (s *Scratch) Room(n int) []uint64 {
	for len(s.room) < n {
		s.room = append(s.room, 0)
	}
	return s.room[:n]
}

// A Copier is a Visitor that keeps the words of memories, and once it is turned
// round by Back, gives them to others. The zero value is ready.
type Copier struct {
	Scratch
	words []uint64
	at    int
	back  bool
}

// Clear forgets what was kept.
func (c *Copier) Clear() { c.words, c.at, c.back = c.words[:0], 0, false }

// Back has the words given back, from the first one on.
func (c *Copier) Back() { c.at, c.back = 0, true }

// Words implements Visitor.
func (c *Copier) Words(p []uint64) {
	if !c.back {
		c.words = append(c.words, p...)
		return
	}
	c.at += copy(p, c.words[c.at:])
}
