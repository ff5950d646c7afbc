// Package regram is the register RAM. It keeps registers that no block needs in
// every clock as words of a RAM instead of flip-flops.
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

// Latch is the high half of the time, to be stored in TIME_HI.
type Latch struct {
	Valid bool
	High  uint32
}

// Capture is the address of a refused access, to be stored in ERR_ADDR.
type Capture struct {
	First bool   // a pulse: capture this access; in two clocks from here there is no access and no Latch
	Held  bool   // a level: an access is captured
	Addr  uint64 // of First; its high half is also valid in the next clock
}

// TableRead is a read of a word of the MSI-X table by the interrupt controller.
type TableRead struct {
	Valid bool
	Word  uint8 `w:"3"` // the dword of the table
}

// Addresses of words: the registers of ID at their dwords, then the table.
const (
	words    = 32
	table    = 16
	scratch0 = idreg.Scratch0 / 4
	timeHi   = idreg.TimeHi / 4
	errLo    = idreg.ErrAddrLo / 4
	errHi    = idreg.ErrAddrHi / 4
)

// Module is the register RAM. It has ID.TIME_HI, ID.SCRATCH0 to 3, ID.ERR_ADDR
// and the MSI-X table except CONTROL.
//
// A memory cannot be reset, but these registers can. So each has a bit that
// records whether it was written since the reset. If it was not, it reads as 0.
//
//	In      regs regbus.Req, with no access in the clock after an access; s0, s1
//	        Scratch, valid/ready, ready is Free, for s0 only without s1; latch
//	        Latch, in the clock after the access that causes it; refused Capture;
//	        ask TableRead, which is served in a clock without an access; rst
//	        reset.Signals, with Whole or Function in no clock of an access
//	Out     Rsp regbus.Rsp; Word uint32, the word requested in the previous
//	        clock; Owes bool, for Free
//	Timing  an answer and a word 1 clock after their request; one word is read
//	        and one written a clock
//	Reset   all words read as 0; a whole-device reset keeps TIME_HI and the table
//	Order   the register bus, then latch, refused, s1 and s0; later ones wait
//	Paths   Free, from the register bus to the nodes
//	Size    32 words of 32 bits, the lower halves of those of the memory; its
//	        upper halves are always 0, and synthesis drops them; 17 bits
//	Faults  these are assertions: a second access in the clock after one, and a
//	        Latch or a First in a clock where it is not allowed
//	Source  idreg.Block, msixreg.Table
type Module struct {
	twoNodes bool // node 1 exists

	words hdl.RAM

	latched bool  // TIME_HI was written since a reset
	scratch uint8 `w:"4"` // bit i: SCRATCHi was written since a reset
	table   uint8 `w:"8"` // bit i: dword i of the table was written since a reset
	owes    bool  // the high half of a refused address must still be written
	hit     bool  // the access of the previous clock was to a word
	live    bool  // the word read in the previous clock has been written since a reset
}

// New returns the register RAM of a GPU with the given number of nodes, after
// reset.
func New(nodes int) Module { return Module{twoNodes: nodes == 2, words: hdl.NewRAM(words)} }

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp {
	rsp := regbus.Rsp{Hit: m.hit}
	if m.hit && m.live {
		rsp.Data = uint32(m.words.Out())
	}
	return rsp
}

// Word returns the word requested in the previous clock, if the request was
// served.
func (m *Module) Word() uint32 {
	var w uint32
	if m.live {
		w = uint32(m.words.Out())
	}
	return w
}

// Owes reports whether the write of a refused address is not complete.
func (m *Module) Owes() bool { return m.owes }

// Free reports whether a node may write in this clock. If both nodes want to,
// node 1 may.
func Free(regs regbus.Req, owes bool, latch Latch, refused Capture) bool {
	return regs.Op == regbus.None && !owes && !latch.Valid && !refused.First
}

// Reset makes all words read as 0.
func (m *Module) Reset() {
	m.latched, m.table = false, 0
	m.clear()
}

// clear is a whole-device reset.
func (m *Module) clear() {
	m.scratch, m.owes = 0, false
	m.hit, m.live = false, false
}

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the
// other inputs are.
func (m *Module) Sleeps(regs regbus.Req, s0, s1 Scratch, latch Latch, refused Capture, ask TableRead, rst reset.Signals) bool {
	return regs.Op == regbus.None && !s0.Valid && !s1.Valid && !latch.Valid && !refused.First && !ask.Valid &&
		m.IdleFor() != 0 && !rst.Whole
}

// Tick is one rising clock edge.
func (m *Module) Tick(regs regbus.Req, s0, s1 Scratch, latch Latch, refused Capture, ask TableRead, rst reset.Signals) {
	hdl.Assert(regs.Op == regbus.None || !m.hit && !m.owes && !latch.Valid && !refused.First, "regram: an access in the clock after another")
	hdl.Assert(!latch.Valid || !refused.First && !m.owes, "regram: a refused access in the clock of an answer")
	place := uint8(regs.Off>>2)&(table-1) | uint8(regs.Off>>15)<<4
	kept, writable := kind(regs.Off)

	late := m.twoNodes && s1.Valid
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

// data returns the data of a write: of the register bus or the node, of the
// refused access, or of the time. At most one of the three is not 0.
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

// kind reports whether a register is in the register RAM, and whether the host
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

// written reports whether a word was written since it was reset.
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

// mark records that a word was written.
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

// IdleFor returns math.MaxUint64 unless an answer or a write is in progress.
func (m *Module) IdleFor() uint64 {
	if m.hit || m.live || m.owes {
		return 0
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(n uint64) {}
