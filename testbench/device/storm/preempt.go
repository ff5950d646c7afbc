package storm

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// batchPreempted makes packets for a preemption: it comes after or inside a packet that
// takes long. SAVE_STATE, RESTORE_STATE and INDIRECT are left out, because PROGRESS of
// the preempted packet would change their effect.
func (s *generator) batchPreempted() {
	b := s.begin()
	s.avoid = []uint8{pkt.OpIndirect, pkt.OpSaveState, pkt.OpRestoreState}
	g := s.goal
	if g == nil || g.Packet == ringItself {
		s.random(b)
	} else {
		s.inPlace(b, *g, func(in *buffer) {
			l := layout(g.Packet)
			switch {
			case g.Operand == inside:
				s.long(in, l.Op, hostClass, hostClass)
			case g.Operand == waits:
				s.blocked = s.waitForPeer(in)
			default:
				s.filler(in)
				s.legal(in, l, nil, nil)
			}
			for range s.rng.IntN(3) {
				s.random(in)
			}
		})
	}
	s.end(b)
}

// inPlace calls emit for a buffer in the place of a bin.
func (s *generator) inPlace(b *buffer, g Bin, emit func(in *buffer)) {
	if g.State == refmodel.InRing.String() {
		emit(b)
		return
	}
	s.indirect(b, bufferOptions{}, func(in *buffer) int {
		emit(in)
		return 0
	})
}

// end emits the fence at the end of a round.
func (s *generator) end(b *buffer) {
	p := s.makeFence()
	p[4] = 1
	s.emit(b, p)
	s.words = b.words
}

// filler emits a packet that takes long and cannot be preempted inside. A shorter one would
// overlap the packet after it.
func (s *generator) filler(b *buffer) {
	const n = 4096
	dst := s.in(s.area.host, n)
	s.emit(b, pkt.Dwords(pkt.OpFill, lo(dst), hi(dst), lo(n), s.rng.Uint32(), s.rng.Uint32()))
}

// preempt preempts and resumes a node several times.
func (s *storm) preempt(st *generator) error {
	delay := uint64(800)
	if g := st.goal; g != nil && g.Operand == inside {
		delay = 2500
	}
	if g := st.goal; g != nil && g.Operand == ringEmpty {
		st.ring.Doorbell()
		s.pause(20_000)
	} else {
		st.ring.Doorbell()
	}
	if st.blocked {
		s.pause(1000)
	}
	for range 1 + s.rng.IntN(3) {
		s.pause(s.rng.Uint64N(delay))
		if err := s.stop(st); err != nil {
			return err
		}
	}
	if s.late {
		s.generators[0].ring.Doorbell()
	}
	return nil
}

// stop preempts a node, checks where it stopped, and resumes it.
func (s *storm) stop(st *generator) error {
	r := st.ring
	s.preempts += 1 + s.rng.Uint32N(1000)
	r.SetReg(cpreg.Preempt, s.preempts)
	if !s.b.Until(func() bool { return r.Reg(cpreg.Preempted) == s.preempts }) {
		return fmt.Errorf("%w: node %d was not preempted: %s", ErrDiffers, st.n.ID, r.State())
	}
	st.n.Done++
	idle := s.b.Until(func() bool { return r.Reg(cpreg.Status)&cpreg.StatusIdle != 0 })
	status := r.Reg(cpreg.Status) & (cpreg.StatusFault | cpreg.StatusInIB)
	if ctl := r.Reg(cpreg.Ctl); (ctl != st.control() || !idle || status != 0) && s.b.Err == nil {
		return fmt.Errorf("%w: node %d was preempted with CTL %#x: %s", ErrDiffers, st.n.ID, ctl, r.State())
	}
	if err := s.resume(st); err != nil {
		return err
	}
	r.SetReg(cpreg.Ctl, cpreg.CtlRun|st.control())
	return nil
}

// resume records where a node stopped. If it stopped in an indirect buffer, resume
// changes the INDIRECT before it to continue there.
func (s *storm) resume(st *generator) error {
	r := st.ring
	rptr, left, progress := r.Reg(cpreg.Rptr), r.Reg(cpreg.IBLeft), r.Reg(cpreg.Progress)
	addr := uint64(r.Reg(cpreg.IBLo)) | uint64(r.Reg(cpreg.IBHi))<<32
	at := int((rptr - st.first) % r.Dwords())
	where := st.ringAt(at)
	if left != 0 {
		where = addr
	}
	m, ok := st.marks[where]
	done := left == 0 && at == len(st.words)
	if s.b.Err != nil {
		return nil
	}
	if !ok && !done || left != 0 && (m.at == refmodel.InRing || left != st.leftAt(at, addr)) {
		return fmt.Errorf("%w: node %d was preempted at RPTR %#x, IB_ADDR %#x, IB_LEFT %#x, not at a packet", ErrDiffers, st.n.ID, rptr, addr, left)
	}
	if left != 0 && progress != 0 && !m.extent.Stops(progress) {
		return fmt.Errorf("%w: node %d was preempted with PROGRESS %#x in %+v", ErrDiffers, st.n.ID, progress, m.extent)
	}
	st.stoppedAt(m, done, left != 0 && progress != 0)
	if left != 0 {
		for i, w := range pkt.Dwords(pkt.OpIndirect, lo(addr), hi(addr), left|1<<20) {
			st.store(st.ringAt(at+i), []uint32{w})
		}
	}
	return nil
}

// leftAt returns the number of dwords from an address to the end of the indirect buffer
// that an INDIRECT of the ring executes, or 0 if the address is not in the buffer.
func (s *generator) leftAt(at int, addr uint64) uint32 {
	for _, c := range s.chunks {
		end := c.addr + 4*uint64(len(c.words))
		if at+3 <= len(s.words) && c.addr == long(s.words, at+1) && addr >= c.addr && addr < end {
			return uint32(end-addr) / 4
		}
	}
	return 0
}

// stoppedAt records the bin of the place where the node stopped.
func (s *generator) stoppedAt(m mark, done, in bool) {
	l, _ := pkt.Lookup(m.op)
	b := Bin{l.Name, beforePacket, preempted, m.at.String()}
	switch {
	case done:
		b = Bin{ringItself, ringEmpty, preempted, refmodel.InRing.String()}
	case in:
		b.Operand = inside
	case s.blocked && m.op == pkt.OpWaitFence:
		b.Operand = waits
	}
	s.hits = append(s.hits, b)
}
