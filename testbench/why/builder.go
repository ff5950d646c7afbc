package why

import (
	"errors"
	"io"
	"sort"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

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
	fences   map[uint64]store    // write of a fence of a queue whose packet has not ended, by the fence
	notice   *eventlog.Event     // the last DxgkCbNotifyInterrupt, until the kernel takes its report
	worked   map[uint32]uint64   // time of the last step of a node
	words    map[uint32]uint64   // address of the fence in host memory, by node
	driver   map[uint64]uint64   // memory of the miniport: end by address
	placed   map[uint64]*place   // of allocations in a segment
	homes    map[uint64][]*place // host memory of allocations
	locked   map[uint64]*cpuWrite
	kept     sequence[call]      // the calls themselves
	known    map[uint64]*call    // by the number of the event
	commands map[uint64]*command // that have not returned, and have written nothing
	batches  map[uint64]*batch   // by context
	making   map[uint64]uint64   // by context: the job of its last submission
	lists    map[listKey]*list
	records  map[uint64]*list  // not yet finished, by process and deferred context
	doorbell *submission       // submitted last, and no register was written since
	rewinds  map[uint64]access // last writes of WPTR that were no doorbell, by offset
	ringing  *submission       // whose doorbell was written last
	giving   *submission       // submitted last, and DxgkDdiSubmitCommand was not called since
	queues   [][]*submission   // by node: queued and not submitted
	patch    *eventlog.Event   // the last DxgkDdiPatch
	resting  *injection        // the injected fault that has stopped the adapter, until the kernel restarts it
	collect  Point             // the last DxgkDdiCollectDbgInfo, if no stop or reset followed
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
		Run:    &Run{Header: h, earlier: earlier, number: earlier.next(), subs: map[uint64]*submission{}, jobs: map[uint64]*job{}, reads: map[uint64]access{}, mapped: map[uint64]bool{}, pieces: map[uint64][]store{}, stored: map[uint64][]stored{}},
		stacks: map[uint64]*stack{}, placed: map[uint64]*place{}, homes: map[uint64][]*place{},
		fences: map[uint64]store{}, locked: map[uint64]*cpuWrite{}, known: map[uint64]*call{}, commands: map[uint64]*command{}, batches: map[uint64]*batch{}, making: map[uint64]uint64{},
		lists: map[listKey]*list{}, records: map[uint64]*list{}, words: map[uint32]uint64{}, worked: map[uint32]uint64{}, driver: map[uint64]uint64{}, rewinds: map[uint64]access{},
	}
}

// Read reads a log. It fails with the errors of eventlog.Reader.
func Read(l *eventlog.Reader) (*Run, error) { return Reading(l, 0) }

// Reading is Read for a run that will be asked for the call of the driver interfaces with a number; 0: for none.
func Reading(l *eventlog.Reader, function uint64) (*Run, error) {
	b := newBuilder(l.Header, nil)
	b.asked = function
	var e eventlog.Event
	l.GoOn = true
	for {
		err := l.Next(&e)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, l.WithDamage(err)
		}
		if g, ok := l.Gap(); ok {
			b.gaps = append(b.gaps, g)
		}
		if err != nil {
			b.untaken()
			b.Truncated = l.Truncated()
			return b.Run, nil
		}
		if e.Kind == eventlog.Open && b.last.In() {
			patterns := b.patterns
			b.followed = true
			b = newBuilder(l.Header, b.Run)
			b.patterns, b.asked = patterns, function
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
func (b *builder) pattern(e *eventlog.Event) *pattern {
	n, text := e.Pattern()
	if n == 0 {
		p := patternOf(text)
		return &p
	}
	for len(b.patterns) <= n {
		b.patterns = append(b.patterns, pattern{})
	}
	p := &b.patterns[n]
	if !p.known {
		*p = patternOf(text)
	}
	return p
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
	return e.Value("name")
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
	i := sort.Search(len(s.packets), func(i int) bool { return uint64(s.packets[i].offset) >= offset })
	if i == len(s.packets) || uint64(s.packets[i].offset) != offset {
		return nil
	}
	return &s.packets[i]
}
