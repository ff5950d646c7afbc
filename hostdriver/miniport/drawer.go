package miniport

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Sizes of the packets of a drawing, in bytes.
const (
	setStateBytes = 4 * (1 + pkt.SetStateBody)
	copy2DBytes   = 4 * (1 + pkt.Copy2DBody)
	fill2DBytes   = 4 * (1 + pkt.Fill2DBody)
)

// baseAt is the offset of the address in a SET_STATE, in bytes.
const baseAt = 8

// packets returns the number of FILL_2D or COPY_2D of a drawing.
func (g *drawing) packets() (n uint32) {
	for _, r := range g.rects {
		n += g.strips(r)
	}
	return n
}

// strips returns the number of packets for a sub-rectangle: 0 if it is empty, or copied to
// where it is.
func (g *drawing) strips(r kmddi.Rect) uint32 {
	w, h, dx, dy := int64(r.Right-r.Left), int64(r.Bottom-r.Top), max(g.dx, -g.dx), max(g.dy, -g.dy)
	switch {
	case w == 0 || h == 0 || g.inside && dx == 0 && dy == 0:
		return 0
	case !g.inside || dx >= w || dy >= h:
		return 1
	case dy > 0:
		return uint32((h + dy - 1) / dy)
	}
	return uint32((w + dx - 1) / dx)
}

// strip returns strip i of a sub-rectangle, in the order in which they must be copied: each
// before the one that overwrites its source.
func (g *drawing) strip(r kmddi.Rect, i uint32) kmddi.Rect {
	if g.strips(r) == 1 {
		return r
	}
	if g.dy != 0 {
		r.Top, r.Bottom = slice(r.Top, r.Bottom, g.dy, i)
		return r
	}
	r.Left, r.Right = slice(r.Left, r.Right, g.dx, i)
	return r
}

// slice returns part i of a range, of the size of the distance: from its start if the source
// is after the destination, else from its end.
func slice(from, to int32, distance int64, i uint32) (int32, int32) {
	if distance > 0 {
		at := from + int32(int64(i)*distance)
		return at, int32(min(int64(at)+distance, int64(to)))
	}
	end := to + int32(int64(i)*distance)
	return int32(max(int64(end)+distance, int64(from))), end
}

// A drawer writes drawings to a DMA buffer.
type drawer struct {
	dma     []byte
	patches []kmddi.PatchLocation
	used    int // bytes
	listed  int // patches
}

// write writes packets from number from on, of all drawings, and returns the number of the
// first one for which there is no room.
func (w *drawer) write(list []drawing, from uint32) uint32 {
	at := uint32(0)
	for i := range list {
		g := &list[i]
		n := g.packets()
		if n == 0 || at+n <= from {
			at += n
			continue
		}
		written := w.draw(g, max(from, at)-at)
		if at += written; written < n {
			return at
		}
	}
	return at
}

// draw writes the packets of a drawing from number from on, after those that set its surfaces.
// It returns the number of the first packet for which there is no room.
func (w *drawer) draw(g *drawing, from uint32) uint32 {
	surfaces, one := 1, fill2DBytes
	if g.copies {
		surfaces, one = 2, copy2DBytes
	}
	if w.used+surfaces*setStateBytes+one > len(w.dma) || w.listed+surfaces > len(w.patches) {
		return from
	}
	split := w.used
	if g.copies {
		w.set(setSurface(pkt.Source, g.src), g.from, split)
	}
	w.set(setSurface(pkt.Dest, g.dst), g.to, split)
	at := uint32(0)
	for _, r := range g.rects {
		n := g.strips(r)
		for i := max(from, at) - at; i < n; i++ {
			if w.used+one > len(w.dma) {
				return at + i
			}
			w.put(g.packet(g.strip(r, i)))
		}
		at += n
	}
	return at
}

// set writes the packet that sets a surface, with a patch location.
func (w *drawer) set(p pkt.SetState, index uint32, split int) {
	w.patches[w.listed] = kmddi.PatchLocation{AllocationIndex: index, PatchOffset: uint32(w.used + baseAt), SplitOffset: uint32(split)}
	w.listed++
	w.put(p)
}

// put writes a packet, for which there is room. The surfaces and the rectangles have been
// checked, so encoding cannot fail.
func (w *drawer) put(p pkt.Packet) {
	if b, err := p.Append(w.dma[:w.used:len(w.dma)]); err == nil {
		w.used = len(b)
	}
}

// packet returns the packet that draws a rectangle.
func (g *drawing) packet(r kmddi.Rect) pkt.Packet {
	x, y, width, height := uint16(r.Left), uint16(r.Top), uint16(r.Right-r.Left), uint16(r.Bottom-r.Top)
	if !g.copies {
		return pkt.Fill2D{X: x, Y: y, W: width, H: height, Value: g.value}
	}
	return pkt.Copy2D{
		SrcX: uint16(int64(r.Left) + g.dx), SrcY: uint16(int64(r.Top) + g.dy), DstX: x, DstY: y, W: width, H: height,
	}
}
