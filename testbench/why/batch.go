package why

import (
	"maps"
	"slices"
	"sort"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A batch is the last command buffer of a context: which calls wrote which part of it, and how
// far the kernel has made submissions of it.
type batch struct {
	emits []emit // in the order of the buffer

	render uint64 // event of the pfnRenderCb that submits it
	buffer uint64 // DMA buffer of the last submission
	end    uint64 // in that buffer
	base   uint64 // offset in the command buffer at which that DMA buffer begins
	last   *job
}

// A job is a DMA buffer in the software queue of a context.
type job struct {
	number  uint64
	context uint64
	at      Point
	made    bool    // there is a submission of it
	stack   []frame // that rendered it
	call    *call
	emits   []emit // of its command buffer
	base    uint64 // offset in the command buffer at which the DMA buffer begins
	end     uint64 // of the command buffer that it holds
}

// pending notes a DMA buffer that enters the software queue of its context.
func (b *builder) pending(e *eventlog.Event, at Point) {
	j := &job{number: e.Fields[0], context: e.Fields[2], at: at, stack: b.open(e), call: b.caller(e), end: e.Fields[3]}
	if j.call != nil {
		j.call.jobs++
	}
	if of := b.batches[j.context]; of != nil && e.Text() == renderKind {
		j.emits = of.emits
		if of.last != nil && renderOf(of.last.stack) == renderOf(j.stack) {
			j.base = of.last.end
		}
		j.end += j.base
		of.last = j
	}
	b.jobs[j.number] = j
}

// queued adds a submission.
func (b *builder) queued(e *eventlog.Event, at Point) {
	f := &e.Fields
	s := &submission{
		serial: f[0], node: uint32(f[1]), fence: uint32(f[2]), context: f[3], buffer: f[4], start: f[5], end: f[6],
		kind: e.Text(), queued: at, stack: b.open(e), epoch: b.epoch,
	}
	b.subs[s.serial], b.order = s, append(b.order, s)
	if s.kind != pagingKind {
		s.patch, b.patch = b.patch, nil
	}
	queue := ofNode(&b.queues, uint64(s.node))
	*queue = append(*queue, s)
	caller := b.caller(e)
	if j := b.jobOf(s, f[7]); j != nil {
		s.stack, s.batch, s.base, caller = j.stack, j.emits, j.base, j.call
	} else {
		b.rendered(s)
	}
	if s.caller = caller; caller != nil {
		caller.subs = append(caller.subs, s.serial)
	}
}

// continues notes that a submission continues a preempted one. It has the same commands, of the same call. The
// thread that makes it is any that the kernel runs on at that time.
func (b *builder) continues(s *submission, again uint64) {
	if c := s.caller; c != nil {
		c.subs = c.subs[:len(c.subs)-1]
	}
	s.again, s.stack, s.batch, s.base, s.caller = again, nil, nil, 0, nil
	before := b.subs[again]
	if before == nil { // the log begins later
		return
	}
	before.onward = s.serial
	s.stack, s.batch, s.base, s.caller = before.stack, before.batch, before.base, before.caller
	if c := s.caller; c != nil {
		c.subs = append(c.subs, s.serial)
	}
}

// jobOf returns the DMA buffer of a submission, or nil. Those before it in the queue of its
// context are forgotten.
func (b *builder) jobOf(s *submission, number uint64) *job {
	j := b.jobs[number]
	if j == nil {
		return nil
	}
	if before := b.making[s.context]; before != number {
		delete(b.jobs, before)
		b.making[s.context], j.made = number, true
		if j.call != nil {
			j.call.jobs--
		}
	}
	return j
}

// left returns the first DMA buffer of which there is no submission, or nil.
func (r *Run) left() *job {
	for _, number := range slices.Sorted(maps.Keys(r.jobs)) {
		if !r.jobs[number].made {
			return r.jobs[number]
		}
	}
	return nil
}

// renderOf returns the event of the pfnRenderCb in a stack, or 0.
func renderOf(stack []frame) (render uint64) {
	for _, f := range stack {
		if f.name == "pfnRenderCb" {
			render = f.Event
		}
	}
	return render
}

// An emit is a part of a command buffer that a function of the driver wrote.
type emit struct {
	start, end uint64
	stack      []frame
}

// emitted adds a part of a command buffer.
func (b *builder) emitted(e *eventlog.Event) {
	of := b.batches[e.Fields[0]]
	if of == nil {
		of = &batch{}
		b.batches[e.Fields[0]] = of
	}
	if e.Fields[1] == 0 {
		of.emits = nil // a new buffer
	}
	stack := b.open(e)
	for i, f := range stack {
		if f.Event == e.Cause {
			stack = stack[:i+1]
			break
		}
	}
	of.emits = append(of.emits, emit{e.Fields[1], e.Fields[2], stack})
}

// rendered notes which part of its command buffer a submission is. A miniport copies a
// command buffer as it is, in one DMA buffer after another.
func (b *builder) rendered(s *submission) {
	of := b.batches[s.context]
	if of == nil || s.kind != renderKind {
		return
	}
	render := renderOf(s.stack)
	switch {
	case render != of.render:
		of.base = 0
	case s.buffer != of.buffer || s.start < of.end:
		of.base += of.end
	}
	of.render, of.buffer, of.end = render, s.buffer, s.end
	s.batch, s.base = of.emits, of.base
}

// renderKind is the kind of a submission that is a command buffer.
const renderKind = "DxgkDdiRender"

// origin returns the calls that wrote a packet of a submission, or nil.
func (b *builder) origin(s *submission, offset uint64) []frame {
	if s.kind != renderKind {
		return nil
	}
	at := s.base + offset
	i := sort.Search(len(s.batch), func(i int) bool { return s.batch[i].end > at })
	if i == len(s.batch) || at < s.batch[i].start {
		return nil
	}
	return s.batch[i].stack
}

// calls returns the calls that wrote a packet, or else those that submitted it.
func (s *submission) calls(p *packet) []frame {
	if p.origin != nil {
		return p.origin
	}
	return s.stack
}

// credit notes for the call of the API that wrote a packet which submission has it.
func (b *builder) credit(s *submission, p *packet) {
	for _, f := range p.origin {
		c := b.byNumber(f.number)
		if f.number == 0 || c == nil {
			continue
		}
		i := slices.IndexFunc(c.emitted, func(e emission) bool { return e.serial == s.serial })
		if i < 0 {
			i, c.emitted = len(c.emitted), append(c.emitted, emission{serial: s.serial})
		}
		c.emitted[i].packets++
	}
}
