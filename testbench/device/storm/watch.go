package storm

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// Limits of the watchdog: one that no round reaches, and one that a node which
// waits for the host does.
const (
	longLimit  = 1_000_000
	shortLimit = 2000
)

// anyTimes is more than a node can wait for the DMA engine in a round.
const anyTimes = 1 << 20

// watch sets the limit.
func (s *storm) watch(limit uint32) {
	if s.d.Caps.Has(caps.Watchdog) {
		s.b.SetReg(wdogreg.Base+wdogreg.Limit, limit)
	}
}

// hang has a node wait for the host until the watchdog tells, and then lets it go
// on; or has it work for longer than the limit, of which nothing is told. Another
// node may wait behind it for the DMA engine, and the watchdog tell of that.
func (s *storm) hang(st *station) error {
	s.watch(shortLimit)
	st.ring.SetReg(cpreg.Wptr, (st.first+uint32(len(st.words)-st.tail))%st.ring.Dwords())
	own := uint32(wdogreg.Hang0) << st.n.ID
	over, want := st.resting, uint32(0)
	if st.stays {
		over, want = func() bool { return s.b.Reg(wdogreg.Base+wdogreg.Status)&own != 0 }, own
	}
	if (st.stays || st.goal.Operand == goesOn) && !s.b.Until(over) {
		return fmt.Errorf("%w: the watchdog does not see node %d: %s", ErrDiffers, st.n.ID, st.ring.State())
	}
	s.watch(longLimit)
	got := s.b.Reg(wdogreg.Base + wdogreg.Status)
	if got&own != want && s.b.Err == nil {
		return fmt.Errorf("%w: WDOG.STATUS is %#x, want %#x of node %d", ErrDiffers, got, want, st.n.ID)
	}
	s.b.SetReg(wdogreg.Base+wdogreg.Status, got)
	for _, o := range s.stations {
		switch {
		case got&(wdogreg.Hang0<<o.n.ID) == 0:
		case o == st:
			o.told++
		default:
			o.told += anyTimes
		}
	}
	if st.stays || st.goal.Operand == goesOn {
		st.hits = append(st.hits, *st.goal)
	}
	st.ring.Doorbell()
	if s.late {
		s.stations[0].ring.Doorbell()
	}
	return nil
}

// batchHung makes packets of which the host holds the tail of the last one back,
// of which the first one waits for the other node, or that take long.
func (s *station) batchHung() {
	b := s.begin()
	switch s.goal.Operand {
	case waits:
		s.stays = s.waitForPeer(b)
		s.end(b)
		return
	case goesOn:
		s.long(b, pkt.OpCopy, hostClass, hostClass)
		s.end(b)
		return
	}
	s.stays = true
	for range s.rng.IntN(3) {
		s.random(b)
	}
	s.end(b)
	s.tail = 1 + s.rng.IntN(pkt.FenceBody)
}

// waitForPeer emits a wait for what the other node does in this round, if it does.
func (s *station) waitForPeer(b *buffer) bool {
	peer := s.peer
	if peer.n.Fence <= peer.begun {
		return false
	}
	s.emit(b, pkt.Dwords(pkt.OpWaitFence, uint32(peer.n.ID), lo(peer.n.Fence), hi(peer.n.Fence)))
	return true
}

// A counter is one of a node.
type counter struct {
	name string
	off  uint32
}

// nodeCounters are all of them, the two that the model knows first.
var nodeCounters = []counter{
	{"PACKETS", perfreg.Packets}, {"BYTES", perfreg.Bytes},
	{"BUSY", perfreg.Busy}, {"STALL_READ", perfreg.StallRead}, {"STALL_WRITE", perfreg.StallWrite}, {"STALL_RING", perfreg.StallRing},
}

// count starts the counters from 0, or freezes them there.
func (s *storm) count() {
	if !s.d.Caps.Has(caps.Counters) {
		return
	}
	ctl := uint32(perfreg.CtlClear | perfreg.CtlRun)
	if s.freeze {
		ctl = perfreg.CtlClear
	}
	s.opened[0] = s.time()
	s.b.SetReg(perfreg.Base+perfreg.Ctl, ctl)
	s.opened[1] = s.time()
}

func (s *storm) wide(off uint32) uint64 {
	return uint64(s.b.Reg(off)) | uint64(s.b.Reg(off+4))<<32
}

// compareCounters holds the counters against the model and the time, and the
// watchdog against that no node was too slow.
func (s *storm) compareCounters() error {
	if s.d.Caps.Has(caps.Watchdog) {
		if got := s.b.Reg(wdogreg.Base + wdogreg.Status); got != 0 {
			return fmt.Errorf("%w: WDOG.STATUS is %#x, want 0", ErrDiffers, got)
		}
	}
	if k := s.stations[0].kind; !s.d.Caps.Has(caps.Counters) || k == resetsWhole || k == resetsFunction {
		return s.b.Err
	}
	from := s.time()
	s.b.SetReg(perfreg.Base+perfreg.Ctl, perfreg.CtlSnapshot)
	to := s.time()
	least, most := from-s.opened[1], to-s.opened[0]
	if s.freeze {
		least, most = 0, 0
	}
	cycles := s.wide(perfreg.Base + perfreg.Cycles)
	if (cycles < least || cycles > most) && s.b.Err == nil {
		return fmt.Errorf("%w: PERF.CYCLES is %d, want %d to %d", ErrDiffers, cycles, least, most)
	}
	for _, st := range s.stations {
		if err := s.compareCounts(st, cycles); err != nil {
			return err
		}
	}
	return s.b.Err
}

// compareCounts holds the counters of a node that was not reset against the
// model, and those that no model knows against each other.
func (s *storm) compareCounts(st *station, cycles uint64) error {
	v := map[string]uint64{}
	for _, c := range nodeCounters {
		v[c.name] = s.wide(perfreg.Base + perfreg.Node + uint32(st.n.ID)*perfreg.Stride + c.off)
	}
	if st.kind.reset() || s.b.Err != nil {
		return nil
	}
	packets, bytes := uint64(st.n.Packets-st.was), st.n.Moved
	if s.freeze {
		packets, bytes = 0, 0
	}
	stalls := v["STALL_READ"] + v["STALL_WRITE"] + v["STALL_RING"]
	switch {
	case v["PACKETS"] != packets || v["BYTES"] != bytes:
		return fmt.Errorf("%w: PERF says that node %d retired %d packets and moved %d bytes, want %d and %d",
			ErrDiffers, st.n.ID, v["PACKETS"], v["BYTES"], packets, bytes)
	case v["BUSY"] > cycles || stalls > v["BUSY"] || v["BUSY"] < packets+bytes/8:
		return fmt.Errorf("%w: in %d clocks node %d was busy for %d and stalled for %d, with %d packets and %d bytes",
			ErrDiffers, cycles, st.n.ID, v["BUSY"], stalls, packets, bytes)
	}
	for _, c := range nodeCounters {
		outcome := counted
		switch {
		case s.freeze:
			outcome = frozen
		case v[c.name] == 0:
			outcome = none
		}
		st.hits = append(st.hits, Bin{counters, c.name, outcome, refmodel.InRing.String()})
	}
	return nil
}
