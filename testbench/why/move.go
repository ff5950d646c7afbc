package why

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A surface is a surface that SET_STATE has set.
type surface struct {
	base  uint64
	pitch uint64
	bytes uint64 // of an element
	set   bool
	by    *packet
}

// element returns the address of an element.
func (s surface) element(x, y uint16) uint64 { return s.base + uint64(y)*s.pitch + uint64(x)*s.bytes }

// A move is what a packet writes: rows of bytes, and where they come from.
type move struct {
	sub    *submission
	packet *packet

	dst, src           uint64 // addresses of the first byte
	bytes, rows        uint64 // of a row, and how many
	dstPitch, srcPitch uint64
	copies             bool
	from, to           surface    // that it reads and writes; zero for a linear packet
	states             [3]*packet // those with its addresses, or nil
}

// at returns when a move happened: when its packet was executed, or else when its submission
// ended.
func (m move) at() Point {
	if m.packet.executed.In() {
		return m.packet.executed
	}
	return m.sub.retired
}

func (m move) describe() string { return m.sub.describePacket(m.packet) }

// source reports whether the move writes a byte, and where the byte comes from, if it is
// copied.
func (m move) source(addr uint64) (from uint64, writes bool) {
	row, col, ok := m.find(addr, m.dst, m.dstPitch)
	return m.src + row*m.srcPitch + col, ok
}

// reads reports whether the move copies a byte from an address.
func (m move) reads(addr uint64) bool {
	_, _, ok := m.find(addr, m.src, m.srcPitch)
	return ok && m.copies
}

// find returns the row and the column of a byte in rows that begin at an address.
func (m move) find(addr, start, pitch uint64) (row, col uint64, ok bool) {
	if (addr^start)&pkt.Host != 0 || addr < start {
		return 0, 0, false
	}
	col = addr - start
	if m.rows > 1 {
		if pitch == 0 {
			return 0, 0, false
		}
		row, col = col/pitch, col%pitch
	}
	return row, col, row < m.rows && col < m.bytes
}

// each calls do with every move of the submissions that have ended, in the order in which
// they ended.
func (r *Run) each(do func(m move)) {
	for _, s := range r.ended() {
		s.moves(do)
	}
}

// ended returns the submissions that the hardware has ended, in that order.
func (r *Run) ended() (all []*submission) {
	for _, s := range r.order {
		if s.retired.In() || s.fenced.In() {
			all = append(all, s)
		}
	}
	sortBy(all, func(s *submission) uint64 {
		if s.fenced.In() {
			return s.fenced.Event
		}
		return s.retired.Event
	})
	return all
}

// moves calls do with every move of a submission, in order.
func (s *submission) moves(do func(m move)) {
	var surfaces [2]surface
	skip := 0
	for i := range s.packets {
		p := &s.packets[i]
		d, _, err := pkt.Decode(p.data)
		if err != nil {
			continue
		}
		if skip > 0 { // a PREDICATE may have skipped it
			skip -= len(p.data) / 4
			if !p.executed.In() {
				continue
			}
		}
		m := move{sub: s, packet: p, rows: 1, states: [3]*packet{p}}
		switch d := d.(type) {
		case pkt.Predicate:
			skip = int(d.Dwords)
			continue
		case pkt.SetState:
			surfaces[d.Surface&1] = surface{d.Base, uint64(d.Pitch), 1 << d.Format, true, p}
			continue
		case pkt.Copy:
			m.dst, m.src, m.bytes, m.copies = d.Dst, d.Src, uint64(d.Bytes), true
		case pkt.Fill:
			m.dst, m.bytes = d.Dst, uint64(d.Bytes)
		case pkt.Copy2D:
			from, to := surfaces[pkt.Source], surfaces[pkt.Dest]
			m.dst, m.src, m.copies = to.element(d.DstX, d.DstY), from.element(d.SrcX, d.SrcY), true
			m.bytes, m.rows, m.dstPitch, m.srcPitch = uint64(d.W)*to.bytes, uint64(d.H), to.pitch, from.pitch
			m.from, m.to, m.states[1], m.states[2] = from, to, from.by, to.by
		case pkt.Fill2D:
			to := surfaces[pkt.Dest]
			m.dst, m.bytes, m.rows, m.dstPitch = to.element(d.X, d.Y), uint64(d.W)*to.bytes, uint64(d.H), to.pitch
			m.to, m.states[1] = to, to.by
		default:
			continue
		}
		do(m)
	}
}
