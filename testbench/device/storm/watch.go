package storm

import (
	"fmt"
	"math"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// limits are the limits of the watchdog that a storm uses.
type limits struct {
	long  uint32 // in clocks of the GPU; no round reaches it
	short uint32 // in clocks of the GPU; a node that waits for the host reaches it
	ticks uint64 // of the board's clock in the time of short
}

// limitsOf returns the limits for a board. A node that reads host memory over a slow link makes no progress
// for many milliseconds, and one that waits for the other node makes none while that works. A round fails if
// it takes bare.TimeoutSeconds. LIMIT has 32 bits.
func limitsOf(b *bare.Board) limits {
	if _, slow := bus.As[boards.Rated](b.Link); !slow {
		return limits{long: 1_000_000, short: 2000, ticks: 2000}
	}
	const parts = 8
	second := uint64(b.Reg(idreg.ClockHz))
	return limits{
		long:  uint32(min(bare.TimeoutSeconds*second, math.MaxUint32)),
		short: uint32(bare.TimeoutSeconds * second / parts),
		ticks: bare.TimeoutSeconds * b.Clock.Hz() / parts,
	}
}

// maxReports is a bound on the watchdog reports of a node that waits for the DMA engine.
const maxReports = 1 << 20

// watch sets the limit of the watchdog.
func (s *storm) watch(limit uint32) {
	if s.d.Caps.Has(caps.Watchdog) {
		s.b.SetReg(wdogreg.Base+wdogreg.Limit, limit)
	}
}

// hang makes a node wait for the host until the watchdog reports it and then releases it,
// or makes it work for longer than the limit without a report. Another node may have to
// wait for the DMA engine, and the watchdog may report that.
func (s *storm) hang(st *generator) error {
	s.watch(s.limits.short)
	began := s.b.Clock.Now()
	st.ring.SetReg(cpreg.Wptr, (st.first+uint32(len(st.words)-st.tail))%st.ring.Dwords())
	own := uint32(wdogreg.Hang0) << st.n.ID
	over, want := st.stopped, uint32(0)
	if st.blocked {
		over, want = func() bool { return s.b.Reg(wdogreg.Base+wdogreg.Status)&own != 0 }, own
	}
	if (st.blocked || st.goal.Operand == continues) && !s.b.Until(over) {
		return fmt.Errorf("%w: the watchdog does not report node %d: %s", ErrDiffers, st.n.ID, st.ring.State())
	}
	longer := s.b.Clock.Now()-began > s.limits.ticks
	s.watch(s.limits.long)
	got := s.b.Reg(wdogreg.Base + wdogreg.Status)
	if got&own != want && s.b.Err == nil {
		return fmt.Errorf("%w: WDOG.STATUS is %#x, want %#x of node %d", ErrDiffers, got, want, st.n.ID)
	}
	s.b.SetReg(wdogreg.Base+wdogreg.Status, got)
	for _, o := range s.generators {
		switch {
		case got&(wdogreg.Hang0<<o.n.ID) == 0:
		case o == st:
			o.reports++
		default:
			o.reports += maxReports
		}
	}
	if st.blocked || st.goal.Operand == continues && longer {
		st.hits = append(st.hits, *st.goal)
	}
	st.ring.Doorbell()
	if s.late {
		s.generators[0].ring.Doorbell()
	}
	return nil
}

// batchHung makes packets for a hang: the host holds back the tail of the last packet, or
// the first packet waits for the other node, or a packet takes long.
func (s *generator) batchHung() {
	b := s.begin()
	switch s.goal.Operand {
	case waits:
		s.blocked = s.waitForPeer(b)
		s.end(b)
		return
	case continues:
		s.long(b, pkt.OpCopy, hostClass, hostClass)
		s.end(b)
		return
	}
	s.blocked = true
	for range s.rng.IntN(3) {
		s.random(b)
	}
	s.end(b)
	s.tail = 1 + s.rng.IntN(pkt.FenceBody)
}

// waitForPeer emits a wait for a fence of the other node in this round, if it has one.
func (s *generator) waitForPeer(b *buffer) bool {
	peer := s.peer
	if peer.n.Fence <= peer.fenceBefore {
		return false
	}
	s.emit(b, pkt.Dwords(pkt.OpWaitFence, uint32(peer.n.ID), lo(peer.n.Fence), hi(peer.n.Fence)))
	return true
}

// A counter is a performance counter of a node.
type counter struct {
	name string
	off  uint32
}

// nodeCounters holds all counters; the reference model knows the first two.
var nodeCounters = []counter{
	{"PACKETS", perfreg.Packets}, {"BYTES", perfreg.Bytes},
	{"BUSY", perfreg.Busy}, {"STALL_READ", perfreg.StallRead}, {"STALL_WRITE", perfreg.StallWrite}, {"STALL_RING", perfreg.StallRing},
}

// count starts the counters from 0, or freezes them at 0.
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

// compareCounters checks the counters against the reference model and the time, and that
// the watchdog has reported no node.
func (s *storm) compareCounters() error {
	if s.d.Caps.Has(caps.Watchdog) {
		if got := s.b.Reg(wdogreg.Base + wdogreg.Status); got != 0 {
			return fmt.Errorf("%w: WDOG.STATUS is %#x, want 0", ErrDiffers, got)
		}
	}
	if k := s.generators[0].kind; !s.d.Caps.Has(caps.Counters) || k == resetsWhole || k == resetsFunction {
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
	for _, st := range s.generators {
		if err := s.compareCounts(st, cycles); err != nil {
			return err
		}
	}
	return s.b.Err
}

// compareCounts checks the counters of a node that was not reset: against the reference
// model where it knows them, otherwise against each other.
func (s *storm) compareCounts(st *generator, cycles uint64) error {
	v := map[string]uint64{}
	for _, c := range nodeCounters {
		v[c.name] = s.wide(perfreg.Base + perfreg.Node + uint32(st.n.ID)*perfreg.Stride + c.off)
	}
	if st.kind.reset() || s.b.Err != nil {
		return nil
	}
	packets, bytes := uint64(st.n.Packets-st.packetsBefore), st.n.Moved
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
