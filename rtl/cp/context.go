package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/dma"
)

// Design note: a context's state is few words, so it needs no port of its own.
// Each word that is saved is a fill of 8 bytes by the DMA engine, whose errors the
// node knows how to meet; what is restored comes with one read on the predicate's
// tag, a word in each completion.

// The words of the state, as SAVE_STATE lays them out.
const (
	wordWindow   = 6  // the first of a window
	wordProgress = 14 // the register
	wordEnd      = 15
)

// Reserved bits of words.
const (
	placeReserved    = uint64(1<<63-1) &^ (7<<32 | pkt.MaxPitch)
	progressReserved = ^uint64(pkt.MaxProgress)
)

// checkContext checks the address of a state and goes on to state then.
func (m *Module) checkContext(then state) {
	m.bytes = pkt.StateBytes
	m.word = 0
	m.wrong = false
	if m.b0&(pkt.StateBytes-1) != 0 {
		m.fault(cpreg.CauseAlign, operandPair0)
	} else {
		m.state = then
	}
}

// save sends the descriptor of the next word when the one before is taken.
func (m *Module) save() {
	if m.readErr || m.writeErr {
		m.state = stateDrain
	} else if m.desc.Op == dma.None {
		if m.has(m.word) {
			m.desc = dma.Desc{Op: dma.Fill, Len: 8, Src: m.saved(), Dst: m.sum(m.dstAddr, uint64(m.word)<<3)}
		}
		m.word = (m.word + 1) & 0xf
		if m.word == wordEnd {
			m.state = stateDrain
		}
	}
}

// has reports whether the state of this node has a word.
func (m *Module) has(word uint8) bool {
	windows := m.protection && word >= wordWindow && word < wordProgress
	return word < wordWindow || windows || m.preemption && word == wordProgress
}

// saved returns the word to be saved.
func (m *Module) saved() uint64 {
	v := uint64(m.progress)
	switch {
	case m.word < 3:
		v = m.src.word(m.word)
	case m.word < wordWindow:
		v = m.dst.word(m.word - 3)
	case m.word < wordProgress && m.protection:
		v = m.reach(windowOf(m.word)).word(m.word & 1)
	default:
	}
	return v
}

// windowOf returns the window that a word belongs to.
func windowOf(word uint8) uint8 { return (word - wordWindow) >> 1 & (pkt.Windows - 1) }

// word returns a word of a surface.
func (s surface) word(i uint8) uint64 {
	v := uint64(s.x0) | uint64(s.y0)<<16 | uint64(s.x1)<<32 | uint64(s.y1)<<48
	switch i {
	case 0:
		v = s.base
	case 1:
		v = uint64(s.pitch) | uint64(s.format)<<32
		if s.set {
			v |= 1 << 63
		}
	default:
	}
	return v
}

// word returns a word of a window.
func (r reach) word(i uint8) uint64 {
	v := r.base
	if i != 0 {
		v = (r.end - r.base) & (1<<63 - 1)
		if r.writable {
			v |= 1 << 63
		}
	}
	return v
}

// restore takes the next word of the state.
func (m *Module) restore(data uint64) {
	word := m.word
	m.word = (word + 1) & 0xf
	switch {
	case m.refused(word, data):
		if !m.wrong {
			m.value = data
		}
		m.wrong = true
	case word < 3:
		m.src.load(word, data)
	case word < wordWindow:
		m.dst.load(word-3, data)
	case word < wordProgress:
		if m.protection {
			m.loadWindow(word, data)
		}
	case word == wordProgress:
		if m.preemption {
			m.progress = uint32(data) & pkt.MaxProgress
		}
	default:
	}
}

// refused reports whether a word has a reserved bit or a field out of range.
func (m *Module) refused(word uint8, data uint64) bool {
	var bad bool
	switch word {
	case 1, 4:
		bad = data&placeReserved != 0 || data>>32&7 > uint64(pkt.Format128)
	case 2, 5:
		bad = far(uint32(data)) || far(uint32(data>>32))
	case wordProgress:
		bad = m.preemption && data&progressReserved != 0
	default:
	}
	return bad
}

// load sets a word of a surface.
func (s *surface) load(i uint8, data uint64) {
	switch i {
	case 0:
		s.base = data
	case 1:
		s.pitch = uint32(data) & pkt.MaxPitch
		s.format = uint8(data>>32) & 7
		s.set = data>>63 != 0
	default:
		s.x0, s.y0 = low(uint32(data)), high(uint32(data))
		s.x1, s.y1 = low(uint32(data>>32)), high(uint32(data>>32))
	}
}

// loadWindow sets a word of a window; the one with the size comes second.
func (m *Module) loadWindow(word uint8, data uint64) {
	r := m.reach(windowOf(word))
	if word&1 == 0 {
		r = reach{base: data, end: data}
	} else {
		r.end = r.base + data&(1<<63-1)
		r.writable = data>>63 != 0
	}
	m.put(windowOf(word), r)
}

// restored ends a RESTORE_STATE when all words have come.
func (m *Module) restored() {
	if m.wrong {
		m.fault(cpreg.CauseState, operandValue)
	} else {
		m.state = stateRetire
	}
}
