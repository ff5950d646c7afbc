// Package pkt declares the packets that a command processor executes: opcodes,
// layouts, encoders and decoders. The RTL uses the constants, drivers the
// encoders, and validators and debuggers the table.
//
// A packet is a header dword and a body of dwords, little-endian:
//
//	dword  bits    field
//	0      31..24  opcode
//	0      23..16  reserved, 0
//	0      15..0   number of dwords in the body
//
// A GPU address has bit 63 set for host memory, whose address is in bits 62..0.
// Otherwise it is an offset in VRAM.
//
// [Table] describes every packet. Append encodes a [Packet], [Decode] decodes one,
// [Next] splits a buffer, and [Disassemble] prints it.
package pkt

// Opcodes. 0 and all others are faults.
const (
	OpNOP          = 0x01
	OpIndirect     = 0x02
	OpSetState     = 0x03
	OpCopy         = 0x04
	OpCopy2D       = 0x05
	OpFill         = 0x06
	OpFill2D       = 0x07
	OpWriteReg     = 0x08
	OpTimestamp    = 0x09
	OpPredicate    = 0x0a
	OpSignal       = 0x0b
	OpFence        = 0x10
	OpSetWindow    = 0x11
	OpWaitFence    = 0x12
	OpSaveState    = 0x13
	OpRestoreState = 0x14
)

// Body lengths in dwords; a NOP has 0 to MaxNOP.
const (
	MaxNOP           = 0xffff
	IndirectBody     = 3
	SetStateBody     = 7
	CopyBody         = 5
	Copy2DBody       = 3
	FillBody         = 5
	Fill2DBody       = 4
	WriteRegBody     = 2
	TimestampBody    = 2
	PredicateBody    = 3
	SignalBody       = 5
	FenceBody        = 4
	SetWindowBody    = 5
	WaitFenceBody    = 3
	SaveStateBody    = 2
	RestoreStateBody = 2
)

// Fields of the header.
const (
	HeaderOp       = 0xff << 24
	HeaderReserved = 0xff << 16
	HeaderBody     = 0xffff
)

// Host is the bit of a GPU address that selects host memory.
const Host = uint64(1) << 63

// Limits.
const (
	MaxIndirect = 1<<20 - 1 // dwords of an indirect buffer
	MaxCoord    = 1 << 14   // largest coordinate, exclusive bound of a clip
	MaxPitch    = 1<<20 - 1 // bytes
	Windows     = 4         // windows of a node
	StateBytes  = 128       // size of a context's state in memory, and its alignment
	RowBits     = 15        // bits of PROGRESS that count the rows of a 2D packet; above them, pieces of a row
	MaxProgress = 1<<21 - 1
)

// Format is the size of an element of a surface.
type Format uint8

// The formats, as log2 of the bytes of an element.
const (
	Format8 Format = iota
	Format16
	Format32
	Format64
	Format128
)

// Surface selects one of the two surfaces of a context's state.
type Surface uint8

// The surfaces.
const (
	Source Surface = iota
	Dest
)

// A NOP does nothing. Its body is skipped.
//
//	dword  bits   field
//	0      31..0  header, op 0x01, body 0 to 65535
type NOP struct {
	Skip uint16 // dwords of body
}

// An Indirect executes Dwords dwords at Addr as packets, then continues after the
// INDIRECT. With Resume the first of them, a COPY, FILL, COPY_2D or FILL_2D,
// skips the part that the register PROGRESS counts as done. It is legal in the
// ring only.
//
//	dword  bits   field
//	0      31..0  header, op 0x02, body 3
//	1, 2   63..0  Addr, GPU address, a multiple of 4
//	3      19..0  Dwords, 0 to MaxIndirect
//	3      20     Resume; 31..21 must be zero
type Indirect struct {
	Addr   uint64
	Dwords uint32
	Resume bool
}

