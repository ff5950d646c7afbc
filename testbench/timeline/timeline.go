// Package timeline turns the log of a run into tracks of slices: what each thread, each
// queue, each node and each interrupt did, and when. [Build] gives them to a [Sink] while it
// reads; [Write] writes them as Chrome trace events, which Perfetto shows.
//
// A slice is written when it ends, so memory holds only those that are open.
package timeline

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A Group is a kind of tracks, which are shown together.
type Group int

// The groups, in the order in which they are shown.
const (
	Queues Group = iota
	Nodes
	DMA
	Interrupts
	Threads
)

// String returns the title of a group.
func (g Group) String() string {
	return [...]string{"queues", "nodes", "DMA", "interrupts", "threads"}[g]
}

// A Track has slices, none of which leaves the one around it.
type Track struct {
	Group   Group
	Process uint32 // of a track of Threads
	Number  int    // in its group and process; tracks are shown in this order
	Name    string
}

// A Slice is a piece of work. Times are in nanoseconds.
type Slice struct {
	Track      *Track
	Name       string
	Start, End uint64 // End is after Start
	Event      uint64 // that began it
	Submission uint64 // 0: none
}

// A Step is a step of a flow: the flow goes through the slice of Track that is open at Time.
// The first step of a flow has First set, the last one Last.
type Step struct {
	Flow        uint64
	Name        string
	Track       *Track
	Time        uint64
	First, Last bool
}

// A Count is a new value of a counter.
type Count struct {
	Name   string
	Time   uint64
	Values []Value
}

// A Value is a value of a counter with several.
type Value struct {
	Name  string
	Value uint64
}

// A Mark is an event that takes no time: a fault, a stop, a broken rule, the link.
type Mark struct {
	Track *Track
	Name  string
	Text  string
	Time  uint64
	Event uint64
}

// A Sink takes what Build finds. A track is given before its first slice.
type Sink interface {
	Track(t *Track)
	Slice(s Slice)
	Step(s Step)
	Count(c Count)
	Mark(m Mark)
}

