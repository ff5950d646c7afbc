package cp

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// Design note: a rectangle's rows and columns are counted from its own corner,
// so one pair of intervals serves both surfaces: a clip [c0, c1) of a surface on
// which the corner is at p leaves [c0-p, c1-p) of it, and all bounds stay
// unsigned. The four bounds stand in a ring, which turns by one for each edge, so that one
// subtractor and one comparison clip all of them. A row's offset is a product of 15 by 20
// bits, added up bit by bit while bits of the row's number are left.

// startRect sets the rectangle to all of size, a pair.
func (m *Module) startRect(size uint32) {
	m.x0, m.y0 = 0, 0
	m.x1, m.y1 = low(size), high(size)
}

// corner takes the pair of coordinates of the corner on the surface in work, of the
// first word of the body.
func (m *Module) corner(pair uint32) {
	m.add = uint64(pair)
	m.state = stateClip
	if m.again {
		m.state = stateLow
	}
}

// clip clips one edge at the clip of the surface in work, of which pair has the edges
// of the same side.
func (m *Module) clip(pair uint32) {
	c, p := low(pair), low(uint32(m.add))
	if m.edge&1 != 0 {
		c, p = high(pair), high(uint32(m.add))
	}
	bound, at := m.x0, c-p
	under, upper := at&0x8000 != 0, m.edge&2 != 0
	switch {
	case under && upper:
		bound = 0
	case !under && (bound < at) != upper:
		bound = at
	default:
	}
	m.x0, m.y0, m.x1, m.y1 = m.y0, m.x1, m.y1, bound&0x7fff
	if m.edge == 3 {
		m.clipped()
	}
	m.edge = (m.edge + 1) & 3
}

// clipped goes on to the other surface, or to what is left of the rectangle.
func (m *Module) clipped() {
	m.state = statePlace
	if !m.writes {
		m.state = stateCorner
	}
	m.writes = true
}

// placed goes on to the ranges if something is left and was not done before.
func (m *Module) placed() {
	width, behind, skip := m.x1-m.x0, m.y1+^m.y0, m.skipped()
	empty := width == 0 || width&0x8000 != 0 || behind&0x8000 != 0
	m.y0 = (m.y0 + uint16(skip)) & 0x7fff
	m.y1 = (m.y1 - 1) & 0x7fff
	m.again = true
	m.writes = m.op() == pkt.OpFill2D
	m.state = stateCorner
	if empty || m.preemption && skip > uint32(behind) {
		m.state = stateRetire
	}
}

// startRow begins with the offset of the last row of the range in work, or of the first
// one.
func (m *Module) startRow() {
	corner, y := uint32(m.add), m.y1
	if m.edge != 0 {
		y = m.y0
	}
	m.mul = (high(corner) + y) & 0x7fff
	m.add = uint64(low(corner) + m.x0)
	m.bytes = uint32(m.x1-m.x0) & 0x7fff
	m.scale = m.dst.format
	m.state = stateScale
}

// adds reports whether a row of the range in work moves on: by the offset in a row when
// elements have become bytes, and by each bit of the product of row and pitch.
func (m *Module) adds() bool {
	return m.state == stateScale && m.scale == 0 || m.state == stateMul && m.mul&1 != 0
}

// accumulate goes on to the next power of two of the elements, or of the row.
func (m *Module) accumulate() {
	scales := m.state == stateScale
	m.add = m.add << 1 & (1<<35 - 1)
	switch {
	case scales && m.scale != 0:
		m.bytes = m.bytes << 1 & m.byteMask
		m.scale = (m.scale - 1) & 7
	case scales && m.op() == pkt.OpIndirect:
		m.state = stateLow
	case scales:
		m.state = statePitch
	case m.mul != 0:
		m.mul >>= 1
	default:
		m.state = stateRange
	}
}

// pitch takes the pitch of a surface for the product, or for the rows of the destination.
func (m *Module) pitch(word uint32) {
	m.add = uint64(word & pkt.MaxPitch)
	if m.state == statePitch {
		m.state = stateMul
	} else {
		m.state = stateIssue
	}
}
