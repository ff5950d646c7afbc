package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a context has few words, so it needs no port of its own. SAVE_STATE writes
// each word as an 8-byte fill by the DMA engine, whose errors the issue unit handles.
// RESTORE_STATE is one read with the tag of predicates, one word in each completion.

// Indices of the words of a context, in SAVE_STATE's layout.
const (
	contextWindow   = 6  // the first word of a window
	contextProgress = 14 // PROGRESS
	contextWords    = 15
)

// Reserved bits of words.
const (
	placeReserved    = uint64(1<<63-1) &^ (7<<32 | pkt.MaxPitch)
	progressReserved = ^uint64(pkt.MaxProgress)
)

// moreWords reports whether the context has words after the current one.
func (s *sync) moreWords() bool { return s.word != contextWords-1 }

// nextWord advances to the next word of the context.
func (s *sync) nextWord() {
	s.word = (s.word + 1) & 0xf
	s.state = syncSave
}

// saveWord sends the next word of the context, or skips it if the node does not have it.
// word is used for the words of a surface.
func (m *Module) saveWord(word uint64) {
	i := m.sync.word
	m.walk.src = m.contextWord(i, word)
	m.sync.state = syncIdle
	windows := m.sync.caps.Has(caps.Protection) && i >= contextWindow && i < contextProgress
	if i < contextWindow || windows || m.sync.caps.Has(caps.Preemption) && i == contextProgress {
		m.issue.state = issueOffer
	} else {
		m.endRow()
	}
}

// contextWord returns word i of the context. word is used for the words of a surface.
func (m *Module) contextWord(i uint8, word uint64) uint64 {
	v := word
	if i == 1 && m.file.src.set || i == 4 && m.file.dst.set {
		v |= 1 << 63
	}
	if i == contextProgress {
		v = uint64(m.regs.progress)
	}
	return v
}

// restore restores the next word of a context. It reports whether the word belongs to the
// file, and its place there. A refused word goes there too, if it is the first one.
func (m *Module) restore(data uint64) (filed bool, at uint8) {
	i, wrong := m.sync.word, m.sync.wrong
	at = m.file.contextPlace(i)
	bad := m.sync.take(data)
	filed = i < contextWindow || i < contextProgress && m.sync.caps.Has(caps.Protection)
	switch {
	case bad:
		filed, at = !wrong, place(slotRegs, wordWrong)
	case i == 1:
		m.file.src.load(data)
	case i == 4:
		m.file.dst.load(data)
	case i == contextProgress:
		if m.sync.caps.Has(caps.Preemption) {
			m.regs.progress = uint32(data) & pkt.MaxProgress
		}
	default:
	}
	return filed, at
}

// take checks the next word of a context.
func (s *sync) take(data uint64) (bad bool) {
	switch s.word {
	case 1, 4:
		bad = data&placeReserved != 0 || data>>32&7 > uint64(pkt.Format128)
	case 2, 5:
		bad = far(uint32(data)) || far(uint32(data>>32))
	case contextProgress:
		bad = s.caps.Has(caps.Preemption) && data&progressReserved != 0
	default:
	}
	s.wrong = s.wrong || bad
	s.word = (s.word + 1) & 0xf
	return bad
}

// load sets the part of a surface that is not in the file.
func (s *surface) load(data uint64) {
	s.format = uint8(data>>32) & 7
	s.set = data>>63 != 0
}
