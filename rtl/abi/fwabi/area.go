package fwabi

// Windows of the program, as the host sets them.
const (
	WindowNodes    = 0 // VRAM: rings of nodes, save areas
	WindowMessages = 1 // host memory: the message area
	WindowTest     = 2 // what the self-test may overwrite
)

// Bits of MCU.DOORBELL. Node n has the bit BellYield<<n, and queue q the bit BellQueue<<q.
const (
	BellMessages = 1 << 0
	BellYield    = 1 << 1
	BellQueue    = 1 << 16

	// Queues is the number of queues.
	Queues = 16
)

// AreaMagic is the first dword of the message area: the bytes H, L, M, A.
const AreaMagic = 0x414d4c48

// Offsets in the message area, in bytes, which is what window WindowMessages shows. All words are
// little-endian. Heads and tails count entries from 0, modulo 2^32; a ring is empty when they are
// equal.
const (
	AreaMagicWord     = 0x00
	AreaVersion       = 0x04
	AreaRings         = 0x08
	AreaRequestTail   = 0x20
	AreaAnswerHead    = 0x24
	AreaLogHead       = 0x28
	AreaTelemetryHead = 0x2c
	AreaRequestHead   = 0x40
	AreaAnswerTail    = 0x44
	AreaLogTail       = 0x48
	AreaLogLost       = 0x4c
	AreaTelemetryTail = 0x50
	AreaTelemetryLost = 0x54
	AreaQueueTails    = 0x80
	AreaQueueHeads    = 0xc0
	AreaQueueResumes  = 0x100
	AreaQueuePlaces   = 0x200
	AreaRequests      = 0x1000
	AreaAnswers       = 0x2000
	AreaLog           = 0x3000
	AreaTelemetry     = 0x4000
	AreaFaults        = 0x5000

	AreaBytes = 0x7000
)

// Sizes of the entries of the rings in bytes, and their number. The rings of messages have
// 2^AreaRings entries, at most 2^RingsMost.
const (
	EntryBytes       = 64
	RingsMost        = 6
	LogBytes         = 32
	LogEntries       = 128
	TelemetryBytes   = 64
	TelemetryEntries = 64
	FaultBytes       = 0x1000
	PlaceBytes       = 16
)

// Dwords of a place in QUEUE_PLACES: the rest of the entry in which a queue was stopped, as IB_ADDR, IB_LEFT and PROGRESS
// of the node gave it. If PlaceLeft is 0 the queue was not stopped inside an entry, and the others have no meaning.
const (
	PlaceAddrLo   = 0
	PlaceAddrHi   = 1
	PlaceLeft     = 2
	PlaceProgress = 3
)

// QueuePlace has the dwords of a place.
var QueuePlace = []Field{
	{"ADDR_LO", "GPU address of the rest of the buffer, low half"},
	{"ADDR_HI", "high half"},
	{"LEFT", "its length in dwords; 0: the first dropped entry had not begun, or there is none"},
	{"PROGRESS", "what is complete of its first packet: register PROGRESS of the node"},
}

// A Part is a part of the message area.
type Part struct {
	Off    uint32
	Bytes  uint32
	Name   string
	Writer string // "host" or "firmware"
	Doc    string
}

// Area has the parts of the message area. The rest of it is not used.
var Area = []Part{
	{AreaMagicWord, 4, "MAGIC", "host", "0x414d4c48, the bytes H, L, M, A"},
	{AreaVersion, 4, "VERSION", "host", "version of the image"},
	{AreaRings, 4, "RINGS", "host", "log2 of the entries of the rings REQUESTS and ANSWERS, 0 to 6"},
	{AreaRequestTail, 4, "REQUEST_TAIL", "host", "requests that the host has written"},
	{AreaAnswerHead, 4, "ANSWER_HEAD", "host", "answers and notices that the host has taken"},
	{AreaLogHead, 4, "LOG_HEAD", "host", "log lines that the host has taken"},
	{AreaTelemetryHead, 4, "TELEMETRY_HEAD", "host", "samples that the host has taken"},
	{AreaRequestHead, 4, "REQUEST_HEAD", "firmware", "requests that the firmware has copied"},
	{AreaAnswerTail, 4, "ANSWER_TAIL", "firmware", "answers and notices that the firmware has written"},
	{AreaLogTail, 4, "LOG_TAIL", "firmware", "log lines that the firmware has written"},
	{AreaLogLost, 4, "LOG_LOST", "firmware", "log lines that found the ring full"},
	{AreaTelemetryTail, 4, "TELEMETRY_TAIL", "firmware", "samples that the firmware has written"},
	{AreaTelemetryLost, 4, "TELEMETRY_LOST", "firmware", "samples that found the ring full"},
	{AreaQueueTails, 4 * Queues, "QUEUE_TAILS", "host", "for each queue the entries that the host has written"},
	{AreaQueueHeads, 4 * Queues, "QUEUE_HEADS", "firmware", "for each queue the entries that are complete or were dropped"},
	{AreaQueueResumes, 4 * Queues, "QUEUE_RESUMES", "firmware", "for each queue how often it continued an entry in which it was stopped"},
	{AreaQueuePlaces, PlaceBytes * Queues, "QUEUE_PLACES", "firmware", "for each queue the place in which the last yield of its node stopped it"},
	{AreaRequests, EntryBytes << RingsMost, "REQUESTS", "host", "ring of requests"},
	{AreaAnswers, EntryBytes << RingsMost, "ANSWERS", "firmware", "ring of answers and notices"},
	{AreaLog, LogBytes * LogEntries, "LOG", "firmware", "ring of log lines"},
	{AreaTelemetry, TelemetryBytes * TelemetryEntries, "TELEMETRY", "firmware", "ring of samples of the nodes"},
	{AreaFaults, 2 * FaultBytes, "FAULTS", "firmware", "the last fault record of each node"},
}
