package pkt

import (
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
)

// Kind is the kind of a field's value. It decides how the value is printed and
// how a validator checks it.
type Kind uint8

// The kinds of field. The last four are GPU addresses.
const (
	Number      Kind = iota // a count, a coordinate, an id or an enumeration
	Pattern                 // bits without arithmetic meaning
	Flag                    // one bit
	RegOffset               // an offset in BAR0, in bytes
	AddrRead                // the packet reads memory from this address
	AddrWrite               // the packet writes memory from this address
	AddrSurface             // later packets read it if Surface is Source, and write it if Dest
	AddrWindow              // later packets may access memory from this address
)

// String returns the word for the kind in documents and in the canonical map.
func (k Kind) String() string {
	return [...]string{"number", "pattern", "flag", "register", "read", "write", "surface", "window"}[k]
}

// Address reports whether a field of this kind holds a GPU address.
func (k Kind) Address() bool { return k >= AddrRead }

// A Limit is a bound on a field that depends on the device or on the position of
// the packet.
type Limit uint8

// The limits.
const (
	NoLimit      Limit = iota
	LimitLength        // bits of ID.CAPS.LENGTH
	LimitNodes         // a node below ID.CAPS.NODES
	LimitScratch       // ID.SCRATCH0 to ID.SCRATCH3
	LimitBuffer        // in an indirect buffer, the dwords after the packet
)

// A Field is a contiguous run of bits of a packet. A field wider than a dword has
// its low half in Dword and its high half in the next dword.
type Field struct {
	Name  string   // the Go field of the packet's type
	Dword int      // index of the dword in the packet; the header is 0
	Mask  uint64   // the bits, in place; bits 63..32 are in the next dword
	Kind  Kind     // kind of the value
	Max   uint64   // largest legal value; 0: any that the mask can hold
	Limit Limit    // another bound
	Align uint64   // the value must be a multiple of it; 0: any
	Unit  string   // unit of the value, or ""
	Enum  []string // names of the values from 0, or nil
	Needs caps.Set // capabilities without which the field is reserved
	Doc   string   // meaning of the value
}

// Get returns the value of the field. p is a complete packet, starting with the
// header.
func (f Field) Get(p []byte) uint64 {
	v := uint64(dword(p, f.Dword))
	if f.Mask>>32 != 0 {
		v |= uint64(dword(p, f.Dword+1)) << 32
	}
	return v & f.Mask >> bits.TrailingZeros64(f.Mask)
}

// A Layout describes a packet.
type Layout struct {
	Op         uint8
	Name       string   // name in disassembly and documents
	Body       uint32   // dwords after the header
	Variable   bool     // any body of 0 to Body dwords, which is not checked
	Privileged bool     // legal in the ring only
	Needs      caps.Set // capabilities without which the opcode is unknown
	Source     bool     // uses the source surface
	Dest       bool     // uses the destination surface
	Fields     []Field  // in the order of their dwords and bits
	Doc        string   // effect of the packet, as a sentence without its subject
}

// Reserved returns the bits of the i-th dword of the packet that must be zero.
// The header is dword 0.
func (l Layout) Reserved(i int) uint32 {
	if i == 0 {
		return HeaderReserved
	}
	if l.Variable {
		return 0
	}
	used := uint32(0)
	for _, f := range l.Fields {
		switch i {
		case f.Dword:
			used |= uint32(f.Mask)
		case f.Dword + 1:
			used |= uint32(f.Mask >> 32)
		}
	}
	return ^used
}

// Lookup returns the layout of an opcode, and false if there is none.
func Lookup(op uint8) (Layout, bool) {
	for _, l := range Table {
		if l.Op == op {
			return l, true
		}
	}
	return Layout{}, false
}

const (
	mask32 = 0xffff_ffff
	mask64 = 0xffff_ffff_ffff_ffff
	low16  = 0xffff
	high16 = 0xffff << 16
)

// coord returns the field of a 16-bit coordinate or extent.
func coord(name string, dword int, mask uint64, doc string) Field {
	return Field{Name: name, Dword: dword, Mask: mask, Max: MaxCoord, Unit: "elements", Doc: doc}
}

