package storm

import (
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// Operands and ends of operands that random packets seldom have.
const (
	pages          = "4 KiB"           // at least pageBytes bytes
	far            = " far"            // a coordinate of at least farFrom elements, and data is moved
	wide           = "wide"            // rows of more than farFrom elements
	tall           = "tall"            // more than 256 rows
	closed         = " closed"         // the window around the range is closed
	closedAnywhere = "closed anywhere" // a closed window outside memory
	guardedBuffer  = " guarded"        // the packets of the INDIRECT are guarded
	bothNodes      = "both nodes"      // both nodes execute the packet several times in the same round
	pastEnd        = "past its end"    // resumed where PROGRESS counts all of it
	pastRow        = "past row 255"    // resumed where PROGRESS counts more rows than a byte does, but not all
)

const (
	pageBytes = 4096
	farFrom   = 32
	tallFrom  = 256
	burst     = 6 // packets of each node for a bin of both nodes
)

// coordinates maps the 2D packets to the fields that are coordinates.
var coordinates = map[uint8][]string{pkt.OpCopy2D: {"SrcX", "SrcY", "DstX", "DstY"}, pkt.OpFill2D: {"X", "Y"}}

// rare adds the bins of a packet that random packets seldom hit.
func (d device) rare(l pkt.Layout, at refmodel.Place, add func(operand, outcome string)) {
	for _, name := range coordinates[l.Op] {
		add(name+far, retired)
	}
	switch {
	case coordinates[l.Op] != nil:
		add(wide, retired)
		add(tall, retired)
	case l.Op == pkt.OpSetWindow:
		add(closedAnywhere, retired)
	case l.Op == pkt.OpIndirect && d.Caps.Has(caps.Protection):
		for _, c := range classes(l.Fields[0]) {
			add(l.Fields[0].Name+" "+c+guardedBuffer, retired)
		}
	}
	if operand := resumedOperand(l); operand != "" && at != refmodel.InRing && d.Caps.Has(caps.Preemption) {
		add(operand, retired)
	}
	for _, f := range l.Fields {
		if at == refmodel.Guarded && (f.Kind == pkt.AddrRead || f.Kind == pkt.AddrWrite) {
			add(f.Name+closed, cause(cpreg.CauseWindow))
		}
	}
	if d.Nodes > 1 {
		add(bothNodes, retired)
	}
}

// rareOperands returns the operands of rare that a retired packet has.
func (s *generator) rareOperands(l pkt.Layout, p []uint32, v refmodel.Verdict) []string {
	var all []string
	switch {
	case coordinates[l.Op] != nil && len(v.Moves) > 0:
		for _, f := range l.Fields {
			if slices.Contains(coordinates[l.Op], f.Name) && f.Value(p) >= farFrom {
				all = append(all, f.Name+far)
			}
		}
		if v.Moves[0].N>>s.n.Surfaces[pkt.Dest].Format > farFrom {
			all = append(all, wide)
		}
		if len(v.Moves) > tallFrom {
			all = append(all, tall)
		}
	case l.Op == pkt.OpSetWindow && long(p, 4) == 0 && outside(long(p, 2)):
		all = append(all, closedAnywhere)
	case l.Op == pkt.OpIndirect && s.n.Protect:
		f := l.Fields[0]
		all = append(all, f.Name+" "+class(f, f.Value(p))+guardedBuffer)
	}
	return all
}

// outside reports whether an address is in no memory of any device.
func outside(addr uint64) bool { return addr&^pkt.Host>>62 != 0 }

// refusedByClosed reports whether a closed window begins where a refused range does.
func (s *generator) refusedByClosed(v refmodel.Verdict) bool {
	return v.Cause == cpreg.CauseWindow && slices.ContainsFunc(s.n.Windows[:], func(w refmodel.Window) bool {
		return w.N == 0 && w.At == v.Bad && w.At != 0
	})
}

// closeWindow emits a SET_WINDOW that closes a window around the range of a bin of a closed
// window, and returns the bin of the refusal.
func (s *generator) closeWindow(b *buffer, g Bin) Bin {
	s.closed = 0
	operand, ok := strings.CutSuffix(g.Operand, closed)
	if !ok {
		return g
	}
	s.closed = noWindow + s.rng.Uint64N(regionBytes/2)&^7
	s.emit(b, pkt.Dwords(pkt.OpSetWindow, 3|1<<2, lo(s.closed), hi(s.closed), 0, 0))
	g.Operand = operand
	return g
}

// needsSpread reports whether a bin of a 2D packet needs the surfaces of spread.
func needsSpread(l pkt.Layout, operand string) bool {
	return coordinates[l.Op] != nil && (strings.HasSuffix(operand, far) || operand == wide || operand == tall)
}

// spread sets both surfaces so that a 2D packet can move data far from their bases, in
// disjoint halves of the node's data.
func (s *generator) spread(b *buffer, operand string) {
	const bytes = 800 // a rectangle of any such bin with the pitches below
	pitch := uint32(16)
	if operand == tall {
		pitch = 3
	}
	for i := range uint32(2) {
		base := s.halfAddress(s.randomClass(), i == 1, bytes)
		s.emit(b, pkt.Dwords(pkt.OpSetState, i, lo(base), hi(base), pitch, 0, 0, pkt.MaxCoord|pkt.MaxCoord<<16))
	}
}

// steerRare changes a legal packet so that it has an operand of rare, or Bytes of pages.
func (s *generator) steerRare(l pkt.Layout, operand string, p []uint32) {
	for _, f := range l.Fields {
		switch {
		case operand == f.Name+far:
			f.Set(p, farFrom+s.rng.Uint64N(4))
		case operand == wide && f.Name == "W":
			f.Set(p, farFrom+1+s.rng.Uint64N(20))
		case operand == tall && f.Name == "H":
			f.Set(p, tallFrom+1+s.rng.Uint64N(4))
		case operand == tall && f.Name == "W":
			f.Set(p, 1+s.rng.Uint64N(3))
		case operand == tall && slices.Contains(coordinates[l.Op], f.Name):
			f.Set(p, 0)
		case operand == closedAnywhere && f.Name == "Base":
			f.Set(p, s.rng.Uint64()|1<<62)
		case operand == closedAnywhere && f.Name == "Size":
			f.Set(p, 0)
		case operand == "Bytes "+pages:
			s.enlarge(f, p)
		}
	}
}

// enlarge gives a field of a linear packet a value for pages.
func (s *generator) enlarge(f pkt.Field, p []uint32) {
	const most = pageBytes + 512
	switch {
	case f.Name == "Bytes":
		f.Set(p, most-s.rng.Uint64N(512))
	case f.Kind.Address():
		r := s.area.host
		if s.area.vram.N > most {
			r = s.pick2(s.area.vram, r)
		}
		f.Set(p, s.in(r, most))
	}
}
