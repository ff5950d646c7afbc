package timeline

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A queueKey is a context on a node. Paging has no context.
type queueKey struct{ context, node uint64 }

// A queue has the submissions of a context to a node: those that the kernel holds back, and
// those that the hardware has.
type queue struct {
	software, hardware lanes
}

// laneNumbers is the distance between the first tracks of the hardware queue and of the
// software queue of a context, so that all lanes of one are above those of the other.
const laneNumbers = 1 << 12

// A submission has not retired.
type submission struct {
	id, flow, event uint64
	node, context   uint64
	fence           uint64
	from, to        uint64 // addresses of its packets
	name            string
	queue           *queue
	submitted       uint64 // when it went to the hardware; 0: not yet

	software, hardware *open

	operations, operationBytes uint64 // of paging
	bytes                      uint64 // that its packets move

	done bool // the node has executed its fence
	told bool // a message followed
}

// work follows a submission.
func (b *builder) work(e *eventlog.Event) {
	if e.Kind == eventlog.Queue {
		b.enqueue(e)
		return
	}
	s := b.submissions[e.Fields[0]]
	if s == nil {
		return // its beginning is not in the log
	}
	switch e.Kind {
	case eventlog.Packet:
		s.bytes += b.moves(s.context, e.Data)
	case eventlog.Paging:
		s.operations++
		s.operationBytes += e.Fields[6]
	case eventlog.Submit:
		b.submit(s, e)
	case eventlog.Report:
		b.ended(s)
		if o := b.innermost(e); o != nil {
			b.step(s, "report", o.Track, b.now)
		}
	case eventlog.Preempted, eventlog.Reset:
		b.ended(s)
		b.closeDMA(b.node(s.node))
		b.finish(s, e.Name(), b.innermost(e))
	case eventlog.Retire:
		b.ended(s)
		b.finish(s, e.Name(), b.innermost(e))
		b.moved += s.bytes
		if s.bytes > 0 {
			b.sink.Count(Count{"bytes moved", b.now, []Value{{"bytes", b.moved}}})
		}
	}
}

// A job is a DMA buffer in a software queue of which no submission was made.
type job struct {
	flow     uint64
	software *open
	called   bool // the flow begins at a call
}

// pend begins the time of a DMA buffer in its software queue, and its flow, which begins
// at the call.
func (b *builder) pend(e *eventlog.Event) {
	q := b.queue(queueKey{e.Fields[2], e.Fields[1]})
	if b.jobs[e.Fields[0]].software != nil {
		b.drop(e.Fields[0])
	}
	b.jobs[e.Fields[0]] = b.beginFlow(e, q, fmt.Sprintf("buffer %d %s", e.Fields[0], e.Text()), 0)
}

// drop ends a DMA buffer of which no submission was made.
func (b *builder) drop(number uint64) {
	j := b.jobs[number]
	delete(b.jobs, number)
	if j.called {
		b.sink.Step(Step{Flow: j.flow, Name: "end", Track: j.software.Track, Time: max(j.software.Start, b.now-1), Last: true})
	}
	b.close(&j.software)
}

// beginFlow begins a flow with its time in a software queue.
func (b *builder) beginFlow(e *eventlog.Event, q *queue, name string, submission uint64) job {
	b.flows++
	j := job{flow: b.flows, software: b.openIn(&q.software, name, e.ID, submission)}
	if call := b.caller(e); call != nil {
		j.called = true
		b.sink.Step(Step{Flow: j.flow, Name: "call", Track: call.Track, Time: b.now, First: true})
		b.sink.Step(Step{Flow: j.flow, Name: "queue", Track: j.software.Track, Time: b.now})
	}
	return j
}

