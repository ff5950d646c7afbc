package storm

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// A kind is what the host does to a node in a round, beyond giving it packets.
type kind uint8

// The kinds; from noMaster on they are done to all nodes at once.
const (
	plain    kind = iota
	badRing       // its ring is where or as it cannot be
	preempts      // it is preempted and resumed
	hangs         // it waits until the watchdog tells
	resets        // it is reset in the middle of its work
	noMaster      // bus mastering is off
	resetsWhole
	resetsFunction
)

// all says whether a kind is done to all nodes at once.
func (k kind) all() bool { return k >= noMaster }

// reset says whether a kind ends the node's work.
func (k kind) reset() bool { return k == resets || k == resetsWhole || k == resetsFunction }

// Outcomes that are neither a packet's end nor its fault.
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

// outcomes are the kinds that outcomes come from.
var outcomes = map[string]kind{
	byNode: resets, byWhole: resetsWhole, byFunction: resetsFunction, preempted: preempts, hung: hangs, notHung: hangs,
	cause(cpreg.CauseWriteError): noMaster, cause(cpreg.CauseRing): badRing,
}

// Packets of bins that are none: the ring itself, and the counters.
const (
	theRing  = "(ring)"
	counters = "(counters)"
)

// Operands of bins that are no fields.
const (
	atRest   = "at rest"
	inFront  = "in front"
	inside   = "inside"
	waits    = "waits"
	fetches  = "fetches"
	noTail   = "no tail"
	goesOn   = "goes on"
	toVRAM   = "to VRAM"
	toHost   = "to host"
	manyRows = "rows"
)

// kindOf returns the kind of round that a bin is hit in.
func kindOf(g *Bin) kind {
	switch {
	case g == nil:
		return plain
	case g.Packet == theRing && g.Outcome == cause(cpreg.CauseReadError), g.Outcome == none:
		return badRing
	}
	return outcomes[g.Outcome]
}

// together says whether a bin needs the other node to wait for.
func together(g *Bin) bool {
	k := kindOf(g)
	return (k == hangs || k == preempts) && g.Operand == waits
}

// scenes returns the bins of what the host does to nodes.
func (d device) scenes() []Bin {
	var all []Bin
	add := func(packet, operand, outcome string, at refmodel.Place) {
		all = append(all, Bin{packet, operand, outcome, at.String()})
	}
	for _, r := range brokenRings {
		add(theRing, r.name, cause(r.cause), refmodel.InRing)
	}
	for _, by := range []string{byNode, byWhole, byFunction} {
		for _, at := range d.places() {
			d.resets(at, func(packet, operand string) { add(packet, operand, by, at) })
		}
	}
	if d.Caps.Has(caps.Preemption) {
		add(theRing, atRest, preempted, refmodel.InRing)
		for _, at := range d.places() {
			d.preemptions(at, func(packet, operand string) { add(packet, operand, preempted, at) })
		}
	}
	if d.Caps.Has(caps.Watchdog) {
		add(theRing, noTail, hung, refmodel.InRing)
		add("COPY", goesOn, notHung, refmodel.InRing)
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

// resets adds what a reset may find a node in the middle of.
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
	add(theRing, atRest)
	add("INDIRECT", fetches)
	if d.Caps.Has(caps.Timeline) {
		add("WAIT_FENCE", waits)
	}
}

// preemptions adds where a node may be when it is preempted.
func (d device) preemptions(at refmodel.Place, add func(packet, operand string)) {
	for _, l := range pkt.Table {
		if !d.Has(l.Op) || l.Privileged && at != refmodel.InRing {
			continue
		}
		add(l.Name, inFront)
		if at != refmodel.InRing && slices.Contains([]uint8{pkt.OpCopy, pkt.OpCopy2D, pkt.OpFill, pkt.OpFill2D}, l.Op) {
			add(l.Name, inside)
		}
		if l.Op == pkt.OpWaitFence && d.Nodes > 1 {
			add(l.Name, waits)
		}
	}
}

// plan gives each station a bin to hit and the kind of round that it needs.
func (s *storm) plan() {
	goals := make([]*Bin, len(s.stations))
	missing := s.cover.missing()
	i := s.rng.IntN(len(goals))
	goals[i] = s.choose(missing)
	k := kindOf(goals[i])
	switch {
	case len(goals) == 1:
	case together(goals[i]): // the second node waits for the first one
		goals[0], goals[1] = nil, goals[i]
	default:
		for range 20 {
			g := s.choose(missing)
			if !together(g) && (kindOf(g) == k || !kindOf(g).all() && !k.all()) {
				goals[1-i] = g
				break
			}
		}
	}
	s.freeze, s.late = false, len(goals) > 1 && together(goals[1])
	for i, st := range s.stations {
		st.goal, st.kind = goals[i], kindOf(goals[i])
		if k.all() {
			st.kind = k
		}
		s.freeze = s.freeze || st.goal != nil && st.goal.Outcome == frozen
	}
}

// choose returns one of the bins that nobody has hit, or of all if there is none;
// now and then no bin.
func (s *storm) choose(missing []Bin) *Bin {
	if len(missing) == 0 {
		missing = s.cover.all
	}
	if s.rng.IntN(20) == 0 {
		return nil
	}
	return &missing[s.rng.IntN(len(missing))]
}
