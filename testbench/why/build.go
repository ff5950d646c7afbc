package why

import (
	"strings"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// add adds an event to the run.
func (b *builder) add(e *eventlog.Event) {
	at := Point{e.ID, e.Time}
	if len(b.order) == 0 {
		b.did(e, at)
	}
	switch e.Kind {
	case eventlog.Open:
		b.Header.Board, b.Header.Hz, b.Header.Observed, b.Header.TdrDelay = e.Text(), e.Fields[0], e.Fields[1] != 0, e.Fields[2]
		b.opened = true
	case eventlog.CallFailed:
		if c := b.known[e.Cause]; c != nil {
			c.failed, c.why = at, e.Text()
		}
	case eventlog.Call, eventlog.CallEnd, eventlog.DDI, eventlog.DDIEnd:
		b.called(e, at)
	case eventlog.Emit:
		b.emits = true
		delete(b.commands, e.Cause)
		b.emitted(e)
	case eventlog.RingPacket:
		if s := b.ringing; s != nil && uint64(s.node) == e.Fields[0] {
			s.ring = append(s.ring, ringPacket{address: e.Fields[1], data: b.keep(e.Data)})
		}
	case eventlog.Read, eventlog.Write:
		b.accessed(e, at)
	case eventlog.Memory, eventlog.Message, eventlog.Executed, eventlog.Descriptor:
		b.hardware(e, at)
	case eventlog.DriverMemory:
		b.hosted = true
		b.driver[e.Fields[0]] = e.Fields[0] + e.Fields[1]
		b.place(&place{address: pkt.Host | e.Fields[0], size: e.Fields[1], from: at, driver: true})
	case eventlog.Allocate, eventlog.Free, eventlog.Place, eventlog.Evict, eventlog.Lock, eventlog.Unlock:
		b.memory(e, at)
	case eventlog.Text:
		b.saying(e)
	case eventlog.Wait, eventlog.WaitEnd, eventlog.Fault, eventlog.Stop, eventlog.Reset, eventlog.Broken, eventlog.Link, eventlog.FrameRepeated, eventlog.FrameRefused, eventlog.Expect, eventlog.Inject, eventlog.Restart, eventlog.End:
		b.happened(e)
	default:
		b.scheduler(e, at)
	}
}

// called keeps the open calls.
func (b *builder) called(e *eventlog.Event, at Point) {
	switch e.Kind {
	case eventlog.Call:
		name := e.Text()
		b.enter(e, name, e.Fields[0])
		c := b.kept.add(call{frame: frame{at, name, e.Fields[0], e.Process, e.Thread}})
		b.calls, b.known[e.ID] = append(b.calls, c), c
	case eventlog.CallEnd:
		if c := b.known[e.Cause]; c != nil {
			c.end = at
			delete(b.known, e.Cause)
		}
		b.leave(e)
	case eventlog.DDI:
		p, name := b.pattern(e), b.name(e)
		b.enter(e, name, 0)
		b.numbered(e, at, name)
		var executed *list
		if name == executes {
			executed = b.lists[keyOf(e, "list")]
		}
		if p.deferred || name == executes {
			b.recorded(e, p, name, executed)
		}
		if p.commands && !p.deferred {
			b.begins(e, at, name, executed)
		}
		if name == "pfnCreateResource" {
			b.make(e)
		}
		b.entered(e, at, name)
	case eventlog.DDIEnd:
		if b.pattern(e).name == "pfnAllocateCb" {
			b.make(e)
		}
		b.ends(e)
		b.endsNumbered(e, at)
		b.returned(e)
		b.leave(e)
	}
}

// make keeps a line about a resource.
func (b *builder) make(e *eventlog.Event) {
	b.made.add(made{e.Process, e.Kind == eventlog.DDIEnd, e.Line()})
}

// happened keeps what ends a run, and what it waits for.
func (b *builder) happened(e *eventlog.Event) {
	switch e.Kind {
	case eventlog.Wait:
		b.waiting = b.happening(e)
	case eventlog.WaitEnd:
		b.waiting = happening{}
	case eventlog.Expect:
		b.expected = append(b.expected, expectation{Point{e.ID, e.Time}, e.Fields[0], e.Fields[1], e.Fields[2]})
	case eventlog.Inject:
		b.injects(e)
	case eventlog.Fault:
		if !b.expects(e) {
			h := b.happening(e)
			h.meant = b.resting
			b.faults = append(b.faults, h)
		}
	case eventlog.Stop:
		b.untaken()
		b.stops = append(b.stops, b.stopping(e))
		b.epoch++
		b.flying, b.queues, b.asking, b.doorbell, b.giving = nil, nil, nil, nil, nil
	case eventlog.Reset:
		b.reset(e)
	case eventlog.Restart:
		b.resting = nil
	case eventlog.Broken:
		b.broken = append(b.broken, b.happening(e))
	case eventlog.FrameRepeated:
		b.repeated++
	case eventlog.FrameRefused:
		b.refused++
	case eventlog.Link:
		b.linked(e)
	case eventlog.End:
		b.end = b.happening(e)
	}
}

func (b *builder) happening(e *eventlog.Event) happening {
	return happening{Event: e.Clone(), stack: b.open(e)}
}

// returned notes a DDI function that failed in a call of the API.
func (b *builder) returned(e *eventlog.Event) {
	if !b.pattern(e).fails {
		return
	}
	if c := b.caller(e); c != nil && c.hr == "" {
		_, results, _ := strings.Cut(e.Text(), `"hr":"`)
		hr, _, _ := strings.Cut(results, `"`)
		c.hr = b.name(e) + " returned " + hr
	}
}

// accessed notes an access of the host.
func (b *builder) accessed(e *eventlog.Event, at Point) {
	err := e.Text()
	switch {
	case err == "" && e.Kind == eventlog.Read:
		b.failed = happening{} // it answers
	case unanswered(err) && b.failed.ID == 0:
		b.failed = b.happening(e)
	}
	if e.Fields[0] != 0 {
		return
	}
	b.rings = b.rings || e.Kind == eventlog.Write && e.Fields[1] == mcureg.Base+mcureg.Doorbell && e.Fields[3] >= fwabi.BellQueue
	switch {
	case e.Kind == eventlog.Read:
		b.reads[e.Fields[1]] = access{at, e.Fields[3], err}
		if e.Fields[1] == mcureg.Base+mcureg.Status && err == "" && e.Fields[3]&mcureg.StatusHung != 0 {
			b.hung = append(b.hung, access{at, e.Fields[3], ""})
		}
	case resetsOf(e.Fields[1], e.Fields[3]) != 0:
		b.still(at, resetsOf(e.Fields[1], e.Fields[3]))
	case b.isWptr(e.Fields[1]) && !b.inside(e, "DxgkDdiSubmitCommand"):
		b.rewinds[e.Fields[1]] = access{Point: at, value: e.Fields[3]}
	case b.doorbell != nil && b.inside(e, "DxgkDdiSubmitCommand"):
		b.rang(e, at)
	}
}

// rang notes a write in DxgkDdiSubmitCommand. The doorbell is that of WPTR or of the firmware, or else the last write.
func (b *builder) rang(e *eventlog.Event, at Point) {
	b.ringing = b.doorbell
	b.ringing.rung, b.ringing.rungBy = at, write{e.Fields[1], e.Fields[3]}
	if b.isWptr(e.Fields[1]) || e.Fields[1] == mcureg.Base+mcureg.Doorbell {
		b.doorbell = nil
	}
}

// unanswered reports whether an error says that the device or the link does not answer. An
// unsupported request is an answer.
func unanswered(err string) bool {
	return strings.HasPrefix(err, bus.ErrTimeout.Error()) || strings.HasPrefix(err, bus.ErrLinkDown.Error()) || strings.HasPrefix(err, bus.ErrClosed.Error())
}

// inside reports whether a function is open on the thread of an event.
func (b *builder) inside(e *eventlog.Event, name string) bool {
	for _, f := range b.stack(e).frames {
		if f.name == name {
			return true
		}
	}
	return false
}

// hardware adds what the GPU did.
func (b *builder) hardware(e *eventlog.Event, at Point) {
	switch e.Kind {
	case eventlog.Memory:
		b.stores(e)
		b.wrote(e, at)
	case eventlog.Message:
		if e.Fields[0] == completions {
			b.messaged(at)
		} else {
			b.toldFaults(at)
		}
	case eventlog.Executed:
		b.cycle, b.clock = e.Fields[3], e.Time
		b.executed(e, at)
	case eventlog.Descriptor:
		b.taken(e, at)
	}
}

// each calls do with the submissions in the hardware until it returns false.
func (b *builder) each(do func(s *submission) bool) {
	for _, node := range b.flying {
		for _, s := range node {
			if !do(s) {
				return
			}
		}
	}
}

// executed adds a packet that a node has executed: one of a submission, the INDIRECT that
// begins it, or the FENCE or SIGNAL that ends it.
func (b *builder) executed(e *eventlog.Event, at Point) {
	node := *b.flight(e.Fields[0])
	b.worked[uint32(e.Fields[0])] = at.Time
	for _, s := range node {
		if p := s.at(e.Fields[1]); p != nil {
			if b.repeats(s, p, at) {
				return
			}
			p.executed = at
			delete(b.pieces, e.Cause)
			if !s.begun.In() {
				s.begun = at
			}
			return
		}
	}
	op := uint8(e.Fields[2] >> 24)
	for _, s := range node {
		if !s.ringEnded(e.Fields[1], at) && len(s.ring) > 0 {
			continue
		}
		switch {
		case op == pkt.OpIndirect && !s.begun.In():
			s.begun = at
		case (op == pkt.OpFence || op == pkt.OpSignal) && !s.fenced.In():
			s.fenced = at
			b.fencedOfQueue(s)
		default:
			continue
		}
		return
	}
}

// memory adds where allocations are, and who may write them.
func (b *builder) memory(e *eventlog.Event, at Point) {
	a := e.Fields[0]
	end := func() {
		if p := b.placed[a]; p != nil {
			p.to = at
			delete(b.placed, a)
		}
	}
	switch e.Kind {
	case eventlog.Allocate:
		b.endHomes(a, at)
		b.addHomes(e, at)
	case eventlog.Free:
		b.endHomes(a, at)
		end()
	case eventlog.Place:
		end()
		b.placed[a] = b.place(&place{allocation: a, segment: e.Fields[1], address: e.Fields[2], size: e.Fields[3], from: at})
	case eventlog.Evict:
		end()
	case eventlog.Lock:
		if e.Fields[1] != 0 {
			w := &cpuWrite{allocation: a, from: at, stack: b.open(e)}
			b.locks, b.locked[a] = append(b.locks, w), w
			for _, f := range w.stack {
				delete(b.commands, f.Event)
			}
		}
	case eventlog.Unlock:
		if w := b.locked[a]; w != nil {
			w.to = at
			delete(b.locked, a)
		}
	}
}

func (b *builder) place(p *place) *place {
	b.places = append(b.places, p)
	return p
}

// scheduler adds the steps of a submission.
func (b *builder) scheduler(e *eventlog.Event, at Point) {
	f := &e.Fields
	switch e.Kind {
	case eventlog.Queue:
		b.queued(e, at)
		return
	case eventlog.Pending:
		b.pending(e, at)
		return
	case eventlog.Preempt:
		b.asks = append(b.asks, asked{Point: at, node: uint32(f[0]), fence: uint32(f[1])})
		return
	}
	s := b.subs[f[0]]
	if s == nil {
		return
	}
	switch e.Kind {
	case eventlog.Paging:
		b.paging(s, paging{e.Text(), f[1], f[2], f[3], f[4], f[5], f[6]})
	case eventlog.Use:
		s.uses = append(s.uses, use{uint32(f[1]), f[2], f[3], f[4] != 0})
	case eventlog.Continue:
		b.continues(s, f[1])
	case eventlog.Depend:
		s.depends = append(s.depends, f[1])
	case eventlog.Packet:
		if len(s.packets) == 0 {
			s.first = e.ID
		}
		s.packets = append(s.packets, packet{offset: uint32(f[1]), data: b.keep(e.Data), origin: b.origin(s, f[1])})
		b.credit(s, &s.packets[len(s.packets)-1])
	case eventlog.Fetched:
		if !s.fetched.In() {
			s.fetched, s.reads = at, store{at, f[1], f[2]}
		}
	case eventlog.Submit:
		s.submitted, b.doorbell, s.watched = at, s, f[1] != 0
		b.inOrder(s)
		flight := b.flight(uint64(s.node))
		*flight = append(*flight, s)
	case eventlog.Report:
		b.notice = nil
		b.reported(s, e, at)
	case eventlog.Cancelled:
		s.lost = at
	case eventlog.Retire, eventlog.Preempted:
		s.retired, s.retireStack, s.back = at, b.open(e), e.Kind == eventlog.Preempted
		if s.back && s.written.In() { // another value for the miniport, since a submission with a fence is not taken back
			s.written, s.word = Point{}, 0
			delete(b.words, s.node)
		}
		if !s.message.In() && !s.back {
			b.asking = append(b.asking, s)
		}
		b.stalls(s)
		b.landed(s)
	}
}
