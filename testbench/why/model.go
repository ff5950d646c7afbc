// Package why answers why something happened in a run, or did not, from the log of the run
// (package eventlog): a chain of events from the call of the application to the interrupt.
//
// [Read] reads a log, and the methods of [Run] answer: Fence, Fault, Call, Cycle, Address and
// Pixel.
package why

import (
	"errors"
	"io"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A Point is an event: its number and its time. The zero Point is an event that is not in the
// log.
type Point struct{ Event, Time uint64 }

// In reports whether the event is in the log.
func (p Point) In() bool { return p.Event != 0 }

// A frame is a call that was open when something happened.
type frame struct {
	Point
	name            string
	number          uint64 // of a call of the API; 0 for a DDI function
	process, thread uint32
}

// A packet is one of a submission.
type packet struct {
	offset   uint32 // in the buffer
	data     []byte
	executed Point
	taken    int     // descriptors of it that the DMA engine has taken
	last     store   // the last of them: its destination, and its bytes
	origin   []frame // the calls that wrote it; nil: unknown
}

// A use is an address of an allocation in a submission.
type use struct {
	offset     uint32
	allocation uint64
	within     uint64 // offset in the allocation
	write      bool
}

// A paging is an operation of a paging buffer.
type paging struct {
	what                string
	allocation          uint64
	fromSegment, from   uint64
	toSegment, to, size uint64
}

// A submission is the work of one fence.
type submission struct {
	serial, context    uint64
	node, fence        uint32
	buffer, start, end uint64
	kind               string
	depends            []uint64
	packets            []packet
	first              uint64 // event of the first packet
	uses               []use
	pagings            []paging
	ring               []ringPacket

	queued, submitted, given, rung, begun, fenced, written, message, routine, reported, asked, deferred, notified, retired Point

	aborted  Point  // a reset of its node has ended it
	lost     Point  // it was taken back and does not go on, since its device is lost
	again    uint64 // the preempted submission that it continues; 0: none
	onward   uint64 // the submission that continues it; 0: none
	finished uint64 // last event at which a packet of it was executed, see ended
	stalled  uint64 // clocks in which its node did not begin it, though it was the next, until it was taken back
	rptr     access // the last read of RPTR before that
	late     Point  // the message, if it arrived after the report
	back     bool   // retired is when it was taken back
	epoch    int    // stops of the adapter before
	wrong    string // see mistake
	word     uint64 // address of the fence in host memory, if it was written
	other    store  // the write to its memory in the place of that of its fence

	patch  *eventlog.Event // DxgkDdiPatch
	submit *eventlog.Event // DxgkDdiSubmitCommand; nil: there is none, or wrong is what it says

	rungBy      write   // the doorbell
	stack       []frame // when it was rendered, or built
	caller      *call   // that rendered it, or for which it was built; or nil
	batch       []emit  // of its command buffer
	base        uint64  // offset in the command buffer at which its DMA buffer begins
	reportStack []frame
	retireStack []frame
}

// A write is a write of a register.
type write struct{ offset, value uint64 }

// A store is a write of the GPU to memory: of a value, or of a number of bytes.
type store struct {
	Point
	addr, value uint64
}

// A call is a call of the API.
type call struct {
	frame
	end     Point
	subs    []uint64   // submissions of the buffers that it rendered
	jobs    int        // buffers that it rendered, and of which there is no submission
	emitted []emission // packets that it wrote
	why     string     // for failed
	failed  Point      // the runtime drops it, or lets it fail
	list    *list      // that it was recorded in
	before  int        // functions that move data, in the list before it
	moves   int        // and in it
	hr      string     // of a DDI function in it that failed, with its name
}

// An emission is a number of packets of a submission.
type emission struct{ serial, packets uint64 }

// A made is a line about a resource: the entry of pfnCreateResource, or the return of pfnAllocateCb.
type made struct {
	process uint32
	back    bool
	line    eventlog.Line
}

// A place is an allocation that is at an address from one event to another.
type place struct {
	allocation, segment, address, size uint64
	within                             uint64 // offset in the allocation
	from, to                           Point  // to is the zero Point while it is there
	memory                             bool   // it is the host memory of the allocation
	driver                             bool   // it is memory of the miniport, and there is no allocation
}

// A cpuWrite is the time in which the CPU could write the content of an allocation.
type cpuWrite struct {
	allocation uint64
	from, to   Point
	stack      []frame
}

// A happening is an event with a text, and the calls that were open.
type happening struct {
	eventlog.Event
	stack []frame
	began Point      // DxgkDdiCollectDbgInfo before it, of a stop or a reset
	meant *injection // that it comes of, of a stop, a reset or a fault; nil: none
}

// A Run is what a log says.
type Run struct {
	Header    eventlog.Header
	Truncated bool
	gaps      []gap // events that are missing in the middle
	earlier   *Run  // of the board that was open before, or nil
	followed  bool  // another board was opened after it
	number    int   // of the board, from 1
	first     Point // first event
	last      Point // last event

	subs   map[uint64]*submission
	jobs   map[uint64]*job // DMA buffers in software queues
	order  []*submission
	calls  []*call
	places []*place
	mapped map[uint64]bool // aperture segments
	locks  []*cpuWrite
	faults []happening
	stops  []happening
	broken []happening
	links  []happening // down or up
	closed happening   // the last end of a session

	repeated, refused uint64 // frames of the link

	reads   map[uint64]access // of BAR0, by offset
	failed  happening         // the first access without an answer, with none that was answered after it
	end     happening         // the end of the command
	waiting happening         // the wait that has not ended
	hosted  bool              // the miniport has memory for fences
	opened  bool              // the board was opened
	early   []happening       // what happened to the link before

	expected []expectation // faults that the command expected, and that did not happen
	wanted   int           // faults that the command expected, and that happened
	injected []*injection  // faults that the command injected
	idle     []happening   // resets of a node that aborted no submission

	silent []*command         // functions that wrote nothing, in order
	emits  bool               // the log has the packets of command buffers
	pieces map[uint64][]store // descriptors of the packets that have not been executed, by the event of the packet

	made []made // entries of pfnCreateResource, and returns of pfnAllocateCb

	deeds []deed // before the first submission
}

// A gap is the first and the last event that a damaged block had.
type gap struct{ from, to uint64 }

// A builder builds a Run.
type builder struct {
	*Run
	stacks   map[uint64]*stack // by thread
	thread   uint64            // of the last event
	now      *stack            // its stack
	patterns []pattern
	arena    []byte              // for the data of packets
	flying   [][]*submission     // by node: submitted and not retired
	epoch    int                 // stops of the adapter
	asking   []*submission       // reported without a message
	worked   map[uint32]uint64   // time of the last step of a node
	words    map[uint32]uint64   // address of the fence in host memory, by node
	driver   map[uint64]uint64   // memory of the miniport: end by address
	placed   map[uint64]*place   // of allocations in a segment
	homes    map[uint64][]*place // host memory of allocations
	locked   map[uint64]*cpuWrite
	known    map[uint64]*call    // by the number of the event
	commands map[uint64]*command // that have not returned, and have written nothing
	batches  map[uint64]*batch   // by context
	making   map[uint64]uint64   // by context: the job of its last submission
	lists    map[string]*list    // by process and name
	records  map[uint64]*list    // not yet finished, by process and deferred context
	doorbell *submission         // submitted last, and no register was written since
	ringing  *submission         // whose doorbell was written last
	giving   *submission         // submitted last, and DxgkDdiSubmitCommand was not called since
	queues   [][]*submission     // by node: queued and not submitted
	patch    *eventlog.Event     // the last DxgkDdiPatch
	resting  *injection          // the injected fault that has stopped the adapter, until the kernel restarts it
	collect  Point               // the last DxgkDdiCollectDbgInfo, if no stop or reset followed
}

// A pattern is what is known of the texts with the same pattern.
type pattern struct {
	known bool
	name  string // of the DDI function; "" if it differs
	fails bool   // it may have a result that is an error

	commands bool // the function must write packets
	deferred bool // it begins with the number of a deferred context
}

// A stack is the open calls of a thread.
type stack struct{ frames []frame }

// newBuilder returns the builder of a run after an earlier one, or nil.
func newBuilder(h eventlog.Header, earlier *Run) *builder {
	return &builder{
		Run:    &Run{Header: h, earlier: earlier, number: earlier.next(), subs: map[uint64]*submission{}, jobs: map[uint64]*job{}, reads: map[uint64]access{}, mapped: map[uint64]bool{}, pieces: map[uint64][]store{}},
		stacks: map[uint64]*stack{}, placed: map[uint64]*place{}, homes: map[uint64][]*place{},
		locked: map[uint64]*cpuWrite{}, known: map[uint64]*call{}, commands: map[uint64]*command{}, batches: map[uint64]*batch{}, making: map[uint64]uint64{},
		lists: map[string]*list{}, records: map[uint64]*list{}, words: map[uint32]uint64{}, worked: map[uint32]uint64{}, driver: map[uint64]uint64{},
	}
}

// Read reads a log. It fails with the errors of eventlog.Reader.
func Read(l *eventlog.Reader) (*Run, error) {
	b := newBuilder(l.Header, nil)
	var e eventlog.Event
	l.GoOn = true
	passed := 0
	for {
		if err := l.Next(&e); err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			b.Truncated = l.Truncated()
			return b.Run, nil
		}
		if e.Kind == eventlog.Open && b.last.In() {
			patterns := b.patterns
			b.followed = true
			b = newBuilder(l.Header, b.Run)
			b.patterns = patterns
		}
		if n := l.Passed(); n > passed {
			b.gaps = append(b.gaps, gap{b.last.Event + 1, e.ID - 1})
			passed = n
		}
		b.last = Point{e.ID, max(e.Time, b.last.Time)}
		if !b.first.In() {
			b.first = b.last
		}
		b.add(&e)
	}
}

