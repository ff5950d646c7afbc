package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Design note: the units need the packet, the surfaces, RING_BASE and WPTR one word at a
// time, so these are in RAM, after the beats of the stream. In each clock the RAM reads the
// word that the state needs in the next clock, unless the host reads a register in the file.
// A surface has the layout of SAVE_STATE, which is also that of SET_STATE's body, so setting
// a surface only swaps two slots.

// The file: slots of four words after the beats of the ring and of an indirect buffer.
const (
	fileAt      = 2 * depth
	fileWords   = 16 // of a node without windows
	guardWords  = 32 // of a node with windows, which may have a packet that trails
	slotRegs    = 3  // RING_BASE, WPTR, the header and a refused word of a context; never swapped
	slotWindows = 4  // the first of two slots with the windows, two words each
	slotSecond  = 6  // the body of a packet that is taken while another one trails
)

// Words of a slot.
const (
	wordBase   = 1 // of a surface
	wordPitch  = 2
	wordClip   = 3
	wordRing   = 0 // of slotRegs
	wordWptr   = 1
	wordHeader = 2 // in the upper half that of a packet in slotSecond
	wordWrong  = 3
)

// emptyNOP is the header of a NOP without a body. It is not stored: it cannot fault.
const emptyNOP = pkt.OpNOP << 24

// A need is what a state needs from the RAM.
type need uint8

const (
	needNothing need = iota
	needDword        // the next dword of the buffer
	needWord         // a word of the file
)

// A look is the position of a register that the host reads in the file.
type look struct {
	Valid bool
	High  bool // the upper half of the word
	At    uint8
}

// A write is a write to the RAM in a clock.
type write struct {
	Enable uint8
	At     uint8
	Data   uint64
}

// A surface is the part of a surface's state that is not in the file.
type surface struct {
	set    bool
	format uint8 `w:"3"`
}

// file is the RAM and its slots.
type file struct {
	ram   hdl.RAM  // ring's beats; from depth the indirect buffer's; from fileAt the file
	ready bool     // the word that was read is the one that the state needs
	high  bool     // the state needs the upper half of the word
	caps  caps.Set // capabilities of the device
	mask  uint8    // words of the file, minus one
	next  uint8    `w:"5"` // word to clear next, after a reset

	body    uint8 `w:"2"` // slot of the packet's body
	second  bool  // the body is in slotSecond instead, because the other one is still needed
	srcSlot uint8 `w:"2"` // slots of the surfaces
	dstSlot uint8 `w:"2"`
	src     surface
	dst     surface
}

// newFile returns the file of a node.
func newFile(has caps.Set) file {
	words := fileWords
	if has.Has(caps.Protection) {
		words = guardWords
	}
	return file{ram: hdl.NewRAM(fileAt + words), caps: has, mask: uint8(words - 1)}
}

// Reset sets the registers to their power-on values.
func (f *file) Reset() {
	f.ready, f.high = false, false
	f.next = 0
	f.body, f.srcSlot, f.dstSlot = 0, 1, 2
	f.second = false
	f.src, f.dst = surface{}, surface{}
}

// place returns the place of a word in the file.
func place(slot, word uint8) uint8 { return slot<<2 | word }

// half returns the needed half of the word that was read.
func (f *file) half() uint32 {
	q := f.ram.Out()
	v := uint32(q)
	if f.high {
		v = uint32(q >> 32)
	}
	return v
}

// slotOfBody returns the slot of the current packet's body.
func (f *file) slotOfBody() uint8 {
	s := f.body
	if f.second {
		s = slotSecond
	}
	return s
}

// slot returns the slot of a surface.
func (f *file) slot(dst bool) uint8 {
	s := f.srcSlot
	if dst {
		s = f.dstSlot
	}
	return s
}

// setSurface makes the body of a SET_STATE the surface's words.
func (f *file) setSurface(dst bool, format uint8) {
	s, body := surface{set: true, format: format & 7}, f.body
	if dst {
		f.dst = s
		f.body, f.dstSlot = f.dstSlot, body
	} else {
		f.src = s
		f.body, f.srcSlot = f.srcSlot, body
	}
}

