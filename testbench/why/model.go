// Package why answers why something happened in a run, or did not, from the log of the run
// (package eventlog): a chain of events from the call of the application to the interrupt.
//
// [Read] reads a log, and the methods of [Run] answer: Fence, Fault, Call, Cycle, Address and
// Pixel.
package why

import (
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

	watched  bool   // the log has the first read of its buffer, if there is one
	fetched  Point  // that read
	reads    store  // and what it read
	aborted  Point  // a reset of its node has ended it
	lost     Point  // it was taken back and does not continue, since its device is lost
	again    uint64 // the preempted submission that it continues; 0: none
	onward   uint64 // the submission that continues it; 0: none
	finished uint64 // last event at which a packet of it was executed, see ended
	stalled  uint64 // clocks in which its node did not begin it, though it was the next, until it was taken back
	rptr     access // the last read of RPTR before that
	rerun    rerun  // its node did earlier work again in its place
	late     Point  // the message, if it arrived after the report
	back     bool   // retired is when it was taken back
	epoch    int    // stops of the adapter before
	wrong    string // see mistake
	word     uint64 // address of the fence in host memory, if it was written
	other    store  // the write to its memory in the place of that of its fence

	passed  []pass // see passes
	passing bool   // passes is at work on it

	patch  *eventlog.Event // DxgkDdiPatch
	submit *eventlog.Event // DxgkDdiSubmitCommand; nil: there is none, or wrong is what it says

	rungBy      write   // the doorbell
	stack       []frame // when it was rendered, or built
	caller      *call   // that rendered it, or for which it was built; or nil
	batch       []emit  // of its command buffer
	base        uint64  // offset in the command buffer at which its DMA buffer begins
	reportStack []frame
	untaken     Point // DxgkCbNotifyInterrupt with its fence, which the kernel did not take
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
	told  Point      // the message of a fault of the hardware
}

// A Run is what a log says.
type Run struct {
	Header    eventlog.Header
	Truncated bool
	gaps      []eventlog.Gap // events that are missing
	earlier   *Run           // of the board that was open before, or nil
	followed  bool           // another board was opened after it
	number    int            // of the board, from 1
	first     Point          // first event
	last      Point          // last event

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
	stills  []still           // before resets of nodes
	asks    []asked           // of nodes to stop for other work
	hung    []access          // reads of MCU.STATUS that say that the firmware hangs
	cycle   uint64            // of the GPU, of the last executed packet; 0: not known
	clock   uint64            // of the log, of that packet
	failed  happening         // the first access without an answer, with none that was answered after it
	said    happening         // the last line of the miniport in DxgkDdiStartDevice
	end     happening         // the end of the command
	waiting happening         // the wait that has not ended
	hosted  bool              // the miniport has memory for fences
	rings   bool              // the miniport rings the doorbells of queues of the firmware
	opened  bool              // the board was opened
	early   []happening       // what happened to the link before

	expected []expectation // faults that the command expected, and that did not happen
	wanted   int           // faults that the command expected, and that happened
	injected []*injection  // faults that the command injected
	idle     []happening   // resets of a node that aborted no submission

	silent  []*command          // functions that wrote nothing, in order
	emits   bool                // the log has the packets of command buffers
	stored  map[uint64][]stored // short writes of the GPU to host memory, by address of 8 bytes
	writers map[uint64][]writer // of the values of PREDICATEs, by address; nil: not yet looked for

	pieces map[uint64][]store // descriptors of the packets that have not been executed, by the event of the packet

	made sequence[made] // entries of pfnCreateResource, and returns of pfnAllocateCb

	asked    uint64    // see Reading
	function *function // that it asks for, or nil
	ddis     [2]uint64 // the least and the greatest number of a call of the driver interfaces; 0: there is none

	deeds []deed // before the first submission
}