// stack returns the stack of the thread of an event.
func (b *builder) stack(e *eventlog.Event) *stack {
	key := uint64(e.Process)<<32 | uint64(e.Thread)
	if b.now != nil && key == b.thread {
		return b.now
	}
	s := b.stacks[key]
	if s == nil {
		s = &stack{}
		b.stacks[key] = s
	}
	b.thread, b.now = key, s
	return s
}

// open returns a copy of the open calls of the thread of an event, outermost first.
func (b *builder) open(e *eventlog.Event) []frame {
	return append([]frame(nil), b.stack(e).frames...)
}

// pattern returns what is known of the text of an event.
func (b *builder) pattern(e *eventlog.Event) pattern {
	n, text := e.Pattern()
	if n == 0 {
		return patternOf(text)
	}
	for len(b.patterns) <= n {
		b.patterns = append(b.patterns, pattern{})
	}
	p := &b.patterns[n]
	if !p.known {
		*p = patternOf(text)
	}
	return *p
}

func patternOf(text string) pattern {
	p := pattern{known: true, name: nameIn(text)}
	p.deferred = strings.HasPrefix(text, `{"at":"enter","context":`)
	if _, results, ok := strings.Cut(text, `"hr":"`); ok {
		p.fails = !strings.HasPrefix(results, "S_")
	}
	_, moves := moving[p.name]
	p.commands = moves || p.name == executes
	if strings.ContainsAny(p.name, "\x01\x02") {
		p.name = "" // a digit in a name is a number of the text
	}
	return p
}