// contextPlace returns the place of word i of a context, which must belong to a surface or a
// window.
func (f *file) contextPlace(i uint8) uint8 {
	slot, word := f.srcSlot, i
	if i >= 3 {
		slot, word = f.dstSlot, i-3
	}
	at := place(slot, (word+wordBase)&3)
	if f.caps.Has(caps.Protection) && i >= contextWindow {
		at = windowPlace((i-contextWindow)>>1, i&1 != 0)
	}
	return at
}

// windowPlace returns the place of a window's base or size.
func windowPlace(window uint8, size bool) uint8 {
	at := place(slotWindows, window&3<<1)
	if size {
		at |= 1
	}
	return at
}

// operandLook returns the position of a refused operand, if it is in the file.
func (f *file) operandLook(bad operand, high bool) look {
	l := look{Valid: bad < operandNone, High: high, At: place(f.slotOfBody(), uint8(bad)>>1&3)}
	switch {
	case bad == operandSource:
		l = look{Valid: true, High: high, At: place(f.srcSlot, wordBase)}
	case bad == operandDest:
		l = look{Valid: true, High: high, At: place(f.dstSlot, wordBase)}
	case bad == operandHeader:
		l = look{Valid: !high, High: f.second, At: place(slotRegs, wordHeader)}
	case f.caps.Has(caps.Contexts) && bad == operandValue:
		l = look{Valid: true, High: high, At: place(slotRegs, wordWrong)}
	case bad < operandPair0:
		l.High = bad&1 != 0
		l.Valid = !high
	default:
	}
	return l
}

// needs returns what the state needs, and the place of a word.
func (m *Module) needs() (kind need, at uint8) {
	d := m.decode.state
	kind = needWord
	slot, word := m.file.slotOfBody(), uint8(0)
	switch {
	case d == decodeNext || d == decodeBody || d == decodeSkip:
		kind = needDword
	case m.walk.state != walkIdle:
		kind, slot, word = m.walkNeeds()
	case m.issue.state == issuePitch:
		slot, word = m.file.dstSlot, wordPitch
	case m.issue.state == issueOffer || m.issue.state == issueRow:
		slot, word = m.file.srcSlot, wordPitch
	case m.sync.state == syncSave:
		at = m.file.contextPlace(m.sync.word)
		slot, word = at>>2, at&3
	case m.ring.state == ringBase:
		slot, word = slotRegs, wordRing
	case m.ring.state == ringCopy:
		slot, word = slotRegs, m.decode.n>>1&1
	default:
		kind = needNothing
	}
	return kind, place(slot, word)
}

// walkNeeds returns what the state of the walk unit needs.
func (m *Module) walkNeeds() (kind need, slot, word uint8) {
	op, writes := m.decode.op(), m.walk.writes
	kind, slot = needWord, m.file.slotOfBody()
	switch m.walk.state {
	case walkCorner:
	case walkClip:
		slot, word = m.file.slot(writes), wordClip
	case walkLow:
		word = sourceWord(op)
		if writes {
			word = destWord(op)
		}
		if usesSurfaces(op) {
			slot, word = m.file.slot(writes), wordBase
		}
	case walkPitch:
		slot, word = m.file.slot(writes), wordPitch
	case walkGuard:
		at := windowPlace(m.walk.guard.next, m.walk.guard.phase != 0)
		slot, word = at>>2, at&3
	case walkWindow:
		word = 2
		if m.walk.guard.phase == phaseBase {
			word = 1
		}
	case walkImmediate:
		word = immediateWord(op)
	default:
		kind = needNothing
	}
	return kind, slot, word
}

