package eventlog

// A Kind is what happened.
type Kind uint8

// The kinds. Table describes them.
const (
	None          Kind = iota
	Call               // a call of the API begins
	CallEnd            // and returns
	DDI                // a function of a driver, or a callback of one, is entered
	DDIEnd             // and returns
	Allocate           // the kernel makes an allocation
	Free               // the kernel frees it
	Place              // an allocation gets a place in a segment
	Evict              // it loses the place
	Lock               // the CPU gets the content of an allocation
	Unlock             // and gives it back
	DriverMemory       // the miniport gets contiguous host memory
	DriverFree         // and gives it back
	Emit               // a function of the driver has written packets
	Paging             // an operation of a paging buffer
	Use                // a submission has the address of an allocation
	Depend             // a submission waits for another
	Packet             // a packet of a submission
	Queue              // a submission gets its fence
	Submit             // it goes to the hardware
	Report             // an interrupt reported a fence
	Retire             // a submission has ended
	Wait               // the kernel waits
	WaitEnd            // and goes on
	Read               // the host reads a BAR
	Write              // the host writes a BAR
	Memory             // the GPU writes host memory
	Message            // an interrupt message arrives
	Executed           // a node has executed a packet
	Fault              // a node, or the driver, reports a fault
	Stop               // the kernel stops the adapter
	Broken             // a broken rule
	Link               // something happens to the link
	Text               // a line of the driver, or about the log
	Open               // a board is opened
	End                // the command ends
	Descriptor         // the DMA engine has taken a descriptor
	Firmware           // a line of the log of the firmware
	Refused            // the GPU accesses host memory that does not exist
	Pending            // a DMA buffer enters the software queue of its context
	FrameRepeated      // the host sends a frame of the link again
	FrameRefused       // the host refuses a frame of the link
	NakSent            // the host asks for a frame of the link
	NakReceived        // the board asks for frames of the link
	Expect             // the command expects a fault
	CallFailed         // a call of the API fails or is dropped
	RingPacket         // the host puts a packet in a ring
	Preempt            // the kernel asks a node to stop
	Preempted          // a submission is taken back from a node that has stopped
	Continue           // a submission continues a preempted one
	Cancelled          // a preempted submission does not go on
	Reset              // the kernel resets a node
	Restart            // the kernel has reset the adapter
	Destroy            // an application destroys an allocation
	Offer              // an application offers the memory of an allocation
	Reclaim            // and wants it back
	Inject             // the command injects a fault
	Fetched            // the GPU begins to read a submission
	kinds
)

// A Form is how a field is shown.
type Form uint8

// The forms.
const (
	Decimal Form = iota
	Hex
	Flag // "yes" or "no"
)

// A Field is a number of an event.
type Field struct {
	Name string
	Form Form
}

// A Description describes the events of a kind. Fields are only ever added at the end.
type Description struct {
	Kind   Kind
	Name   string
	Doc    string
	Fields []Field
	Text   string // what the text is, or ""
	Data   string // what the data are, or ""
}

func dec(names ...string) (fs []Field) {
	for _, n := range names {
		fs = append(fs, Field{Name: n})
	}
	return fs
}

func hex(names ...string) (fs []Field) {
	for _, n := range names {
		fs = append(fs, Field{Name: n, Form: Hex})
	}
	return fs
}

func join(parts ...[]Field) (fs []Field) {
	for _, p := range parts {
		fs = append(fs, p...)
	}
	return fs
}

var write = []Field{{"write", Flag}}

// LinkDown begins the text of a Link event of a link that has gone down. The cause follows.
const LinkDown = "down: "

