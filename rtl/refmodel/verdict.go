package refmodel

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A Place is the kind of buffer that holds a packet.
type Place uint8

// The places. Guarded is an indirect buffer while CTL.PROTECT is set: windows limit
// the memory that its packets may access.
const (
	InRing Place = iota
	InIndirect
	Guarded
	Places
)

// String returns the name of the place.
func (p Place) String() string { return [...]string{"ring", "indirect", "guarded"}[p] }

// A Site is the position of a packet, and how much of it is done.
type Site struct {
	Place Place
	Left  uint32 // dwords from the header's end to the end of the indirect buffer; ring: unused
	Done  uint32 // PROGRESS, for an INDIRECT with Resume
}

// A Verdict is the effect of a packet, or the reason to refuse it.
type Verdict struct {
	Cause   uint32 // cpreg.CauseNone if the packet is not refused
	Operand string // refused field with details, such as "Addr host" or "dword 2"
	Bad     uint64 // FAULT_BAD
	Known   bool   // the documents define FAULT_BAD

	Undefined string // why the documents do not define the effect; "": they do

	Moves []Move        // in order; a refused packet has moves only with READ_ERROR and PAGE
	Reads []Range       // ranges read, except the sources of moves
	Skips bool          // the packet is a PREDICATE that skips
	Waits bool          // the packet is a WAIT_FENCE whose value has not been reached
	State *ContextWords // state after a RESTORE_STATE, even if it is refused
}

// A Move is a contiguous copy, or a fill.
type Move struct {
	Src, Dst, N uint64
	Fill        bool   // repeat Value, lowest byte first
	Value       uint64 // of a fill
	Stamp       bool   // write the 8 bytes of ID.TIME
	Unread      bool   // a read failed: bytes that were answered may or may not be written
}

// pieceBytes is the distance in bytes between the points at which a preemption can
// stop a linear packet or a row: docs/registers.md, PROGRESS.
const pieceBytes = 4096

// Accesses calls f for each range of memory that the packet reads or writes.
func (v Verdict) Accesses(f func(r Range, write bool)) {
	for _, r := range v.Reads {
		f(r, false)
	}
	for _, m := range v.Moves {
		if !m.Fill && !m.Stamp {
			f(Range{m.Src, m.N}, false)
		}
		f(Range{m.Dst, m.N}, true)
	}
}

// Bytes returns the number of bytes that the packet writes.
func (v Verdict) Bytes() uint64 {
	sum := uint64(0)
	for _, m := range v.Moves {
		sum += m.N
	}
	return sum
}

// An Extent is the size of a packet that PREEMPT can stop in an indirect buffer: the
// rows of a COPY_2D or FILL_2D, or a COPY or FILL, which is one row.
type Extent struct {
	Linear bool
	Rows   uint64
	Bytes  uint64 // of a row
}

// Extent returns the size of a packet that starts at its beginning. It has no rows if
// PREEMPT cannot stop the packet.
func (v Verdict) Extent(op uint8) Extent {
	e := Extent{Linear: op == pkt.OpCopy || op == pkt.OpFill}
	if e.Linear || op == pkt.OpCopy2D || op == pkt.OpFill2D {
		e.Rows = uint64(len(v.Moves))
		if e.Rows > 0 {
			e.Bytes = v.Moves[0].N
		}
	}
	return e
}

// Done returns the rows that PROGRESS counts as done, and the bytes of the next row.
func (e Extent) Done(progress uint32) (rows, bytes uint64) {
	if e.Linear {
		return 0, uint64(progress) * pieceBytes
	}
	return uint64(progress & 0x7fff), uint64(progress>>15) * pieceBytes
}

// Stops reports whether PREEMPT can stop the packet at a value of PROGRESS.
func (e Extent) Stops(progress uint32) bool {
	rows, bytes := e.Done(progress)
	return rows < e.Rows && bytes < e.Bytes
}

// refuse returns a refusal for which the documents do not define FAULT_BAD.
func refuse(cause uint32, operand string) Verdict { return Verdict{Cause: cause, Operand: operand} }

// refuseAt returns a refusal with a value of FAULT_BAD.
func refuseAt(cause uint32, operand string, bad uint64) Verdict {
	return Verdict{Cause: cause, Operand: operand, Bad: bad, Known: true}
}

// undefined returns a verdict for a case that the documents leave open.
func undefined(why string) Verdict { return Verdict{Undefined: why} }

// A Fault is the fault that a node latches when it stops.
type Fault struct {
	Cause uint32 // FAULT_INFO
	Addr  uint64 // FAULT_ADDR
	Op    uint32 // FAULT_OP
	Bad   uint64 // FAULT_BAD
	Known bool   // the documents define FAULT_BAD
}

// Latched returns the fault that a node latches for a refused packet at a GPU
// address. If an INDIRECT's buffer cannot be read, the fault belongs to the first
// packet of the buffer, whose header was not read.
func (v Verdict) Latched(p []uint32, addr uint64) Fault {
	f := Fault{Cause: v.Cause, Addr: addr, Op: p[0], Bad: v.Bad, Known: v.Known}
	if v.Cause == cpreg.CauseReadError && uint8(p[0]>>24) == pkt.OpIndirect {
		f.Addr, f.Op = v.Bad, 0
	}
	return f
}
