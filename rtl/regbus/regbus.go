// Package regbus declares the register bus: one access at a time from the PCIe
// function to every block that has registers.
//
// In the clock in which Req.Op is not None every block sees the same Req. In
// the next clock each block's Rsp, from its registers, says whether it has that
// register, and for a read its value, or that the access was put off and is to be
// made again. At most one block answers; no answer means that the offset is
// unmapped. In that clock there is no other access.
package regbus

// Op says what an access does; None means that there is none.
type Op uint8

// The operations.
const (
	None Op = iota
	Read
	Write
)

// A Req is an access to one whole dword of BAR0.
type Req struct {
	Op   Op
	Off  uint16 // from the start of BAR0, in bytes, a multiple of 4
	Data uint32 // of a write
}

// A Rsp is a block's answer, one clock later. Data is 0 without Hit.
type Rsp struct {
	Hit   bool
	Retry bool // with Hit: nothing has been done
	Data  uint32
}
