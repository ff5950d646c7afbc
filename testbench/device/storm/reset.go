package storm

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// halfAddress returns an address for the given number of bytes in one half of the node's
// data of a class.
func (s *generator) halfAddress(class string, second bool, bytes uint64) uint64 {
	d := s.dataOf(class)
	d.N /= 2
	if second {
		d.At += d.N
	}
	return s.in(d, bytes)
}

func (s *generator) dataOf(class string) refmodel.Range {
	if class == hostClass {
		return s.area.host
	}
	return s.area.vram
}

// long emits a packet that moves as much as fits, from one class of memory to another.
func (s *generator) long(b *buffer, op uint8, from, to string) {
	n := min(s.dataOf(from).N, s.dataOf(to).N) / 2
	n -= 1 + s.rng.Uint64N(n/8)
	src, dst := s.halfAddress(from, false, n), s.halfAddress(to, true, n)
	switch op {
	case pkt.OpCopy:
		s.emit(b, pkt.Dwords(op, lo(src), hi(src), lo(dst), hi(dst), lo(n)))
	case pkt.OpFill:
		s.emit(b, pkt.Dwords(op, lo(dst), hi(dst), lo(n), s.rng.Uint32(), s.rng.Uint32()))
	default: // rows of 64 bytes
		const pitch, row = 80, 64
		format := s.rng.Uint32N(4)
		size := row>>format | uint32(min(n/pitch, 100))<<16
		s.emit(b, pkt.Dwords(pkt.OpSetState, uint32(pkt.Source), lo(src), hi(src), pitch, format, 0, pkt.MaxCoord|pkt.MaxCoord<<16))
		s.emit(b, pkt.Dwords(pkt.OpSetState, uint32(pkt.Dest), lo(dst), hi(dst), pitch, format, 0, pkt.MaxCoord|pkt.MaxCoord<<16))
		if op == pkt.OpCopy2D {
			s.emit(b, pkt.Dwords(op, 0, 0, size))
		} else {
			s.emit(b, pkt.Dwords(op, 0, size, s.rng.Uint32(), s.rng.Uint32()))
		}
	}
}

// batchReset makes one packet that takes long and a fence. The reset comes before the
// fence.
func (s *generator) batchReset() {
	b := s.begin()
	s.before = s.mem.Clone()
	if s.goal == nil {
		s.goal = &Bin{"FILL", toHost, "", refmodel.InRing.String()}
	}
	g := *s.goal
	from, to := s.memories(g.Operand)
	switch {
	case g.Packet == ringItself:
		return
	case g.Operand == waits: // no limit; nothing after it executes
		v := s.n.Fence + 1<<32
		b.words = append(pkt.Dwords(pkt.OpWaitFence, uint32(s.n.ID), lo(v), hi(v)), pkt.Dwords(pkt.OpFill, 0, 0, 1, 0, 0)...)
		s.words = b.words
		return
	case g.Operand == fetches:
		s.indirect(b, bufferOptions{memory: s.randomClass()}, func(in *buffer) int {
			for range 90 {
				s.emit(in, pkt.Dwords(pkt.OpNOP))
			}
			return 0
		})
	default:
		s.inPlace(b, g, func(in *buffer) { s.long(in, layout(g.Packet).Op, from, to) })
	}
	// Outside the range that the packet writes, so each byte is either old or new.
	fence := (s.halfAddress(s.randomClass(), false, 32) + 7) &^ 7
	s.emit(b, pkt.Dwords(pkt.OpFence, lo(fence), hi(fence), uint32(s.n.Fence)+1, 1))
	s.words = b.words
}

func (s *generator) randomClass() string { return []string{vramClass, hostClass}[s.rng.IntN(2)] }

// memories returns the memories that an operand of a bin names, or random ones.
func (s *generator) memories(operand string) (from, to string) {
	from, to = s.randomClass(), s.randomClass()
	for _, class := range []string{vramClass, hostClass} {
		if len(operand) >= len(class) && operand[:len(class)] == class {
			from = class
		}
		if n := len(operand) - len("to "+class); n >= 0 && operand[n:] == "to "+class {
			to = class
		}
	}
	return from, to
}

