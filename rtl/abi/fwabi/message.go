package fwabi

// An entry of the rings of messages is 16 dwords: EntrySequence, EntryHead, and the payload.
const (
	EntrySequence = 0
	EntryHead     = 1
	EntryPayload  = 2

	// PayloadBytes is the largest payload.
	PayloadBytes = EntryBytes - 4*EntryPayload
)

// Fields of the dword EntryHead.
const (
	HeadOp       = 0xff << 0
	HeadLength   = 0xff << 8
	HeadStatus   = 0xff << 16
	HeadReserved = 0xff << 24
)

// A line of the log is 7 dwords: its number from 0, in which lines that were lost count too; LineHead;
// the time in clocks, low half first; and three arguments.
const (
	LineNumber    = 0
	LineHead      = 1
	LineTime      = 2
	LineArguments = 4
	LineDwords    = 7
)

// Fields of the dword LineHead: the offset of the format in the section .log of the ELF file, and the
// level, as in LOG.
const (
	LineID    = 0xffff << 0
	LineLevel = 0xff << 16
)

// A sample is 14 dwords: its number from 0, in which samples that were lost count too; 0; the time in
// clocks; and PERF.CYCLES, then BUSY and BYTES of node 0 and of node 1, low halves first.
const (
	SampleNumber = 0
	SampleTime   = 2
	SampleCycles = 4
	SampleBusy   = 6
	SampleBytes  = 8
	SampleNode   = 4 // dwords of a node
	SampleDwords = 14

	// PeriodLeast is the shortest time between two samples in clocks.
	PeriodLeast = 1024
)

// Fields of the word LIMITS in the answer of HELLO.
const (
	LimitQueues  = 0xff << 0
	LimitRings   = 0xff << 8
	LimitPayload = 0xff << 16
)

// Status of an answer.
const (
	StatusOK = iota
	StatusUnknown
	StatusShort
	StatusLong
	StatusSequence
	StatusSession
	StatusArgument
	StatusState
	StatusRefused
	StatusBusy
)

// Statuses describes the status of an answer.
var Statuses = []Code{
	{StatusOK, "OK", "done"},
	{StatusUnknown, "UNKNOWN", "no such op"},
	{StatusShort, "SHORT", "the payload is shorter than that of the op"},
	{StatusLong, "LONG", "the payload is longer than that of the op"},
	{StatusSequence, "SEQUENCE", "another sequence is next; it stays the next one"},
	{StatusSession, "SESSION", "no HELLO was accepted since the start"},
	{StatusArgument, "ARGUMENT", "a value is out of range, or reserved bits are not 0"},
	{StatusState, "STATE", "not possible in this state"},
	{StatusRefused, "REFUSED", "the host has locked what it needs, or the GPU does not have it"},
	{StatusBusy, "BUSY", "the same kind of work is in progress; the host may repeat the request"},
}

// Ops of requests, and from OpFault on of notices.
const (
	OpHello        = 1
	OpPing         = 2
	OpCounters     = 3
	OpLog          = 4
	OpTelemetry    = 5
	OpSelftest     = 6
	OpNodeTake     = 16
	OpNodeGive     = 17
	OpQueueCreate  = 18
	OpQueueDestroy = 19
	OpQueueState   = 20
	OpPreempt      = 21
	OpResume       = 22
	OpDrain        = 23
	OpReset        = 24
	OpFault        = 64
	OpDrained      = 65
	OpYielded      = 66
)

// A Field is a dword of a payload.
type Field struct {
	Name string
	Doc  string
}

// An Op is a request with its answer, or a notice, which has no answer.
//
//	Least   bytes of the shortest payload of a request; all of Request unless the op is PING
//	Request the dwords of the payload of the request or the notice
//	Answer  those of the answer with the status OK; other answers have no payload
type Op struct {
	Value   uint32
	Name    string
	Doc     string
	Least   uint32
	Request []Field
	Answer  []Field
}

// Most returns the bytes of the longest payload of a request.
func (o Op) Most() uint32 {
	if o.Value == OpPing {
		return PayloadBytes
	}
	return 4 * uint32(len(o.Request))
}

// Notice reports whether the op is one of a notice.
func (o Op) Notice() bool { return o.Value >= OpFault }

// request returns an op whose payload has one length.
func request(value uint32, name, doc string, request, answer []Field) Op {
	return Op{value, name, doc, 4 * uint32(len(request)), request, answer}
}

var (
	node  = Field{"NODE", "number of the node"}
	queue = Field{"QUEUE", "number of the queue, 0 to 15"}
)

