package refmodel

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A corner is the origin of a 2D packet's rectangle in a surface.
type corner struct {
	Surface
	name string // of the operand
	x, y int64
}

func newCorner(s Surface, name string, pair uint32) corner {
	return corner{s, name, int64(pair & 0xffff), int64(pair >> 16)}
}

// row returns the address of the first element of row y of a rectangle.
func (c corner) row(r rect, y int64) uint64 {
	return c.Base + uint64(c.x+r.x0)<<c.Format + uint64(c.y+y)*c.Pitch
}

// A rect is the clipped part of a rectangle: columns and rows relative to its corner.
type rect struct{ x0, x1, y0, y1 int64 }

// clip removes the part of r that is outside a surface's clip rectangle.
func (r *rect) clip(c corner) {
	r.x0, r.x1 = max(r.x0, c.X0-c.x), min(r.x1, c.X1-c.x)
	r.y0, r.y1 = max(r.y0, c.Y0-c.y), min(r.y1, c.Y1-c.y)
}

func (r rect) empty() bool { return r.x0 >= r.x1 || r.y0 >= r.y1 }

// judgeCopy2D implements docs/packets.md, COPY_2D.
func (n *Node) judgeCopy2D(p []uint32, at Site) Verdict {
	src := newCorner(n.Surfaces[pkt.Source], "source", p[1])
	dst := newCorner(n.Surfaces[pkt.Dest], "destination", p[2])
	switch {
	case !src.Set:
		return refuse(cpreg.CauseState, "no source")
	case !dst.Set:
		return refuse(cpreg.CauseState, "no destination")
	case src.Format != dst.Format:
		return refuse(cpreg.CauseState, "formats")
	}
	r := rect{x1: int64(p[3] & 0xffff), y1: int64(p[3] >> 16)}
	r.clip(src)
	r.clip(dst)
	done := r.resume(at)
	if r.empty() {
		return Verdict{}
	}
	for i, c := range []corner{src, dst} {
		if v, ok := n.rows(c, r, at.Place, i == 1); !ok {
			return v
		}
	}
	var v Verdict
	for y := r.y0; y < r.y1; y++ {
		v.Moves = append(v.Moves, Move{Src: src.row(r, y), Dst: dst.row(r, y), N: r.bytes(dst)})
	}
	if overlap(v.Moves) || n.aliases(v.Moves) {
		v.Undefined = "source and destination overlap"
	}
	v.Moves[0].skip(done)
	v = n.translate(v, operand{"source", src.Base}, operand{"destination", dst.Base})
	v = n.read(v, "source", src.Base)
	if dst.Pitch < r.bytes(dst) && v.Undefined == "" && slices.ContainsFunc(v.Moves, n.partlyRead) {
		v.Undefined = "a read failed, and rows of the destination overlap"
	}
	return v
}

// judgeFill2D implements docs/packets.md, FILL_2D.
func (n *Node) judgeFill2D(p []uint32, at Site) Verdict {
	dst := newCorner(n.Surfaces[pkt.Dest], "destination", p[1])
	switch {
	case !dst.Set:
		return refuse(cpreg.CauseState, "no destination")
	case dst.Format > uint32(pkt.Format64):
		return refuse(cpreg.CauseState, "format")
	}
	r := rect{x1: int64(p[2] & 0xffff), y1: int64(p[2] >> 16)}
	r.clip(dst)
	done := r.resume(at)
	if r.empty() {
		return Verdict{}
	}
	if v, ok := n.rows(dst, r, at.Place, true); !ok {
		return v
	}
	var v Verdict
	for y := r.y0; y < r.y1; y++ {
		v.Moves = append(v.Moves, Move{Fill: true, Dst: dst.row(r, y), N: r.bytes(dst), Value: long(p, 3)})
	}
	v.Moves[0].skip(done)
	return n.translate(v, operand{}, operand{"destination", dst.Base})
}

// resume removes the rows that are already done. It returns the bytes of the first row left
// that are done.
func (r *rect) resume(at Site) uint64 {
	rows, bytes := Extent{}.Done(at.Done)
	r.y0 += int64(rows)
	return bytes
}

// skip removes the first n bytes of a row. A row that is not longer stays as it is.
func (m *Move) skip(n uint64) {
	if n < m.N {
		m.Src, m.Dst, m.N = m.Src+n, m.Dst+n, m.N-n
	}
}

// bytes returns the number of bytes in a row.
func (r rect) bytes(c corner) uint64 { return uint64(r.x1-r.x0) << c.Format }

// rows checks the memory that a 2D packet accesses in a surface. The range check
// covers base to the end of the last row; windows must allow first to last row.
func (n *Node) rows(c corner, r rect, at Place, writes bool) (Verdict, bool) {
	first, last, bytes := c.row(r, r.y0), c.row(r, r.y1-1), r.bytes(c)
	if v, ok := n.checkRange(c.name, c.Base, last, bytes, true); !ok {
		return v, false
	}
	return n.checkWindows(c.name, at, first, last-first+bytes, writes)
}

// overlap reports whether copies read bytes that they write. Sources and destinations
// must be sorted by address and have equal lengths.
func overlap(all []Move) bool {
	for s, d := 0, 0; s < len(all) && d < len(all); {
		src, dst, n := all[s].Src, all[d].Dst, all[0].N
		switch {
		case src+n <= dst:
			s++
		case dst+n <= src:
			d++
		default:
			return true
		}
	}
	return false
}