// A SetState sets one surface of the context's state, which later 2D packets use.
// The clip is half-open, in elements. A 2D packet skips elements outside the clip
// of a surface it uses. The state holds until a node reset.
//
//	dword  bits   field
//	0      31..0  header, op 0x03, body 7
//	1      0      Surface; 31..1 must be zero
//	2, 3   63..0  Base, GPU address of element (0, 0)
//	4      19..0  Pitch, bytes from row to row; 31..20 must be zero
//	5      2..0   Format, 0 to 4; 31..3 must be zero
//	6      15..0  Clip X0; 31..16 Clip Y0; each at most MaxCoord
//	7      15..0  Clip X1; 31..16 Clip Y1; each at most MaxCoord
type SetState struct {
	Surface        Surface
	Base           uint64
	Pitch          uint32
	Format         Format
	X0, Y0, X1, Y1 uint16
}

// A Copy copies Bytes bytes from Src to Dst. Any alignment is allowed.
// Overlapping ranges give an undefined result. 0 bytes is legal and does nothing.
//
//	dword  bits   field
//	0      31..0  header, op 0x04, body 5
//	1, 2   63..0  Src, GPU address
//	3, 4   63..0  Dst, GPU address
//	5      31..0  Bytes; at most the width in ID.CAPS.LENGTH
type Copy struct {
	Src, Dst uint64
	Bytes    uint32
}

// A Copy2D copies a rectangle of elements from the source surface to the
// destination surface. Both must have been set since reset, with the same format.
// An element is copied if it is in both clips. Elements that are both read and
// written give an undefined result. W or H of 0 does nothing.
//
//	dword  bits   field
//	0      31..0  header, op 0x05, body 3
//	1      15..0  SrcX; 31..16 SrcY; each at most MaxCoord
//	2      15..0  DstX; 31..16 DstY; each at most MaxCoord
//	3      15..0  W; 31..16 H; each at most MaxCoord
type Copy2D struct {
	SrcX, SrcY, DstX, DstY, W, H uint16
}

// A Fill writes Bytes bytes at Dst: the eight bytes of Value, lowest first,
// repeated. Any alignment is allowed.
//
//	dword  bits   field
//	0      31..0  header, op 0x06, body 5
//	1, 2   63..0  Dst, GPU address
//	3      31..0  Bytes; at most the width in ID.CAPS.LENGTH
//	4, 5   63..0  Value
type Fill struct {
	Dst   uint64
	Bytes uint32
	Value uint64
}

// A Fill2D fills a rectangle of the destination surface, each row like a Fill.
// The format is at most Format64, so each element gets the low bytes of Value if
// Value repeats with the element's size.
//
//	dword  bits   field
//	0      31..0  header, op 0x07, body 4
//	1      15..0  X; 31..16 Y; each at most MaxCoord
//	2      15..0  W; 31..16 H; each at most MaxCoord
//	3, 4   63..0  Value
type Fill2D struct {
	X, Y, W, H uint16
	Value      uint64
}

// A WriteReg writes a register of BAR0. Only ID.SCRATCH0 to ID.SCRATCH3 may be
// written.
//
//	dword  bits   field
//	0      31..0  header, op 0x08, body 2
//	1      15..0  Off, offset in BAR0 in bytes; 31..16 must be zero
//	2      31..0  Value
type WriteReg struct {
	Off   uint32
	Value uint32
}

// A Timestamp writes ID.TIME, 64 bits, to Addr, after every earlier packet of the
// node has retired and its writes are visible.
//
//	dword  bits   field
//	0      31..0  header, op 0x09, body 2
//	1, 2   63..0  Addr, GPU address, a multiple of 8
type Timestamp struct {
	Addr uint64
}

// A Predicate reads the 64-bit value at Addr, after every earlier packet of the
// node has retired and its writes are visible. If the value is 0, or with NonZero
// if it is not 0, the next Dwords dwords of the buffer are skipped without being
// checked.
//
//	dword  bits   field
//	0      31..0  header, op 0x0a, body 3
//	1, 2   63..0  Addr, GPU address, a multiple of 8
//	3      15..0  Dwords, in an indirect buffer at most to its end
//	3      16     NonZero; 31..17 must be zero
type Predicate struct {
	Addr    uint64
	Dwords  uint16
	NonZero bool
}

