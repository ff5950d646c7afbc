package refmodel

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A Place is where a packet stands.
type Place uint8

// The places. In Guarded, an indirect buffer while CTL.PROTECT is set, windows
// limit what packets reach.
const (
	InRing Place = iota
	InIndirect
	Guarded
	Places
)

// String returns a word for a place.
func (p Place) String() string { return [...]string{"ring", "indirect", "guarded"}[p] }

// A Site is where a packet stands, and how much of it is done.
type Site struct {
	Place Place
	Left  uint32 // dwords after the header to the end of the indirect buffer; not of the ring
	Done  uint32 // pieces or rows that an INDIRECT with Resume says are done
}

// A Verdict is what a packet does, or why it is refused.
type Verdict struct {
	Cause   uint32 // cpreg.CauseNone if it is not refused
	Operand string // that was refused: a field and more, as in "Addr host" or "dword 2"
	Bad     uint64 // FAULT_BAD
	Known   bool   // the documents say what FAULT_BAD is

	Undefined string // why the documents do not say what comes of it, or ""

	Moves []Move        // in order; those of a packet that is refused are of READ_ERROR
	Reads []Range       // what it reads, the sources of moves aside
	Skips bool          // a PREDICATE skips what it says
	Waits bool          // a WAIT_FENCE: the value has not been reached
	State *ContextWords // a RESTORE_STATE: what the state becomes, even if it is refused
}

// A Move is a contiguous copy, or a fill.
type Move struct {
	Src, Dst, N uint64
	Fill        bool   // with Value, the lowest byte first, again and again
	Value       uint64 // of a fill
	Stamp       bool   // the 8 bytes are ID.TIME
	Unread      bool   // a read has failed: bytes that were read may be written, or not
}

// pieceBytes is how much of a linear packet lies between two places at which a
// preemption can stop it: docs/registers.md, PROGRESS.
const pieceBytes = 4096

// Accesses calls f with every range of memory that the packet reads or writes.
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

// Bytes returns how many bytes the packet writes.
func (v Verdict) Bytes() uint64 {
	sum := uint64(0)
	for _, m := range v.Moves {
		sum += m.N
	}
	return sum
}

// Pieces returns the pieces of 4096 bytes of a COPY or a FILL, and the rows of a
// COPY_2D or a FILL_2D, at which PREEMPT can stop it in an indirect buffer; 0 for
// other packets.
func (v Verdict) Pieces(op uint8) uint64 {
	switch op {
	case pkt.OpCopy, pkt.OpFill:
		if len(v.Moves) > 0 {
			return (v.Moves[0].N + pieceBytes - 1) / pieceBytes
		}
	case pkt.OpCopy2D, pkt.OpFill2D:
		return uint64(len(v.Moves))
	}
	return 0
}

// refuse is a refusal of which the documents do not say what FAULT_BAD is.
func refuse(cause uint32, operand string) Verdict { return Verdict{Cause: cause, Operand: operand} }

// refuseAt is a refusal with a value of FAULT_BAD.
func refuseAt(cause uint32, operand string, bad uint64) Verdict {
	return Verdict{Cause: cause, Operand: operand, Bad: bad, Known: true}
}

// undefined is what the documents leave open.
func undefined(why string) Verdict { return Verdict{Undefined: why} }

// A Fault is what a node latches when it stops.
type Fault struct {
	Cause uint32 // FAULT_INFO
	Addr  uint64 // FAULT_ADDR
	Op    uint32 // FAULT_OP
	Bad   uint64 // FAULT_BAD
	Known bool   // the documents say what FAULT_BAD is
}

// Latched returns what a node latches of a packet at a GPU address that is
// refused. An INDIRECT whose buffer does not answer is the fault of what it
// executes, of which no header was read.
func (v Verdict) Latched(p []uint32, addr uint64) Fault {
	f := Fault{Cause: v.Cause, Addr: addr, Op: p[0], Bad: v.Bad, Known: v.Known}
	if v.Cause == cpreg.CauseReadError && uint8(p[0]>>24) == pkt.OpIndirect {
		f.Addr, f.Op = v.Bad, 0
	}
	return f
}
