package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/intc"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/perf"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/regram"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// The control plane is the part off the data path: the register RAM, the
// interrupt controller, the fence units, the resets, the counters and the
// watchdog. It is usually idle. A register access, an event, a fence or a scratch
// write wakes it, until none of its blocks has anything to do. Only the emulator
// skips the blocks together: a clock of the data path then checks controlIdle
// instead of each block.

// control has the signals of a clock between the control plane, the identity
// block and the other blocks.
type control struct {
	rsp     regbus.Rsp
	hostRsp regbus.Rsp // none if rsp is the second master's
	events  intc.Events
	ev0     arbiter.Events
	ev1     arbiter.Events
	high    arbiter.High
	err     ident.Error
	now     uint64
	latch   regram.Latch
	capture regram.Capture
	s0, s1  regram.Scratch
	ask     regram.TableRead
	word    uint32
	free    bool // a node may write to the register RAM
	f0, f1  fence.Req
	rst     reset.Signals
	l0, l1  perf.Levels
	m0, m1  perf.Moves

	enable, functionMask bool // of MSI-X
	whole, function      bool // reset requests
}

// taken has what a clock takes from the writers, one bit for each, and the number
// of the DMA engine's bytes that reach a memory.
type taken struct {
	header  uint8
	beat    uint8
	refused uint8
	bytes   uint8
}

// controlSignals returns the signals to and from the control plane in this clock.
func (g *GPU) controlSignals(regs regbus.Req, t taken) control {
	var s control
	if !hdl.Asleep(!g.pcie.Awaits() && !g.arbiter.Awaits()) {
		s.rsp = g.answer()
		s.hostRsp = s.rsp
		if g.hasMaster() && g.arbiter.Awaits() {
			s.hostRsp = regbus.Rsp{}
		}
	}
	s.enable, s.functionMask = g.pcie.MSIX()
	s.events = g.events()
	s.now = g.ident.Time()
	s.err = g.pcie.Err()
	if g.hasMaster() && g.arbiter.Ends() {
		s.err = g.arbiter.Err()
	}
	s.latch = regram.Latch{Valid: g.ident.Latches(), High: uint32(s.now >> 32)}
	if g.hasMaster() {
		s.ev0, s.ev1 = g.nodeEvents()
		s.high = arbiter.High{Time: uint32(s.now >> 32), Line0: uint32(g.fence0.Timeline() >> 32), Line1: uint32(g.fence1.Timeline() >> 32)}
		s.latch.Valid = s.latch.Valid && !g.arbiter.Awaits()
	}
	s.capture = regram.Capture{First: s.err.Cause != idreg.ErrNone && !g.ident.Captured(), Held: g.ident.Captured(), Addr: s.err.Addr}
	s.s0, s.s1, s.ask, s.word = g.cp0.Scratch(), g.cp1.Scratch(), g.intc.TableRead(), g.regram.Word()
	s.free = regram.Free(regs, g.regram.Owes(), s.latch, s.capture)
	s.f0, s.f1 = g.cp0.Fence(), g.cp1.Fence()
	s.rst = g.resets()
	s.whole, s.function = g.ident.Whole(), g.pcie.Function()
	if (g.hasCounters() || g.hasWatchdog()) && !hdl.Asleep(g.perf.Quiet() && g.watchdog.Quiet() && regs.Op == regbus.None) {
		s.l0, s.m0 = g.levels(0), g.moves(0, t.bytes)
		s.l0.Write = g.stalls(0, t.header|t.beat)
		if g.hasNode1() {
			s.l1, s.m1 = g.levels(1), g.moves(1, t.bytes)
			s.l1.Write = g.stalls(1, t.header|t.beat)
		}
	}
	return s
}