// writes returns the write to the file in this clock if no completion arrives: the node's if
// free is set, otherwise the host's write of data.
func (m *Module) writes(take, free, arrives bool, off uint16, data uint32) write {
	d, n, v := m.decode.state, m.decode.n, m.file.half()
	copies, clears, sets := m.ring.state == ringCopy, d == decodeClear, m.sets()
	if copies {
		n = (n + 2) & 3
	}
	w := write{At: fileAt | place(m.file.slotOfBody(), n>>1), Enable: 0x0f << (n & 1 * 4)}
	if clears {
		w = write{At: fileAt | m.file.next, Enable: 0xff}
		v = 0
	}
	if d == decodeNext {
		w = write{At: fileAt | place(slotRegs, wordHeader), Enable: 0x0f}
		if m.trail.takesSecond() {
			w.Enable = 0xf0
		}
	}
	if sets {
		w = write{At: fileAt | windowPlace(m.decode.attr, m.walk.guard.phase == phaseSize), Enable: 0xff}
	}
	if !(d != decodeSkip && take || free && ((copies || sets) && m.file.ready || clears)) {
		w.Enable = 0
	}
	if !free && m.files(off) {
		w = write{At: fileAt | place(slotRegs, wordRing), Enable: 0x0f}
		v = data
		switch {
		case off == cpreg.RingHi:
			w.Enable = 0xf0
		case off == cpreg.Wptr:
			w.At = fileAt | place(slotRegs, wordWptr)
		default:
		}
	}
	if arrives {
		w.Enable = 0
	}
	w.Data = uint64(v)<<32 | uint64(v)
	if sets && free {
		w.Data = m.setting()
	}
	return w
}

// files reports whether the register at off is kept in the file.
func (m *Module) files(off uint16) bool {
	base := off == cpreg.RingLo || off == cpreg.RingHi
	return m.decode.state != decodeClear && !m.regs.resetting && (base && !m.regs.run || off == cpreg.Wptr)
}

// part returns the place of a beat in its buffer's part of the RAM.
func part(at uint8, inIB bool) uint8 {
	if inIB {
		at |= depth
	}
	return at
}

// arrival returns the write of a completion's data: to the beats if keep is set, to word of
// the file if restores is set.
func arrival(keep bool, at uint8, inIB, restores bool, word uint8, data uint64) write {
	w := write{At: part(at, inIB), Data: data}
	if restores {
		w.At = fileAt | word
	}
	if keep || restores {
		w.Enable = 0xff
	}
	return w
}

// tickFile reads the word that the next clock needs, and performs a write. held is set if the
// stream holds the beat of the next dword. If the stream moves in the next clock, its position is
// still in the buffer before, so its beat is not read: that may be the one that is written.
func (m *Module) tickFile(held bool, from look, w write) {
	kind, at := m.needs()
	at |= fileAt
	held = held && !m.ring.toRing && !m.ring.toIB
	m.file.ready = kind == needDword && held || kind == needWord && (w.Enable == 0 || w.At < fileAt)
	m.file.high = m.upper()
	if kind == needDword {
		m.file.high = m.ring.stream.at&1 != 0 != odd(m.ring.buffer)
		at = part(beat(m.ring.stream.at, odd(m.ring.buffer)), m.ring.inIB)
	}
	read := m.file.ready
	if from.Valid {
		at, read = fileAt|from.At, true
		m.file.ready, m.file.high = false, from.High
	}
	m.file.ram.Tick(read, uint32(at), w.Enable, uint32(w.At), w.Data)
}

// upper reports whether the state needs the upper half of its word of the file.
func (m *Module) upper() bool {
	var u bool
	switch {
	case m.ring.state == ringCopy:
		u = m.decode.n&1 != 0
	case m.walk.state == walkClip:
		u = m.walk.edge&2 != 0
	case m.walk.state == walkCorner:
		u = m.walk.writes && copies(m.decode.op())
	default:
	}
	return u
}

// lacks reports whether a needed word is available but was not read.
func (m *Module) lacks() bool {
	kind, _ := m.needs()
	return !m.file.ready && (kind == needWord || kind == needDword && m.ring.stream.have != 0)
}