// Table describes each kind, in order.
var Table = []Description{
	{Call, "call", "a call of the API begins", dec("number"), "name of the method", ""},
	{CallEnd, "call-end", "the call that is the cause returns", nil, "", ""},
	{DDI, "ddi", "a function of a driver, or a callback of a driver, is entered; the number is that of the verifier, in the order of all calls, or 0 without checks", dec("number"), "line of the DDI trace", ""},
	{DDIEnd, "ddi-end", "the function that is the cause returns", nil, "line of the DDI trace", ""},
	{Allocate, "allocate", "the kernel makes an allocation with host memory of its own", join(hex("allocation", "device"), dec("bytes"), hex("memory")), "", "addresses of the pages of that memory, of 8 bytes each, if it need not be contiguous"},
	{Free, "free", "the kernel frees an allocation", hex("allocation"), "", ""},
	{Place, "place", "an allocation gets a place in a segment", join(hex("allocation"), dec("segment"), hex("address"), dec("bytes")), "", ""},
	{Evict, "evict", "an allocation loses its place", join(hex("allocation"), dec("segment"), hex("address")), "", ""},
	{Lock, "lock", "the CPU may use the content of an allocation", join(hex("allocation"), write), "", ""},
	{Unlock, "unlock", "a lock of the CPU ends", hex("allocation"), "", ""},
	{DriverMemory, "driver-memory", "the miniport gets contiguous host memory, for rings and fences", join(hex("address"), dec("bytes")), "", ""},
	{DriverFree, "driver-free", "the miniport gives such memory back", hex("address"), "", ""},
	{Emit, "emit", "the function that is the cause has written packets into the command buffer of a context", hex("context", "start", "end"), "", ""},
	{Paging, "paging", "an operation of a paging buffer; an address in segment 0 is in host memory", join(dec("submission"), hex("allocation"), dec("from segment"), hex("from"), dec("to segment"), hex("to"), dec("bytes")), "TRANSFER, FILL, DISCARD_CONTENT, MAP_APERTURE_SEGMENT or UNMAP_APERTURE_SEGMENT", ""},
	{Use, "use", "a submission has the address of an allocation at an offset of its buffer", join(dec("submission"), hex("offset", "allocation", "in allocation"), write), "", ""},
	{Depend, "depend", "a submission waits for another", dec("submission", "on"), "", ""},
	{Packet, "packet", "a packet of a submission, at an offset of its buffer", join(dec("submission"), hex("offset")), "", "the packet"},
	{Queue, "queue", "a submission gets its fence; it is a part of a DMA buffer, or a paging buffer with job 0", join(dec("submission", "node", "fence"), hex("context", "buffer", "start", "end"), dec("job")), "kind of the buffer", ""},
	{Submit, "submit", "a submission goes to the hardware; watched: the log has the first read of its buffer by the GPU, if there is one", join(dec("submission"), []Field{{"watched", Flag}}), "", ""},
	{Report, "report", "the driver reports the fence of a submission", dec("submission", "node", "fence"), "", ""},
	{Retire, "retire", "a submission has ended", dec("submission"), "", ""},
	{Wait, "wait", "the kernel waits", nil, "what for", ""},
	{WaitEnd, "wait-end", "the wait that is the cause ends", nil, "", ""},
	{Read, "read", "the host reads a BAR; the value is that of the first dword", join(dec("bar"), hex("offset"), dec("bytes"), hex("value")), "error, if it failed", ""},
	{Write, "write", "the host writes a BAR; the value is that of the first dword", join(dec("bar"), hex("offset"), dec("bytes"), hex("value")), "error, if it failed", ""},
	{Memory, "memory", "the GPU writes one or two dwords of host memory", join(hex("address"), dec("bytes"), hex("value")), "", ""},
	{Message, "message", "an interrupt message arrives", dec("vector"), "", ""},
	{Executed, "executed", "a node has executed a packet", join(dec("node"), hex("address", "header"), dec("cycle")), "", ""},
	{Fault, "fault", "a fault; from the hardware with CAUSE of FAULT_INFO and the address of the packet, from the driver with the fence", join(dec("node", "fence", "fault cause"), hex("address"), dec("cycle")), "status that the driver reported", ""},
	{Stop, "stop", "the kernel stops the adapter", dec("node", "fence"), "reason", ""},
	{Broken, "broken", "a rule of the verifier is broken; a warning does not stop the run; it may be about a submission, and about the packet at an offset of its buffer", []Field{{"stops", Flag}, {Name: "submission"}, {"packet", Flag}, {"offset", Hex}}, "rule and what was found", ""},
	{Link, "link", "something happens to the link to the board", nil, "what happened", ""},
	{Text, "text", "a line of the driver, or about the log", nil, "the line", ""},
	{Open, "open", "a board is opened: what follows is about it, and times, calls and submissions begin again; the tdr delay is that of the kernel, in clocks, or 0", join(dec("hz"), []Field{{"observed", Flag}}, dec("tdr delay")), "selector", ""},
	{End, "end", "the command that wrote the log ends", nil, "its error, or nothing", ""},
	{Descriptor, "descriptor", "the DMA engine takes a descriptor of a node, for the packet at an address; the source of a fill is its value", join(dec("node"), hex("packet", "to", "source"), dec("bytes"), []Field{{"fill", Flag}}, dec("cycle")), "", ""},
	{Firmware, "firmware", "the firmware writes a line to its log; level 1 is an error, 2 an event, 3 a message", dec("number", "clocks", "level"), "the line", ""},
	{Refused, "refused", "the GPU reads or writes host memory where no memory is", join(hex("address"), dec("bytes"), write), "", ""},
	{Pending, "pending", "a DMA buffer enters the software queue of its context; the scheduler makes submissions of it", join(dec("job", "node"), hex("context", "bytes")), "kind of the buffer", ""},
	{FrameRepeated, "frame-repeated", "the host sends a frame of the link again, which has a sequence number and was sent a number of times before", dec("frame", "times"), "", ""},
	{FrameRefused, "frame-refused", "the host refuses a frame of the link, of a number of bytes", dec("bytes"), "", ""},
	{NakSent, "nak-sent", "the host sends a Nak, for the frame with a sequence number", dec("frame"), "", ""},
	{NakReceived, "nak-received", "the host receives a Nak", nil, "", ""},
	{Expect, "expect", "the command has given a node work that must fault, as a test; the address is that of the packet", join(dec("node", "fault cause"), hex("address")), "", ""},
	{CallFailed, "call-failed", "the call that is the cause fails, or is dropped if it has no result", nil, "why", ""},
	{RingPacket, "ring-packet", "the doorbell that is the cause gives a node a packet of its ring", join(dec("node"), hex("address")), "", "the packet"},
	{Preempt, "preempt", "the kernel asks a node to stop, for other work; the fence is that of the preemption", dec("node", "fence"), "", ""},
	{Preempted, "preempted", "a node has stopped before the end of a submission, which continues as another one or is cancelled", dec("submission"), "", ""},
	{Continue, "continue", "a submission continues a preempted one, from the place at which that was stopped", dec("submission", "preempted"), "", ""},
	{Cancelled, "cancelled", "a preempted submission does not continue, since its device is lost", dec("submission"), "", ""},
	{Reset, "reset", "the kernel resets a node, because its work hangs or has faulted; the submission is aborted and its device is lost, both are 0 if there is none", join(dec("submission", "node", "fence"), hex("device")), "reason, and the state before the reset", ""},
	{Restart, "restart", "the kernel has reset the adapter, which works again", nil, "", ""},
	{Destroy, "destroy", "an application destroys an allocation; the kernel frees it when no work uses it", hex("allocation"), "", ""},
	{Offer, "offer", "an application offers the memory of an allocation; low priorities are discarded first", join(hex("allocation"), dec("priority")), "", ""},
	{Reclaim, "reclaim", "an application reclaims an allocation", join(hex("allocation"), []Field{{"discarded", Flag}}), "", ""},
	{Inject, "inject", "the command injects a fault, as a test, into the work of a device, or for all if that is 0; the flags say how it may end", join(hex("device"), []Field{{"time-out", Flag}, {"fault", Flag}, {"stop", Flag}}), "the fault", ""},
	{Fetched, "fetched", "the GPU reads the buffer of a submission for the first time, as the host sees it on a board that does not tell its packets", join(dec("submission"), hex("address"), dec("bytes")), "", ""},
}

// Names returns the names of the kinds.
func Names() (all []string) {
	for _, d := range Table {
		all = append(all, d.Name)
	}
	return all
}

// Describe returns the description of a kind.
func (k Kind) Describe() *Description { return &Table[k-1] }

// String returns the name of the kind.
func (k Kind) String() string {
	if k == None || k >= kinds {
		return "unknown"
	}
	return k.Describe().Name
}
