package hdl

// FIFO is a queue of values whose oldest value is visible without a clock of
// delay.
//
//	In      push with its value; pop
//	Out     head and whether there is one; whether a push is accepted
//	Timing  1 clock from a push to the head; a push and a pop in every clock;
//	        a full FIFO accepts no push, even in the clock of a pop
//	Reset   empty
//	Order   first in, first out
//	Paths   none
//	Size    depth values
//	Faults  a push when full and a pop when empty are assertions
type FIFO[T any] struct {
	slots []T
	first uint32
	count uint32
}

// NewFIFO returns an empty FIFO of depth values. depth must be a power of two.
func NewFIFO[T any](depth int) FIFO[T] {
	Assert(depth > 0 && depth&(depth-1) == 0, "FIFO: the depth is not a power of two")
	return FIFO[T]{slots: make([]T, depth)}
}

// Out returns the head, whether it is valid, and whether there is room.
func (f *FIFO[T]) Out() (head T, valid, ready bool) {
	return f.slots[f.first], f.count != 0, f.count != uint32(len(f.slots))
}

// Empty reports whether the FIFO has no values.
func (f *FIFO[T]) Empty() bool { return f.count == 0 }

// Full reports whether the FIFO has no room.
func (f *FIFO[T]) Full() bool { return f.count == uint32(len(f.slots)) }

// Tick is one rising clock edge.
func (f *FIFO[T]) Tick(push bool, v T, pop bool) {
	Assert(!pop || f.count != 0, "FIFO: pop when empty")
	Assert(!push || f.count != uint32(len(f.slots)), "FIFO: push when full")
	mask := uint32(len(f.slots) - 1)
	if push {
		f.slots[(f.first+f.count)&mask] = v
		f.count++
	}
	if pop {
		f.first = (f.first + 1) & mask
		f.count--
	}
}

// Reset empties the FIFO.
func (f *FIFO[T]) Reset() { f.first, f.count = 0, 0 }