// name returns the name of the DDI function of an event.
func (b *builder) name(e *eventlog.Event) string {
	if p := b.pattern(e); p.name != "" {
		return p.name
	}
	return nameIn(e.Text())
}

// keep returns a copy of the data of a packet.
func (b *builder) keep(p []byte) []byte {
	if len(p) > len(b.arena) {
		b.arena = make([]byte, 1<<20)
	}
	n := copy(b.arena, p)
	kept := b.arena[:n:n]
	b.arena = b.arena[n:]
	return kept
}

// nameIn returns the value of the key name in a line of a trace.
func nameIn(line string) string {
	_, rest, _ := strings.Cut(line, `"name":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// enter and leave keep the stack of a thread.
func (b *builder) enter(e *eventlog.Event, name string, number uint64) {
	s := b.stack(e)
	s.frames = append(s.frames, frame{Point{e.ID, e.Time}, name, number, e.Process, e.Thread})
}

func (b *builder) leave(e *eventlog.Event) {
	s := b.stack(e)
	for i := len(s.frames) - 1; i >= 0; i-- {
		if s.frames[i].Event == e.Cause {
			s.frames = s.frames[:i]
			return
		}
	}
}

// caller returns the call of the API in which an event happened, or nil.
func (b *builder) caller(e *eventlog.Event) *call {
	for _, f := range b.stack(e).frames {
		if f.number != 0 {
			return b.known[f.Event]
		}
	}
	return nil
}

// maxNodes bounds the numbers of nodes. A log with a larger number is wrong, and gets wrong answers.
const maxNodes = 64

// ofNode returns the submissions of a node in lists by node.
func ofNode(lists *[][]*submission, node uint64) *[]*submission {
	i := int(node % maxNodes)
	for len(*lists) <= i {
		*lists = append(*lists, nil)
	}
	return &(*lists)[i]
}

// at returns the packet at an address, of a submission, or nil.
func (s *submission) at(addr uint64) *packet {
	if addr&pkt.Host == 0 {
		return nil
	}
	offset := addr&^pkt.Host - s.buffer
	if offset < s.start || offset >= s.end {
		return nil
	}
	for i := range s.packets {
		if uint64(s.packets[i].offset) == offset {
			return &s.packets[i]
		}
	}
	return nil
}
