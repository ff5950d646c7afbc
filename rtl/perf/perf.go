// Package perf has the performance counters: the work and the stalls of the
// nodes.
package perf

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Levels are the states of a node in a clock. They do not change while the device
// sleeps.
type Levels struct {
	Busy  bool // the node is not idle
	Read  bool // the node waits for data
	Write bool // the node offers a write of which nothing is taken
	Ring  bool // the node waits for a dword of a buffer
}

// Moves are the progress of a node in a clock. A device with any progress does
// not sleep.
type Moves struct {
	Retired bool  // a packet retired
	Took    bool  // a dword of a buffer was taken
	Bytes   uint8 `w:"4"` // bytes written by the DMA engine, 0 to 8
}

// An answer is the kind of answer that is given.
type answer uint8

const (
	answerNone    answer = iota
	answerZero           // the register exists, and nothing is read
	answerCtl            // the value of CTL
	answerCounter        // half of a counter of the snapshot
)

// Module has the counters and the last snapshot.
//
// The words of both are in a RAM. Flip-flops have only the low bits of each
// counter, now and at the snapshot. The counters take turns, one a clock: the word
// of a counter gets the nearest value above its own that ends in the low bits. This
// is exact because fewer than 64 clocks count between two turns of a counter: of
// 13 turns, each takes 4 clocks at most, 2 since an answer takes the output of the
// RAM for a clock, and as many again if the counter is due.
//
// A snapshot copies the low bits and makes each counter due: its next turn begins
// with the word of the snapshot, made from the word of the counter and the copied
// bits. Until then, reads of the snapshot are served in the same way. A counter
// without a turn since it was cleared has no word: its low bits are its value.
//
//	In      l0, l1 Levels; m0, m1 Moves; regs regbus.Req, with no access in the
//	        clock after an access; rst, a reset
//	Out     Rsp regbus.Rsp
//	Timing  a counter changes 1 clock after its level or pulse; an answer 1
//	        clock after its request
//	Reset   all 0, frozen
//	Order   a write of CTL acts before the clock is counted: snapshot, clear, run
//	Paths   none
//	Size    64 words, of which 26 are used; 78 bits for each node, and 63
//	Source  perfreg.Block
type Module struct {
	twoNodes bool // node 1 exists

	words hdl.RAM // counter e at e, its snapshot at kept | e
	run   bool
	now   lows
	then  lows   // at the snapshot
	short uint16 // bit e: counter e has no word
	brief uint16 // bit e: the snapshot of counter e has no word, and is not due
	due   uint16 // bit e: the snapshot of counter e is not in its word yet
	turn  uint8  `w:"4"` // the counter whose turn it is
	out   uint8  `w:"4"` // the counter whose word is the output of the RAM

	answer answer `w:"2"`
	high   bool   // the high half of a counter was read
}

// Offsets of the registers of the nodes.
const (
	node0 = perfreg.Base + perfreg.Node
	node1 = node0 + perfreg.Stride
)

// Addresses of words, and masks of all counters.
const (
	kept  = 32
	words = 64 // synthesis makes block RAM from these, and LUTs from fewer
	all   = 0xffff
)

// New returns the counters of a GPU with the given number of nodes.
func New(nodes int) Module {
	m := Module{twoNodes: nodes == 2, words: hdl.NewRAM(words)}
	m.Reset()
	return m
}

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp {
	rsp := regbus.Rsp{Hit: m.answer != answerNone}
	if m.answer == answerCtl && m.run {
		rsp.Data = perfreg.CtlRun
	}
	if m.answer == answerCounter {
		v := m.value()
		rsp.Data = uint32(v)
		if m.high {
			rsp.Data = uint32(v >> 32)
		}
	}
	return rsp
}

// Quiet reports whether the counters are frozen, no answer is given and no word
// is written.
func (m *Module) Quiet() bool { return m.answer == answerNone && !m.turns() }

// Reset clears the registers.
func (m *Module) Reset() {
	m.run, m.now, m.then = false, lows{}, lows{}
	m.short, m.brief, m.due, m.turn, m.out = all, all, 0, 0, 0
	m.answer, m.high = answerNone, false
}

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the
// other inputs are.
func (m *Module) Sleeps(regs regbus.Req, rst bool) bool {
	return m.Quiet() && regs.Op == regbus.None && !rst
}

// Tick is one rising clock edge.
func (m *Module) Tick(l0, l1 Levels, m0, m1 Moves, regs regbus.Req, rst bool) {
	e, counter := m.counter(regs.Off)
	ctl := regs.Off == perfreg.Base+perfreg.Ctl
	reads := counter && regs.Op == regbus.Read
	from := e
	if m.due>>e&1 == 0 {
		from |= kept
	}
	m.follow(reads, from)

	clear := ctl && regs.Op == regbus.Write && regs.Data&perfreg.CtlClear != 0
	if ctl && regs.Op == regbus.Write {
		m.control(regs.Data)
	}
	m.count(l0, l1, m0, m1, clear)

	m.answer = answerNone
	switch {
	case reads:
		m.answer, m.high = answerCounter, regs.Off&4 != 0
	case ctl && regs.Op == regbus.Read:
		m.answer = answerCtl
	case (ctl || counter) && regs.Op != regbus.None:
		m.answer = answerZero
	default:
	}
	if rst {
		m.Reset()
	}
}

// control performs a write of CTL, except that it does not clear the low bits of
// the counters.
func (m *Module) control(v uint32) {
	if v&perfreg.CtlSnapshot != 0 {
		m.then, m.brief, m.due = m.now, m.short, ^m.short
	}
	if v&perfreg.CtlClear != 0 {
		m.short = all
	}
	m.run = v&perfreg.CtlRun != 0
}

// counter returns the counter that has the register at off, and whether one has.
func (m *Module) counter(off uint16) (e uint8, hit bool) {
	e, hit = uint8(off>>3)&0xf, true
	switch off &^ 7 {
	case perfreg.Base + perfreg.Cycles:
		e = entryCycles
	case node0 + perfreg.Busy, node0 + perfreg.StallRead, node0 + perfreg.StallWrite,
		node0 + perfreg.StallRing, node0 + perfreg.Bytes, node0 + perfreg.Packets:
	case node1 + perfreg.Busy, node1 + perfreg.StallRead, node1 + perfreg.StallWrite,
		node1 + perfreg.StallRing, node1 + perfreg.Bytes, node1 + perfreg.Packets:
		hit = m.twoNodes
	default:
		hit = false
	}
	return e, hit
}

// IdleFor returns 0 while an answer is given, and otherwise math.MaxUint64: the
// module only counts.
func (m *Module) IdleFor() uint64 {
	if m.answer != answerNone {
		return 0
	}
	return math.MaxUint64
}
