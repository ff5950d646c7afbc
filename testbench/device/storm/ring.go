package storm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// A brokenRing is a ring that a node refuses to run.
type brokenRing struct {
	name  string
	cause uint32
	set   func(s *generator, r *ringRegs) (bad uint64)
}

// ringRegs are the values that the host writes, in this order; then it sets RUN, and late.
type ringRegs struct {
	base       uint64
	log2, wptr uint32
	late       *uint32 // WPTR to write while the node runs
}

// brokenRings holds all brokenRing cases.
var brokenRings = []brokenRing{
	{"RING_BASE", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		r.base += 8 << s.rng.IntN(9)
		return r.base
	}},
	{"RING_BASE VRAM", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		r.base = s.badAddress(vramClass, 4096)
		return r.base
	}},
	{"RING_BASE host", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		r.base = s.badAddress(hostClass, 4096)
		return r.base
	}},
	{"RING_BASE", cpreg.CauseReadError, func(s *generator, r *ringRegs) uint64 {
		r.base = unmapped + s.rng.Uint64N(regionBytes/2)&^4095
		return r.base
	}},
	{"RING_SIZE below 8", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		r.log2 = s.rng.Uint32N(8)
		return uint64(r.log2)
	}},
	{"RING_SIZE above 20", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		r.log2 = 21 + s.rng.Uint32N(11)
		return uint64(r.log2)
	}},
	{"RING_SIZE", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 { // the end is out of range
		r.base, r.log2 = s.n.VRAM-4096, 13+s.rng.Uint32N(8)
		return r.base
	}},
	{"WPTR", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		r.wptr = 1<<r.log2/4 + s.rng.Uint32()>>s.rng.IntN(20)&^(1<<31)
		return uint64(r.wptr)
	}},
	{"WPTR while it runs", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		late := uint32(1<<r.log2/4) + s.rng.Uint32()>>s.rng.IntN(20)&^(1<<31)
		r.wptr, r.late = 0, &late
		return uint64(late)
	}},
	{"WPTR in a packet", cpreg.CauseRing, func(s *generator, r *ringRegs) uint64 {
		late := uint32(1<<r.log2/4) + s.rng.Uint32N(1<<16)
		r.wptr, r.late = 2, &late
		return uint64(late)
	}},
}

// breakRing resets a node and makes it run a ring that it must refuse.
func (s *storm) breakRing(st *generator) error {
	st.ring.Control = 0
	if err := s.allowed.start(st.n.ID, refmodel.Range{}, st.ring.Reset); err != nil {
		return err
	}
	r := ringRegs{base: st.area.rings[1], log2: 8 + st.rng.Uint32N(5), wptr: 4}
	which := brokenRings[st.rng.IntN(len(brokenRings))]
	for _, b := range brokenRings {
		if st.goal != nil && b.name == st.goal.Operand && cause(b.cause) == st.goal.Outcome {
			which = b
		}
	}
	bad := which.set(st, &r)
	st.fault = &fault{Fault: refmodel.Fault{Cause: which.cause, Addr: r.base, Bad: bad, Known: true}}
	s.expect(st)
	st.store(st.area.rings[1], pkt.Dwords(pkt.OpFill, 0, 0, 0, 0, 0)[:2])
	st.ring.SetReg(cpreg.RingLo, lo(r.base))
	st.ring.SetReg(cpreg.RingHi, hi(r.base))
	st.ring.SetReg(cpreg.RingSize, r.log2)
	st.ring.SetReg(cpreg.Wptr, r.wptr)
	legal := refmodel.Range{}
	if r.late != nil { // the ring is legal until then
		legal = span(r.base, 1<<r.log2)
	}
	err := s.allowed.start(st.n.ID, legal, func() error { st.ring.SetReg(cpreg.Ctl, cpreg.CtlRun); return nil })
	if err != nil {
		return err
	}
	if r.late != nil {
		s.pause(200)
		st.ring.SetReg(cpreg.Wptr, *r.late)
	}
	st.first = 0
	st.hits = append(st.hits, Bin{ringItself, which.name, cause(which.cause), refmodel.InRing.String()})
	return nil
}
