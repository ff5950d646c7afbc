package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Design note: a window is stored as its first byte and the byte after its last, so that two
// comparisons decide whether a range is in it. One window is tried per clock: one pair of
// comparators serves all windows and both ranges of a packet. A packet
// whose window has a low number waits less. The range was already found to be in memory,
// so no sum here wraps.

// A reach is one of the windows that SET_WINDOW sets, closed if it is empty.
type reach struct {
	base     uint64
	end      uint64
	writable bool
}

// guard holds the windows of the node.
type guard struct {
	next    uint8 `w:"2"` // window to try
	window0 reach
	window1 reach
	window2 reach
	window3 reach
	bottom  uint64 // last row of the range to find a window for
}

// setWindow completes a SET_WINDOW of size bytes from src, or refuses it. A closed window
// keeps the given base.
func (w *walk) setWindow(attr uint8, size uint64) outcome {
	o := ended(finished)
	last := w.space.last(w.src)
	first := w.src &^ pkt.Host
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
	if o.end == finished {
		w.guard.put(attr&3, reach{base: w.src, end: w.src + size, writable: attr>>2 != 0})
	}
	return o
}

// checkGuard tries the next window for the current range.
func (w *walk) checkGuard(p packet) outcome {
	var o outcome
	bad := operandSourceAt
	if w.writes {
		bad = operandDestAt
	}
	r := w.guard.at(w.guard.next)
	inside := w.row >= r.base && w.guard.bottom+uint64(w.bytes) <= r.end
	w.guard.next = (w.guard.next + 1) & (pkt.Windows - 1)
	switch {
	case inside && (r.writable || !w.writes):
		o = w.passRange(p.op)
	case w.guard.next == 0:
		o = refuse(cpreg.CauseWindow, bad)
	default:
	}
	return o
}

// put sets a window.
func (g *guard) put(i uint8, r reach) {
	switch i {
	case 0:
		g.window0 = r
	case 1:
		g.window1 = r
	case 2:
		g.window2 = r
	default:
		g.window3 = r
	}
}

// at returns a window.
func (g *guard) at(i uint8) reach {
	r := g.window3
	switch i {
	case 0:
		r = g.window0
	case 1:
		r = g.window1
	case 2:
		r = g.window2
	default:
	}
	return r
}
