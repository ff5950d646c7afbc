package refmodel

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Words that Verdict.Operand may contain.
const (
	ClassVRAM = "VRAM"      // the address is out of the range of VRAM
	ClassHost = "host"      // the address is out of the range of host addresses
	ClassGART = "aperture"  // the address is out of the range of the largest aperture
	ReadOnly  = "read-only" // the write is in a window that is not Writable
)

// judges holds the rules of each opcode that its section states after its table.
var judges = map[uint8]func(n *Node, p []uint32, at Site) Verdict{
	pkt.OpNOP:          (*Node).judgeNothing,
	pkt.OpIndirect:     (*Node).judgeIndirect,
	pkt.OpSetState:     (*Node).judgeNothing,
	pkt.OpCopy:         (*Node).judgeCopy,
	pkt.OpCopy2D:       (*Node).judgeCopy2D,
	pkt.OpFill:         (*Node).judgeFill,
	pkt.OpFill2D:       (*Node).judgeFill2D,
	pkt.OpWriteReg:     (*Node).judgeWriteReg,
	pkt.OpTimestamp:    (*Node).judgeTimestamp,
	pkt.OpPredicate:    (*Node).judgePredicate,
	pkt.OpSignal:       (*Node).judgeSignal,
	pkt.OpFence:        (*Node).judgeFence,
	pkt.OpSetWindow:    (*Node).judgeSetWindow,
	pkt.OpWaitFence:    (*Node).judgeWaitFence,
	pkt.OpSaveState:    (*Node).judgeSaveState,
	pkt.OpRestoreState: (*Node).judgeRestoreState,
}

// Judge returns the effects of a packet at a site. It changes nothing. p is the
// packet from its header; it must have the length given by the header unless the
// header itself is refused. If there are several reasons to refuse the packet, the
// verdict has the first in this order: opcode, header, length, place, reserved bits,
// alignment, field ranges, and then the rules of the packet's own section, in the
// order of its fields.
func (n *Node) Judge(p []uint32, at Site) Verdict {
	l, ok := pkt.Lookup(uint8(p[0] >> 24))
	if !ok || !n.Has(l.Op) {
		return refuse(cpreg.CauseOpcode, "opcode")
	}
	if v := judgeHeader(l, p[0], at); v.Cause != cpreg.CauseNone {
		return v
	}
	for i := 1; i <= int(l.Body) && !l.Variable; i++ {
		if p[i]&n.reserved(l, i) != 0 {
			return refuse(cpreg.CauseReserved, fmt.Sprintf("dword %d", i))
		}
	}
	for _, f := range l.Fields {
		v := f.Value(p)
		if f.Align > 1 && v%f.Align != 0 {
			return refuseAt(cpreg.CauseAlign, f.Name, v)
		}
		if f.Max != 0 && v > f.Max {
			return refuse(cpreg.CauseState, f.Name)
		}
	}
	judge, ok := judges[l.Op]
	if !ok {
		return undefined("the reference model does not implement " + l.Name)
	}
	at.Left -= p[0] & pkt.HeaderBody
	return n.checkMaster(l, p, judge(n, p, at))
}

// judgeHeader checks the header: sections "Packets" and "Opcodes".
func judgeHeader(l pkt.Layout, header uint32, at Site) Verdict {
	body := header & pkt.HeaderBody
	switch {
	case header&pkt.HeaderReserved != 0:
		return refuse(cpreg.CauseReserved, "header")
	case !l.Variable && body < l.Body:
		return refuse(cpreg.CauseLength, "body short")
	case !l.Variable && body > l.Body:
		return refuse(cpreg.CauseLength, "body long")
	case at.Place != InRing && body > at.Left:
		return refuse(cpreg.CauseLength, "cut")
	case at.Place != InRing && l.Privileged:
		return refuse(cpreg.CausePrivilege, "place")
	}
	return Verdict{}
}

// reserved returns the bits of a dword that must be zero on this device.
func (n *Node) reserved(l pkt.Layout, i int) uint32 {
	mask := l.Reserved(i)
	for _, f := range l.Fields {
		if f.Dword == i && !n.Caps.Has(f.Needs) {
			mask |= uint32(f.Mask)
		}
	}
	return mask
}

