package storm

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// round gives every node a batch, lets the nodes work concurrently, and compares.
func (s *storm) round() error {
	s.b.Host.ForgetMessages()
	s.b.Host.ForgetRefused()
	s.allowed.begin()
	s.plan()
	for _, st := range s.generators {
		st.n.NoMaster, st.held = st.kind == noMaster, st.kind.reset() || st.kind == hangs
		if err := s.prepareNode(st); err != nil {
			return err
		}
		st.n.Done, st.fenceBefore = 0, st.n.Fence
	}
	s.prepare()
	for _, st := range s.generators {
		st.packetsBefore, st.n.Moved = st.n.Packets, 0
		st.fill()
		s.packets += uint64(st.n.Packets - st.packetsBefore)
	}
	s.began = s.time()
	err := s.work()
	if err == nil {
		err = s.compare()
	}
	if err := s.listed(err); err != nil {
		return err
	}
	s.b.Host.ForgetRefused()
	if g := s.generators[0].goal; g != nil && g.Operand == bothNodes && s.generators[0].bursts > 0 && s.generators[1].bursts > 0 {
		s.cover.hit([]Bin{*g})
	}
	for _, st := range s.generators {
		s.cover.hit(st.hits)
		st.n.NoMaster = false
		if err := s.recover(st); err != nil {
			return err
		}
	}
	return s.listed(nil)
}

// listed returns the error of a round, or if that is nil the error of an access that was not allowed. The listing then has
// the packets of the round.
func (s *storm) listed(err error) error {
	if err == nil {
		err = s.allowed.err()
	}
	if err != nil {
		s.listing = s.disassemble()
	}
	return err
}

// prepare sets up the counters, the watchdog and bus mastering for the round.
func (s *storm) prepare() {
	s.watch(s.limits.long)
	s.count()
	if s.generators[0].kind == noMaster {
		s.b.SetConfig(pcicfg.Command, bare.CommandOn&^pcicfg.CommandBusMaster)
	}
}

// fill makes a node's packets and writes them into the ring.
func (s *generator) fill() {
	switch s.kind {
	case badRing:
		s.begin()
		return
	case preempts:
		s.batchPreempted()
	case hangs:
		s.batchHung()
	case resets, resetsWhole, resetsFunction:
		s.batchReset()
	default:
		s.batch(s.goal)
	}
	s.push()
}

// work starts the nodes, performs the host's part of the round, and waits until all nodes
// have stopped.
func (s *storm) work() error {
	for _, st := range s.generators {
		s.expect(st)
	}
	for i, st := range s.generators {
		if (st.kind == plain || st.kind == noMaster) && !(s.late && i == 0) {
			st.ring.Doorbell()
		}
	}
	for _, st := range s.generators {
		if err := s.act(st); err != nil {
			return err
		}
	}
	if !s.b.Until(s.allStopped) {
		return fmt.Errorf("%w: a node did not stop: %s", ErrDiffers, s.state())
	}
	if s.generators[0].kind != noMaster {
		return nil
	}
	if len(s.b.Host.Messages())+len(s.b.Host.Refused()) > 0 && s.b.Err == nil {
		return fmt.Errorf("%w: the device accessed the host while bus mastering was off", ErrDiffers)
	}
	s.b.SetConfig(pcicfg.Command, bare.CommandOn)
	s.pause(1000)
	return nil
}

// expect tells the fault that a node must have.
func (s *storm) expect(st *generator) {
	if st.fault != nil && s.Expect != nil {
		s.Expect(st.n.ID, st.fault.Cause, st.fault.Addr)
	}
}

// act performs the host's part of the round on a node.
func (s *storm) act(st *generator) error {
	switch st.kind {
	case badRing:
		return s.breakRing(st)
	case preempts:
		return s.preempt(st)
	case hangs:
		return s.hang(st)
	case resets:
		return s.resetNode(st)
	case resetsWhole, resetsFunction:
		if st == s.generators[0] {
			return s.resetAll(st.kind)
		}
	}
	return nil
}

// pause waits for the given number of clocks.
func (s *storm) pause(clocks uint64) {
	for end := s.b.Clock.Now() + clocks; s.b.Alive() && s.b.Clock.Now() < end; {
		s.b.Wait(end)
	}
}

// disassemble returns the packets of every node's round, the ring before the indirect
// buffers.
func (s *storm) disassemble() []string {
	var all []string
	for _, st := range s.generators {
		all = append(all, fmt.Sprintf("node %d", st.n.ID))
		for _, c := range append([]chunk{{st.ringAt(0), st.words}}, st.chunks...) {
			all = append(all, pkt.Disassemble(pkt.Bytes(c.words), c.addr)...)
		}
	}
	return all
}

// prepareNode brings a node into the state that its bin needs, and sometimes into another one.
func (s *storm) prepareNode(st *generator) error {
	g := st.goal
	if st.kind == badRing {
		st.n.Reset()
		return nil
	}
	protect := st.n.Protect
	if g == nil && s.rng.IntN(4) == 0 {
		protect = !protect
	}
	if g != nil && g.State != refmodel.InRing.String() {
		protect = g.State == refmodel.Guarded.String()
	}
	if st.n.NoMaster || g != nil && needsReset(*g) || s.rng.IntN(12) == 0 {
		fences := []uint32{0, 1<<32 - 8, s.rng.Uint32()}
		return st.start(fences[s.rng.IntN(len(fences))], protect)
	}
	if protect != st.n.Protect {
		return st.setProtect(protect)
	}
	return nil
}

// allStopped reports whether every node is stopped or finished.
func (s *storm) allStopped() bool {
	return !slices.ContainsFunc(s.generators, func(st *generator) bool { return !st.stopped() })
}

// stopped reports whether the node is stopped or finished.
func (s *generator) stopped() bool {
	status := s.ring.Reg(cpreg.Status)
	return status&cpreg.StatusFault != 0 || status&cpreg.StatusIdle != 0 && s.ring.Reg(cpreg.Rptr) == s.ring.Wptr()
}

// recover makes a node continue after a fault: by a reset, or by clearing the fault and
// replacing the rest of the ring with NOPs.
func (s *storm) recover(st *generator) error {
	f := st.fault
	if st.kind == preempts || st.n.Progress != 0 {
		st.setProgress(0)
	}
	if f == nil {
		return nil
	}
	if st.kind == badRing || s.rng.IntN(2) == 0 {
		return st.start(s.rng.Uint32(), st.n.Protect)
	}
	for i := f.ring; i < len(st.words); i++ {
		st.store(st.ringAt(i), []uint32{nop})
		st.n.Packets++
		st.n.Record(nop, st.ringAt(i))
	}
	st.ring.SetReg(cpreg.FaultInfo, 0)
	if err := st.ring.Run(); err != nil {
		return err
	}
	return st.ring.Settle()
}
