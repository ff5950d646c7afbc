// Package cpreg declares the registers of a node's command processor (CP) and
// of its fence unit. Node n has them at Base + n*Stride.
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

	ProgressDone = 0xfffff
)

// Values of FAULT_INFO.CAUSE.
const (
	CauseNone       = 0  // no fault
	CauseOpcode     = 1  // the opcode is not one of the table
	CauseReserved   = 2  // a reserved bit is set
	CauseLength     = 3  // the body length does not fit the opcode, or a buffer ends inside a packet or what it skips
	CauseAlign      = 4  // an address is not a multiple of what the packet wants
	CauseAddress    = 5  // an address range, or a window, is neither in VRAM nor in reach of the host port
	CausePrivilege  = 6  // a packet that is legal in the ring only, in an indirect buffer
	CauseRegister   = 7  // WRITE_REG to a register that is not white-listed
	CauseState      = 8  // a field of SET_STATE or WAIT_FENCE or a word of RESTORE_STATE is out of range, or a 2D packet came before the surface it uses
	CauseFence      = 9  // a fence id went backwards
	CauseReadError  = 10 // a read was answered with an error
	CauseRing       = 11 // RING_BASE, RING_SIZE or WPTR is out of range
	CauseWriteError = 12 // a write could not be sent: bus mastering is off
	CauseWindow     = 13 // a packet in an indirect buffer names a range that is in no window, or writes one that is in none that is writable
)

