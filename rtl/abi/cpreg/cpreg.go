// Package cpreg declares the registers of a node's command processor (CP) and of
// its fence unit. Those of node n are at Base + n*Stride.
package cpreg

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes, and field masks.
const (
	Base   = 0x1000
	Stride = 0x100
	Nodes  = 2

	Ctl       = 0x00
	Status    = 0x04
	RingLo    = 0x08
	RingHi    = 0x0c
	RingSize  = 0x10
	Rptr      = 0x14
	Wptr      = 0x18
	Fence     = 0x1c
	FaultInfo = 0x20
	FaultLo   = 0x24
	FaultHi   = 0x28
	FaultOp   = 0x2c
	FaultBad  = 0x30
	FaultBadH = 0x34
	Packets   = 0x38
	IBLo      = 0x3c
	IBHi      = 0x40
	IBLeft    = 0x44
	LineLo    = 0x48
	LineHi    = 0x4c
	Preempt   = 0x50
	Preempted = 0x54
	Progress  = 0x58

	CtlRun     = 1 << 0
	CtlReset   = 1 << 1
	CtlProtect = 1 << 2

	StatusIdle  = 1 << 0
	StatusFault = 1 << 1
	StatusState = 0x7 << 4
	StatusInIB  = 1 << 9
	StatusRing  = 0x7 << 10
	StatusWalk  = 0xf << 13
	StatusIssue = 0x7 << 17
	StatusSync  = 0x7 << 20

	RingSizeLog2 = 0x1f

	FaultCause = 0xf

	ProgressDone = 0x1fffff
)

// Values of FAULT_INFO.CAUSE.
const (
	CauseNone       = 0  // no fault
	CauseOpcode     = 1  // the opcode is unknown
	CauseReserved   = 2  // a reserved bit is set
	CauseLength     = 3  // the body length does not fit the opcode, Bytes has more bits than ID.CAPS.LENGTH says, or a buffer ends inside a packet or inside the dwords that it skips
	CauseAlign      = 4  // an address is not aligned as the packet requires
	CauseAddress    = 5  // an address range, or a window, is neither in VRAM nor in the range of the host port
	CausePrivilege  = 6  // a packet that is legal only in the ring is in an indirect buffer
	CauseRegister   = 7  // WRITE_REG to a register that it may not write
	CauseState      = 8  // a field of SET_STATE or WAIT_FENCE, a coordinate or size of a 2D packet, or a word of RESTORE_STATE is out of range; a surface that a 2D packet uses is not set; COPY_2D between two formats; or FILL_2D with elements of 128 bits
	CauseFence      = 9  // a fence id went backwards
	CauseReadError  = 10 // a read was answered with an error, or not in time
	CauseRing       = 11 // RING_BASE, RING_SIZE or WPTR is out of range
	CauseWriteError = 12 // a write could not be sent: bus mastering is off
	CauseWindow     = 13 // a packet in an indirect buffer reads a range outside every window, or writes one outside every writable window
	CausePage       = 14 // a page of the aperture could not be accessed: GART.FAULT
)

// Causes names the values of FAULT_INFO.CAUSE.
var Causes = []string{"NONE", "OPCODE", "RESERVED", "LENGTH", "ALIGN", "ADDRESS", "PRIVILEGE", "REGISTER", "STATE", "FENCE", "READ_ERROR", "RING", "WRITE_ERROR", "WINDOW", "PAGE"}

// Ring limits, as log2 of the size in bytes.
const (
	MinRingLog2 = 8
	MaxRingLog2 = 20
)

