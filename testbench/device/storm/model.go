package storm

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
)

// The model is what docs/packets.md and docs/registers.md say of a node. It
// first judges a packet, which changes nothing, and then does it.

// A span is a range of GPU addresses.
type span struct{ at, n uint64 }

func (s span) holds(at, n uint64) bool { return n <= s.n && at >= s.at && at-s.at <= s.n-n }

// A window is what guarded packets reach.
type window struct {
	span
	writable bool
}

// A surface is one half of the state that SET_STATE sets.
type surface struct {
	set            bool
	base, pitch    uint64
	format         uint32
	x0, y0, x1, y1 int64
}

// A verdict is what a packet does, or why it is refused.
type verdict struct {
	cause   uint32
	operand string // that was refused, as its bin has it
	bad     uint64 // FAULT_BAD, if the documents say what it is
	known   bool
	moves   []move
	skips   bool           // a PREDICATE skips
	waits   bool           // a WAIT_FENCE finds its value in this round
	other   bool           // it is the other node's
	state   map[int]uint64 // the words of a context's state that are taken
}

// A move is a contiguous copy, or a fill with a value.
type move struct {
	fill          bool
	src, dst, n   uint64
	value         uint64
	stamp, nobody bool // a time stamp; nothing answers the read
}

func refuse(cause uint32, operand string) verdict { return verdict{cause: cause, operand: operand} }

func refuseAt(cause uint32, operand string, bad uint64) verdict {
	return verdict{cause: cause, operand: operand, bad: bad, known: true}
}

// A node is the state of one node, and what it was given of memory.
type node struct {
	device
	mem *scoreboard.Memory
	id  int

	surf    [2]surface
	windows [4]window
	protect bool
	fence   uint64 // the timeline; its low half only, without
	begun   uint64 // fence when the round began
	saved   uint64 // where the state was saved last, 0: nowhere
	peer    *node  // the other node, nil if there is none
	packets uint32
	bytes   uint64 // that packets have moved, in this round
	irqs    int    // DONE events
	dark    bool   // bus mastering is off
	held    bool   // the other node may not wait for it in this round

	scratch map[int]uint32
}

// reset is a reset of the node: FENCE stays.
func (n *node) reset() {
	n.surf, n.windows, n.packets = [2]surface{}, [4]window{}, 0
	n.protect = false
}

func long(p []uint32, i int) uint64 { return uint64(p[i]) | uint64(p[i+1])<<32 }

// judge says what a packet does at a place with so many dwords behind its header
// in its indirect buffer. p holds as much as the header says.
func (n *node) judge(p []uint32, at place, left uint32) verdict {
	op, body := uint8(p[0]>>24), p[0]&pkt.HeaderBody
	l, ok := pkt.Lookup(op)
	switch {
	case !ok || !n.has(op):
		return refuse(cpreg.CauseOpcode, "opcode")
	case p[0]&pkt.HeaderReserved != 0:
		return refuse(cpreg.CauseReserved, "header")
	case !l.Variable && body < l.Body:
		return refuse(cpreg.CauseLength, "body short")
	case !l.Variable && body > l.Body:
		return refuse(cpreg.CauseLength, "body long")
	case at != inRing && body > left:
		return refuse(cpreg.CauseLength, "cut")
	case at != inRing && l.Privileged:
		return refuse(cpreg.CausePrivilege, "place")
	}
	for i := 1; i <= int(l.Body) && !l.Variable; i++ {
		if p[i]&l.Reserved(i) != 0 {
			return refuse(cpreg.CauseReserved, fmt.Sprintf("dword %d", i))
		}
	}
	if at != inRing {
		left -= body
	}
	return n.operands(l, p, at, left)
}

// operands judges what the layout says of the fields, and then the rest.
func (n *node) operands(l pkt.Layout, p []uint32, at place, left uint32) verdict {
	for _, f := range l.Fields {
		v := value(f, p)
		if f.Align > 1 && v%f.Align != 0 {
			return refuseAt(cpreg.CauseAlign, f.Name, v)
		}
		if f.Max != 0 && v > f.Max {
			return refuse(cpreg.CauseState, f.Name)
		}
	}
	o, ok := ops[l.Op]
	if !ok {
		return refuse(cpreg.CauseOpcode, "unmodelled")
	}
	return n.unsent(l, p, o.judge(n, p, at, left))
}

