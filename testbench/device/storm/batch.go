package storm

import (
	"math"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// maxTries is the number of attempts at a packet before its bin is left for another round.
const maxTries = 400

// reserve is the space in the ring for a bin and the final fence, in dwords.
const reserve = 56

// batch fills the ring with a round's packets, one of them for the bin if possible, and
// ends it with a fence or a fault.
func (s *generator) batch(goal *Bin) {
	b := s.begin()
	if goal == nil || !needsReset(*goal) && !resumes(*goal) {
		b.room -= reserve
		for range s.rng.IntN(5) {
			if b.room-len(b.words) > 45 {
				s.random(b)
			}
		}
		for _, g := range s.extra {
			if b.room-len(b.words) > 60 && s.fault == nil {
				s.emitBin(b, g)
			}
		}
		b.room += reserve
	}
	if goal != nil {
		s.emitBin(b, *goal)
	}
	p := s.makeFence()
	p[4] = 1
	if s.fault != nil && s.rng.IntN(2) == 0 {
		p = s.makeFill() // never reached
	}
	s.emit(b, p)
	s.words = b.words
}

// needsReset reports whether a bin needs a node in the state after a reset.
func needsReset(g Bin) bool { return strings.HasPrefix(g.Operand, "no ") }

// safe reports whether the documents define a packet's effect and the effect stays
// within the memory that the node owns.
func (s *generator) safe(p []uint32, v refmodel.Verdict) bool {
	if v.Undefined != "" || v.State != nil && v.State.Progress() != 0 || !s.ends(p, v) {
		return false
	}
	for _, m := range v.Moves {
		own := s.owns(m.Dst, m.N) || m.Stamp
		if !own || !m.Fill && !m.Stamp && !m.Unread && !s.owns(m.Src, m.N) {
			return false
		}
		if m.Unread && !s.n.NoMaster && !span(unmapped, regionBytes).Holds(m.Src, m.N) {
			return false
		}
	}
	return v.Bytes() <= 2*pageBytes
}

// ends reports whether a packet is not a WAIT_FENCE, or waits for a value of this round.
func (s *generator) ends(p []uint32, v refmodel.Verdict) bool {
	if uint8(p[0]>>24) != pkt.OpWaitFence || v.Cause != cpreg.CauseNone {
		return true
	}
	of := s.nodeOf(p[1])
	return !v.Waits && (of == s || !of.held)
}

func (s *generator) owns(addr, n uint64) bool {
	return s.area.vram.Holds(addr, n) || s.area.host.Holds(addr, n)
}

// random emits a random legal packet.
func (s *generator) random(b *buffer) {
	l := pkt.Table[s.rng.IntN(len(pkt.Table))]
	switch {
	case !s.n.Has(l.Op) || l.Privileged && b.at != refmodel.InRing || s.fault != nil || slices.Contains(s.avoid, l.Op):
		return
	case l.Op == pkt.OpIndirect:
		s.indirect(b, bufferOptions{resume: s.n.Caps.Has(caps.Preemption) && s.rng.IntN(4) == 0}, func(in *buffer) int {
			for range s.rng.IntN(4) {
				s.random(in)
			}
			return 0
		})
		return
	}
	s.legal(b, l, nil, nil)
}

// legal emits a legal packet for which accept, if not nil, returns true. steer may change
// the packet first.
func (s *generator) legal(b *buffer, l pkt.Layout, steer func(p []uint32), accept func(p []uint32, v refmodel.Verdict) bool) {
	newPacket, ok := makers[l.Op]
	if !ok {
		return
	}
	rect := l.Op == pkt.OpCopy2D || l.Op == pkt.OpFill2D
	for i := range maxTries {
		if rect && i%40 == 39 && b.room-len(b.words) > 30 {
			s.surfaces(b, s.rng.Uint32N(5))
		}
		if l.Op == pkt.OpRestoreState && i%40 == 0 && b.room-len(b.words) > 30 {
			if save := s.makeSaveState(); s.judge(b, save, math.MaxUint32).Cause == cpreg.CauseNone {
				s.emit(b, save)
			}
		}
		p := newPacket(s)
		if steer != nil {
			steer(p)
		}
		v := s.judge(b, p, math.MaxUint32)
		if v.Cause != cpreg.CauseNone || !s.safe(p, v) || b.room-len(b.words) < len(p)+10 {
			continue
		}
		if accept == nil || accept(p, v) {
			s.predicated(b, p, v)
			return
		}
	}
}

// predicated emits a packet and, after a PREDICATE, the dwords that it may skip.
func (s *generator) predicated(b *buffer, p []uint32, v refmodel.Verdict) {
	if uint8(p[0]>>24) != pkt.OpPredicate || p[3]&0xffff == 0 {
		s.emit(b, p)
		return
	}
	// A NOP of exactly the number of dwords that the PREDICATE skips.
	n := int(p[3] & 0xffff)
	s.emit(b, p)
	next := pkt.Dwords(pkt.OpNOP, make([]uint32, n-1)...)
	s.afterPredicate(b, next, v.Skips)
}

// afterPredicate emits the packet after a PREDICATE.
func (s *generator) afterPredicate(b *buffer, p []uint32, skips bool) {
	if !skips {
		s.emit(b, p)
		return
	}
	b.words = append(b.words, p...)
	l, _ := pkt.Lookup(uint8(p[0] >> 24))
	s.hits = append(s.hits, Bin{l.Name, "any", skipped, b.at.String()})
}

// emitBin emits packets that hit a bin.
func (s *generator) emitBin(b *buffer, g Bin) {
	l := layout(g.Packet)
	do := s.refused
	g = s.closeWindow(b, g)
	switch g.Outcome {
	case retired:
		do = s.retire
	case skipped:
		do = s.skip
	}
	if g.Operand == bothNodes {
		do = s.repeat
	}
	if l.Op == pkt.OpIndirect && g.Outcome == retired {
		s.buffered(b, g)
		return
	}
	if resumes(g) {
		s.resumed(b, l, g)
		return
	}
	if g.State == refmodel.InRing.String() {
		do(b, l, g)
		return
	}
	s.indirect(b, bufferOptions{readOnly: strings.HasSuffix(g.Operand, readOnly)}, func(in *buffer) int {
		return do(in, l, g)
	})
}

// layout returns the layout of a packet by name, or an empty one if it is unknown.
func layout(name string) pkt.Layout {
	i := slices.IndexFunc(pkt.Table, func(l pkt.Layout) bool { return l.Name == name })
	if i < 0 {
		return pkt.Layout{}
	}
	return pkt.Table[i]
}

// buffered emits an INDIRECT that hits a bin of its operands.
func (s *generator) buffered(b *buffer, g Bin) {
	field, class, _ := strings.Cut(g.Operand, " ")
	n := 3
	if field == "Dwords" && class != "more" {
		n = int(class[0] - '0')
	}
	o := bufferOptions{}
	switch field {
	case "Addr":
		o.memory, o.lane, _ = strings.Cut(strings.TrimSuffix(class, guardedBuffer), "+")
	case "Resume":
		o.resume = class == "1"
	}
	times := 1
	if g.Operand == bothNodes {
		times = burst
	}
	for range times {
		if b.room-len(b.words) > 30 {
			s.indirect(b, o, func(in *buffer) int {
				for range n {
					s.emit(in, pkt.Dwords(pkt.OpNOP))
				}
				return 0
			})
			s.bursts++
		}
	}
}

// repeat emits several legal packets, for a bin of both nodes.
func (s *generator) repeat(b *buffer, l pkt.Layout, _ Bin) int {
	for range burst {
		at := len(b.words)
		s.legal(b, l, nil, nil)
		if len(b.words) > at {
			s.bursts++
		}
	}
	return 0
}

// retire emits a legal packet with the operand of a bin.
func (s *generator) retire(b *buffer, l pkt.Layout, g Bin) (cut int) {
	if needsSpread(l, g.Operand) && b.room-len(b.words) > 40 {
		s.spread(b, g.Operand)
	}
	s.legal(b, l, func(p []uint32) {
		s.steerRare(l, g.Operand, p)
		for _, f := range l.Fields {
			if c, ok := strings.CutPrefix(g.Operand, f.Name+" "); ok {
				s.steer(f, c, p)
			}
		}
	}, func(p []uint32, v refmodel.Verdict) bool { return slices.Contains(s.operands(l, p, v), g.Operand) })
	return 0
}

// steer sets a number to a value of a class. Addresses are left to chance.
func (s *generator) steer(f pkt.Field, c string, p []uint32) {
	i := slices.Index(f.Enum, c)
	switch {
	case f.Kind.Address() || f.Dword == 0: // the length in the header is the packet's
	case i >= 0:
		f.Set(p, uint64(i))
	case c == "max":
		f.Set(p, f.Max)
	case c == "some":
		f.Set(p, 1+s.rng.Uint64N(min(f.Max-1, 12)))
	case c == pages: // steerRare
	case c == "more":
		if f.Value(p) < 2 {
			f.Set(p, 2+s.rng.Uint64N(6))
		}
	case c != "any":
		f.Set(p, uint64(c[0]-'0'))
	}
}

// skip emits a PREDICATE and a packet that it skips.
func (s *generator) skip(b *buffer, l pkt.Layout, _ Bin) int {
	newPacket, ok := makers[l.Op]
	p := []uint32(nil)
	if ok {
		p = newPacket(s)
	}
	if p == nil || b.room-len(b.words) < len(p)+15 {
		return 0
	}
	for range maxTries {
		q := s.makePredicate()
		q[3] |= uint32(len(p))
		v := s.judge(b, q, math.MaxUint32)
		if v.Cause == cpreg.CauseNone && v.Skips {
			s.emit(b, q)
			s.afterPredicate(b, p, true)
			break
		}
	}
	return 0
}
