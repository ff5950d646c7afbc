// Package fence is the fence unit of a node. It writes fences and time stamps to
// memory and keeps the id of the last completed fence.
package fence

// Op is the operation of a Req. None means that there is none.
type Op uint8

// The operations.
const (
	None Op = iota
	Fence
	Timestamp
	Signal
)

// A Req is one write. The sender has checked that Addr is in range. Op requests
// it; the other fields stay until its Result.
type Req struct {
	Op   Op
	IRQ  bool   // of a Fence or a Signal: raise the DONE event
	ID   uint32 // of a Fence; the low half of a Signal's value
	High uint32 // the high half of a Signal's value
	Addr uint64 // GPU address, a multiple of 8
}

// A Result is the outcome of a Req, valid for one clock. ResultNone means that
// there is none.
type Result uint8

// The outcomes.
const (
	ResultNone       Result = iota
	ResultDone              // written; FENCE is updated by a Fence
	ResultBackwards         // the id is before FENCE: nothing written
	ResultWriteError        // the write was refused: FENCE not updated
)
