package storm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A rect is the part of a rectangle that clipping leaves: columns and rows from
// its corner.
type rect struct{ x0, x1, y0, y1 int64 }

// clip leaves out what is outside of a surface's clip when the corner is at x, y.
func (r *rect) clip(s surface, x, y int64) {
	r.x0, r.x1 = max(r.x0, s.x0-x), min(r.x1, s.x1-x)
	r.y0, r.y1 = max(r.y0, s.y0-y), min(r.y1, s.y1-y)
}

func split(pair uint32) (x, y int64) { return int64(pair & 0xffff), int64(pair >> 16) }

// row is the address of the first element of row y, counted from the corner at
// cx, cy.
func (s surface) row(r rect, cx, cy, y int64) uint64 {
	return s.base + uint64(cx+r.x0)<<s.format + uint64(cy+y)*s.pitch
}

func (n *node) judgeCopy2D(p []uint32, at place, _ uint32) verdict {
	src, dst := n.surf[pkt.Source], n.surf[pkt.Dest]
	switch {
	case !src.set:
		return refuse(cpreg.CauseState, "no source")
	case !dst.set:
		return refuse(cpreg.CauseState, "no destination")
	case src.format != dst.format:
		return refuse(cpreg.CauseState, "formats")
	}
	sx, sy := split(p[1])
	dx, dy := split(p[2])
	w, h := split(p[3])
	r := rect{x1: w, y1: h}
	r.clip(src, sx, sy)
	r.clip(dst, dx, dy)
	if r.x0 >= r.x1 || r.y0 >= r.y1 {
		return verdict{}
	}
	bytes := uint64(r.x1-r.x0) << src.format
	if v, ok := n.rows(src, "source", at, src.row(r, sx, sy, r.y0), src.row(r, sx, sy, r.y1-1), bytes, false); !ok {
		return v
	}
	if v, ok := n.rows(dst, "destination", at, dst.row(r, dx, dy, r.y0), dst.row(r, dx, dy, r.y1-1), bytes, true); !ok {
		return v
	}
	var v verdict
	if n.nowhere(src.row(r, sx, sy, r.y0)) {
		v = refuseAt(cpreg.CauseReadError, "source", src.base)
	}
	for y := r.y0; y < r.y1; y++ {
		v.moves = append(v.moves, move{src: src.row(r, sx, sy, y), dst: dst.row(r, dx, dy, y), n: bytes, nobody: v.cause != 0})
	}
	return v
}

func (n *node) judgeFill2D(p []uint32, at place, _ uint32) verdict {
	dst := n.surf[pkt.Dest]
	switch {
	case !dst.set:
		return refuse(cpreg.CauseState, "no destination")
	case dst.format > uint32(pkt.Format64):
		return refuse(cpreg.CauseState, "format")
	}
	x, y := split(p[1])
	w, h := split(p[2])
	r := rect{x1: w, y1: h}
	r.clip(dst, x, y)
	if r.x0 >= r.x1 || r.y0 >= r.y1 {
		return verdict{}
	}
	bytes := uint64(r.x1-r.x0) << dst.format
	if v, ok := n.rows(dst, "destination", at, dst.row(r, x, y, r.y0), dst.row(r, x, y, r.y1-1), bytes, true); !ok {
		return v
	}
	var v verdict
	for i := r.y0; i < r.y1; i++ {
		v.moves = append(v.moves, move{fill: true, dst: dst.row(r, x, y, i), n: bytes, value: long(p, 3)})
	}
	return v
}

// rows judges what a 2D packet reaches of a surface: from its base to the end of
// the last row, of which windows have to open what lies from the first row on.
func (n *node) rows(s surface, operand string, at place, first, last, bytes uint64, writes bool) (verdict, bool) {
	if v, ok := n.reach(operand, s.base, last, bytes); !ok {
		return v, false
	}
	return n.opens(operand, at, first, last-first+bytes, writes)
}