// checkMaster refuses a packet that writes host memory while bus mastering is off:
// "Fault causes", WRITE_ERROR.
func (n *Node) checkMaster(l pkt.Layout, p []uint32, v Verdict) Verdict {
	refused := v.Cause != cpreg.CauseNone && v.Cause != cpreg.CausePage
	if !n.NoMaster || refused || len(v.Moves) == 0 || n.parts(v.Moves[0])[0].Dst&pkt.Host == 0 {
		return v
	}
	for _, f := range l.Fields {
		if f.Kind == pkt.AddrWrite {
			return refuseAt(cpreg.CauseWriteError, f.Name, f.Value(p))
		}
	}
	return refuseAt(cpreg.CauseWriteError, "destination", n.Surfaces[pkt.Dest].Base)
}

// checkRange checks the address range of an operand whose first byte is at low and whose
// last row, of the given bytes, is at high: "Packets" and "Fault causes", ADDRESS. translated
// reports whether the operand may be in the aperture.
func (n *Node) checkRange(operand string, low, high, bytes uint64, translated bool) (Verdict, bool) {
	start, limit, class := uint64(0), n.VRAM, ClassVRAM
	switch {
	case low&pkt.Host != 0:
		start, limit, class = pkt.Host, 1<<n.HostBits, ClassHost
	case translated && n.mapped(low):
		start, limit, class = gartreg.Start, gartreg.MaxPages*gartreg.PageBytes, ClassGART
	}
	if low-start >= limit {
		return refuseAt(cpreg.CauseAddress, operand+" "+class, low), false
	}
	if end := high - start; bytes > limit || end > limit-bytes {
		return refuseAt(cpreg.CauseAddress, operand+" "+class, high), false
	}
	return Verdict{}, true
}

// checkWindows checks that the windows allow a guarded packet to access a range: "SET_WINDOW".
func (n *Node) checkWindows(operand string, at Place, first, bytes uint64, writes bool) (Verdict, bool) {
	if at != Guarded {
		return Verdict{}, true
	}
	for _, w := range n.Windows {
		switch {
		case !w.opens(first, bytes):
		case w.Writable || !writes:
			return Verdict{}, true
		case !strings.HasSuffix(operand, ReadOnly):
			operand += " " + ReadOnly
		}
	}
	return refuseAt(cpreg.CauseWindow, operand, first), false
}

// access checks one contiguous operand that the aperture does not translate.
func (n *Node) access(operand string, at Place, addr, bytes uint64, writes bool) (Verdict, bool) {
	if v, ok := n.checkRange(operand, addr, addr, bytes, false); !ok {
		return v, false
	}
	return n.checkWindows(operand, at, addr, bytes, writes)
}

// data checks one contiguous operand that may be in the aperture.
func (n *Node) data(operand string, at Place, addr, bytes uint64, writes bool) (Verdict, bool) {
	if v, ok := n.checkRange(operand, addr, addr, bytes, true); !ok {
		return v, false
	}
	return n.checkWindows(operand, at, addr, bytes, writes)
}

// readable returns the bytes of a range and reports whether all of it can be read.
// VRAM in range can always be read; b is nil if the model does not hold it. The pages of a range
// in the aperture can be accessed.
func (n *Node) readable(addr, bytes uint64) (b []byte, ok bool) {
	if n.mapped(addr) {
		for _, p := range n.Physical(Range{addr, bytes}) {
			part, ok := n.readable(p.At, p.N)
			if !ok {
				return nil, false
			}
			b = append(b, part...)
		}
		return b, true
	}
	if addr&pkt.Host != 0 && n.NoMaster {
		return nil, false
	}
	b = n.Mem.Bytes(addr, bytes)
	return b, b != nil || addr&pkt.Host == 0
}

// unreadable reports whether no byte of a range can be read.
func (n *Node) unreadable(addr, bytes uint64) bool {
	if addr&pkt.Host == 0 {
		return false
	}
	size := uint64(len(n.Mem.Host))
	off := addr&^pkt.Host - n.Mem.HostBase
	return n.NoMaster || off >= size && off+bytes-1 >= off // and does not wrap around into the memory
}

func long(p []uint32, i int) uint64 { return uint64(p[i]) | uint64(p[i+1])<<32 }
