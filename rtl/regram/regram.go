// Package regram is the register RAM. It keeps the registers that no block looks at
// in every clock as words of a RAM, not in flip-flops.
package regram

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// Scratch is a write of a scratch register by a command processor.
type Scratch struct {
	Valid bool
	Index uint8 // 0 to 3
	Data  uint32
}

// Latch is the high half of the time, for TIME_HI.
type Latch struct {
	Valid bool
	High  uint32
}

// Capture is the refused access for ERR_ADDR.
type Capture struct {
	First bool   // the one to keep, a pulse in the first of two clocks without an access and without a Latch
	Held  bool   // a level: one is kept
	Addr  uint64 // of First; its high half stays for a clock more
}

// Ask is a read of a word of the MSI-X table by the interrupt controller.
type Ask struct {
	Valid bool
	Word  uint8 `w:"3"` // the dword of the table
}

// Places of words: the registers of ID at their dwords, behind them the table.
const (
	words    = 32
	table    = 16
	scratch0 = idreg.Scratch0 / 4
	timeHi   = idreg.TimeHi / 4
	errLo    = idreg.ErrAddrLo / 4
	errHi    = idreg.ErrAddrHi / 4
)

// Module is the register RAM. It has ID.TIME_HI, ID.SCRATCH0 to 3, ID.ERR_ADDR and the
// MSI-X table but for CONTROL.
//
// A memory is not reset, and these registers are: of each it is known whether it
// was written since, and one that was not reads as 0.
//
//	In      regs regbus.Req, of which none is in the clock behind an access;
//	        s0, s1 Scratch, valid/ready, ready is Free, for s0 only without s1;
//	        latch Latch, in the clock behind the access that asks for it; refused
//	        Capture; ask Ask, which is served in a clock without an access; rst
//	        reset.Signals, with Whole or Function in no clock of an access
//	Out     Rsp regbus.Rsp; Word uint32, what was asked for a clock before; Owes
//	        bool, for Free
//	Timing  an answer and a word 1 clock after they were asked for; one word is
//	        read and one written a clock
//	Reset   all words read as 0; a whole reset keeps TIME_HI and the table
//	Order   the register bus, then latch, refused, s1 and s0: who comes later waits
//	Paths   Free, from the register bus to the nodes
//	Size    32 words of 32 bits, the lower halves of those of the memory, of
//	        which synthesis drops the upper halves, which are always 0; 17 bits
//	Faults  a second access in the clock behind one is an assertion, as is a Latch
//	        or a First in a clock in which it may not be
//	Source  idreg.Block, msixreg.Table
type Module struct {
	second bool // there is a node 1

	words hdl.RAM

	latched bool  // TIME_HI was written since a reset
	scratch uint8 `w:"4"` // bit i: SCRATCHi was
	table   uint8 `w:"8"` // bit i: dword i of the table was
	owes    bool  // the high half of a refused address is to be written
	hit     bool  // the access of the clock before was to a word
	live    bool  // what was read in the clock before has been written
}

// New returns the register RAM of so many nodes after reset.
func New(nodes int) Module { return Module{second: nodes == 2, words: hdl.NewRAM(words)} }

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp {
	rsp := regbus.Rsp{Hit: m.hit}
	if m.hit && m.live {
		rsp.Data = uint32(m.words.Out())
	}
	return rsp
}

// Word returns the word that was asked for in the clock before, if it was served.
func (m *Module) Word() uint32 {
	var w uint32
	if m.live {
		w = uint32(m.words.Out())
	}
	return w
}

// Owes reports that the write of a refused address is not complete.
func (m *Module) Owes() bool { return m.owes }

// Free returns whether a node may write in this clock, of two that want to node 1.
func Free(regs regbus.Req, owes bool, latch Latch, refused Capture) bool {
	return regs.Op == regbus.None && !owes && !latch.Valid && !refused.First
}

// Reset makes all words read as 0.
func (m *Module) Reset() {
	m.latched, m.table = false, 0
	m.clear()
}

// clear is a whole reset.
func (m *Module) clear() {
	m.scratch, m.owes = 0, false
	m.hit, m.live = false, false
}

