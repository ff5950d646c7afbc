package hdl

import "math/bits"

// A Signal describes one register for waves.
type Signal struct {
	Name  string   // with the instance, as in gpu.cp0.decode_state
	Width int      // in bits, 1 to 64
	Max   uint64   // largest value, or 0 if the width or the names are the limit
	Names []string // of the values from 0, or nil for a number
}

// Holds reports whether v is a legal value of the register.
func (s Signal) Holds(v uint64) bool {
	return v>>(s.Width-1)>>1 == 0 && (s.Max == 0 || v <= s.Max) && (s.Names == nil || v < uint64(len(s.Names)))
}

// A Visitor receives the words of memories, one call for each run of them, in an
// order that depends only on the configuration.
type Visitor interface {
	// Words receives a run. Changes to it are written back.
	Words(p []uint64)

	// Room returns n words for a run of a memory that is not made of words, valid
	// until the next call.
	Room(n int) []uint64
}

// RAMWords, ROMWords and FIFOWords are the numbers of words in their Snapshots.
const (
	RAMWords  = 1
	ROMWords  = 1
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

// Restore sets the output register to the value stored by Snapshot.
func (m *RAM) Restore(s []uint64) { m.q = s[0] }

// Signals appends the signals of Snapshot's words. at is the instance path.
func (m *RAM) Signals(at string, s []Signal) []Signal {
	return append(s, Signal{Name: at + ".q", Width: m.width})
}

// Words returns the words, outside of any clock.
func (m *RAM) Words() []uint64 { return m.words }

// Snapshot stores the output register in s.
func (m *ROM) Snapshot(s []uint64) { s[0] = m.q }

// Restore sets the output register to the value stored by Snapshot.
func (m *ROM) Restore(s []uint64) { m.q = s[0] }

// Signals appends the signals of Snapshot's words. at is the instance path.
func (m *ROM) Signals(at string, s []Signal) []Signal {
	return append(s, Signal{Name: at + ".q", Width: m.width})
}

// Snapshot stores the registers in s.
func (f *FIFO[T]) Snapshot(s []uint64) { s[1], s[0] = uint64(f.count), uint64(f.first) }

// Restore sets the registers to the values stored by Snapshot.
func (f *FIFO[T]) Restore(s []uint64) { f.count, f.first = uint32(s[1]), uint32(s[0]) }

// Signals appends the signals of Snapshot's words. at is the instance path.
func (f *FIFO[T]) Signals(at string, s []Signal) []Signal {
	n := bits.Len(uint(len(f.slots)))
	return append(s, Signal{Name: at + ".first", Width: max(1, n-1)}, Signal{Name: at + ".count", Width: n, Max: uint64(len(f.slots))})
}

// Slots returns the slots of the queue, outside of any clock.
func (f *FIFO[T]) Slots() []T { return f.slots }

// Scratch implements the method Room of a Visitor.
type Scratch struct{ room []uint64 }

// Room returns n words.
func (s *Scratch) Room(n int) []uint64 {
	for len(s.room) < n {
		s.room = append(s.room, 0)
	}
	return s.room[:n]
}

// A Copier is a Visitor that copies the words of memories. After Back it writes
// them to the memories it visits. The zero value is ready to use.
type Copier struct {
	Scratch
	words []uint64
	at    int
	back  bool
}

// Clear drops the copied words.
func (c *Copier) Clear() { c.words, c.at, c.back = c.words[:0], 0, false }

// Back makes Words write the copied words back, from the first one.
func (c *Copier) Back() { c.at, c.back = 0, true }

// Words implements Visitor.
func (c *Copier) Words(p []uint64) {
	if !c.back {
		c.words = append(c.words, p...)
		return
	}
	c.at += copy(p, c.words[c.at:])
}