// inPacket reports whether a node is in the middle of its packet.
func (s *generator) inPacket() bool {
	idle := s.ring.Reg(cpreg.Status)&cpreg.StatusIdle != 0
	if s.goal.Packet == ringItself {
		return idle
	}
	m, ok := s.marks[s.ringAt(int((s.ring.Reg(cpreg.Rptr)-s.first)%s.ring.Dwords()))]
	return !idle && (s.goal.Operand == waits || ok && m.op != pkt.OpFence)
}

// resetNode resets a node while it works.
func (s *storm) resetNode(st *generator) error {
	st.ring.Doorbell()
	s.pause(s.rng.Uint64N(500))
	midway := st.inPacket()
	if err := st.ring.Reset(); err != nil {
		return err
	}
	return s.restart(st, byNode, midway, st.fenceBefore)
}

// resetAll resets the device while its nodes work, by its register or by a function-level
// reset, and configures it again.
func (s *storm) resetAll(k kind) error {
	var midway []bool
	for _, st := range s.generators {
		st.ring.Doorbell()
	}
	s.pause(s.rng.Uint64N(500))
	for _, st := range s.generators {
		midway = append(midway, st.inPacket())
	}
	by := byWhole
	over := func() bool { return s.b.Reg(idreg.Reset) == 0 }
	if k == resetsWhole {
		s.b.SetReg(idreg.Reset, idreg.ResetWhole)
	} else {
		by = byFunction
		over = func() bool { return s.b.Config(pcicfg.Command)&pcicfg.CommandMemory == 0 }
		s.b.SetConfig(pcicfg.DevCtl, s.b.Config(pcicfg.DevCtl)&0xffff|pcicfg.DevCtlReset)
	}
	if !s.b.Until(over) {
		return fmt.Errorf("%w: the %s did not end", ErrDiffers, by)
	}
	if k == resetsWhole && s.b.Reg(intcreg.Base+intcreg.Mask)|s.b.Reg(intcreg.Base+intcreg.Status) != 0 {
		return fmt.Errorf("%w: INTC.MASK or INTC.STATUS is not 0 after the reset", ErrDiffers)
	}
	s.b.Revive()
	s.watch(s.limits.long)
	s.model.Scratch = [4]uint32{}
	for i, st := range s.generators {
		st.n.Trace, st.traced = nil, knowsAll
		if err := s.restart(st, by, midway[i], 0); err != nil {
			return err
		}
	}
	return nil
}

// restart checks the state of a node after a reset, copies its partial results in memory
// into the model, and gives it a ring.
func (s *storm) restart(st *generator, by string, midway bool, fence uint64) error {
	r := st.ring
	for _, c := range [...]struct {
		name string
		off  uint32
	}{
		{"CTL", cpreg.Ctl}, {"RPTR", cpreg.Rptr}, {"WPTR", cpreg.Wptr}, {"FAULT_INFO", cpreg.FaultInfo}, {"PACKETS", cpreg.Packets},
		{"IB_LEFT", cpreg.IBLeft}, {"RING_SIZE", cpreg.RingSize}, {"RING_BASE_HI", cpreg.RingHi}, {"PROGRESS", cpreg.Progress},
	} {
		if v := r.Reg(c.off); v != 0 && s.b.Err == nil {
			return fmt.Errorf("%w: CP%d.%s is %#x after a %s", ErrDiffers, st.n.ID, c.name, v, by)
		}
	}
	allowed := []uint32{uint32(fence)}
	if by == byNode {
		allowed = append(allowed, uint32(st.n.Fence))
	}
	if got := r.Reg(cpreg.Fence); !slices.Contains(allowed, got) && s.b.Err == nil {
		return fmt.Errorf("%w: CP%d.FENCE is %#x after a %s, want one of %#x", ErrDiffers, st.n.ID, got, by, allowed)
	}
	unfinished := st.goal.Packet == ringItself || st.goal.Operand == waits
	for _, all := range []refmodel.Range{st.area.vramAll, st.area.hostAll} {
		done, err := s.want.Take(s.b.Access, st.before, all.At, all.N)
		if err != nil {
			return err
		}
		unfinished = unfinished || !done
	}
	if midway && unfinished {
		st.hits = []Bin{{st.goal.Packet, st.goal.Operand, by, st.goal.State}}
	} else {
		st.hits = nil
	}
	return st.start(s.rng.Uint32(), st.n.Protect)
}
