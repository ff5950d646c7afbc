package main

import (
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// messageH generates the header with the message area and the messages.
func messageH() ([]byte, error) {
	h := newHeader("The message area and the messages: package fwabi.")
	h.section("Windows, as the program sees them")
	for _, w := range []struct {
		name   string
		number uint32
	}{{"WINDOW_NODES", fwabi.WindowNodes}, {"WINDOW_MESSAGES", fwabi.WindowMessages}, {"WINDOW_TEST", fwabi.WindowTest}} {
		h.define(w.name, address, window(w.number))
	}
	h.section("Doorbells")
	h.define("BELL_MESSAGES", address, fwabi.BellMessages)
	h.define("BELL_YIELD", address, fwabi.BellYield)
	h.define("BELL_QUEUE", address, fwabi.BellQueue)
	h.define("QUEUES", "%d", fwabi.Queues)
	h.section("The message area, as the program sees it. A tail or head that the host writes is read anew for each use")
	for _, p := range fwabi.Area {
		h.define("AREA_"+p.Name, address, window(fwabi.WindowMessages)+p.Off)
	}
	h.define("AREA_BYTES", address, fwabi.AreaBytes)
	h.define("AREA_MAGIC_VALUE", address, fwabi.AreaMagic)
	h.section("Entries")
	h.define("ENTRY_BYTES", "%d", fwabi.EntryBytes)
	h.define("PAYLOAD_BYTES", "%d", fwabi.PayloadBytes)
	h.define("RINGS_MOST", "%d", fwabi.RingsMost)
	h.define("LOG_BYTES", "%d", fwabi.LogBytes)
	h.define("LOG_ENTRIES", "%d", fwabi.LogEntries)
	h.define("TELEMETRY_BYTES", "%d", fwabi.TelemetryBytes)
	h.define("TELEMETRY_ENTRIES", "%d", fwabi.TelemetryEntries)
	h.define("TELEMETRY_LEAST", "%d", fwabi.PeriodLeast)
	h.define("FAULT_BYTES", "%d", fwabi.FaultBytes)
	h.define("PLACE_BYTES", "%d", fwabi.PlaceBytes)
	for _, f := range []struct {
		name string
		mask uint32
	}{
		{"HEAD_OP", fwabi.HeadOp}, {"HEAD_LENGTH", fwabi.HeadLength}, {"HEAD_STATUS", fwabi.HeadStatus}, {"HEAD_RESERVED", fwabi.HeadReserved},
		{"LINE_ID", fwabi.LineID}, {"LINE_LEVEL", fwabi.LineLevel},
		{"LIMIT_QUEUES", fwabi.LimitQueues}, {"LIMIT_RINGS", fwabi.LimitRings}, {"LIMIT_PAYLOAD", fwabi.LimitPayload},
	} {
		h.define(f.name, address, f.mask)
		h.define(f.name+"_SHIFT", "%d", uint32(bits.TrailingZeros32(f.mask)))
	}
	h.codes("STATUS", fwabi.Statuses)
	h.ops()
	return h.bytes()
}

// window returns the address of a window, as the program sees it.
func window(number uint32) uint32 { return uint32(mcureg.Through) + number*mcureg.WindowMax }

// codes defines values with their meanings.
func (h *cHeader) codes(group string, codes []fwabi.Code) {
	h.section("Values of " + group)
	for _, c := range codes {
		fmt.Fprintf(h, "/* %s */\n", c.Doc)
		h.define(group+"_"+c.Name, "%#x", c.Value)
	}
}

// ops defines the ops, the indices of the dwords of their payloads, and a function with the
// lengths of requests.
func (h *cHeader) ops() {
	for _, o := range fwabi.Ops {
		h.section(o.Name + ": " + o.Doc)
		h.define("OP_"+o.Name, "%d", o.Value)
		for i, f := range o.Request {
			h.define(o.Name+"_IN_"+f.Name, "%d", uint32(i))
		}
		for i, f := range o.Answer {
			h.define(o.Name+"_OUT_"+f.Name, "%d", uint32(i))
		}
		if len(o.Answer) != 0 {
			h.define(o.Name+"_OUT_BYTES", "%d", 4*uint32(len(o.Answer)))
		}
	}
	h.WriteString("\n#ifndef __ASSEMBLER__\n#include <stdbool.h>\n#include <stdint.h>\n\n" +
		"/* request_lengths sets the bytes of the shortest and of the longest payload of a request, and reports\n   whether the op is one. */\n" +
		"static inline bool request_lengths(uint32_t op, uint32_t *least, uint32_t *most)\n{\n\tswitch (op) {\n")
	for _, o := range fwabi.Ops {
		if !o.Notice() {
			fmt.Fprintf(h, "\tcase OP_%s:\n\t\t*least = %d, *most = %d;\n\t\treturn true;\n", o.Name, o.Least, o.Most())
		}
	}
	h.WriteString("\tdefault:\n\t\treturn false;\n\t}\n}\n#endif\n")
}