// Table describes every packet, by opcode. Decoding, disassembly, documents, the
// map hash and the validators of the drivers use it.
var Table = []Layout{
	{Op: OpNOP, Name: "NOP", Body: MaxNOP, Variable: true, Doc: "does nothing. Its body is skipped.", Fields: []Field{
		{Name: "Skip", Dword: 0, Mask: HeaderBody, Unit: "dwords", Doc: "length of the body"},
	}},
	{Op: OpIndirect, Name: "INDIRECT", Body: IndirectBody, Privileged: true, Doc: "executes Dwords dwords at Addr as packets, then continues after the INDIRECT. With Resume the first of them, a COPY, FILL, COPY_2D or FILL_2D, skips the part that the register PROGRESS counts as done. It is legal in the ring only.", Fields: []Field{
		{Name: "Addr", Dword: 1, Mask: mask64, Kind: AddrRead, Align: 4, Unit: "bytes", Doc: "first dword of the indirect buffer"},
		{Name: "Dwords", Dword: 3, Mask: MaxIndirect, Unit: "dwords", Doc: "length of the indirect buffer"},
		{Name: "Resume", Dword: 3, Mask: 1 << 20, Kind: Flag, Needs: caps.Preemption, Doc: "1 if the first packet resumes from PROGRESS"},
	}},
	{Op: OpSetState, Name: "SET_STATE", Body: SetStateBody, Doc: "sets one surface of the context's state, which later 2D packets use. The clip is half-open, in elements. A 2D packet skips elements outside the clip of a surface it uses. The state holds until a node reset.", Fields: []Field{
		{Name: "Surface", Dword: 1, Mask: 1, Enum: []string{"SOURCE", "DEST"}, Doc: "which surface"},
		{Name: "Base", Dword: 2, Mask: mask64, Kind: AddrSurface, Unit: "bytes", Doc: "element (0, 0)"},
		{Name: "Pitch", Dword: 4, Mask: MaxPitch, Unit: "bytes", Doc: "from row to row"},
		{Name: "Format", Dword: 5, Mask: 7, Max: uint64(Format128), Enum: []string{"FORMAT8", "FORMAT16", "FORMAT32", "FORMAT64", "FORMAT128"}, Doc: "log2 of the bytes of an element"},
		coord("X0", 6, low16, "left edge of the clip"),
		coord("Y0", 6, high16, "top edge of the clip"),
		coord("X1", 7, low16, "right edge of the clip, exclusive"),
		coord("Y1", 7, high16, "bottom edge of the clip, exclusive"),
	}},
	{Op: OpCopy, Name: "COPY", Body: CopyBody, Doc: "copies Bytes bytes from Src to Dst. Any alignment is allowed. Overlapping ranges give an undefined result. 0 bytes is legal and does nothing.", Fields: []Field{
		{Name: "Src", Dword: 1, Mask: mask64, Kind: AddrRead, Unit: "bytes", Doc: "first byte read"},
		{Name: "Dst", Dword: 3, Mask: mask64, Kind: AddrWrite, Unit: "bytes", Doc: "first byte written"},
		{Name: "Bytes", Dword: 5, Mask: mask32, Limit: LimitLength, Unit: "bytes", Doc: "length; at most the width in ID.CAPS.LENGTH"},
	}},
	{Op: OpCopy2D, Name: "COPY_2D", Body: Copy2DBody, Source: true, Dest: true, Doc: "copies a rectangle of elements from the source surface to the destination surface. Both must have been set since reset, with the same format. An element is copied if it is in both clips. Elements that are both read and written give an undefined result. W or H of 0 does nothing.", Fields: []Field{
		coord("SrcX", 1, low16, "left edge in the source"),
		coord("SrcY", 1, high16, "top edge in the source"),
		coord("DstX", 2, low16, "left edge in the destination"),
		coord("DstY", 2, high16, "top edge in the destination"),
		coord("W", 3, low16, "width"),
		coord("H", 3, high16, "height"),
	}},
	{Op: OpFill, Name: "FILL", Body: FillBody, Doc: "writes Bytes bytes at Dst: the eight bytes of Value, lowest first, repeated. Any alignment is allowed.", Fields: []Field{
		{Name: "Dst", Dword: 1, Mask: mask64, Kind: AddrWrite, Unit: "bytes", Doc: "first byte written"},
		{Name: "Bytes", Dword: 3, Mask: mask32, Limit: LimitLength, Unit: "bytes", Doc: "length; at most the width in ID.CAPS.LENGTH"},
		{Name: "Value", Dword: 4, Mask: mask64, Kind: Pattern, Doc: "eight bytes, the lowest first"},
	}},
	{Op: OpFill2D, Name: "FILL_2D", Body: Fill2DBody, Dest: true, Doc: "fills a rectangle of the destination surface, each row like a Fill. The format is at most Format64, so each element gets the low bytes of Value if Value repeats with the element's size.", Fields: []Field{
		coord("X", 1, low16, "left edge"),
		coord("Y", 1, high16, "top edge"),
		coord("W", 2, low16, "width"),
		coord("H", 2, high16, "height"),
		{Name: "Value", Dword: 3, Mask: mask64, Kind: Pattern, Doc: "eight bytes, the lowest first"},
	}},
	{Op: OpWriteReg, Name: "WRITE_REG", Body: WriteRegBody, Doc: "writes a register of BAR0. Only ID.SCRATCH0 to ID.SCRATCH3 may be written.", Fields: []Field{
		{Name: "Off", Dword: 1, Mask: low16, Kind: RegOffset, Limit: LimitScratch, Align: 4, Unit: "bytes", Doc: "offset in BAR0"},
		{Name: "Value", Dword: 2, Mask: mask32, Kind: Pattern, Doc: "new value of the register"},
	}},
	{Op: OpTimestamp, Name: "TIMESTAMP", Body: TimestampBody, Doc: "writes ID.TIME, 64 bits, to Addr, after every earlier packet of the node has retired and its writes are visible.", Fields: []Field{
		{Name: "Addr", Dword: 1, Mask: mask64, Kind: AddrWrite, Align: 8, Unit: "bytes", Doc: "address of the 8 bytes"},
	}},
	{Op: OpPredicate, Name: "PREDICATE", Body: PredicateBody, Doc: "reads the 64-bit value at Addr, after every earlier packet of the node has retired and its writes are visible. If the value is 0, or with NonZero if it is not 0, the next Dwords dwords of the buffer are skipped without being checked.", Fields: []Field{
		{Name: "Addr", Dword: 1, Mask: mask64, Kind: AddrRead, Align: 8, Unit: "bytes", Doc: "address of the value"},
		{Name: "Dwords", Dword: 3, Mask: low16, Limit: LimitBuffer, Unit: "dwords", Doc: "skipped dwords; in an indirect buffer at most to its end"},
		{Name: "NonZero", Dword: 3, Mask: 1 << 16, Kind: Flag, Doc: "0 skips if the value is 0, 1 if it is not"},
	}},
	{Op: OpSignal, Name: "SIGNAL", Body: SignalBody, Needs: caps.Signal, Doc: "writes Value to Addr, after every earlier packet of the node has retired and its writes are visible. Then, if IRQ is set, the node's DONE event is raised. The node's FENCE does not change, so that several queues of one node can each have their own values.", Fields: []Field{
		{Name: "Addr", Dword: 1, Mask: mask64, Kind: AddrWrite, Align: 8, Unit: "bytes", Doc: "address of the 8 bytes"},
		{Name: "Value", Dword: 3, Mask: mask64, Kind: Pattern, Doc: "value that is written"},
		{Name: "IRQ", Dword: 5, Mask: 1, Kind: Flag, Doc: "1 raises the node's DONE event"},
	}},
	{Op: OpFence, Name: "FENCE", Body: FenceBody, Privileged: true, Doc: "ends a submission. After every earlier packet of the node has retired and its writes are visible, the 64-bit value ID is written to Addr. Then the node's FENCE register becomes ID. Then, if IRQ is set, the node's DONE event is raised. It is legal in the ring only. ID must not go backwards, modulo 2^32. With CAPS.TIMELINE ID is the low half of the node's timeline, whose high half counts the wraps of the low half. The value written is then the 64-bit timeline, as in the registers TIMELINE_LO and TIMELINE_HI. Without CAPS.TIMELINE the high half is 0.", Fields: []Field{
		{Name: "Addr", Dword: 1, Mask: mask64, Kind: AddrWrite, Align: 8, Unit: "bytes", Doc: "address of the 8 bytes"},
		{Name: "ID", Dword: 3, Mask: mask32, Doc: "the fence id"},
		{Name: "IRQ", Dword: 4, Mask: 1, Kind: Flag, Doc: "1 raises the node's DONE event"},
	}},
	{Op: OpSetWindow, Name: "SET_WINDOW", Body: SetWindowBody, Privileged: true, Needs: caps.Protection, Doc: "sets one window of the node, which holds until it is set again or the node is reset. While CTL.PROTECT is set, a packet in an indirect buffer may access memory only in windows: each of its ranges must be completely inside one window, and inside a writable one if it is written. Packets in the ring, and INDIRECT for the buffer that it executes, need no window. A Size of 0 closes the window. After a reset all are closed. It is legal in the ring only.", Fields: []Field{
		{Name: "Index", Dword: 1, Mask: Windows - 1, Doc: "which window"},
		{Name: "Writable", Dword: 1, Mask: 1 << 2, Kind: Flag, Doc: "1 lets packets also write in the window"},
		{Name: "Base", Dword: 2, Mask: mask64, Kind: AddrWindow, Unit: "bytes", Doc: "first byte of the window"},
		{Name: "Size", Dword: 4, Mask: mask64, Unit: "bytes", Doc: "length; the window must be in VRAM or in the range of the host port"},
	}},
	{Op: OpWaitFence, Name: "WAIT_FENCE", Body: WaitFenceBody, Privileged: true, Needs: caps.Timeline, Doc: "waits until the timeline of a node, its own or the other one, has reached Value. Only a fence of that node, a preset by the host, a reset of this node or PREEMPT ends the wait. It is legal in the ring only.", Fields: []Field{
		{Name: "Node", Dword: 1, Mask: 1, Limit: LimitNodes, Doc: "node of the timeline, below CAPS.NODES"},
		{Name: "Value", Dword: 2, Mask: mask64, Doc: "value that the timeline must reach"},
	}},
	{Op: OpSaveState, Name: "SAVE_STATE", Body: SaveStateBody, Privileged: true, Needs: caps.Contexts, Doc: "writes the context's state to the StateBytes bytes at Addr. The 8-byte words 0 to 2 are the source surface, 3 to 5 the destination surface. With CAPS.PROTECTION the words 6+2i and 7+2i are window i. With CAPS.PREEMPTION word 14 is the register PROGRESS. The other words are not written. The first word of a surface is its Base. The second has Pitch in bits 19..0, Format in 34..32, and bit 63 set if the surface has been set. The third has X0, Y0, X1 and Y1, from bit 0 on. The first word of a window is its Base. The second has Size in bits 62..0 and Writable in 63. It is legal in the ring only.", Fields: []Field{
		{Name: "Addr", Dword: 1, Mask: mask64, Kind: AddrWrite, Align: StateBytes, Unit: "bytes", Doc: "address of the state"},
	}},
	{Op: OpRestoreState, Name: "RESTORE_STATE", Body: RestoreStateBody, Privileged: true, Needs: caps.Contexts, Doc: "reads the context's state that SAVE_STATE has written, after every earlier packet of the node has retired and its writes are visible. A word of a surface or of PROGRESS with a reserved bit set or a field out of range is a fault and is not restored. The other words are restored; windows are not checked, and one that would pass the end of the address space ends there. It is legal in the ring only.", Fields: []Field{
		{Name: "Addr", Dword: 1, Mask: mask64, Kind: AddrRead, Align: StateBytes, Unit: "bytes", Doc: "address of the state"},
	}},
}
