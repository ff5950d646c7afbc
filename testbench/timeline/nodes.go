package timeline

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A node executes packets, one after the other.
type node struct {
	track  *Track
	last   uint64      // when the last packet ended
	runs   *submission // that of the last packet
	copies *Track      // of the DMA engine; nil: it has moved nothing yet
	dma    transfer
}

// A transfer is the data that the DMA engine moves for a packet of a node.
type transfer struct {
	*open              // nil: none
	packet      uint64 // its address
	descriptors uint64
	bytes       uint64
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
	if n.dma.packet == e.Fields[1] {
		b.closeDMA(n)
	}
	op := uint8(e.Fields[2] >> 24)
	s := b.at(e.Fields[0], e.Fields[1])
	ends := s == nil && (op == pkt.OpFence || op == pkt.OpSignal) // a SIGNAL in the queues of the firmware
	if s == nil {
		s = b.inRing(e.Fields[0], n, ends)
	}
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
	if n.runs = s; s != nil && ends && !s.done {
		s.done = true
		b.step(s, "executed", n.track, slice.Start)
	}
}

// descriptor adds a descriptor to the transfer of its packet, which lasts from the first one until the packet has ended.
func (b *builder) descriptor(e *eventlog.Event) {
	n := b.node(e.Fields[0])
	if n.dma.open != nil && n.dma.packet != e.Fields[1] {
		b.closeDMA(n)
	}
	if n.dma.open == nil {
		if n.copies == nil {
			n.copies = b.newTrack(Track{Group: DMA, Number: n.track.Number, Name: fmt.Sprintf("DMA of node %d", n.track.Number)})
		}
		submission := uint64(0)
		if s := b.at(e.Fields[0], e.Fields[1]); s != nil {
			submission = s.id
		}
		n.dma = transfer{open: b.open(n.copies, "", e.ID, submission), packet: e.Fields[1]}
	}
	n.dma.descriptors++
	n.dma.bytes += e.Fields[4]
}

// closeDMA ends the transfer of a node, if there is one.
func (b *builder) closeDMA(n *node) {
	if d := &n.dma; d.open != nil {
		d.Name = fmt.Sprintf("%d bytes, descriptors: %d", d.bytes, d.descriptors)
		b.close(&d.open)
	}
}

// at returns the submission that has a packet at an address, or nil.
func (b *builder) at(number, address uint64) *submission {
	address &^= pkt.Host
	i := slices.IndexFunc(b.waiting, func(s *submission) bool {
		return s.node == number && s.hardware != nil && address >= s.from && address < s.to
	})
	if i < 0 {
		return nil
	}
	return b.waiting[i]
}

// inRing returns the submission of a packet in the ring, or nil: that of the packet before it,
// or, for the end of one without packets, the oldest that is not done.
func (b *builder) inRing(number uint64, n *node, ends bool) *submission {
	if n.runs != nil && n.runs.hardware != nil && !(ends && n.runs.done) {
		return n.runs
	}
	if i := slices.IndexFunc(b.waiting, func(s *submission) bool { return s.node == number && s.hardware != nil && !s.done }); i >= 0 {
		return b.waiting[i]
	}
	return nil
}

// wrote ends the submission whose fence the GPU writes, if the log has no packets of nodes. A
// fence that two nodes have tells nothing.
func (b *builder) wrote(e *eventlog.Event) {
	if b.observed {
		return
	}
	var found *submission
	for _, s := range b.waiting {
		if s.hardware == nil || s.done || uint32(s.fence) != uint32(e.Fields[2]) {
			continue
		}
		if found != nil && found.node != s.node {
			return
		}
		found = s
	}
	if found != nil {
		b.ended(found)
	}
}

// ended adds the work of a submission to its node, with that of the earlier ones of which
// nothing is known, if the log has no packets of nodes.
func (b *builder) ended(last *submission) {
	if b.observed || last.done || last.hardware == nil {
		return
	}
	var all []*submission
	for _, s := range b.waiting {
		if s.node == last.node && s.hardware != nil && !s.done {
			all = append(all, s)
		}
		if s == last {
			break
		}
	}
	n := b.node(last.node)
	slice := Slice{Track: n.track, Name: last.name, Start: max(n.last, all[0].submitted), End: b.now, Event: all[0].event, Submission: last.id}
	if len(all) > 1 {
		slice.Name = fmt.Sprintf("%d submissions, the last %s", len(all), last.name)
	}
	n.last = b.now
	b.sink.Slice(slice)
	for _, s := range all {
		s.done = true
		b.step(s, "executed", n.track, max(slice.Start, s.submitted))
	}
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