// enqueue begins a submission.
func (b *builder) enqueue(e *eventlog.Event) {
	if old := b.submissions[e.Fields[0]]; old != nil {
		b.finish(old, "end", nil)
	}
	s := &submission{
		id: e.Fields[0], event: e.ID, node: e.Fields[1], fence: e.Fields[2], context: e.Fields[3],
		from: e.Fields[4] + e.Fields[5], to: e.Fields[4] + e.Fields[6], name: fmt.Sprintf("%d %s", e.Fields[0], e.Text()),
	}
	s.queue = b.queue(queueKey{s.context, s.node})
	b.submissions[s.id] = s
	b.waiting = append(b.waiting, s)
	j, ok := b.jobs[e.Fields[7]]
	if ok {
		delete(b.jobs, e.Fields[7])
		j.software.Name, j.software.Event, j.software.Submission = s.name, e.ID, s.id
	} else {
		j = b.beginFlow(e, s.queue, s.name, s.id)
	}
	s.flow, s.software = j.flow, j.software
	if !j.called {
		b.sink.Step(Step{Flow: s.flow, Name: "queue", Track: s.software.Track, Time: b.now, First: true})
	}
	b.depth(s.node)
}

// caller returns the open call of the thread of an event, or nil.
func (b *builder) caller(e *eventlog.Event) *open {
	if t := b.threads[[2]uint32{e.Process, e.Thread}]; t != nil && len(t.calls) > 0 {
		return t.calls[len(t.calls)-1].open
	}
	return nil
}

// queue returns a queue of a context.
func (b *builder) queue(key queueKey) *queue {
	q := b.queues[key]
	if q == nil {
		name := fmt.Sprintf("context %#x, node %d", key.context, key.node)
		if key.context == 0 {
			name = fmt.Sprintf("paging, node %d", key.node)
		}
		first := 2 * laneNumbers * len(b.queues)
		q = &queue{
			software: lanes{group: Queues, name: name + ": software", first: first},
			hardware: lanes{group: Queues, name: name + ": hardware", first: first + laneNumbers},
		}
		b.queues[key] = q
	}
	return q
}

// submit moves a submission to the hardware.
func (b *builder) submit(s *submission, e *eventlog.Event) {
	if s.submitted != 0 {
		return // a preempted submission stays there
	}
	s.submitted = b.now
	b.close(&s.software)
	if s.operations > 0 {
		s.name += fmt.Sprintf(", %d operations, %d bytes", s.operations, s.operationBytes)
	}
	s.hardware = b.openIn(&s.queue.hardware, s.name, e.ID, s.id)
	b.step(s, "submit", s.hardware.Track, b.now)
	b.depth(s.node)
}

// finish ends a submission and its flow, whose last step has a name: in the slice at, or where the submission is.
func (b *builder) finish(s *submission, name string, at *open) {
	delete(b.submissions, s.id)
	if i := slices.Index(b.waiting, s); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	last := Step{Flow: s.flow, Name: name, Time: b.now, Last: true}
	switch {
	case at != nil:
		last.Track = at.Track
	case s.hardware != nil:
		last.Track = s.hardware.Track
	default:
		last.Track = s.software.Track
	}
	b.sink.Step(last)
	b.now++ // the flow ends within the slice
	b.close(&s.software)
	b.close(&s.hardware)
	b.depth(s.node)
}

// step adds a step to the flow of a submission.
func (b *builder) step(s *submission, name string, t *Track, time uint64) {
	b.sink.Step(Step{Flow: s.flow, Name: name, Track: t, Time: time})
}

// depth counts the submissions of a node.
func (b *builder) depth(number uint64) {
	var software, hardware uint64
	for _, s := range b.waiting {
		switch {
		case s.node != number:
		case s.hardware != nil:
			hardware++
		case s.software != nil:
			software++
		}
	}
	b.sink.Count(Count{fmt.Sprintf("queue depth, node %d", number), b.now, []Value{{"software", software}, {"hardware", hardware}}})
}

// moves returns the bytes that a packet of a context writes, and follows the format of its
// destination.
func (b *builder) moves(context uint64, packet []byte) uint64 {
	p, _, err := pkt.Decode(packet)
	if err != nil {
		return 0 // of a packet that the node refuses, or of a long NOP
	}
	switch p := p.(type) {
	case pkt.Copy:
		return uint64(p.Bytes)
	case pkt.Fill:
		return uint64(p.Bytes)
	case pkt.SetState:
		if p.Surface == pkt.Dest {
			b.formats[context] = uint8(p.Format)
		}
	case pkt.Copy2D:
		return uint64(p.W) * uint64(p.H) << b.formats[context]
	case pkt.Fill2D:
		return uint64(p.W) * uint64(p.H) << b.formats[context]
	}
	return 0
}