// Sleeps reports whether a Tick with these inputs, whatever the others are, changes
// nothing.
func (m *Module) Sleeps(regs regbus.Req, s0, s1 Scratch, latch Latch, refused Capture, ask Ask, rst reset.Signals) bool {
	return regs.Op == regbus.None && !s0.Valid && !s1.Valid && !latch.Valid && !refused.First && !ask.Valid &&
		m.IdleFor() != 0 && !rst.Whole
}

// Tick is one rising clock edge.
func (m *Module) Tick(regs regbus.Req, s0, s1 Scratch, latch Latch, refused Capture, ask Ask, rst reset.Signals) {
	hdl.Assert(regs.Op == regbus.None || !m.hit && !m.owes && !latch.Valid && !refused.First, "regram: an access where there can be none")
	hdl.Assert(!latch.Valid || !refused.First && !m.owes, "regram: a refused access in the clock of an answer")
	place := uint8(regs.Off>>2)&(table-1) | uint8(regs.Off>>15)<<4
	kept, writable := kind(regs.Off)

	late := m.second && s1.Valid
	node, index := s0.Data, s0.Index&3
	if late {
		node, index = s1.Data, s1.Index&3
	}
	write, at := writable, place
	switch {
	case regs.Op != regbus.None:
		write = write && regs.Op == regbus.Write
	case latch.Valid:
		write, at = true, timeHi
	case refused.First:
		write, at = true, errLo
	case m.owes:
		write, at = true, errHi
	default:
		write, at = late || s0.Valid, scratch0|index
	}
	data := m.data(regs, node, latch, refused)
	from := table | ask.Word&7
	read := ask.Valid
	if regs.Op != regbus.None {
		from, read = place, regs.Op == regbus.Read
	}
	m.hit = kept && regs.Op != regbus.None
	m.live = read && m.written(from, refused.Held)
	m.owes = refused.First
	enable := uint8(0)
	if write {
		enable = 0xff
		m.mark(at)
	}
	m.words.Tick(read, uint32(from), enable, uint32(at), uint64(data))
	if rst.Function {
		m.Reset()
	} else if rst.Whole {
		m.clear()
	}
}

// data returns what is written, of the register bus and of the node, of the refused
// access, and of the time: one of the three is not 0.
func (m *Module) data(regs regbus.Req, node uint32, latch Latch, refused Capture) uint32 {
	var moved, kept, high uint32
	access := regs.Op != regbus.None
	capture := !access && (refused.First || m.owes)
	if !latch.Valid && !capture {
		moved = node
		if access {
			moved = regs.Data
		}
	}
	if !latch.Valid && capture {
		kept = uint32(refused.Addr >> 32)
		if refused.First {
			kept = uint32(refused.Addr)
		}
	}
	if latch.Valid {
		high = latch.High
	}
	return moved | kept | high
}

// kind returns whether a register is a word of the register RAM, and whether the host
// may write it.
func kind(off uint16) (kept, writable bool) {
	word := off >> 2 & (table - 1)
	switch {
	case off&^(4*table-1) == idreg.Base:
		writable = word&^3 == scratch0
		kept = writable || word == timeHi || word == errLo || word == errHi
	case off&^(msixreg.Stride*pcicfg.Vectors-1) == msixreg.Base:
		writable = off%msixreg.Stride != msixreg.Control
		kept = writable
	default:
	}
	return kept, writable
}

// written returns whether a word was written since it was reset.
func (m *Module) written(at uint8, captured bool) bool {
	w := captured
	switch {
	case at&table != 0:
		w = m.table>>(at&7)&1 != 0
	case at&^3 == scratch0:
		w = m.scratch>>(at&3)&1 != 0
	case at == timeHi:
		w = m.latched
	default:
	}
	return w
}

// mark remembers that a word was written.
func (m *Module) mark(at uint8) {
	switch {
	case at&table != 0:
		m.table |= 1 << (at & 7)
	case at&^3 == scratch0:
		m.scratch |= 1 << (at & 3) & 0xf
	case at == timeHi:
		m.latched = true
	default:
	}
}

// IdleFor returns math.MaxUint64 unless an answer or a write is under way.
func (m *Module) IdleFor() uint64 {
	if m.hit || m.live || m.owes {
		return 0
	}
	return math.MaxUint64
}

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}