// Block returns the description of node n's registers.
func Block(n int) reg.Block {
	name := [Nodes]string{"CP0", "CP1"}[n]
	needs := [Nodes]caps.Set{0, caps.Node1}[n]
	return reg.Block{Name: name, Base: Base + uint32(n)*Stride, Size: Stride, Doc: "command processor and fence unit of a node", Needs: needs, Regs: []reg.Reg{
		{Off: Ctl, Name: "CTL", Access: reg.RW, Poke: reg.Destructive, Doc: "fetch control", Fields: []reg.Field{
			{Mask: CtlRun, Name: "RUN", Doc: "1: fetch from the ring while RPTR differs from WPTR; a fault or a stop for PREEMPT clears it; setting it again restarts the node at RPTR"},
			{Mask: CtlReset, Name: "RESET", Write: reg.Trigger, Doc: "1 waits until nothing is in flight, then resets the node: pointers, state and fault become 0, FENCE is kept. Reads as 1 until done. The reset also waits for earlier descriptors of the other node. A read that the host never answers ends after ID.READ_TIMEOUT. If that is 0 or does not exist, the reset waits until ID.RESET. A header that the host does not take, because it gives no credit, holds up this reset and ID.RESET until it is taken"},
			{Mask: CtlProtect, Name: "PROTECT", Doc: "1: packets in indirect buffers may access memory only in the windows of SET_WINDOW; always 0 without CAPS.PROTECTION"},
		}},
		{Off: Status, Name: "STATUS", Access: reg.RO, Volatile: true, Reset: StatusIdle, Doc: "state of the node", Fields: []reg.Field{
			{Mask: StatusIdle, Name: "IDLE", Doc: "nothing fetched, nothing in flight"},
			{Mask: StatusFault, Name: "FAULT", Doc: "stopped on a fault; RESET or a write of 0 to FAULT_INFO clears it"},
			{Mask: StatusState, Name: "STATE", Doc: "state of the decoder, for debugging", Enum: []string{"NEXT", "BODY", "SKIP", "CHECK", "EXEC", "RETIRE", "CLEAR", "FAULT"}},
			{Mask: StatusInIB, Name: "IN_IB", Doc: "inside an indirect buffer"},
			{Mask: StatusRing, Name: "RING", Doc: "state of the ring unit, for debugging", Enum: []string{"IDLE", "LEAVE", "BASE", "END", "COPY"}},
			{Mask: StatusWalk, Name: "WALK", Doc: "state of the unit that computes and checks addresses, for debugging", Enum: []string{"IDLE", "CORNER", "CLIP", "PLACE", "LOW", "SCALE", "PITCH", "MUL", "RANGE", "GUARD", "WINDOW", "IMMEDIATE"}},
			{Mask: StatusIssue, Name: "ISSUE", Doc: "state of the unit that sends descriptors, for debugging", Enum: []string{"IDLE", "PITCH", "OFFER", "ROW", "DRAIN"}},
			{Mask: StatusSync, Name: "SYNC", Doc: "state of the unit for fences, predicates, waits and contexts, for debugging", Enum: []string{"IDLE", "FENCE", "READ", "ANSWER", "WAIT", "SAVE"}},
		}},
		{Off: RingLo, Name: "RING_BASE_LO", Access: reg.RW, Poke: reg.Destructive, Unit: "bytes", Doc: "GPU address of the ring, low half; a multiple of 4096; may be written only while RUN is 0"},
		{Off: RingHi, Name: "RING_BASE_HI", Access: reg.RW, Poke: reg.Destructive, Unit: "bytes", Doc: "high half; bit 31 selects host memory"},
		{Off: RingSize, Name: "RING_SIZE", Access: reg.RW, Poke: reg.Destructive, Doc: "size of the ring; may be written only while RUN is 0", Fields: []reg.Field{
			{Mask: RingSizeLog2, Name: "LOG2", Unit: "log2 of bytes", Doc: "8 to 20"},
		}},
		{Off: Rptr, Name: "RPTR", Access: reg.RO, Volatile: true, Unit: "dwords", Doc: "first dword of the next packet to retire, modulo the ring"},
		{Off: Wptr, Name: "WPTR", Access: reg.RW, Write: reg.Doorbell, Poke: reg.Destructive, Unit: "dwords", Doc: "first dword not yet written, modulo the ring"},
		{Off: Fence, Name: "FENCE", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "last completed fence id, the low half of the node's timeline; updated only after every earlier write of the node is visible; the host may preset it while the node is idle: a write takes effect with RUN too, but is lost in the clock in which a fence completes"},
		{Off: FaultInfo, Name: "FAULT_INFO", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "fault of the node; a write of 0 clears it", Fields: []reg.Field{
			{Mask: FaultCause, Name: "CAUSE", Doc: "why the node stopped", Enum: Causes},
		}},
		{Off: FaultLo, Name: "FAULT_ADDR_LO", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "GPU address of the packet that faulted, low half"},
		{Off: FaultHi, Name: "FAULT_ADDR_HI", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
		{Off: FaultOp, Name: "FAULT_OP", Access: reg.RO, Volatile: true, Doc: "header dword of that packet"},
		{Off: FaultBad, Name: "FAULT_BAD_LO", Access: reg.RO, Volatile: true, Doc: "the refused operand (address, register offset, fence id), low half"},
		{Off: FaultBadH, Name: "FAULT_BAD_HI", Access: reg.RO, Volatile: true, Doc: "high half"},
		{Off: Packets, Name: "PACKETS", Access: reg.RO, Volatile: true, Doc: "packets retired since reset, modulo 2^32. An INDIRECT retires when its buffer has ended. A packet that a PREDICATE skips, that is refused or that a preemption interrupts does not retire"},
		{Off: IBLo, Name: "IB_ADDR_LO", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "low half of a GPU address. Inside an indirect buffer: its next dword. After a preemption inside an indirect buffer: the next dword of that buffer, until RUN is set. Otherwise: the current or last read of the node"},
		{Off: IBHi, Name: "IB_ADDR_HI", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
		{Off: IBLeft, Name: "IB_LEFT", Access: reg.RO, Volatile: true, Unit: "dwords", Doc: "dwords of the indirect buffer not yet retired; after a preemption inside it, the dwords left, until RUN is set"},
		{Off: LineLo, Name: "TIMELINE_LO", Access: reg.RW, Volatile: true, Read: reg.Latch, Poke: reg.Destructive, Doc: "another name of FENCE; a read of it latches the high half of the timeline into TIMELINE_HI"},
		{Off: LineHi, Name: "TIMELINE_HI", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "a read returns the high half at the last read of TIMELINE_LO; a write presets the high half while the node is idle, as of FENCE; always 0 without CAPS.TIMELINE"},
		{Off: Preempt, Name: "PREEMPT", Access: reg.RW, Write: reg.Trigger, Poke: reg.Destructive, Doc: "writing any id asks the node to stop. It stops after the current packet, while it waits for a fence, or, in an indirect buffer, after 4096 bytes of a COPY or FILL, or after a row, or 4096 bytes of one, of a COPY_2D or FILL_2D. It then clears RUN, leaves the indirect buffer, sets PREEMPTED and PROGRESS and raises its DONE event. A node that has already stopped, on a fault or for an earlier PREEMPT, answers at once and keeps its state. IB_LEFT is then 0 unless the node was inside an indirect buffer. To resume the buffer, put an INDIRECT packet with Resume, for IB_LEFT dwords at IB_ADDR, at RPTR and set RUN. Always 0 without CAPS.PREEMPTION"},
		{Off: Preempted, Name: "PREEMPTED", Access: reg.RO, Volatile: true, Doc: "value of PREEMPT when the node last stopped for it; always 0 without CAPS.PREEMPTION"},
		{Off: Progress, Name: "PROGRESS", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "progress of the packet at IB_ADDR when the node last stopped for a preemption inside an indirect buffer", Fields: []reg.Field{
			{Mask: ProgressDone, Name: "DONE", Doc: "of a linear packet, pieces of 4096 bytes; of a 2D packet, rows in bits 14..0 and pieces of 4096 bytes of the next row in bits 20..15; 0 for any other packet. Pieces past the end of a row count as 0. Always 0 without CAPS.PREEMPTION"},
		}},
	}}
}