// Ops describes the messages.
var Ops = []Op{
	request(OpHello, "HELLO", "begins a session: a clean start without queues and nodes, with the log level of the boot and without samples; the next sequence is 1",
		[]Field{{"VERSION", "version of the image"}, {"SESSION", "a number that the host chooses"}},
		[]Field{{"VERSION", "version of the image"}, {"BUILD", "first dword of the build id"}, {"LIMITS", "number of queues in bits 7..0, most entries of a ring as log2 in 15..8, most bytes of a payload in 23..16"}}),
	{OpPing, "PING", "answers with the payload of the request, of any length", 0, nil, nil},
	request(OpCounters, "COUNTERS", "counts since the start of the program", nil, counters()),
	request(OpLog, "LOG", "selects the log lines", []Field{{"LEVEL", "the highest level that is written: 0 none, 1 errors, 2 also events, 3 also each message"}}, nil),
	request(OpTelemetry, "TELEMETRY", "selects the samples of the nodes", []Field{{"PERIOD", "clocks between two samples, at least 1024; 0: none"}}, nil),
	request(OpSelftest, "SELFTEST", "runs the self-test of the boot again",
		[]Field{{"TEST", "the window that the test may overwrite, as in the mail word TEST without SCRATCH, not 0 or 1; 0: that of the boot"}},
		[]Field{{"STAGE", "LOOP, or the stage of the test that failed"}, {"RESULT", "READY, or the result of the test that failed"}, {"DETAIL0", "as in the mail words"}, {"DETAIL1", "as in the mail words"}, {"DETAIL2", "as in the mail words"}}),
	request(OpNodeTake, "NODE_TAKE", "makes the firmware the owner of a node", []Field{node, {"RING", "offset of its ring in window 0, which has no byte of the ring of the other node"}, {"LOG2", "log2 of the bytes of the ring"}}, nil),
	request(OpNodeGive, "NODE_GIVE", "gives a node back to the host", []Field{node}, nil),
	request(OpQueueCreate, "QUEUE_CREATE", "creates a queue", []Field{
		queue, node, {"PRIORITY", "0 to 3; 3 is the highest"}, {"QUANTUM", "clocks, and QUANTUM_FORCED"}, {"RING_LO", "GPU address of its ring, low half"}, {"RING_HI", "high half"},
		{"LOG2", "log2 of the entries of its ring"}, {"SAVE_LO", "GPU address of its save area, low half"}, {"SAVE_HI", "high half"},
	}, nil),
	request(OpQueueDestroy, "QUEUE_DESTROY", "destroys a queue", []Field{queue}, nil),
	request(OpQueueState, "QUEUE_STATE", "tells what a queue does", []Field{queue}, []Field{
		{"STATE", "its state"}, {"CAUSE", "why it has stopped; 0: it has not"}, {"HEAD", "entries that are complete"}, {"TAIL", "entries that were seen"}, {"TAILS", "values of its tail that were ignored"},
	}),
	request(OpPreempt, "PREEMPT", "stops a queue and holds it", []Field{queue}, nil),
	request(OpResume, "RESUME", "continues a queue that is held", []Field{queue}, nil),
	request(OpDrain, "DRAIN", "completes what a node has begun", []Field{node}, nil),
	request(OpReset, "RESET", "writes a fault record of a node and resets it", []Field{node}, nil),
	request(OpFault, "FAULT", "a queue or a node has stopped", []Field{node, queue, {"CAUSE", "its cause"}}, nil),
	request(OpDrained, "DRAINED", "a node has completed what it had begun at DRAIN", []Field{node, {"ZERO", "0"}, {"ZERO1", "0"}}, nil),
	request(OpYielded, "YIELDED", "a node has stopped for its doorbell, and the entries of its queues were dropped", []Field{node, {"PLACES", "one bit for each queue that was stopped inside an entry"}, {"ZERO", "0"}}, nil),
}

// Words of the answer of COUNTERS after those of the statuses.
const (
	CountTails = StatusBusy + 1 + iota
	CountMemory
	CountNotices

	Counts = CountNotices + 1
)

// counters returns the words of the answer of COUNTERS.
func counters() []Field {
	var fields []Field
	for _, s := range Statuses {
		fields = append(fields, Field{s.Name, "answers with this status"})
	}
	return append(fields,
		Field{"TAILS", "values of REQUEST_TAIL or ANSWER_HEAD that were ignored"},
		Field{"MEMORY", "accesses to the message area that failed"},
		Field{"NOTICES", "notices that were lost"})
}