// unsent refuses a packet that writes host memory while that is not allowed.
func (n *node) unsent(l pkt.Layout, p []uint32, v verdict) verdict {
	if !n.dark || v.cause != cpreg.CauseNone || len(v.moves) == 0 || v.moves[0].dst&pkt.Host == 0 {
		return v
	}
	for _, f := range l.Fields {
		if f.Kind == pkt.AddrWrite {
			return refuseAt(cpreg.CauseWriteError, f.Name, value(f, p))
		}
	}
	return refuseAt(cpreg.CauseWriteError, "destination", n.surf[pkt.Dest].base)
}

// value returns a field of a packet.
func value(f pkt.Field, p []uint32) uint64 {
	v := uint64(p[f.Dword])
	if f.Mask>>32 != 0 {
		v |= uint64(p[f.Dword+1]) << 32
	}
	return v & f.Mask >> bits.TrailingZeros64(f.Mask)
}

// reach judges a range of bytes whose first is low and whose last part, so many
// bytes, is at high.
func (n *node) reach(operand string, low, high, bytes uint64) (verdict, bool) {
	limit, class := n.vram, vramClass
	if low&pkt.Host != 0 {
		limit, class = 1<<n.hostBits, hostClass
	}
	if low&^pkt.Host >= limit {
		return refuseAt(cpreg.CauseAddress, operand+" "+class, low), false
	}
	if end := high &^ pkt.Host; bytes > limit || end > limit-bytes {
		return refuseAt(cpreg.CauseAddress, operand+" "+class, high), false
	}
	return verdict{}, true
}

// opens judges whether a guarded packet may reach a range.
func (n *node) opens(operand string, at place, first, bytes uint64, writes bool) (verdict, bool) {
	if at != guarded {
		return verdict{}, true
	}
	for _, w := range n.windows {
		switch {
		case w.n == 0 || w.at+w.n < w.at || !w.holds(first, bytes):
		case w.writable || !writes:
			return verdict{}, true
		case !strings.HasSuffix(operand, readOnly):
			operand += " " + readOnly
		}
	}
	return refuseAt(cpreg.CauseWindow, operand, first), false
}

// access judges one contiguous operand.
func (n *node) access(operand string, at place, addr, bytes uint64, writes bool) (verdict, bool) {
	if v, ok := n.reach(operand, addr, addr, bytes); !ok {
		return v, false
	}
	return n.opens(operand, at, addr, bytes, writes)
}

// nowhere says that nothing answers a read of an address in reach.
func (n *node) nowhere(addr uint64) bool {
	return addr&pkt.Host != 0 && (n.dark || n.mem.Bytes(addr, 1) == nil)
}

func (n *node) linear(p []uint32, at place, copies bool) verdict {
	m := move{fill: true}
	var bytes uint32
	if copies {
		m = move{src: long(p, 1), dst: long(p, 3)}
		bytes = p[5]
	} else {
		m.dst, bytes, m.value = long(p, 1), p[3], long(p, 4)
	}
	m.n = uint64(bytes)
	switch {
	case m.n >= 1<<n.lengthBits:
		return refuse(cpreg.CauseLength, "Bytes")
	case m.n == 0:
		return verdict{}
	}
	if copies {
		if v, ok := n.access("Src", at, m.src, m.n, false); !ok {
			return v
		}
	}
	if v, ok := n.access("Dst", at, m.dst, m.n, true); !ok {
		return v
	}
	if copies && n.nowhere(m.src) {
		v := refuseAt(cpreg.CauseReadError, "Src", m.src)
		v.moves = []move{{src: m.src, dst: m.dst, n: m.n, nobody: true}}
		return v
	}
	return verdict{moves: []move{m}}
}

func (n *node) judgeCopy(p []uint32, at place, _ uint32) verdict { return n.linear(p, at, true) }
func (n *node) judgeFill(p []uint32, at place, _ uint32) verdict { return n.linear(p, at, false) }

func (n *node) judgeNothing([]uint32, place, uint32) verdict { return verdict{} }

func (n *node) judgeIndirect(p []uint32, _ place, _ uint32) verdict {
	addr, dwords := long(p, 1), uint64(p[3]&pkt.MaxIndirect)
	if p[3] > pkt.MaxIndirect && !n.preemption {
		return refuse(cpreg.CauseReserved, "dword 3")
	}
	if dwords == 0 {
		return verdict{}
	}
	if v, ok := n.reach("Addr", addr, addr, 4*dwords); !ok {
		return v
	}
	if n.nowhere(addr) {
		return refuseAt(cpreg.CauseReadError, "Addr", addr)
	}
	return verdict{}
}

