package refmodel

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Words of Verdict.Operand.
const (
	ClassVRAM = "VRAM"      // of an address that is out of range
	ClassHost = "host"      // the same
	ReadOnly  = "read-only" // of a range that is written and lies in a window that is not Writable
)

// judges has, of every opcode, what the packet's section says after its table.
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
	pkt.OpFence:        (*Node).judgeFence,
	pkt.OpSetWindow:    (*Node).judgeSetWindow,
	pkt.OpWaitFence:    (*Node).judgeWaitFence,
	pkt.OpSaveState:    (*Node).judgeSaveState,
	pkt.OpRestoreState: (*Node).judgeRestoreState,
}

// Judge says what a packet does at a place. It changes nothing. p is the packet
// from its header on, with as many dwords as the header says unless the verdict
// is one of the header. Of several reasons to refuse it, the verdict has the first
// of these: opcode, header, length, place, reserved bits,
// alignment, range of fields, and then what the packet's own section says, in the
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
		return undefined("the model does not know " + l.Name)
	}
	at.Left -= p[0] & pkt.HeaderBody
	return n.unsent(l, p, judge(n, p, at))
}

// judgeHeader judges what the header says of the packet: "Packets" and "Opcodes".
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

// unsent refuses a packet that writes host memory while bus mastering is off:
// "Fault causes", WRITE_ERROR.
func (n *Node) unsent(l pkt.Layout, p []uint32, v Verdict) Verdict {
	if !n.NoMaster || v.Cause != cpreg.CauseNone || len(v.Moves) == 0 || v.Moves[0].Dst&pkt.Host == 0 {
		return v
	}
	for _, f := range l.Fields {
		if f.Kind == pkt.AddrWrite {
			return refuseAt(cpreg.CauseWriteError, f.Name, f.Value(p))
		}
	}
	return refuseAt(cpreg.CauseWriteError, "destination", n.Surfaces[pkt.Dest].Base)
}

// reach judges a range of bytes whose first byte is at low and whose last part, so
// many bytes, is at high: "Packets" and "Fault causes", ADDRESS.
func (n *Node) reach(operand string, low, high, bytes uint64) (Verdict, bool) {
	limit, class := n.VRAM, ClassVRAM
	if low&pkt.Host != 0 {
		limit, class = 1<<n.HostBits, ClassHost
	}
	if low&^pkt.Host >= limit {
		return refuseAt(cpreg.CauseAddress, operand+" "+class, low), false
	}
	if end := high &^ pkt.Host; bytes > limit || end > limit-bytes {
		return refuseAt(cpreg.CauseAddress, operand+" "+class, high), false
	}
	return Verdict{}, true
}

// opens judges whether a guarded packet may reach a range: "SET_WINDOW".
func (n *Node) opens(operand string, at Place, first, bytes uint64, writes bool) (Verdict, bool) {
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

// access judges one contiguous operand.
func (n *Node) access(operand string, at Place, addr, bytes uint64, writes bool) (Verdict, bool) {
	if v, ok := n.reach(operand, addr, addr, bytes); !ok {
		return v, false
	}
	return n.opens(operand, at, addr, bytes, writes)
}

// answers returns the bytes of a range that is read, if all of it answers. VRAM in
// reach answers, though the model need not have it.
func (n *Node) answers(addr, bytes uint64) (b []byte, ok bool) {
	if addr&pkt.Host != 0 && n.NoMaster {
		return nil, false
	}
	b = n.Mem.Bytes(addr, bytes)
	return b, b != nil || addr&pkt.Host == 0
}

// nowhere reports whether no byte of a range that is read answers.
func (n *Node) nowhere(addr, bytes uint64) bool {
	if addr&pkt.Host == 0 {
		return false
	}
	size := uint64(len(n.Mem.Host))
	off := addr&^pkt.Host - n.Mem.HostBase
	return n.NoMaster || off >= size && off+bytes-1 >= off // its end does not come around to the memory
}

func long(p []uint32, i int) uint64 { return uint64(p[i]) | uint64(p[i+1])<<32 }
