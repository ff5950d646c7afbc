// Package regbus declares the register bus: one access at a time from the PCIe
// function to every block that has registers.
//
// In the clock in which Req.Op is not None every block sees the same Req. In the
// next clock each block drives its Rsp, from registers: whether it has that
// register, and either the value of a read or that the access must be retried. At
// most one block answers. No answer means that the offset is unmapped. In the
// clock of the answer there is no other access.
package regbus

// Op is the operation of an access. None means that there is none.
type Op uint8

// The operations.
const (
	None Op = iota
	Read
	Write
)

// A Req is an access to one complete dword of BAR0.
type Req struct {
	Op   Op
	Off  uint16 // from the start of BAR0, in bytes, a multiple of 4
	Data uint32 // of a write
}

// A Rsp is a block's answer, one clock later. Data is 0 without Hit.
type Rsp struct {
	Hit   bool
	Retry bool // with Hit: nothing was done, retry the access
	Data  uint32
}
