package storm

import (
	"math"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// refused emits a packet that is refused as a bin requires. It returns the number of its
// dwords that the indirect buffer cuts off.
func (s *generator) refused(b *buffer, l pkt.Layout, g Bin) (cut int) {
	ready := s.prelude(b, l, g)
	for range maxTries {
		p, left := s.malformed(l, g, ready)
		if p == nil {
			return 0
		}
		v := s.judge(b, p, left)
		if cause(v.Cause) != g.Outcome || v.Operand != g.Operand || b.room-len(b.words) < len(p)+10 {
			continue
		}
		if !s.safe(p, v) {
			continue
		}
		return s.finish(b, p, v, left)
	}
	return 0
}

// finish emits a refused packet.
func (s *generator) finish(b *buffer, p []uint32, v refmodel.Verdict, left uint32) (cut int) {
	at := len(b.words)
	b.words = append(b.words, p...)
	s.allowed.packet(v)
	s.n.Do(p, v)
	s.recordBins(b.at, p, v)
	s.fail(b, p, at, v)
	if b.at == refmodel.InRing {
		return 0
	}
	if left != math.MaxUint32 {
		return len(p) - 1 - int(left)
	}
	for range 10 {
		b.words = append(b.words, pkt.Dwords(pkt.OpNOP)...)
	}
	return 0
}

// malformed makes a packet that may be refused as a bin requires, and the number of dwords
// after its header in the indirect buffer. If ready is true, the node's state causes the
// refusal, and any legal packet will do.
func (s *generator) malformed(l pkt.Layout, g Bin, ready bool) (p []uint32, left uint32) {
	left = math.MaxUint32
	if g.Packet == unknown {
		return pkt.Dwords(s.unknown()), left
	}
	newPacket, ok := makers[l.Op]
	if !ok {
		return nil, 0
	}
	p = newPacket(s)
	switch {
	case ready:
	case g.Operand == "header":
		p[0] |= 1 << (16 + s.rng.IntN(8))
	case g.Operand == "body short":
		p = p[:len(p)-1]
		p[0]--
	case g.Operand == "body long":
		p = append(p, s.rng.Uint32())
		p[0]++
	case g.Operand == "cut" && len(p) > 1:
		left = s.rng.Uint32N(uint32(len(p) - 1))
	case strings.HasPrefix(g.Operand, "dword "):
		i := int(g.Operand[len("dword ")] - '0')
		p[i] |= s.oneOf(l.Reserved(i))
	case g.Operand == "Dwords" && l.Op == pkt.OpPredicate:
		left = uint32(len(p)-1) + s.rng.Uint32N(2)
		p[3] = p[3]&^0xffff | (left - uint32(len(p)-1) + 1 + s.rng.Uint32N(20))
		p = append(p, make([]uint32, left-uint32(len(p)-1))...)
	default:
		s.corrupt(l, p, g)
	}
	return p, left
}

// unknown returns an opcode that the device does not implement.
func (s *generator) unknown() uint8 {
	for {
		op := uint8(s.rng.Uint32())
		if _, ok := pkt.Lookup(op); !ok || !s.n.Has(op) {
			return op
		}
	}
}

// oneOf returns a random bit of a mask.
func (s *generator) oneOf(mask uint32) uint32 {
	for {
		if bit := uint32(1) << s.rng.IntN(32); bit&mask != 0 {
			return bit
		}
	}
}

// corrupt sets a field of a legal packet to a value that is refused with the bin's cause.
func (s *generator) corrupt(l pkt.Layout, p []uint32, g Bin) {
	for _, f := range l.Fields {
		rest, ok := strings.CutPrefix(g.Operand, f.Name)
		if !ok {
			continue
		}
		switch g.Outcome {
		case cause(cpreg.CauseAlign):
			f.Set(p, f.Value(p)+1+s.rng.Uint64N(f.Align-1))
		case cause(cpreg.CauseState):
			f.Set(p, f.Max+1+s.rng.Uint64N(3))
		case cause(cpreg.CauseAddress):
			f.Set(p, s.badAddress(strings.TrimSpace(rest), max(f.Align, 1)))
			s.ensure(l, p)
		case cause(cpreg.CauseReadError):
			f.Set(p, unmapped+s.rng.Uint64N(regionBytes/2)&^7)
			s.ensure(l, p)
		case cause(cpreg.CauseWriteError):
			f.Set(p, s.in(s.area.host, 512)&^(max(f.Align, 1)-1))
			s.ensure(l, p)
		case cause(cpreg.CauseWindow):
			switch {
			case s.closed != 0:
				f.Set(p, s.closed)
			case rest == "":
				f.Set(p, noWindow+s.rng.Uint64N(regionBytes/2)&^7)
			}
			s.ensure(l, p)
		case cause(cpreg.CauseRegister):
			f.Set(p, s.rng.Uint64N(0x4000)*4)
		case cause(cpreg.CauseLength):
			f.Set(p, 1<<s.n.LengthBits+s.rng.Uint64N(1<<s.n.LengthBits))
		case cause(cpreg.CauseFence):
			behind := []uint32{1, 1 << 31, 1 + s.rng.Uint32N(1<<20)}
			f.Set(p, uint64(uint32(s.n.Fence)-behind[s.rng.IntN(3)]))
		}
	}
}

// ensure gives an empty packet something to do.
func (s *generator) ensure(l pkt.Layout, p []uint32) {
	for _, f := range l.Fields {
		switch f.Name {
		case "Bytes", "Size":
			f.Set(p, 1+s.rng.Uint64N(200))
		case "Dwords":
			if l.Op == pkt.OpIndirect {
				f.Set(p, 1+s.rng.Uint64N(40))
			}
		}
	}
}

// badAddress returns an address out of the range of its class.
func (s *generator) badAddress(class string, align uint64) uint64 {
	limit := s.n.VRAM
	if class == hostClass {
		limit = 1 << s.n.HostBits
	}
	v := limit + s.rng.Uint64N(1<<20)
	if s.rng.IntN(3) == 0 {
		v = limit | s.rng.Uint64()>>2
	}
	if class == hostClass {
		v |= pkt.Host
	}
	return v - v%align
}

// prelude emits the state that a bin of a 2D packet needs. It reports whether it did.
func (s *generator) prelude(b *buffer, l pkt.Layout, g Bin) bool {
	if l.Op != pkt.OpCopy2D && l.Op != pkt.OpFill2D || b.room-len(b.words) < 40 {
		return false
	}
	name, class, _ := strings.Cut(g.Operand, " ")
	format := s.rng.Uint32N(4)
	switch {
	case g.Operand == "no source":
	case g.Operand == "no destination":
		if l.Op == pkt.OpCopy2D && !s.n.Surfaces[pkt.Source].Set {
			s.emit(b, s.setState(uint32(pkt.Source), format, s.data(800)))
		}
	case g.Operand == "formats":
		s.emit(b, s.setState(uint32(pkt.Source), format, s.data(800)))
		s.emit(b, s.setState(uint32(pkt.Dest), format+1, s.data(800)))
	case g.Operand == "format":
		s.emit(b, s.setState(uint32(pkt.Dest), uint32(pkt.Format128), s.data(800)))
	case name == "source":
		s.emit(b, s.setState(uint32(pkt.Dest), format, s.data(800)))
		s.emit(b, s.setState(uint32(pkt.Source), format, s.badBase(class, g.Outcome)))
	case name == "destination":
		s.emit(b, s.setState(uint32(pkt.Source), format, s.data(800)))
		s.emit(b, s.setState(uint32(pkt.Dest), format, s.badBase(class, g.Outcome)))
	default:
		return false
	}
	return true
}

// badBase returns the base of a surface that causes an outcome.
func (s *generator) badBase(class, outcome string) uint64 {
	switch outcome {
	case cause(cpreg.CauseAddress):
		return s.badAddress(class, 1)
	case cause(cpreg.CauseReadError):
		return unmapped + s.rng.Uint64N(regionBytes/2)
	case cause(cpreg.CauseWriteError):
		return s.in(s.area.host, 800)
	case cause(cpreg.CauseWindow):
		if class == "" {
			return noWindow + s.rng.Uint64N(regionBytes/2)
		}
	}
	return s.data(800)
}

// setState returns the SET_STATE of one surface.
func (s *generator) setState(which, format uint32, base uint64) []uint32 {
	p := s.makeSetState()
	p[1], p[2], p[3], p[5] = which, lo(base), hi(base), format
	return p
}
