package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a context's state is few words, so it needs no port of its own.
// Each word that is saved is a fill of 8 bytes by the DMA engine, whose errors the
// node knows how to meet; what is restored comes with one read on the predicate's
// tag, a word in each completion.

// The words of the state, as SAVE_STATE lays them out.
const (
	wordWindow   = 6  // the first of a window
	wordProgress = 14 // the register
	stateWords   = 15
)

// Reserved bits of words.
const (
	placeReserved    = uint64(1<<63-1) &^ (7<<32 | pkt.MaxPitch)
	progressReserved = ^uint64(pkt.MaxProgress)
)

// save sends the next word of the context, or leaves it out; word is that of a surface.
func (m *Module) save(word uint64) {
	m.srcAddr = m.saved(word)
	if m.has(m.word) {
		m.state = stateIssue
	} else {
		m.endRow()
	}
}

// has reports whether the state of this node has a word.
func (m *Module) has(word uint8) bool {
	windows := m.protection && word >= wordWindow && word < wordProgress
	return word < wordWindow || windows || m.preemption && word == wordProgress
}

// wordPlace returns where the word of a surface is in the file.
func (m *Module) wordPlace() uint8 {
	slot, word := m.from, m.word
	if m.word >= 3 {
		slot, word = m.onto, m.word-3
	}
	return place(slot, (word+wordBase)&3)
}

// saved returns the word to be saved; word is that of a surface.
func (m *Module) saved(word uint64) uint64 {
	v := uint64(m.progress)
	switch {
	case m.word < wordWindow:
		v = word
		if m.word == 1 && m.src.set || m.word == 4 && m.dst.set {
			v |= 1 << 63
		}
	case m.word < wordProgress && m.protection:
		v = m.reach(windowOf(m.word)).word(m.word & 1)
	default:
	}
	return v
}

// windowOf returns the window that a word belongs to.
func windowOf(word uint8) uint8 { return (word - wordWindow) >> 1 & (pkt.Windows - 1) }

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

// restore takes the next word of the state, and returns whether it goes to the file,
// and where.
func (m *Module) restore(data uint64) (surface bool, at uint8) {
	word, at := m.word, m.wordPlace()
	refused := m.refused(word, data)
	m.word = (word + 1) & 0xf
	switch {
	case refused:
		if !m.wrong {
			m.value = data
		}
		m.wrong = true
	case word == 1:
		m.src.load(data)
	case word == 4:
		m.dst.load(data)
	case word < wordWindow:
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
	return word < wordWindow && !refused, at
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

// load sets what is not in the file.
func (s *surface) load(data uint64) {
	s.format = uint8(data>>32) & 7
	s.set = data>>63 != 0
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
