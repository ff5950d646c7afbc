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

// part returns an address in one half of the node's data of a class, with so many
// bytes behind it that are in that half, too.
func (s *station) part(class string, second bool, bytes uint64) uint64 {
	d := s.dataOf(class)
	d.N /= 2
	if second {
		d.At += d.N
	}
	return s.in(d, bytes)
}

func (s *station) dataOf(class string) refmodel.Range {
	if class == hostClass {
		return s.area.host
	}
	return s.area.vram
}

// long emits a packet that moves as much as there is room for, from one class of
// memory to another.
func (s *station) long(b *buffer, op uint8, from, to string) {
	n := min(s.dataOf(from).N, s.dataOf(to).N) / 2
	n -= 1 + s.rng.Uint64N(n/8)
	src, dst := s.part(from, false, n), s.part(to, true, n)
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

// batchReset makes one packet that takes long, and a fence, which a reset comes
// before.
func (s *station) batchReset() {
	b := s.begin()
	s.before = s.mem.Clone()
	if s.goal == nil {
		s.goal = &Bin{"FILL", toHost, "", refmodel.InRing.String()}
	}
	g := *s.goal
	from, to := s.sides(g.Operand)
	switch {
	case g.Packet == theRing:
		return
	case g.Operand == waits: // for ever; nothing behind it is done
		v := s.n.Fence + 1<<32
		b.words = append(pkt.Dwords(pkt.OpWaitFence, uint32(s.n.ID), lo(v), hi(v)), pkt.Dwords(pkt.OpFill, 0, 0, 1, 0, 0)...)
		s.words = b.words
		return
	case g.Operand == fetches:
		s.indirect(b, code{memory: s.either()}, func(in *buffer) int {
			for range 90 {
				s.emit(in, pkt.Dwords(pkt.OpNOP))
			}
			return 0
		})
	default:
		s.placed(b, g, func(in *buffer) { s.long(in, layout(g.Packet).Op, from, to) })
	}
	// Where no part of the packet writes, so that each byte is as before or as behind.
	fence := (s.part(s.either(), false, 32) + 7) &^ 7
	s.emit(b, pkt.Dwords(pkt.OpFence, lo(fence), hi(fence), uint32(s.n.Fence)+1, 1))
	s.words = b.words
}

func (s *station) either() string { return []string{vramClass, hostClass}[s.rng.IntN(2)] }

// sides returns the memories that an operand of a bin names, any if it does not.
func (s *station) sides(operand string) (from, to string) {
	from, to = s.either(), s.either()
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

// midway says whether a node is in the middle of its packet.
func (s *station) midway() bool {
	idle := s.ring.Reg(cpreg.Status)&cpreg.StatusIdle != 0
	if s.goal.Packet == theRing {
		return idle
	}
	m, ok := s.marks[s.ringAt(int((s.ring.Reg(cpreg.Rptr)-s.first)%s.ring.Dwords()))]
	return !idle && (s.goal.Operand == waits || ok && m.op != pkt.OpFence)
}

// resetNode resets a node that works.
func (s *storm) resetNode(st *station) error {
	st.ring.Doorbell()
	s.pause(s.rng.Uint64N(500))
	midway := st.midway()
	if err := st.ring.Reset(); err != nil {
		return err
	}
	return s.again(st, byNode, midway, st.begun)
}

// resetAll resets the device while its nodes work, by its register or as a
// function, and makes it ready again.
func (s *storm) resetAll(k kind) error {
	var midway []bool
	for _, st := range s.stations {
		st.ring.Doorbell()
	}
	s.pause(s.rng.Uint64N(500))
	for _, st := range s.stations {
		midway = append(midway, st.midway())
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
		return fmt.Errorf("%w: the %s does not end", ErrDiffers, by)
	}
	if k == resetsWhole && s.b.Reg(intcreg.Base+intcreg.Mask)|s.b.Reg(intcreg.Base+intcreg.Status) != 0 {
		return fmt.Errorf("%w: INTC is not as after a reset", ErrDiffers)
	}
	s.b.Revive()
	s.watch(longLimit)
	s.model.Scratch = [4]uint32{}
	for i, st := range s.stations {
		if err := s.again(st, by, midway[i], 0); err != nil {
			return err
		}
	}
	return nil
}

// again looks at what a reset has left of a node, takes over what it had done in
// memory until then, and gives it a ring.
func (s *storm) again(st *station, by string, midway bool, fence uint64) error {
	r := st.ring
	for name, off := range map[string]uint32{
		"CTL": cpreg.Ctl, "RPTR": cpreg.Rptr, "WPTR": cpreg.Wptr, "FAULT_INFO": cpreg.FaultInfo, "PACKETS": cpreg.Packets,
		"IB_LEFT": cpreg.IBLeft, "RING_SIZE": cpreg.RingSize, "RING_BASE_HI": cpreg.RingHi, "PROGRESS": cpreg.Progress,
	} {
		if v := r.Reg(off); v != 0 && s.b.Err == nil {
			return fmt.Errorf("%w: CP%d.%s is %#x behind a %s", ErrDiffers, st.n.ID, name, v, by)
		}
	}
	allowed := []uint32{uint32(fence)}
	if by == byNode {
		allowed = append(allowed, uint32(st.n.Fence))
	}
	if got := r.Reg(cpreg.Fence); !slices.Contains(allowed, got) && s.b.Err == nil {
		return fmt.Errorf("%w: CP%d.FENCE is %#x behind a %s, want one of %#x", ErrDiffers, st.n.ID, got, by, allowed)
	}
	unfinished := st.goal.Packet == theRing || st.goal.Operand == waits
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
