package storm

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// nop is the header of a NOP without a body.
const nop = pkt.OpNOP << 24

// push writes the round's packets into the ring and into the model's memory.
func (s *generator) push() {
	p := pkt.Bytes(s.words)
	for i := range s.words {
		copy(s.mem.Bytes(s.ringAt(i), 4), p[4*i:])
	}
	s.ring.Push(p)
}

// compare checks registers and memory against the reference model.
func (s *storm) compare() error {
	for _, st := range s.generators {
		if err := s.compareNode(st); err != nil {
			return err
		}
		if err := s.compareTrace(st); err != nil {
			return err
		}
		if err := s.stamps(st); err != nil {
			return err
		}
	}
	if err := s.compareInterrupts(); err != nil {
		return err
	}
	if err := s.compareCounters(); err != nil {
		return err
	}
	for i := range 4 {
		if got := s.b.Reg(refmodel.ScratchOff + 4*uint32(i)); got != s.model.Scratch[i] {
			return fmt.Errorf("%w: SCRATCH%d is %#x, want %#x", ErrDiffers, i, got, s.model.Scratch[i])
		}
	}
	for _, r := range s.b.Host.Refused() {
		if r.Write || !span(unmapped, regionBytes).Holds(pkt.Host|r.Addr, uint64(r.Bytes)) {
			return fmt.Errorf("%w: %w", ErrDiffers, r)
		}
	}
	return s.want.Check(s.b.Access)
}

// A check is a register and its expected value.
type check struct {
	name      string
	got, want uint64
}

// compareNode checks a node's registers against the reference model.
func (s *storm) compareNode(st *generator) error {
	n, f := st.n, st.fault
	wide := func(off uint32) uint64 { return uint64(st.ring.Reg(off)) | uint64(st.ring.Reg(off+4))<<32 }
	rptr := st.ring.Wptr()
	status := uint32(cpreg.StatusIdle)
	ctl := cpreg.CtlRun | st.control()
	if f == nil {
		f = &fault{}
	} else {
		rptr = (st.first + uint32(f.ring)) % st.ring.Dwords()
		status |= cpreg.StatusFault
		ctl &^= cpreg.CtlRun
	}
	checks := []check{
		{"FAULT_INFO", uint64(st.ring.Reg(cpreg.FaultInfo)), uint64(f.Cause)},
		{"FAULT_ADDR", wide(cpreg.FaultLo), f.Addr},
		{"FAULT_OP", uint64(st.ring.Reg(cpreg.FaultOp)), uint64(f.Op)},
		{"RPTR", uint64(st.ring.Reg(cpreg.Rptr)), uint64(rptr)},
		{"PACKETS", uint64(st.ring.Reg(cpreg.Packets)), uint64(n.Packets)},
		{"FENCE", uint64(st.ring.Reg(cpreg.Fence)), n.Fence & 0xffffffff},
		{"STATUS", uint64(st.ring.Reg(cpreg.Status) & (cpreg.StatusIdle | cpreg.StatusFault)), uint64(status)},
		{"IB_LEFT", uint64(st.ring.Reg(cpreg.IBLeft)), uint64(f.ibLeft)},
		{"CTL", uint64(st.ring.Reg(cpreg.Ctl)), uint64(ctl)},
	}
	if n.Caps.Has(caps.Timeline) {
		checks = append(checks, check{"TIMELINE", wide(cpreg.LineLo), n.Fence})
	}
	for _, c := range checks {
		if c.got != c.want && s.b.Err == nil {
			return fmt.Errorf("%w: CP%d.%s is %#x, want %#x", ErrDiffers, n.ID, c.name, c.got, c.want)
		}
	}
	if got := wide(cpreg.FaultBad); f.Known && got != f.Bad && s.b.Err == nil {
		return fmt.Errorf("%w: CP%d.FAULT_BAD is %#x, want %#x", ErrDiffers, n.ID, got, f.Bad)
	}
	return nil
}

// stamps copies this round's time stamps into the model's memory and checks their range.
func (s *storm) stamps(st *generator) error {
	now := s.time()
	for _, addr := range st.n.Stamps {
		var p [8]byte
		if addr&pkt.Host != 0 {
			copy(p[:], s.b.Host.Mem[addr-s.generators[0].area.hostAll.At:])
		} else {
			s.b.ReadVRAM(addr, p[:])
		}
		if v := binary.LittleEndian.Uint64(p[:]); (v < s.began || v > now) && s.b.Err == nil {
			return fmt.Errorf("%w: the time stamp at %#x is %d, want %d to %d", ErrDiffers, addr, v, s.began, now)
		}
		copy(st.mem.Bytes(addr, 8), p[:])
	}
	return nil
}

// compareInterrupts checks STATUS against the events, and that each vector with events
// sent at least one message and at most one per event. For a node that was reset, the
// event may have been raised or not.
func (s *storm) compareInterrupts() error {
	var status, open uint32
	var events, must, got [2]int
	for i, st := range s.generators {
		was := events
		events[intcreg.VectorDone] += st.n.Done
		if st.n.Done > 0 {
			status |= intcreg.Done0 << i
		}
		faults := st.reports
		if st.fault != nil {
			faults++
		}
		if faults > 0 {
			events[intcreg.VectorFault] += faults
			status |= intcreg.Fault0 << i
		}
		if st.kind.reset() {
			open |= (intcreg.Done0 | intcreg.Fault0) << i
			continue
		}
		for v := range must {
			must[v] += events[v] - was[v]
		}
	}
	for _, m := range s.b.Host.Messages() {
		got[m.Data&1]++
	}
	if v := s.b.Reg(intcreg.Base + intcreg.Status); (v^status)&^open != 0 && s.b.Err == nil {
		return fmt.Errorf("%w: INTC.STATUS is %#x, want %#x", ErrDiffers, v, status)
	}
	s.b.SetReg(intcreg.Base+intcreg.Status, intcreg.All)
	for v := range events {
		if (got[v] > events[v] || got[v] == 0 && must[v] > 0) && s.b.Err == nil {
			return fmt.Errorf("%w: %d messages of vector %d for %d events", ErrDiffers, got[v], v, events[v])
		}
	}
	return nil
}