// A Signal writes Value to Addr, after every earlier packet of the node has
// retired and its writes are visible. Then, if IRQ is set, the node's DONE event
// is raised. The node's FENCE does not change, so that several queues of one node
// can each have their own values.
//
//	dword  bits   field
//	0      31..0  header, op 0x0b, body 5
//	1, 2   63..0  Addr, GPU address, a multiple of 8
//	3, 4   63..0  Value
//	5      0      IRQ; 31..1 must be zero
type Signal struct {
	Addr  uint64
	Value uint64
	IRQ   bool
}

// A Fence ends a submission. After every earlier packet of the node has retired
// and its writes are visible, the 64-bit value ID is written to Addr. Then the
// node's FENCE register becomes ID. Then, if IRQ is set, the node's DONE event is
// raised. It is legal in the ring only. ID must not go backwards, modulo 2^32.
// With CAPS.TIMELINE ID is the low half of the node's timeline, whose high half
// counts the wraps of the low half. The value written is then the 64-bit
// timeline, as in the registers TIMELINE_LO and TIMELINE_HI. Without
// CAPS.TIMELINE the high half is 0.
//
//	dword  bits   field
//	0      31..0  header, op 0x10, body 4
//	1, 2   63..0  Addr, GPU address, a multiple of 8
//	3      31..0  ID
//	4      0      IRQ; 31..1 must be zero
type Fence struct {
	Addr uint64
	ID   uint32
	IRQ  bool
}

// A SetWindow sets one window of the node, which holds until it is set again or
// the node is reset. While CTL.PROTECT is set, a packet in an indirect buffer may
// access memory only in windows: each of its ranges must be completely inside one
// window, and inside a writable one if it is written. Packets in the ring, and
// INDIRECT for the buffer that it executes, need no window. A Size of 0 closes
// the window. After a reset all are closed. It is legal in the ring only.
//
//	dword  bits   field
//	0      31..0  header, op 0x11, body 5
//	1      1..0   Index
//	1      2      Writable; 31..3 must be zero
//	2, 3   63..0  Base, GPU address
//	4, 5   63..0  Size, bytes; the window must be in VRAM or in the range of the host port
type SetWindow struct {
	Index    uint8
	Writable bool
	Base     uint64
	Size     uint64
}

// A WaitFence waits until the timeline of a node, its own or the other one, has
// reached Value. Only a fence of that node, a preset by the host, a reset of this
// node or PREEMPT ends the wait. It is legal in the ring only.
//
//	dword  bits   field
//	0      31..0  header, op 0x12, body 3
//	1      0      Node, below CAPS.NODES; 31..1 must be zero
//	2, 3   63..0  Value
type WaitFence struct {
	Node  uint8
	Value uint64
}

// A SaveState writes the context's state to the StateBytes bytes at Addr. The
// 8-byte words 0 to 2 are the source surface, 3 to 5 the destination surface.
// With CAPS.PROTECTION the words 6+2i and 7+2i are window i. With CAPS.PREEMPTION
// word 14 is the register PROGRESS. The other words are not written. The first
// word of a surface is its Base. The second has Pitch in bits 19..0, Format in
// 34..32, and bit 63 set if the surface has been set. The third has X0, Y0, X1
// and Y1, from bit 0 on. The first word of a window is its Base. The second has
// Size in bits 62..0 and Writable in 63. It is legal in the ring only.
//
//	dword  bits   field
//	0      31..0  header, op 0x13, body 2
//	1, 2   63..0  Addr, GPU address, a multiple of 128
type SaveState struct {
	Addr uint64
}

// A RestoreState reads the context's state that SAVE_STATE has written, after
// every earlier packet of the node has retired and its writes are visible. A word
// of a surface or of PROGRESS with a reserved bit set or a field out of range is
// a fault and is not restored. The other words are restored; windows are not
// checked, and one that would pass the end of the address space ends there. It is
// legal in the ring only.
//
//	dword  bits   field
//	0      31..0  header, op 0x14, body 2
//	1, 2   63..0  Addr, GPU address, a multiple of 128
type RestoreState struct {
	Addr uint64
}
