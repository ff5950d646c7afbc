package timeline

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A node executes packets, one after the other.
type node struct {
	track *Track
	last  uint64      // when the last packet ended
	runs  *submission // that of the last packet
}

func (b *builder) node(number uint64) *node {
	n := b.nodes[number]
	if n == nil {
		n = &node{track: b.newTrack(Track{Group: Nodes, Number: int(number), Name: fmt.Sprintf("node %d", number)})}
		b.nodes[number] = n
	}
	return n
}

// executed adds a packet of a node. It began when the packet before it ended, or when its
// submission went to the hardware.
func (b *builder) executed(e *eventlog.Event) {
	n := b.node(e.Fields[0])
	op := uint8(e.Fields[2] >> 24)
	s := b.of(e.Fields[0], e.Fields[1], n, op)
	name := fmt.Sprintf("packet %#02x", op)
	if l, ok := pkt.Lookup(op); ok {
		name = l.Name
	}
	slice := Slice{Track: n.track, Name: name, Start: n.last, End: b.now, Event: e.ID}
	if s != nil {
		slice.Submission = s.id
		slice.Start = max(slice.Start, s.submitted)
	} else if slice.Start == 0 {
		slice.Start = b.now - 1
	}
	n.last = b.now
	b.sink.Slice(slice)
	if n.runs = s; s != nil && op == pkt.OpFence && !s.done {
		s.done = true
		b.step(s, "executed", n.track, slice.Start)
	}
}

// of returns the submission that a packet at an address belongs to, or nil. A packet of the
// ring belongs to that of the packet before it; one of a submission without packets to the
// oldest one that is not done.
func (b *builder) of(number, address uint64, n *node, op uint8) *submission {
	address &^= pkt.Host
	for _, s := range b.waiting {
		if s.node == number && s.hardware != nil && address >= s.from && address < s.to {
			return s
		}
	}
	if n.runs != nil && n.runs.hardware != nil && (op != pkt.OpFence || !n.runs.done) {
		return n.runs
	}
	if i := slices.IndexFunc(b.waiting, func(s *submission) bool { return s.node == number && s.hardware != nil && !s.done }); i >= 0 {
		return b.waiting[i]
	}
	return nil
}

// reported adds the work of a submission to its node, if the log has no packets of nodes.
func (b *builder) reported(s *submission) {
	if b.observed || s.done || s.submitted == 0 {
		return
	}
	s.done = true
	n := b.node(s.node)
	slice := Slice{Track: n.track, Name: s.name, Start: max(n.last, s.submitted), End: b.now, Event: s.event, Submission: s.id}
	n.last = b.now
	b.sink.Slice(slice)
	b.step(s, "executed", n.track, slice.Start)
}

// Numbers of the tracks of interrupts. Those of messages follow.
const (
	markTrack = iota
	routineTrack
	dpcTrack
	firstVector
)

// interruptTrack returns a track of the interrupts.
func (b *builder) interruptTrack(number int) *Track {
	if b.interrupts[number] == nil {
		name := fmt.Sprintf("message %d", number-firstVector)
		if number < firstVector {
			name = [...]string{"faults, stops, broken rules", "interrupt routine", "DPC"}[number]
		}
		b.interrupts[number] = b.newTrack(Track{Group: Interrupts, Number: number, Name: name})
	}
	return b.interrupts[number]
}

// message begins a slice that lasts until the interrupt routine.
func (b *builder) message(e *eventlog.Event) {
	t := b.interruptTrack(firstVector + int(e.Fields[0]))
	if !slices.ContainsFunc(b.messages, func(o *open) bool { return o.Track == t }) {
		b.messages = append(b.messages, b.open(t, t.Name, e.ID, 0))
	}
	for _, s := range b.waiting {
		if s.done && !s.told {
			s.told = true
			b.step(s, "message", t, b.now)
		}
	}
}

// vramSegment is the segment of VRAM.
const vramSegment = 1

// place counts the bytes in VRAM.
func (b *builder) place(e *eventlog.Event) {
	allocation, before := e.Fields[0], b.vram
	switch {
	case e.Kind == eventlog.Evict && e.Fields[1] != vramSegment:
		return
	case e.Kind == eventlog.Place && e.Fields[1] == vramSegment:
		b.vram += e.Fields[3] - b.places[allocation]
		b.places[allocation] = e.Fields[3]
	default:
		b.vram -= b.places[allocation]
		delete(b.places, allocation)
	}
	if b.vram != before {
		b.sink.Count(Count{"VRAM in use", b.now, []Value{{"bytes", b.vram}}})
	}
}

// mark adds a mark.
func (b *builder) mark(e *eventlog.Event) {
	t := b.interruptTrack(markTrack)
	if e.Kind == eventlog.Fault {
		t = b.node(e.Fields[0]).track
	}
	b.sink.Mark(Mark{Track: t, Name: e.Name(), Text: e.Text(), Time: b.now, Event: e.ID})
}
