package storm

import (
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// A kind is the host's action on a node in a round, besides submitting packets.
type kind uint8

// The kinds. Those from noMaster apply to all nodes at once.
const (
	plain    kind = iota
	badRing       // the ring's registers are invalid
	preempts      // the node is preempted and resumed
	hangs         // the node waits until the watchdog reports it
	resets        // the node is reset in the middle of its work
	noMaster      // bus mastering is off
	resetsWhole
	resetsFunction
)

// all reports whether a kind applies to all nodes at once.
func (k kind) all() bool { return k >= noMaster }

// reset reports whether a kind ends the node's work.
func (k kind) reset() bool { return k == resets || k == resetsWhole || k == resetsFunction }

// Outcomes that are neither the end of a packet nor its fault.
const (
	byNode     = "node reset"
	byWhole    = "whole reset"
	byFunction = "function reset"
	preempted  = "preempted"
	hung       = "hung"
	notHung    = "not hung"
	counted    = "counted"
	none       = "none"
	frozen     = "frozen"
)

// outcomes maps outcomes to the kinds that cause them.
var outcomes = map[string]kind{
	byNode: resets, byWhole: resetsWhole, byFunction: resetsFunction, preempted: preempts, hung: hangs, notHung: hangs,
	cause(cpreg.CauseWriteError): noMaster, cause(cpreg.CauseRing): badRing,
}

// Values of Bin.Packet that are not packets: the ring itself, and the counters.
const (
	ringItself = "(ring)"
	counters   = "(counters)"
)

// Values of Bin.Operand that are not fields.
const (
	ringEmpty    = "at rest"
	beforePacket = "in front"
	inside       = "inside"
	waits        = "waits"
	fetches      = "fetches"
	noTail       = "no tail"
	continues    = "goes on"
	toVRAM       = "to VRAM"
	toHost       = "to host"
	manyRows     = "rows"
)

// kindOf returns the kind of round that can hit a bin.
func kindOf(g *Bin) kind {
	switch {
	case g == nil:
		return plain
	case g.Packet == ringItself && g.Outcome == cause(cpreg.CauseReadError), g.Outcome == none:
		return badRing
	}
	return outcomes[g.Outcome]
}

// needsPeer reports whether a bin needs the other node to wait for.
func needsPeer(g *Bin) bool {
	k := kindOf(g)
	return (k == hangs || k == preempts) && g.Operand == waits
}

// hostBins returns the bins of the host's actions on nodes.
func (d device) hostBins() []Bin {
	var all []Bin
	add := func(packet, operand, outcome string, at refmodel.Place) {
		all = append(all, Bin{packet, operand, outcome, at.String()})
	}
	for _, r := range brokenRings {
		add(ringItself, r.name, cause(r.cause), refmodel.InRing)
	}
	for _, by := range []string{byNode, byWhole, byFunction} {
		for _, at := range d.places() {
			d.resets(at, func(packet, operand string) { add(packet, operand, by, at) })
		}
	}
	if d.Caps.Has(caps.Preemption) {
		add(ringItself, ringEmpty, preempted, refmodel.InRing)
		for _, at := range d.places() {
			d.preemptions(at, func(packet, operand string) { add(packet, operand, preempted, at) })
		}
	}
	if d.Caps.Has(caps.Watchdog) {
		add(ringItself, noTail, hung, refmodel.InRing)
		add("COPY", continues, notHung, refmodel.InRing)
		if d.Caps.Has(caps.Timeline) && d.Nodes > 1 {
			add("WAIT_FENCE", waits, hung, refmodel.InRing)
		}
	}
	if d.Caps.Has(caps.Counters) {
		for _, c := range nodeCounters {
			for _, outcome := range []string{counted, none, frozen} {
				if c.name != "BUSY" || outcome != none {
					add(counters, c.name, outcome, refmodel.InRing)
				}
			}
		}
	}
	return all
}

// resets adds the packets that a reset may interrupt.
func (d device) resets(at refmodel.Place, add func(packet, operand string)) {
	for _, from := range []string{vramClass, hostClass} {
		for _, to := range []string{toVRAM, toHost} {
			add("COPY", from+" "+to)
		}
	}
	add("FILL", toVRAM)
	add("FILL", toHost)
	add("COPY_2D", manyRows)
	add("FILL_2D", manyRows)
	if at != refmodel.InRing {
		return
	}
	add(ringItself, ringEmpty)
	add("INDIRECT", fetches)
	if d.Caps.Has(caps.Timeline) {
		add("WAIT_FENCE", waits)
	}
}

// preemptions adds the places at which a preemption may stop a node.
func (d device) preemptions(at refmodel.Place, add func(packet, operand string)) {
	for _, l := range pkt.Table {
		if !d.Has(l.Op) || l.Privileged && at != refmodel.InRing {
			continue
		}
		add(l.Name, beforePacket)
		if at != refmodel.InRing && slices.Contains([]uint8{pkt.OpCopy, pkt.OpCopy2D, pkt.OpFill, pkt.OpFill2D}, l.Op) {
			add(l.Name, inside)
		}
		if l.Op == pkt.OpWaitFence && d.Nodes > 1 {
			add(l.Name, waits)
		}
	}
}

// plan assigns each node a bin to hit and the kind of round that it needs.
func (s *storm) plan() {
	goals := make([]*Bin, len(s.generators))
	missing := s.cover.missing()
	i := s.rng.IntN(len(goals))
	goals[i] = s.choose(missing)
	k := kindOf(goals[i])
	switch {
	case len(goals) == 1:
	case needsPeer(goals[i]): // the second node waits for the first one
		goals[0], goals[1] = nil, goals[i]
	default:
		for range 20 {
			g := s.choose(missing)
			if !needsPeer(g) && (kindOf(g) == k || !kindOf(g).all() && !k.all()) {
				goals[1-i] = g
				break
			}
		}
	}
	if len(goals) > 1 && goals[i] != nil && goals[i].Operand == bothNodes {
		goals[1-i] = goals[i]
	}
	s.freeze, s.late = false, len(goals) > 1 && needsPeer(goals[1])
	for i, st := range s.generators {
		st.goal, st.kind = goals[i], kindOf(goals[i])
		if k.all() {
			st.kind = k
		}
		st.extra = s.extras(st, missing)
		s.freeze = s.freeze || st.goal != nil && st.goal.Outcome == frozen
	}
}

// choose returns a random bin without hits, or any bin if all are hit. Sometimes it
// returns nil.
func (s *storm) choose(missing []Bin) *Bin {
	if len(missing) == 0 {
		missing = s.cover.all
	}
	if s.rng.IntN(20) == 0 {
		return nil
	}
	return &missing[s.rng.IntN(len(missing))]
}

// maxExtras is the number of bins that a node may hit in a round in addition to its own.
const maxExtras = 4

// extras returns bins of retired packets without hits that a node can hit besides its own.
func (s *storm) extras(st *generator, missing []Bin) []Bin {
	if st.kind != plain || len(missing) == 0 {
		return nil
	}
	protect := st.n.Protect
	if g := st.goal; g != nil && g.State != refmodel.InRing.String() {
		protect = g.State == refmodel.Guarded.String()
	}
	var all []Bin
	for range 4 * maxExtras {
		g := missing[s.rng.IntN(len(missing))]
		fits := g.State == refmodel.InRing.String() || (g.State == refmodel.Guarded.String()) == protect
		if g.Outcome == retired && fits && g.Operand != bothNodes && !resumes(g) && !strings.HasSuffix(g.Operand, guardedBuffer) && len(all) < maxExtras {
			all = append(all, g)
		}
	}
	return all
}
