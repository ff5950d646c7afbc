// Package fence is the fence unit of a node: it writes fences and time stamps
// to memory and remembers the last fence that completed.
package fence

// Op says what a Req asks for; None means that there is none.
type Op uint8

// The operations.
const (
	None Op = iota
	Fence
	Timestamp
)

// A Req is one write, checked by whoever sends it: Addr is in range. Op asks for it;
// the rest stays until its Result.
type Req struct {
	Op   Op
	IRQ  bool   // of a Fence: raise the event
	ID   uint32 // of a Fence
	Addr uint64 // GPU address, a multiple of 8
}

// A Result is the outcome of a Req, for one clock; ResultNone means that there
// is none.
type Result uint8

// The outcomes.
const (
	ResultNone       Result = iota
	ResultDone              // written, and FENCE updated
	ResultBackwards         // the id is behind FENCE: nothing written
	ResultWriteError        // the write was refused: FENCE not updated
)