// Build reads a log to its end. A gap of the log is a mark. What began before a gap and ended in it is open until what is
// around it ends. Build returns the error of the reader, after which the sink has all slices before it.
func Build(l *eventlog.Reader, sink Sink) error {
	b := &builder{sink: sink, hz: l.Header.Hz, observed: l.Header.Observed}
	b.begin()
	l.GoOn = true
	var e eventlog.Event
	for {
		err := l.Next(&e)
		if g, ok := l.Gap(); ok {
			b.sink.Mark(Mark{Track: b.interruptTrack(markTrack), Name: "gap", Text: g.String(), Time: b.now, Event: g.From})
		}
		if err != nil {
			b.end()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if e.Kind == eventlog.Open {
			b.reopen(&e)
			continue
		}
		b.now = b.time(e.Time)
		b.add(&e)
	}
}

// A builder makes slices of events.
type builder struct {
	sink     Sink
	hz       uint64
	observed bool
	now      uint64 // time of the event
	base     uint64 // what is added to the times of the log, after another system has begun
	ticks    uint64 // time of the event before, in the log

	threads map[[2]uint32]*thread
	inOrder []*thread

	queues      map[queueKey]*queue
	submissions map[uint64]*submission
	jobs        map[uint64]job
	waiting     []*submission // queued and not retired, in order
	flows       uint64

	nodes   map[uint64]*node
	formats map[uint64]uint8 // of the destination of each context, as in pkt
	moved   uint64           // bytes

	interrupts map[int]*Track
	messages   []*open // that wait for the interrupt routine
	isr, dpc   *open

	places map[uint64]uint64 // bytes of each allocation in VRAM
	vram   uint64
}

func (b *builder) begin() {
	b.threads, b.nodes, b.formats = map[[2]uint32]*thread{}, map[uint64]*node{}, map[uint64]uint8{}
	b.queues, b.submissions, b.jobs = map[queueKey]*queue{}, map[uint64]*submission{}, map[uint64]job{}
	b.interrupts, b.places = map[int]*Track{}, map[uint64]uint64{}
}

const second = 1_000_000_000 // in nanoseconds

// time returns the time of an event: at least a nanosecond after that of the event before,
// since work of the host often takes no time of the device. Times that go back are those of
// another system, which follows.
func (b *builder) time(ticks uint64) uint64 {
	if ticks < b.ticks {
		b.base = b.now
	}
	b.ticks = ticks
	hz := b.hz
	if hz == 0 {
		hz = second
	}
	return max(b.now+1, b.base+ticks/hz*second+ticks%hz*second/hz)
}

func (b *builder) add(e *eventlog.Event) {
	switch e.Kind {
	case eventlog.Call, eventlog.DDI, eventlog.Wait:
		b.enter(e)
	case eventlog.CallEnd, eventlog.DDIEnd, eventlog.WaitEnd:
		b.leave(e)
	case eventlog.Pending:
		b.pend(e)
	case eventlog.Queue, eventlog.Submit, eventlog.Report, eventlog.Retire, eventlog.Preempted, eventlog.Packet, eventlog.Paging:
		b.work(e)
	case eventlog.Executed:
		b.executed(e)
	case eventlog.Descriptor:
		b.descriptor(e)
	case eventlog.Memory:
		b.wrote(e)
	case eventlog.Message:
		b.message(e)
	case eventlog.Place, eventlog.Evict, eventlog.Free:
		b.place(e)
	case eventlog.Reset:
		b.work(e)
		b.mark(e)
	case eventlog.Fault, eventlog.Stop, eventlog.Restart, eventlog.Broken, eventlog.Link, eventlog.FrameRepeated, eventlog.FrameRefused, eventlog.NakSent, eventlog.NakReceived:
		b.mark(e)
	}
}

// reopen ends what is open and begins with another board, whose time begins at 0.
func (b *builder) reopen(e *eventlog.Event) {
	if b.now > 0 {
		b.end()
	}
	b.hz, b.observed = e.Fields[0], e.Fields[1] != 0
	b.base, b.ticks, b.vram = b.now, 0, 0
	clear(b.formats)
	clear(b.places)
}

// end ends what is open, a nanosecond after the last event.
func (b *builder) end() {
	b.now++
	for _, s := range slices.Clone(b.waiting) {
		b.finish(s, "end", nil)
	}
	for _, number := range slices.Sorted(maps.Keys(b.nodes)) {
		b.closeDMA(b.nodes[number])
	}
	for _, number := range slices.Sorted(maps.Keys(b.jobs)) {
		b.drop(number)
	}
	b.closeMessages()
	b.close(&b.isr)
	b.close(&b.dpc)
	for _, t := range b.inOrder {
		b.unwind(t, 0)
	}
}

// An open slice has not ended.
type open struct {
	Slice
	lane *lane // that it occupies, or nil
}

// open begins a slice.
func (b *builder) open(t *Track, name string, event, submission uint64) *open {
	return &open{Slice: Slice{Track: t, Name: name, Start: b.now, Event: event, Submission: submission}}
}

// close ends a slice, if there is one.
func (b *builder) close(o **open) {
	s := *o
	if s == nil {
		return
	}
	*o = nil
	s.End = max(b.now, s.Start+1)
	if s.lane != nil {
		s.lane.busy = false
	}
	b.sink.Slice(s.Slice)
}

// newTrack returns a track, which the sink has.
func (b *builder) newTrack(t Track) *Track {
	b.sink.Track(&t)
	return &t
}

// lanes are tracks of slices of which several are open at once.
type lanes struct {
	group Group
	name  string
	first int // number of the first track
	all   []*lane
}

// A lane is a track with at most one open slice.
type lane struct {
	track *Track
	busy  bool
}

// openIn begins a slice in the first free lane.
func (b *builder) openIn(l *lanes, name string, event, submission uint64) *open {
	var free *lane
	for _, n := range l.all {
		if !n.busy {
			free = n
			break
		}
	}
	if free == nil {
		free = &lane{track: b.newTrack(Track{Group: l.group, Number: l.first + len(l.all), Name: l.name})}
		l.all = append(l.all, free)
	}
	free.busy = true
	o := b.open(free.track, name, event, submission)
	o.lane = free
	return o
}
