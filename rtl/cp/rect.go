package cp

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// Design note: a rectangle's rows and columns are counted from its own corner,
// so one pair of intervals serves both surfaces: a clip [c0, c1) of a surface on
// which the corner is at p leaves [c0-p, c1-p) of it, and all bounds stay
// unsigned. A row's offset is a product of 15 by 20 bits, added up bit by bit
// while rows of the multiplier are left, for both surfaces at once.

// startClip sets the rectangle to all of size, a pair, and chooses the first
// edge to clip at.
func (m *Module) startClip(size uint32, edge uint8) {
	m.x0, m.x1 = 0, low(size)
	m.y0, m.y1 = 0, high(size)
	m.clip = edge
}

// destCorner returns the pair of coordinates of the corner in the destination.
func (m *Module) destCorner() uint32 {
	p := m.b0
	if op(m.hdr) == pkt.OpCopy2D {
		p = m.b1
	}
	return p
}

// clipEdge clips in one direction at one surface.
func (m *Module) clipEdge() {
	across := m.clip&1 == 0
	s, p := m.src, m.b0
	if m.clip>>1 != 0 {
		s, p = m.dst, m.destCorner()
	}
	lo, hi, c0, c1, corner := m.y0, m.y1, s.y0, s.y1, high(p)
	if across {
		lo, hi, c0, c1, corner = m.x0, m.x1, s.x0, s.x1, low(p)
	}
	lo, hi = clip(lo, hi, c0, c1, corner)
	if across {
		m.x0, m.x1 = lo, hi
	} else {
		m.y0, m.y1 = lo, hi
	}
	if m.clip == 3 {
		m.state = statePlace
	}
	m.clip = (m.clip + 1) & 3
}

// clip returns the part of [lo, hi) that lies in the clip [c0, c1) when 0 lies
// at p.
func clip(lo, hi, c0, c1, p uint16) (uint16, uint16) {
	var first, end uint16
	if c0 > p {
		first = c0 - p
	}
	if c1 > p {
		end = c1 - p
	}
	if first < lo {
		first = lo
	}
	if end > hi {
		end = hi
	}
	return first, end
}

// place finds the first element that is left and not done before and starts the product of its row.
func (m *Module) place() {
	first := uint32(m.y0) + m.skipped()
	if m.x0 >= m.x1 || first >= uint32(m.y1) {
		m.state = stateRetire
	} else {
		dest := m.destCorner()
		m.srcEnd = m.sum(m.src.base, uint64(low(m.b0)+m.x0)<<m.src.format)
		m.dstEnd = m.sum(m.dst.base, uint64(low(dest)+m.x0)<<m.dst.format)
		m.bytes = uint32(m.x1-m.x0) << m.dst.format & m.byteMask
		m.rows = (m.y1 - uint16(first)) & 0x7fff
		m.second = false
		m.startMul(high(m.b0)+uint16(first), high(dest)+uint16(first))
		m.state = stateMul
	}
}

// startMul starts the products of s and d with the pitches of source and
// destination, which are added to srcEnd and dstEnd.
func (m *Module) startMul(s, d uint16) {
	m.mulS, m.mulD = s&0x7fff, d&0x7fff
	m.addS, m.addD = uint64(m.src.pitch), uint64(m.dst.pitch)
}

// multiply adds one bit of the products. The first pair leads to the first row,
// the second from there to the last.
func (m *Module) multiply() {
	if m.mulS|m.mulD != 0 {
		if m.mulS&1 != 0 {
			m.srcEnd = m.sum(m.srcEnd, m.addS)
		}
		if m.mulD&1 != 0 {
			m.dstEnd = m.sum(m.dstEnd, m.addD)
		}
		m.mulS, m.mulD = m.mulS>>1, m.mulD>>1
		m.addS, m.addD = m.addS<<1&(1<<35-1), m.addD<<1&(1<<35-1)
	} else if !m.second {
		m.second = true
		m.srcAddr, m.dstAddr = m.srcEnd, m.dstEnd
		m.startMul(m.rows-1, m.rows-1)
	} else if op(m.hdr) == pkt.OpCopy2D {
		m.state = stateSource
	} else {
		m.state = stateDest
	}
}