// tickControl ticks the blocks of the control plane, except those that would not
// change.
func (g *GPU) tickControl(s control, t taken, regs regbus.Req, turn arbiter.Turn) {
	if !hdl.Asleep(g.regram.Sleeps(regs, s.s0, s.s1, s.latch, s.capture, s.ask, s.rst)) {
		g.regram.Tick(regs, s.s0, s.s1, s.latch, s.capture, s.ask, s.rst)
	}
	if !hdl.Asleep(g.intc.Sleeps(s.events, has(t.refused, noc.WriteMessage), regs, s.rst)) {
		g.intc.Tick(s.events, s.enable, s.functionMask,
			has(t.header, noc.WriteMessage), has(t.beat, noc.WriteMessage),
			has(t.refused, noc.WriteMessage), s.word, regs, s.rst)
	}
	if !hdl.Asleep(g.fence0.Sleeps(s.f0, regs, s.rst.Whole)) {
		g.fence0.Tick(s.f0, s.now,
			has(t.header, noc.WriteFence0), has(t.beat, noc.WriteFence0),
			has(t.refused, noc.WriteFence0), regs, s.rst.Whole)
	}
	if g.hasNode1() && !hdl.Asleep(g.fence1.Sleeps(s.f1, regs, s.rst.Whole)) {
		g.fence1.Tick(s.f1, s.now,
			has(t.header, noc.WriteFence1), has(t.beat, noc.WriteFence1),
			has(t.refused, noc.WriteFence1), regs, s.rst.Whole)
	}
	g.reset.Tick(s.whole, s.function, s.rst)
	if g.hasCounters() && !hdl.Asleep(g.perf.Sleeps(regs, s.rst.Whole)) {
		g.perf.Tick(s.l0, s.l1, s.m0, s.m1, regs, s.rst.Whole)
	}
	if g.hasWatchdog() && !hdl.Asleep(g.watchdog.Sleeps(regs, s.rst.Whole)) {
		g.watchdog.Tick(watched(s.l0, s.m0), watched(s.l1, s.m1), regs, s.rst.Whole)
	}
	if g.hasMaster() {
		turn.Retry = s.rsp.Retry
		g.arbiter.Tick(g.ask, turn, regs, s.ev0, s.ev1, s.high, s.rst)
	}
}

// controlWanted reports whether the function, a node or the second master has
// something for the control plane, or waits for its answer.
func (g *GPU) controlWanted() bool {
	events := g.cp0.Fault() || g.cp1.Fault() || g.cp0.Preempted() || g.cp1.Preempted()
	writes := g.cp0.Scratch().Valid || g.cp1.Scratch().Valid
	fences := g.cp0.Fences() || g.cp1.Fences()
	events = events || g.asksMCU() && (g.mcu.Hang() || g.mcu.Ask().Op != regbus.None)
	return events || writes || fences || g.pcie.Regs().Op != regbus.None || g.pcie.Awaits() ||
		g.pcie.Err().Cause != idreg.ErrNone || g.pcie.Function() || g.ask.Op != regbus.None
}

// or merges two answers, of which at most one is given.
func or(a, b regbus.Rsp) regbus.Rsp {
	return regbus.Rsp{Hit: a.Hit || b.Hit, Retry: a.Retry || b.Retry, Data: a.Data | b.Data}
}

// events returns the events that the interrupt controller turns into messages. A node that the second master owns
// raises no DONE when it stops: that master asked for it.
func (g *GPU) events() intc.Events {
	hang0, hang1 := g.watchdog.Hang()
	second := uint8(0)
	if g.hasMaster() {
		second = g.arbiter.Owner()
	}
	return intc.Events{
		Done0:  g.fence0.Event() || g.cp0.Preempted() && second&1 == 0,
		Done1:  g.fence1.Event() || g.cp1.Preempted() && second&2 == 0,
		Fault0: g.cp0.Fault() || hang0, Fault1: g.cp1.Fault() || hang1, Hung: g.hasMCU() && g.mcu.Hang(),
	}
}

// nodeEvents returns the events of the nodes, each on its own.
func (g *GPU) nodeEvents() (ev0, ev1 arbiter.Events) {
	hang0, hang1 := g.watchdog.Hang()
	ev0 = arbiter.Events{Fence: g.fence0.Event(), Preempt: g.cp0.Preempted(), Fault: g.cp0.Fault(), Watchdog: hang0}
	ev1 = arbiter.Events{Fence: g.fence1.Event(), Preempt: g.cp1.Preempted(), Fault: g.cp1.Fault(), Watchdog: hang1}
	return ev0, ev1
}