// Causes names the values of FAULT_INFO.CAUSE.
var Causes = []string{"NONE", "OPCODE", "RESERVED", "LENGTH", "ALIGN", "ADDRESS", "PRIVILEGE", "REGISTER", "STATE", "FENCE", "READ_ERROR", "RING", "WRITE_ERROR", "WINDOW"}

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
			{Mask: CtlRun, Name: "RUN", Doc: "fetch from the ring while RPTR differs from WPTR; a fault clears it, and so does a stop for PREEMPT: a write in between starts the node at RPTR again"},
			{Mask: CtlReset, Name: "RESET", Write: reg.Trigger, Doc: "drains what is in flight, then resets the node: pointers, state and fault to 0, FENCE kept; reads as 1 until done. Descriptors of the other node that are in front are waited for; a read that the host never answers, of either, keeps it waiting until ID.RESET"},
			{Mask: CtlProtect, Name: "PROTECT", Doc: "1: packets in indirect buffers reach memory only in the windows that SET_WINDOW sets; always 0 without CAPS.PROTECTION"},
		}},
		{Off: Status, Name: "STATUS", Access: reg.RO, Volatile: true, Reset: StatusIdle, Doc: "what the node does", Fields: []reg.Field{
			{Mask: StatusIdle, Name: "IDLE", Doc: "nothing fetched, nothing in flight"},
			{Mask: StatusFault, Name: "FAULT", Doc: "stopped on a fault; RESET or a write of 0 to FAULT_INFO clears it"},
			{Mask: StatusState, Name: "STATE", Doc: "state of the decoder, for debugging", Enum: []string{"NEXT", "BODY", "SKIP", "CHECK", "EXEC", "RETIRE", "CLEAR", "FAULT"}},
			{Mask: StatusInIB, Name: "IN_IB", Doc: "inside an indirect buffer"},
			{Mask: StatusRing, Name: "RING", Doc: "state of the ring unit, for debugging", Enum: []string{"IDLE", "LEAVE", "BASE", "END", "COPY"}},
			{Mask: StatusWalk, Name: "WALK", Doc: "state of the unit that works out and checks addresses, for debugging", Enum: []string{"IDLE", "CORNER", "CLIP", "PLACE", "LOW", "SCALE", "PITCH", "MUL", "RANGE", "GUARD", "WINDOW", "IMMEDIATE"}},
			{Mask: StatusIssue, Name: "ISSUE", Doc: "state of the unit that sends descriptors, for debugging", Enum: []string{"IDLE", "PITCH", "OFFER", "ROW", "DRAIN"}},
			{Mask: StatusSync, Name: "SYNC", Doc: "state of the unit for fences, predicates, waits and contexts, for debugging", Enum: []string{"IDLE", "FENCE", "READ", "ANSWER", "WAIT", "SAVE"}},
		}},
		{Off: RingLo, Name: "RING_BASE_LO", Access: reg.RW, Poke: reg.Destructive, Unit: "bytes", Doc: "GPU address of the ring, low half; a multiple of 4096; written while RUN is 0"},
		{Off: RingHi, Name: "RING_BASE_HI", Access: reg.RW, Poke: reg.Destructive, Unit: "bytes", Doc: "high half; bit 31 selects host memory"},
		{Off: RingSize, Name: "RING_SIZE", Access: reg.RW, Poke: reg.Destructive, Doc: "size of the ring; written while RUN is 0", Fields: []reg.Field{
			{Mask: RingSizeLog2, Name: "LOG2", Unit: "log2 of bytes", Doc: "8 to 20"},
		}},
		{Off: Rptr, Name: "RPTR", Access: reg.RO, Volatile: true, Unit: "dwords", Doc: "first dword of the next packet to retire, modulo the ring"},
		{Off: Wptr, Name: "WPTR", Access: reg.RW, Write: reg.Doorbell, Poke: reg.Destructive, Unit: "dwords", Doc: "first dword not yet written, modulo the ring"},
		{Off: Fence, Name: "FENCE", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "last completed fence id, the low half of the node's timeline; written only after every earlier write of the node is visible; the host may preset it while RUN is 0"},
		{Off: FaultInfo, Name: "FAULT_INFO", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "a write of 0 clears the fault", Fields: []reg.Field{
			{Mask: FaultCause, Name: "CAUSE", Doc: "why the node stopped", Enum: Causes},
		}},
		{Off: FaultLo, Name: "FAULT_ADDR_LO", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "GPU address of the packet that faulted, low half"},
		{Off: FaultHi, Name: "FAULT_ADDR_HI", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
		{Off: FaultOp, Name: "FAULT_OP", Access: reg.RO, Volatile: true, Doc: "header dword of that packet"},
		{Off: FaultBad, Name: "FAULT_BAD_LO", Access: reg.RO, Volatile: true, Doc: "the operand that was refused (address, register offset, fence id), low half"},
		{Off: FaultBadH, Name: "FAULT_BAD_HI", Access: reg.RO, Volatile: true, Doc: "high half"},
		{Off: Packets, Name: "PACKETS", Access: reg.RO, Volatile: true, Doc: "packets retired since reset, modulo 2^32"},
		{Off: IBLo, Name: "IB_ADDR_LO", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "GPU address of the next dword of the indirect buffer, of one that the node has left for a preemption until RUN is set, and otherwise of what the node reads or has read last; low half"},
		{Off: IBHi, Name: "IB_ADDR_HI", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
		{Off: IBLeft, Name: "IB_LEFT", Access: reg.RO, Volatile: true, Unit: "dwords", Doc: "dwords of the indirect buffer not yet retired; what a node that has left it has not retired, until RUN is set"},
		{Off: LineLo, Name: "TIMELINE_LO", Access: reg.RW, Volatile: true, Read: reg.Latch, Poke: reg.Destructive, Doc: "FENCE by another name; a read of it latches the high half of the timeline into TIMELINE_HI"},
		{Off: LineHi, Name: "TIMELINE_HI", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "reads as the high half, as it was when TIMELINE_LO was last read; a write presets the high half, while RUN is 0; always 0 without CAPS.TIMELINE"},
		{Off: Preempt, Name: "PREEMPT", Access: reg.RW, Write: reg.Trigger, Poke: reg.Destructive, Doc: "a write, of any id, asks the node to stop: behind the packet in work, or inside a COPY or FILL of an indirect buffer behind any 4096 bytes, inside a COPY_2D or FILL_2D of one behind any row, or while it waits for a fence. It then clears RUN, leaves the indirect buffer, writes PREEMPTED and PROGRESS and raises the node's DONE event. A node that has stopped already, on a fault or for a PREEMPT before, answers at once and keeps what it had. IB_LEFT is then 0 unless it was inside an indirect buffer; to resume that is to set RUN with an INDIRECT packet of IB_LEFT dwords at IB_ADDR, with Resume, at RPTR. Always 0 without CAPS.PREEMPTION"},
		{Off: Preempted, Name: "PREEMPTED", Access: reg.RO, Volatile: true, Doc: "what was in PREEMPT when the node last stopped for it; always 0 without CAPS.PREEMPTION"},
		{Off: Progress, Name: "PROGRESS", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "what the packet at IB_ADDR had done when the node last stopped for a preemption inside an indirect buffer", Fields: []reg.Field{
			{Mask: ProgressDone, Name: "DONE", Doc: "pieces of 4096 bytes of a linear packet, rows of a 2D packet; 0 of any other. Always 0 without CAPS.PREEMPTION"},
		}},
	}}
}
