package refmodel

import (
	"encoding/binary"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// An Aperture is the registers of the aperture. The model keeps no entries: it is that of a
// device whose aperture is flushed after each change of the table.
type Aperture struct {
	Enable bool
	Table  uint64 // GPU address
	Pages  uint64
}

// An operand is a name and FAULT_BAD of an operand that is refused.
type operand struct {
	name string
	bad  uint64
}

// mapped reports whether an address is in the aperture.
func (n *Node) mapped(addr uint64) bool {
	return n.Caps.Has(caps.GART) && addr&pkt.Host == 0 && addr&gartreg.Start != 0
}

// lookup returns the GPU address of the memory at an address in the aperture, and reports
// whether the page can be read, or written if writes is set.
func (n *Node) lookup(addr uint64, writes bool) (uint64, bool) {
	page, at := (addr-gartreg.Start)/gartreg.PageBytes, addr%gartreg.PageBytes
	line := n.Aperture.Table + page/gartreg.LineEntries*gartreg.LineEntries*gartreg.EntryBytes
	limit := n.VRAM
	if n.Aperture.Table&pkt.Host != 0 {
		limit = 1 << n.HostBits
	}
	if !n.Aperture.Enable || page >= n.Aperture.Pages || line&pkt.Host != n.Aperture.Table&pkt.Host || line&^pkt.Host >= limit {
		return 0, false
	}
	b, ok := n.readable(line, gartreg.LineEntries*gartreg.EntryBytes)
	if !ok || b == nil {
		return 0, false
	}
	e := binary.LittleEndian.Uint64(b[page%gartreg.LineEntries*gartreg.EntryBytes:])
	flags, base := e&0xfff, e&^uint64(0xfff)
	switch {
	case base>>52 != 0 || base>>n.HostBits != 0:
		return 0, false
	case flags == gartreg.EntryValid|gartreg.EntryWritable, flags == gartreg.EntryValid && !writes:
		return pkt.Host | base | at, true
	}
	return 0, false
}

// within returns the length of the first part of a move that crosses no page of the aperture.
func (n *Node) within(m Move) uint64 {
	size := m.N
	if n.mapped(m.Src) && !m.Fill && !m.Stamp {
		size = min(size, gartreg.PageBytes-m.Src%gartreg.PageBytes)
	}
	if n.mapped(m.Dst) {
		size = min(size, gartreg.PageBytes-m.Dst%gartreg.PageBytes)
	}
	return size
}

// first returns the first size bytes of a move, and the rest.
func (m Move) first(size uint64) (part, rest Move) {
	part, rest = m, m
	part.N = size
	rest.Dst, rest.N = m.Dst+size, m.N-size
	if m.Fill {
		rest.Value = bits.RotateLeft64(m.Value, -8*int(size%8))
	} else {
		rest.Src += size
	}
	return part, rest
}

// translate cuts the moves at the first page that cannot be accessed, and refuses the packet
// because of it: "Aperture". In each part of a move the source is before the destination.
func (n *Node) translate(v Verdict, src, dst operand) Verdict {
	for i, m := range v.Moves {
		for rest := m; rest.N != 0; {
			size := n.within(rest)
			bad, refused := src, false
			if n.mapped(rest.Src) && !rest.Fill {
				_, ok := n.lookup(rest.Src, false)
				refused = !ok
			}
			if n.mapped(rest.Dst) && !refused {
				_, ok := n.lookup(rest.Dst, true)
				bad, refused = dst, !ok
			}
			if refused {
				v.Moves = v.Moves[:i]
				if done, _ := m.first(m.N - rest.N); done.N != 0 {
					v.Moves = append(v.Moves, done)
				}
				v.Cause, v.Operand, v.Bad, v.Known = cpreg.CausePage, bad.name, bad.bad, true
				return v
			}
			_, rest = rest.first(size)
		}
	}
	return v
}

// parts returns a move as moves that are not in the aperture. Its pages can be accessed.
func (n *Node) parts(m Move) []Move {
	var all []Move
	for m.N != 0 || all == nil {
		var p Move
		p, m = m.first(n.within(m))
		if n.mapped(p.Src) && !p.Fill && !p.Stamp {
			p.Src, _ = n.lookup(p.Src, false)
		}
		if n.mapped(p.Dst) {
			p.Dst, _ = n.lookup(p.Dst, true)
		}
		all = append(all, p)
	}
	return all
}

// Physical returns the ranges of memory at a range of GPU addresses. Pages of the aperture that
// have no valid entry are left out.
func (n *Node) Physical(r Range) []Range {
	var all []Range
	for m := (Move{Src: r.At, N: r.N}); m.N != 0; {
		var p Move
		p, m = m.first(n.within(m))
		at, ok := p.Src, true
		if n.mapped(at) {
			at, ok = n.lookup(at, false)
		}
		if ok {
			all = append(all, Range{at, p.N})
		}
	}
	return all
}

// aliases reports whether copies read bytes that they write, with at least one of them in the
// aperture. Pages that cannot be accessed count as no memory.
func (n *Node) aliases(moves []Move) bool {
	var from, to []Range
	for _, m := range moves {
		if n.mapped(m.Src) || n.mapped(m.Dst) {
			from, to = append(from, n.Physical(Range{m.Src, m.N})...), append(to, n.Physical(Range{m.Dst, m.N})...)
		}
	}
	for _, f := range from {
		for _, t := range to {
			if f.At < t.At+t.N && t.At < f.At+f.N {
				return true
			}
		}
	}
	return false
}
