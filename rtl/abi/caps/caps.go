// Package caps declares the capabilities of a device: the optional parts of a
// configuration. Table describes each. The fields of ID.CAPS and ID.CAPS2, the
// options of a board selector, the configurations and the documents are made from
// it.
package caps

import "strings"

// A Set is a set of capabilities. Bits 31..0 are those of ID.CAPS, bits 63..32
// those of ID.CAPS2.
type Set uint64

// The capabilities. The meaning of a bit never changes. New capabilities start at
// bit 32, in ID.CAPS2.
const (
	Protection Set = 1 << 4
	Coalescing Set = 1 << 5
	Counters   Set = 1 << 6
	Watchdog   Set = 1 << 7
	Timeline   Set = 1 << 24
	Contexts   Set = 1 << 25
	Preemption Set = 1 << 26
	Aperture   Set = 1 << 29

	ReadTimeout Set = 1 << 32
	Signal      Set = 1 << 33
	Trace       Set = 1 << 34
	Master      Set = 1 << 35
	MCU         Set = 1 << 36
	GART        Set = 1 << 37
)

// Node1 is in the Set of a device with a node 1. It is a bit of the number
// ID.CAPS.NODES, which is 1 or 2, so it is not in Table.
const Node1 Set = 1 << 1

// A Cap is a capability. Registers, packets and fields that exist only with it
// name it in Needs, in their own tables.
type Cap struct {
	Bit     Set
	Name    string // of the field in ID.CAPS or ID.CAPS2
	Doc     string // the feature, in the plural or with an article
	There   string // its blocks, registers, packets and BARs
	Default bool   // in the configuration "default"
	Small   bool   // in the configuration "small"
	With    Set    // capabilities without which it cannot be built
}

// Table has all capabilities, by bit.
var Table = []Cap{
	{Bit: Protection, Name: "PROTECTION", Doc: "memory windows of the packets in indirect buffers", There: "CTL.PROTECT and SET_WINDOW", Default: true},
	{Bit: Coalescing, Name: "COALESCING", Doc: "interrupts that wait for more events", There: "INTC.COALESCE_COUNT and INTC.COALESCE_TIME", Default: true},
	{Bit: Counters, Name: "COUNTERS", Doc: "performance counters", There: "the block PERF", Default: true},
	{Bit: Watchdog, Name: "WATCHDOG", Doc: "an event for a node that makes no progress", There: "the block WDOG", Default: true},
	{Bit: Timeline, Name: "TIMELINE", Doc: "fences of 64 bits", There: "TIMELINE_HI and WAIT_FENCE", Default: true},
	{Bit: Contexts, Name: "CONTEXTS", Doc: "context states that are saved and restored", There: "SAVE_STATE and RESTORE_STATE", Default: true},
	{Bit: Preemption, Name: "PREEMPTION", Doc: "nodes that stop inside long packets", There: "PREEMPT, PREEMPTED, PROGRESS and Resume of INDIRECT", Default: true},
	{Bit: Aperture, Name: "APERTURE", Doc: "an aperture through which the host accesses VRAM", There: "BAR 2", Default: true, Small: true},
	{Bit: ReadTimeout, Name: "READTIMEOUT", Doc: "reads of host memory that end without an answer", There: "ID.READ_TIMEOUT", Default: true},
	{Bit: Signal, Name: "SIGNAL", Doc: "64-bit values that a packet writes, with an event", There: "SIGNAL", Default: true},
	{Bit: Trace, Name: "TRACE", Doc: "a record of the last packets of each node", There: "the block TRACE0 and the block TRACE1", Default: true},
	{Bit: Master, Name: "MASTER", Doc: "a second master on the register bus", There: "the block ARB"},
	{Bit: MCU, Name: "MCU", Doc: "a microcontroller, which is the second master", There: "the block MCU and the block MCUDBG", With: Master},
	{Bit: GART, Name: "GART", Doc: "GPU addresses whose pages are looked up in a table", There: "the block GART and the cause PAGE"},
}

// Option returns the name of the selector option for the capability.
func (c Cap) Option() string { return strings.ToLower(c.Name) }

// Of returns the capabilities of a device with these values of ID.CAPS and
// ID.CAPS2. Bits of numbers and reserved bits are left out.
func Of(caps, caps2 uint32) Set { return (Set(caps) | Set(caps2)<<32) & (All() | Node1) }

// All returns the set of all capabilities.
func All() Set { return where(func(Cap) bool { return true }) }

// Default returns the capabilities of the configuration "default".
func Default() Set { return where(func(c Cap) bool { return c.Default }) }

// Full returns the capabilities of the configuration "full".
func Full() Set { return Default() | Master | MCU | GART }

// Missing returns the capabilities that those of s cannot be built without, and that are not
// in s.
func (s Set) Missing() Set {
	var with Set
	for _, c := range Table {
		if s.Has(c.Bit) {
			with |= c.With
		}
	}
	return with &^ s
}

// Small returns the capabilities of the configuration "small".
func Small() Set { return where(func(c Cap) bool { return c.Small }) }

func where(in func(Cap) bool) Set {
	var s Set
	for _, c := range Table {
		if in(c) {
			s |= c.Bit
		}
	}
	return s
}

// Has reports whether all of c are in s.
func (s Set) Has(c Set) bool { return s&c == c }

// Word returns the bits of ID.CAPS, for i = 0, or of ID.CAPS2, for i = 1.
func (s Set) Word(i int) uint32 { return uint32(s >> (32 * i)) }

// String returns the names of the capabilities in lower case, separated by
// commas, by bit, or "none". Node1 is left out.
func (s Set) String() string {
	var names []string
	for _, c := range Table {
		if s.Has(c.Bit) {
			names = append(names, c.Option())
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ",")
}
