package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: what the decoder needs one word at a time is in the RAM behind the
// beats of the stream: the header and the body of the packet in work, both surfaces,
// RING_BASE and WPTR. The word that the state needs is read in each clock, so it is there
// in the next one, unless the host has read a register of the file. The words of a surface are as
// SAVE_STATE lays them out, and SET_STATE puts its body where they are, in a slot of
// four words: to set a surface is to swap two slots.

// The file: slots of four words behind the beats of the ring and of an indirect buffer.
const (
	fileAt    = 2 * depth
	fileWords = 16
	slotRegs  = 3 // of RING_BASE, WPTR and the header, the only slot that stays where it is
)

// Words of a slot.
const (
	wordBase   = 1 // of a surface
	wordPitch  = 2
	wordClip   = 3
	wordRing   = 0 // of slotRegs
	wordWptr   = 1
	wordHeader = 2
)

// emptyNOP is the header of a NOP without a body, which need not be kept: nothing can
// be wrong with it.
const emptyNOP = pkt.OpNOP << 24

// What the decoder needs of the RAM.
type need uint8

const (
	needNothing need = iota
	needDword        // of the buffer in work
	needWord         // of the file
)

// A look is where the host looks in the file.
type look struct {
	Valid bool
	High  bool // the upper half of the word
	At    uint8
}

// A write is what is written to the RAM in a clock.
type write struct {
	Enable uint8
	At     uint8
	Data   uint64
}

// place returns the place of a word in the file.
func place(slot, word uint8) uint8 { return slot<<2 | word }

// surface returns the slot of the surface in work.
func (m *Module) surface() uint8 {
	slot := m.from
	if m.writes {
		slot = m.onto
	}
	return slot
}

// needs returns what the state needs, and the place of a word.
func (m *Module) needs() (kind need, at uint8) {
	kind = needWord
	slot, word := m.body, uint8(0)
	switch m.state {
	case stateNext, stateBody, stateSkip:
		kind = needDword
	case stateCorner:
	case stateClip:
		slot, word = m.surface(), wordClip
	case stateLow:
		word = m.lowWord()
		if m.is2D() {
			slot, word = m.surface(), wordBase
		}
	case statePitch, stateStep:
		slot, word = m.surface(), wordPitch
	case stateIssue, stateRow:
		slot, word = m.from, wordPitch
	case stateWindow:
		word = 2
	case stateValue:
		word = m.valueWord()
	case stateSave:
		return needWord, m.wordPlace()
	case stateRing:
		slot, word = slotRegs, wordRing
	case stateBlame:
		slot, word = slotRegs, m.n>>1&1
	default:
		kind = needNothing
	}
	return kind, place(slot, word)
}

// lowWord returns the word with the address of the range in work of a linear packet.
func (m *Module) lowWord() uint8 {
	var word uint8
	if m.op() == pkt.OpCopy && m.writes || m.op() == pkt.OpSetWindow {
		word = 1
	}
	return word
}

// valueWord returns the word with the operand that is no address.
func (m *Module) valueWord() uint8 {
	word := uint8(1)
	switch m.op() {
	case pkt.OpFill:
		word = 2
	case pkt.OpWriteReg:
		word = 0
	default:
	}
	return word
}

// half returns the half that is wanted of the word that was read last.
func (m *Module) half() uint32 {
	q := m.beats.Out()
	v := uint32(q)
	if m.high {
		v = uint32(q >> 32)
	}
	return v
}

// stores returns what is written to the file in this clock if no completion arrives: by
// the decoder if it is free to, otherwise data by the host.
func (m *Module) stores(take, free, arrives bool, off uint16, data uint32) write {
	p := m.n
	if m.state == stateBlame {
		p = (m.n + 2) & 3
	}
	w := write{At: fileAt | place(m.body, p>>1), Enable: 0x0f << (p & 1 * 4)}
	v := m.half()
	if m.state == stateClear {
		w = write{At: fileAt | m.edge&1<<3 | m.n, Enable: 0xff}
		v = 0
	}
	if m.state == stateNext {
		w = write{At: fileAt | place(slotRegs, wordHeader), Enable: 0x0f}
	}
	if !(m.state != stateSkip && take || free && (m.state == stateBlame && m.ready || m.state == stateClear)) {
		w.Enable = 0
	}
	if !free && m.keeps(off) {
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
	w.Data = join(v, v)
	return w
}

// keeps reports whether a write of the register goes to the file.
func (m *Module) keeps(off uint16) bool {
	ring := off == cpreg.RingLo || off == cpreg.RingHi
	return m.state != stateClear && !m.resetting && (ring && !m.run || off == cpreg.Wptr)
}

// part returns the place of a beat in the part of the RAM that is its buffer's.
func part(at uint8, inIB bool) uint8 {
	if inIB {
		at |= depth
	}
	return at
}

// arrival returns where the data of a completion goes.
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

// tickRAM reads what is needed in the next clock, and writes. held is whether the
// stream has the beat of the next dword.
func (m *Module) tickRAM(held bool, looks look, w write) {
	kind, at := m.needs()
	at |= fileAt
	m.ready = kind == needDword && held || kind == needWord && (w.Enable == 0 || w.At < fileAt)
	m.high = m.upper()
	if kind == needDword {
		m.high = m.stream.at&1 != 0 != odd(m.buffer)
		at = part(beat(m.stream.at, odd(m.buffer)), m.inIB)
	}
	read := m.ready
	if looks.Valid {
		at, read = fileAt|looks.At, true
		m.ready, m.high = false, looks.High
	}
	m.beats.Tick(read, uint32(at), w.Enable, uint32(w.At), w.Data)
}

// upper reports whether the upper half of the word is wanted that the state needs.
func (m *Module) upper() bool {
	var u bool
	switch m.state {
	case stateBlame:
		u = m.n&1 != 0
	case stateClip:
		u = m.edge&2 != 0
	case stateCorner:
		u = m.writes && m.op() == pkt.OpCopy2D
	default:
	}
	return u
}

// lacks reports whether something is needed, is there and was not read.
func (m *Module) lacks() bool {
	kind, _ := m.needs()
	return !m.ready && (kind == needWord || kind == needDword && m.stream.have != 0)
}
