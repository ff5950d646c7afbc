// Package caps declares the capabilities of a device: the parts that a
// configuration has or leaves out. Table has what is to be known of each. The
// fields of ID.CAPS and ID.CAPS2, the options of a board selector, the
// configurations and the documents are made from it.
package caps

import "strings"

// A Set is a set of capabilities. Bits 31..0 are those of ID.CAPS, bits 63..32
// those of ID.CAPS2.
type Set uint64

// The capabilities. A bit keeps its meaning; the next ones are in ID.CAPS2, from
// bit 32 on.
const (
	Protection Set = 1 << 4
	Coalescing Set = 1 << 5
	Counters   Set = 1 << 6
	Watchdog   Set = 1 << 7
	Timeline   Set = 1 << 24
	Contexts   Set = 1 << 25
	Preemption Set = 1 << 26
	Aperture   Set = 1 << 29
)

// Node1 is in the Set of a device with a node 1. It is a bit of the number
// ID.CAPS.NODES, which is 1 or 2, and so not in Table.
const Node1 Set = 1 << 1

// A Cap is a capability. The registers, packets and fields that a device has with
// it alone name it in Needs, in their own tables.
type Cap struct {
	Bit     Set
	Name    string // of the field in ID.CAPS or ID.CAPS2
	Doc     string // what a device with it has, in the plural or with an article
	There   string // the blocks, registers, packets and BARs that come with it
	Default bool   // in the configuration "default"
	Small   bool   // in the configuration "small"
}

// Table has all capabilities, by bit.
var Table = []Cap{
	{Bit: Protection, Name: "PROTECTION", Doc: "memory windows of the packets in indirect buffers", There: "CTL.PROTECT and SET_WINDOW", Default: true},
	{Bit: Coalescing, Name: "COALESCING", Doc: "interrupts that wait for more events", There: "INTC.COALESCE_COUNT and INTC.COALESCE_TIME", Default: true},
	{Bit: Counters, Name: "COUNTERS", Doc: "performance counters", There: "the block PERF", Default: true},
	{Bit: Watchdog, Name: "WATCHDOG", Doc: "an event of a node that does not go on", There: "the block WDOG", Default: true},
	{Bit: Timeline, Name: "TIMELINE", Doc: "fences of 64 bits", There: "TIMELINE_HI and WAIT_FENCE", Default: true},
	{Bit: Contexts, Name: "CONTEXTS", Doc: "states that are saved and restored", There: "SAVE_STATE and RESTORE_STATE", Default: true},
	{Bit: Preemption, Name: "PREEMPTION", Doc: "nodes that stop inside long packets", There: "PREEMPT, PREEMPTED, PROGRESS and Resume of INDIRECT", Default: true},
	{Bit: Aperture, Name: "APERTURE", Doc: "an aperture, through which the host reaches VRAM", There: "BAR 2", Default: true, Small: true},
}

// Option returns the name of the selector option that turns the capability on or off.
func (c Cap) Option() string { return strings.ToLower(c.Name) }

// Of returns the capabilities that a device with these values of ID.CAPS and
// ID.CAPS2 has. Bits of numbers and reserved bits are left out.
func Of(caps, caps2 uint32) Set { return (Set(caps) | Set(caps2)<<32) & (All() | Node1) }

// All returns the set of all capabilities.
func All() Set { return where(func(Cap) bool { return true }) }

// Default returns the capabilities of the configuration "default".
func Default() Set { return where(func(c Cap) bool { return c.Default }) }

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

// String returns the names of the capabilities in lower case with commas between
// them, by bit, or "none". Node1 is left out.
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
