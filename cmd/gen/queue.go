package main

import (
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
)

// queueH generates the header with the queues, their entries, and the fault records.
func queueH() ([]byte, error) {
	h := newHeader("Queues, their entries, and fault records: package fwabi.")
	h.section("Registers of node n are this times n after those of node 0")
	h.define("NODE_STRIDE", address, cpreg.Stride)
	h.define("BELL_QUEUE_SHIFT", "%d", uint32(bits.TrailingZeros32(fwabi.BellQueue)))
	h.define("BELL_YIELD_SHIFT", "%d", uint32(bits.TrailingZeros32(fwabi.BellYield)))
	h.section("Headers of packets")
	for _, c := range fwabi.Packets {
		h.define(c.Name, address, c.Value)
	}
	h.section("Limits")
	for _, c := range fwabi.Limits {
		h.define(c.Name, "%d", c.Value)
	}
	h.section("Words of an entry of a queue")
	for i, f := range fwabi.QueueEntry {
		h.define("ENTRY_"+f.Name, "%d", uint32(i))
	}
	h.define("QUEUE_ENTRY_WORDS", "%d", fwabi.QueueEntryWords)
	for _, c := range fwabi.EntryFlags {
		h.define("ENTRY_FLAGS_"+c.Name, address, c.Value)
	}
	h.section("Words of a place of a queue")
	for i, f := range fwabi.QueuePlace {
		h.define("PLACE_"+f.Name, "%d", uint32(i))
	}
	h.codes("QUEUE", fwabi.QueueStates)
	h.codes("CAUSE", fwabi.QueueCauses)
	h.section("Words of a fault record")
	for i, f := range fwabi.FaultRecord {
		h.define("RECORD_"+f.Name, "%d", uint32(i))
	}
	h.define("RECORD_WORDS", "%d", uint32(len(fwabi.FaultRecord)))
	h.define("RECORD_RING", "%d", fwabi.FaultRing)
	h.define("RECORD_TRACE", "%d", fwabi.FaultTrace)
	h.define("NO_QUEUE", "%d", fwabi.NoQueue)
	if fwabi.FaultTrace != tracereg.Entries*tracereg.Entry/4 || tracereg.Stride != cpreg.Stride {
		return nil, fmt.Errorf("%w: the trace has another size", errHeader)
	}
	return h.bytes()
}
