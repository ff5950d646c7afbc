package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: the windows are in the file, as SAVE_STATE writes them: the base, and the size
// with Writable in bit 63. A closed window has size 0. One window is tried in two clocks, so
// one pair of comparators serves all windows and both ranges of a packet. A packet whose
// window has a low number waits less. The range was already found to be in memory, so its end
// does not wrap.

// Phases of walkWindow. walkGuard has two: it compares the range with the base, then with the
// size of a window.
const (
	phaseCheck = iota // checks the window
	phaseSize         // stores its size
	phaseBase         // stores its base
)

// guard compares a range with the windows of the node.
type guard struct {
	phase uint8  `w:"2"` // of walkGuard or walkWindow
	next  uint8  `w:"2"` // window to try
	end   uint64 // byte after the last row of the range to find a window for
	after bool   // the range does not start before the window
	reach uint64 // bytes from the start of the window to the end of the range
}

// stepGuard runs a clock of walkGuard, which tries a window for the current range.
func (w *walk) stepGuard(p packet, word uint64) outcome {
	var o outcome
	if w.guard.phase == 0 {
		w.guard.after = w.row >= word
		w.guard.reach = w.guard.end - word
		w.guard.phase = 1
	} else {
		w.guard.phase = 0
		o = w.checkGuard(p, word)
	}
	return o
}

// stepWindow runs a clock of walkWindow, which stores a window after a check.
func (w *walk) stepWindow(word uint64) outcome {
	var o outcome
	switch w.guard.phase {
	case phaseCheck:
		o = w.checkWindow(word)
	case phaseSize:
	default:
		o = ended(finished)
	}
	w.guard.phase = (w.guard.phase + 1) & 3
	return o
}

// checkWindow checks a window of size bytes at src.
func (w *walk) checkWindow(size uint64) outcome {
	var o outcome
	last := w.space.last(w.src)
	first := w.src &^ pkt.Host &^ w.space.start(w.src)
	end := first + size
	whole := end&last == 0 && (end>>1)&^last == 0
	switch {
	case size == 0:
	case first&^last != 0:
		o = refuse(cpreg.CauseAddress, operandPair2)
	case size>>63 != 0 || end&^last != 0 && !whole:
		o = refuse(cpreg.CauseAddress, operandEnd)
	default:
	}
	return o
}

// checkGuard decides whether the window with the given size word has the current range, and
// otherwise goes on to the next one.
func (w *walk) checkGuard(p packet, size uint64) outcome {
	var o outcome
	bad := operandSourceAt
	if w.writes {
		bad = operandDestAt
	}
	writable, bytes := size>>63 != 0, size&(1<<63-1)
	w.guard.next = (w.guard.next + 1) & (pkt.Windows - 1)
	switch {
	case w.guard.after && w.guard.reach <= bytes && (writable || !w.writes):
		o = w.passRange(p.op)
	case w.guard.next == 0:
		o = refuse(cpreg.CauseWindow, bad)
	default:
	}
	return o
}

// sets reports whether the node stores the word that was read as a word of a window.
func (m *Module) sets() bool {
	return m.walk.caps.Has(caps.Protection) && m.walk.state == walkWindow && m.walk.guard.phase != phaseCheck
}

// setting returns the word of a window to store.
func (m *Module) setting() uint64 {
	v := m.file.ram.Out()
	if m.walk.guard.phase == phaseSize && m.decode.attr>>2 != 0 {
		v |= 1 << 63
	}
	return v
}
