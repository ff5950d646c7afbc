package storm

import (
	"math"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// refused emits a packet that is refused as a bin says. It returns how many dwords
// of it the indirect buffer leaves out.
func (s *station) refused(b *buffer, l pkt.Layout, g Bin) (cut int) {
	ready := s.prelude(b, l, g)
	for range tries {
		p, left := s.broken(l, g, ready)
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

// finish emits a packet that is refused.
func (s *station) finish(b *buffer, p []uint32, v refmodel.Verdict, left uint32) (cut int) {
	at := len(b.words)
	b.words = append(b.words, p...)
	s.n.Do(p, v)
	s.note(b.at, p, v)
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

// broken makes a packet that may be refused as a bin says, any if the state is
// ready for that, and how many dwords its indirect buffer has behind its header.
func (s *station) broken(l pkt.Layout, g Bin, ready bool) (p []uint32, left uint32) {
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
		s.spoil(l, p, g)
	}
	return p, left
}

// unknown returns an opcode that the device does not have.
func (s *station) unknown() uint8 {
	for {
		op := uint8(s.rng.Uint32())
		if _, ok := pkt.Lookup(op); !ok || !s.n.Has(op) {
			return op
		}
	}
}

// oneOf returns one of the bits of a mask.
func (s *station) oneOf(mask uint32) uint32 {
	for {
		if bit := uint32(1) << s.rng.IntN(32); bit&mask != 0 {
			return bit
		}
	}
}

// spoil gives a field of a legal packet a value that the bin's cause refuses.
func (s *station) spoil(l pkt.Layout, p []uint32, g Bin) {
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
			f.Set(p, s.wrong(strings.TrimSpace(rest), max(f.Align, 1)))
			s.ensure(l, p)
		case cause(cpreg.CauseReadError):
			f.Set(p, nowhere+s.rng.Uint64N(apart/2)&^7)
			s.ensure(l, p)
		case cause(cpreg.CauseWriteError):
			f.Set(p, s.in(s.area.host, 512)&^(max(f.Align, 1)-1))
			s.ensure(l, p)
		case cause(cpreg.CauseWindow):
			if rest == "" {
				f.Set(p, outside+s.rng.Uint64N(apart/2)&^7)
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

// ensure gives a packet that may do nothing something to do.
func (s *station) ensure(l pkt.Layout, p []uint32) {
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

// wrong returns an address of a class that is out of range.
func (s *station) wrong(class string, align uint64) uint64 {
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

// prelude emits the state that a bin of a 2D packet needs, if it is one.
func (s *station) prelude(b *buffer, l pkt.Layout, g Bin) bool {
	if l.Op != pkt.OpCopy2D && l.Op != pkt.OpFill2D || b.room-len(b.words) < 40 {
		return false
	}
	name, class, _ := strings.Cut(g.Operand, " ")
	format := s.rng.Uint32N(4)
	switch {
	case g.Operand == "no source":
	case g.Operand == "no destination":
		if l.Op == pkt.OpCopy2D && !s.n.Surfaces[pkt.Source].Set {
			s.emit(b, s.half(uint32(pkt.Source), format, s.data(800)))
		}
	case g.Operand == "formats":
		s.emit(b, s.half(uint32(pkt.Source), format, s.data(800)))
		s.emit(b, s.half(uint32(pkt.Dest), format+1, s.data(800)))
	case g.Operand == "format":
		s.emit(b, s.half(uint32(pkt.Dest), uint32(pkt.Format128), s.data(800)))
	case name == "source":
		s.emit(b, s.half(uint32(pkt.Dest), format, s.data(800)))
		s.emit(b, s.half(uint32(pkt.Source), format, s.badBase(class, g.Outcome)))
	case name == "destination":
		s.emit(b, s.half(uint32(pkt.Source), format, s.data(800)))
		s.emit(b, s.half(uint32(pkt.Dest), format, s.badBase(class, g.Outcome)))
	default:
		return false
	}
	return true
}

// badBase returns the base of a surface that an outcome comes from.
func (s *station) badBase(class, outcome string) uint64 {
	switch outcome {
	case cause(cpreg.CauseAddress):
		return s.wrong(class, 1)
	case cause(cpreg.CauseReadError):
		return nowhere + s.rng.Uint64N(apart/2)
	case cause(cpreg.CauseWriteError):
		return s.in(s.area.host, 800)
	case cause(cpreg.CauseWindow):
		if class == "" {
			return outside + s.rng.Uint64N(apart/2)
		}
	}
	return s.data(800)
}

// half returns one SET_STATE.
func (s *station) half(which, format uint32, base uint64) []uint32 {
	p := s.makeSetState()
	p[1], p[2], p[3], p[5] = which, lo(base), hi(base), format
	return p
}