// scratchOff is the first of the four registers that WRITE_REG may write.
const scratchOff = idreg.Base + idreg.Scratch0

func (n *node) judgeWriteReg(p []uint32, _ place, _ uint32) verdict {
	if off := p[1]; off < scratchOff || off >= scratchOff+16 {
		return refuseAt(cpreg.CauseRegister, "Off", uint64(off))
	}
	return verdict{}
}

func (n *node) judgeTimestamp(p []uint32, at place, _ uint32) verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at, addr, 8, true); !ok {
		return v
	}
	return verdict{moves: []move{{dst: addr, n: 8, stamp: true}}}
}

func (n *node) judgePredicate(p []uint32, at place, left uint32) verdict {
	addr, dwords := long(p, 1), p[3]&0xffff
	if at != inRing && dwords > left {
		return refuse(cpreg.CauseLength, "Dwords")
	}
	if v, ok := n.access("Addr", at, addr, 8, false); !ok {
		return v
	}
	if n.nowhere(addr) {
		return refuseAt(cpreg.CauseReadError, "Addr", addr)
	}
	zero := true
	for _, b := range n.mem.Bytes(addr, 8) {
		zero = zero && b == 0
	}
	return verdict{skips: zero != (p[3]>>16 != 0)}
}

func (n *node) judgeFence(p []uint32, at place, _ uint32) verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at, addr, 8, true); !ok {
		return v
	}
	if p[3]-uint32(n.fence) >= 1<<31 {
		return refuseAt(cpreg.CauseFence, "ID", uint64(p[3]))
	}
	return verdict{moves: []move{{fill: true, dst: addr, n: 8, value: n.next(p[3])}}}
}

// next returns the timeline behind a fence with this id.
func (n *node) next(id uint32) uint64 {
	v := n.fence + uint64(id-uint32(n.fence))
	if !n.timeline {
		v &= 1<<32 - 1
	}
	return v
}

// judgeWaitFence calls a wait that nothing ends refused, which no bin is.
func (n *node) judgeWaitFence(p []uint32, _ place, _ uint32) verdict {
	of, value := n.of(p[1]), long(p, 2)
	switch {
	case of == nil:
		return refuseAt(cpreg.CauseState, "Node", uint64(p[1]))
	case value > of.fence || of.held && of != n:
		return refuse(cpreg.CauseFence, "never")
	}
	return verdict{waits: value > of.begun, other: of != n}
}

// of returns the node that a WAIT_FENCE names, nil if there is none.
func (n *node) of(id uint32) *node {
	if int(id) == n.id {
		return n
	}
	return n.peer
}

func (n *node) judgeSetWindow(p []uint32, _ place, _ uint32) verdict {
	base, size := long(p, 2), long(p, 4)
	if size != 0 {
		if v, ok := n.reach("Base", base, base, size); !ok {
			return v
		}
	}
	return verdict{}
}

// do does a packet that was not refused. The moves have their values, but for
// time stamps.
func (n *node) do(p []uint32, v verdict) {
	for _, m := range v.moves {
		switch {
		case m.stamp || m.nobody:
		case m.fill:
			n.mem.Fill(m.dst, m.n, m.value)
		default:
			n.mem.Copy(m.dst, m.src, m.n)
		}
	}
	if v.state != nil {
		n.load(v.state)
	}
	if v.cause != cpreg.CauseNone {
		return
	}
	switch op := uint8(p[0] >> 24); op {
	case pkt.OpCopy, pkt.OpCopy2D, pkt.OpFill, pkt.OpFill2D, pkt.OpSaveState:
		for _, m := range v.moves {
			n.bytes += m.n
		}
		if op == pkt.OpSaveState {
			n.saved = long(p, 1)
		}
	case pkt.OpSetState:
		n.surf[p[1]&1] = surface{
			true, long(p, 2), uint64(p[4]), p[5],
			int64(p[6] & 0xffff), int64(p[6] >> 16), int64(p[7] & 0xffff), int64(p[7] >> 16),
		}
	case pkt.OpWriteReg:
		n.scratch[int(p[1]-scratchOff)/4] = p[2]
	case pkt.OpFence:
		n.fence = n.next(p[3])
		n.irqs += int(p[4] & 1)
	case pkt.OpSetWindow:
		n.windows[p[1]&3] = window{span{long(p, 2), long(p, 4)}, p[1]>>2&1 != 0}
	}
}
