package fwabi

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// Words of an entry of a queue, in dwords. An entry has QueueEntryBytes bytes.
const (
	QueueBufferLo = iota
	QueueBufferHi
	QueueDwords
	QueueFlags
	QueueProgressLo
	QueueProgressHi
	QueueValueLo
	QueueValueHi

	QueueEntryWords
	QueueEntryBytes = 4 * QueueEntryWords
)

// QueueEntry has the dwords of an entry of a queue.
var QueueEntry = []Field{
	{"BUFFER_LO", "GPU address of the indirect buffer, low half; a multiple of 4"},
	{"BUFFER_HI", "high half"},
	{"DWORDS", "its length, at most 2^20 - 1"},
	{"FLAGS", "0, or RESUME"},
	{"PROGRESS_LO", "GPU address of the progress value, low half; a multiple of 8"},
	{"PROGRESS_HI", "high half"},
	{"VALUE_LO", "value that is written there after the buffer, low half"},
	{"VALUE_HI", "high half"},
}

// EntryResume is the bit RESUME of FLAGS: the buffer continues from a state, which is SaveBytes bytes as SAVE_STATE writes
// them. The state of the entry in slot i of a ring of n entries is n*QueueEntryBytes + i*SaveBytes after the begin of the ring.
const EntryResume = 1 << 0

// EntryFlags describes the bits of FLAGS.
var EntryFlags = []Code{{EntryResume, "RESUME", "the buffer continues from the state of the entry"}}

// Limits of nodes and queues.
const (
	NodeRingLeast   = 9  // log2 of the bytes of the ring of a node
	NodeRingMost    = 20 // the same
	QueueRingMost   = 16 // log2 of the entries of a queue
	QueuePriorities = 4
	QuantumLeast    = 1000 // clocks
	QuantumMost     = 1 << 30
	QuantumForced   = 1 << 31 // in QUANTUM: a turn also ends if no other queue waits
	SaveBytes       = 128     // and the alignment of a save area
	NodeResetClocks = 1 << 20 // after them, and the time-out of reads, a reset of a node counts as stuck
	HaltClocks      = 1 << 20 // after them a request that must stop a node gets BUSY
)

// Limits describes them.
var Limits = []Code{
	{NodeRingLeast, "NODE_RING_LEAST", "log2 of the bytes of the smallest ring of a node"},
	{NodeRingMost, "NODE_RING_MOST", "log2 of the bytes of the largest ring of a node"},
	{QueueRingMost, "QUEUE_RING_MOST", "log2 of the entries of the largest queue"},
	{QueuePriorities, "QUEUE_PRIORITIES", "priorities; the highest is the last one"},
	{QuantumLeast, "QUANTUM_LEAST", "clocks of the shortest quantum"},
	{QuantumMost, "QUANTUM_MOST", "clocks of the longest quantum"},
	{QuantumForced, "QUANTUM_FORCED", "added to QUANTUM: the turn also ends if no other queue waits"},
	{SaveBytes, "SAVE_BYTES", "bytes of a save area, and its alignment"},
	{NodeResetClocks, "NODE_RESET_CLOCKS", "clocks, besides the time-out of reads, after which the firmware gives up a node whose reset has not ended"},
	{HaltClocks, "HALT_CLOCKS", "clocks after which PREEMPT and QUEUE_DESTROY get BUSY if the node has not stopped"},
}

// Packets are those that the firmware writes to the ring of a node: their headers, and bits of their bodies.
var Packets = []Code{
	{pkt.OpIndirect<<24 | pkt.IndirectBody, "PACKET_INDIRECT", "header of INDIRECT"},
	{pkt.OpSignal<<24 | pkt.SignalBody, "PACKET_SIGNAL", "header of SIGNAL"},
	{pkt.OpSaveState<<24 | pkt.SaveStateBody, "PACKET_SAVE_STATE", "header of SAVE_STATE"},
	{pkt.OpRestoreState<<24 | pkt.RestoreStateBody, "PACKET_RESTORE_STATE", "header of RESTORE_STATE"},
	{pkt.MaxIndirect, "INDIRECT_MOST", "most dwords of INDIRECT"},
	{1 << 20, "INDIRECT_RESUME", "bit of its dwords: PROGRESS is kept"},
	{1, "SIGNAL_IRQ", "bit of SIGNAL: it interrupts"},
}

// States of a queue.
const (
	QueueNone = iota
	QueueReady
	QueueHeld
	QueueFault
)

// QueueStates describes them.
var QueueStates = []Code{
	{QueueNone, "NONE", "there is no such queue"},
	{QueueReady, "READY", "its entries are executed in turn"},
	{QueueHeld, "HELD", "PREEMPT or DRAIN holds it until RESUME"},
	{QueueFault, "FAULT", "it has stopped; only QUEUE_DESTROY is possible"},
}

// Why a queue or a node has stopped, besides the values of FAULT_INFO.CAUSE of the node, 1 to 15.
const (
	CauseEntry = 16 + iota
	CauseEntryRead
	CauseWatchdog
	CauseReset
	CauseLost
	CauseStuck
)

// QueueCauses describes them.
var QueueCauses = []Code{
	{CauseEntry, "ENTRY", "an entry has unknown flags, a bad alignment or too many dwords"},
	{CauseEntryRead, "ENTRY_READ", "an entry could not be read"},
	{CauseWatchdog, "WATCHDOG", "the watchdog reported the node"},
	{CauseReset, "RESET", "the host asked for the reset of the node"},
	{CauseLost, "LOST", "the node no longer belongs to the firmware, or something else has reset it"},
	{CauseStuck, "STUCK", "the reset of the node has not ended, so the firmware gave it up"},
}

// NoQueue is the number of a queue in a fault record or notice of a node without a guilty queue.
const NoQueue = 0xff

// Parts of a fault record: the words of FaultRecord, then FaultRing dwords of the ring, then the trace.
const (
	FaultRing  = 32 // the ring from FaultRing/2 dwords before RPTR on
	FaultTrace = 64 // dwords of the block TRACE
)

// FaultRecord has the first dwords of a fault record. The firmware writes COUNT last.
var FaultRecord = []Field{
	{"COUNT", "fault records of this node since the start, this one included"},
	{"NODE", "number of the node"},
	{"QUEUE", "the guilty queue, or 255"},
	{"CAUSE", "its cause"},
	{"TIME_LO", "time, low half"},
	{"TIME_HI", "high half"},
	{"STATUS", "register STATUS of the node"},
	{"RPTR", "register RPTR"},
	{"WPTR", "register WPTR"},
	{"FAULT_INFO", "register FAULT_INFO"},
	{"FAULT_ADDR_LO", "register FAULT_ADDR_LO"},
	{"FAULT_ADDR_HI", "register FAULT_ADDR_HI"},
	{"FAULT_OP", "register FAULT_OP"},
	{"FAULT_BAD_LO", "register FAULT_BAD_LO"},
	{"FAULT_BAD_HI", "register FAULT_BAD_HI"},
	{"PACKETS", "register PACKETS"},
	{"IB_ADDR_LO", "register IB_ADDR_LO"},
	{"IB_ADDR_HI", "register IB_ADDR_HI"},
	{"IB_LEFT", "register IB_LEFT"},
	{"PROGRESS", "register PROGRESS"},
	{"RING_AT", "position in the ring, in dwords, of the first dword below"},
	{"TRACED", "1 if the trace follows the dwords of the ring, 0 if the GPU has none"},
}
