package cp

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// Design note: a rectangle's rows and columns are counted from its corner, so one pair of
// intervals serves both surfaces: if the corner is at p on a surface with the clip [c0, c1),
// the interval [c0-p, c1-p) remains, and all bounds stay unsigned. The four bounds rotate by
// one for each edge, so one subtractor and one comparator clip all of them. A row's offset
// is a 15 by 20 bit product, added bit by bit while bits of the row's number are left.

// setRect sets the rectangle to size, a pair.
func (w *walk) setRect(size uint32) {
	w.x0, w.y0 = 0, 0
	w.x1, w.y1 = low(size), high(size)
}

// corner sets the corner on the current surface, a pair.
func (w *walk) corner(pair uint32) {
	w.add = uint64(pair)
	w.state = walkClip
	if w.again {
		w.state = walkLow
	}
}

// clip clips one edge at the clip of the current surface. pair holds the clip's edges of the
// same side.
func (w *walk) clip(pair uint32) {
	c, p := low(pair), low(uint32(w.add))
	if w.edge&1 != 0 {
		c, p = high(pair), high(uint32(w.add))
	}
	bound, at := w.x0, c-p
	under, upper := at&0x8000 != 0, w.edge&2 != 0
	switch {
	case under && upper:
		bound = 0
	case !under && (bound < at) != upper:
		bound = at
	default:
	}
	w.x0, w.y0, w.x1, w.y1 = w.y0, w.x1, w.y1, bound&0x7fff
	if w.edge == 3 {
		w.state = walkPlace
		if !w.writes {
			w.state = walkCorner
		}
		w.writes = true
	}
	w.edge = (w.edge + 1) & 3
}

// placed continues with the ranges if rows are left that were not sent before a preemption.
func (w *walk) placed(p packet) outcome {
	var o outcome
	width, after := w.x1-w.x0, w.y1+^w.y0
	empty := width == 0 || width&0x8000 != 0 || after&0x8000 != 0
	w.y0 = (w.y0 + uint16(p.rows)) & 0x7fff
	w.y1 = (w.y1 - 1) & 0x7fff
	w.again = true
	w.writes = !readsFirst(p.op)
	w.state = walkCorner
	if empty || p.rows > uint32(after) {
		o = ended(finished)
	}
	return o
}

// startRow starts the offset of the last row of the current range, or of the first row.
func (w *walk) startRow(format uint8) {
	corner, y := uint32(w.add), w.y1
	if w.edge != 0 {
		y = w.y0
	}
	w.mul = (high(corner) + y) & 0x7fff
	w.add = uint64(low(corner) + w.x0)
	w.bytes = uint32(w.x1-w.x0) & 0x7fff
	w.scale = format & 7
	w.state = walkScale
}

// accumulate advances to the next power of two of the elements, or of the row number.
func (w *walk) accumulate(op uint8) {
	scales := w.state == walkScale
	w.add = w.add << 1 & (1<<35 - 1)
	switch {
	case scales && w.scale != 0:
		w.bytes = w.bytes << 1 & w.byteMask
		w.scale = (w.scale - 1) & 7
	case scales && op == pkt.OpIndirect:
		w.state = walkLow
	case scales:
		w.state = walkPitch
	case w.mul != 0:
		w.mul >>= 1
	default:
		w.state = walkRange
	}
}

// setPitch sets the pitch of a surface.
func (w *walk) setPitch(word uint32) { w.add = uint64(word & pkt.MaxPitch) }

// moreRows reports whether there are rows after the current one.
func (w *walk) moreRows() bool { return w.y0 != w.y1 }

// nextRow advances to the next row.
func (w *walk) nextRow() { w.y0 = (w.y0 + 1) & 0x7fff }
