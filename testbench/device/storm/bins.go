package storm

import (
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// A Bin is a case that a storm must cover: a packet, the class of an operand, the
// outcome, and the place of the packet.
type Bin struct {
	Packet  string `json:"packet"`
	Operand string `json:"operand"` // field and class; for a fault, the refused operand
	Outcome string `json:"outcome"` // retired, skipped or a fault cause
	State   string `json:"state"`   // ring, indirect or guarded
}

// Outcomes other than faults, and the packet name of unknown opcodes.
const (
	retired = "retired"
	skipped = "skipped"
	unknown = "unknown"
)

// A device is the configuration that determines a board's bins.
type device struct{ refmodel.Config }

// legal reports whether a class of a field can be legal. Without a second node there is
// no Node 1 to wait for, and Resume needs a preempted packet.
func (d device) legal(l pkt.Layout, operand string) bool {
	if l.Op == pkt.OpIndirect && operand == "Resume 1" {
		return d.Caps.Has(caps.Preemption)
	}
	return l.Op != pkt.OpWaitFence || operand != "Node 1" || d.Nodes > 1
}

// places returns the places that packets can have.
func (d device) places() []refmodel.Place {
	if d.Caps.Has(caps.Protection) {
		return []refmodel.Place{refmodel.InRing, refmodel.InIndirect, refmodel.Guarded}
	}
	return []refmodel.Place{refmodel.InRing, refmodel.InIndirect}
}

// bins returns all bins, by packet, for the complete table of packets. A packet added
// to the table gets bins that stay uncovered until the storm can generate it.
func bins(d device) []Bin {
	var all []Bin
	for _, l := range pkt.Table {
		if !d.Has(l.Op) {
			continue
		}
		for _, at := range d.places() {
			add := func(operand, outcome string) {
				all = append(all, Bin{l.Name, operand, outcome, at.String()})
			}
			add("any", skipped)
			if l.Privileged && at != refmodel.InRing {
				add("place", cause(cpreg.CausePrivilege))
				continue
			}
			for _, f := range l.Fields {
				for _, c := range classes(f) {
					if operand := f.Name + " " + c; d.legal(l, operand) {
						add(operand, retired)
					}
				}
			}
			d.faults(l, at, add)
			d.special(l, at, add)
			d.rare(l, at, add)
		}
	}
	for _, at := range d.places() {
		all = append(all, Bin{unknown, "opcode", cause(cpreg.CauseOpcode), at.String()})
	}
	return append(all, d.hostBins()...)
}

func cause(c uint32) string { return cpreg.Causes[c] }

// Classes of addresses: the memory that an address is in.
const (
	vramClass = refmodel.ClassVRAM
	hostClass = refmodel.ClassHost
)

// classes returns the classes of a field's legal values.
func classes(f pkt.Field) []string {
	max := f.Mask >> bits.TrailingZeros64(f.Mask)
	switch {
	case f.Kind.Address() && f.Align == 4:
		return []string{vramClass + "+0", vramClass + "+4", hostClass + "+0", hostClass + "+4"}
	case f.Kind.Address() && f.Align > 1:
		return []string{vramClass, hostClass}
	case f.Kind.Address():
		var all []string
		for lane := range 8 {
			all = append(all, fmt.Sprintf("%s+%d", vramClass, lane), fmt.Sprintf("%s+%d", hostClass, lane))
		}
		return all
	case f.Kind == pkt.RegOffset || f.Kind == pkt.Pattern:
		return []string{"any"}
	case f.Enum != nil:
		return f.Enum
	case max <= 3:
		var all []string
		for v := range max + 1 {
			all = append(all, fmt.Sprint(v))
		}
		return all
	case f.Max != 0:
		return []string{"0", "some", "max"}
	case f.Name == "Bytes":
		return []string{"0", "1", "more", pages}
	}
	return []string{"0", "1", "more"}
}

// class returns the class of a legal value.
func class(f pkt.Field, v uint64) string {
	all := classes(f)
	switch {
	case f.Kind.Address():
		c := vramClass
		if v&pkt.Host != 0 {
			c = hostClass
		}
		if f.Align <= 1 || f.Align == 4 {
			c = fmt.Sprintf("%s+%d", c, v%8)
		}
		return c
	case len(all) == 1:
		return all[0]
	case f.Name == "Bytes" && v >= pageBytes:
		return pages
	case f.Name == "Bytes":
		return all[min(v, 2)]
	case f.Enum != nil || all[len(all)-1] != "more" && f.Max == 0:
		return all[v]
	case f.Max != 0 && v == f.Max:
		return "max"
	case f.Max != 0 && v != 0:
		return "some"
	}
	return all[min(v, 2)]
}

// faults adds the refusals that follow from the layout of a packet.
func (d device) faults(l pkt.Layout, at refmodel.Place, add func(operand, outcome string)) {
	add("header", cause(cpreg.CauseReserved))
	if at != refmodel.InRing {
		add("cut", cause(cpreg.CauseLength))
	}
	if l.Variable {
		return
	}
	add("body short", cause(cpreg.CauseLength))
	add("body long", cause(cpreg.CauseLength))
	for i := 1; i <= int(l.Body); i++ {
		if l.Reserved(i) != 0 {
			add(fmt.Sprintf("dword %d", i), cause(cpreg.CauseReserved))
		}
	}
	for _, f := range l.Fields {
		d.refusals(f, at, add)
	}
}

// refusals adds the refusals of a field's value.
func (d device) refusals(f pkt.Field, at refmodel.Place, add func(operand, outcome string)) {
	if f.Align > 1 {
		add(f.Name, cause(cpreg.CauseAlign))
	}
	if f.Max != 0 {
		add(f.Name, cause(cpreg.CauseState))
	}
	switch {
	case f.Kind == pkt.RegOffset:
		add(f.Name, cause(cpreg.CauseRegister))
	case f.Kind.Address() && f.Kind != pkt.AddrSurface:
		add(f.Name+" "+vramClass, cause(cpreg.CauseAddress))
		add(f.Name+" "+hostClass, cause(cpreg.CauseAddress))
	}
	if f.Kind == pkt.AddrRead {
		add(f.Name, cause(cpreg.CauseReadError))
	}
	if f.Kind == pkt.AddrWrite {
		add(f.Name, cause(cpreg.CauseWriteError))
	}
	if at == refmodel.Guarded && (f.Kind == pkt.AddrRead || f.Kind == pkt.AddrWrite) {
		add(f.Name, cause(cpreg.CauseWindow))
	}
	if at == refmodel.Guarded && f.Kind == pkt.AddrWrite {
		add(f.Name+" "+readOnly, cause(cpreg.CauseWindow))
	}
}

// Operands that are not fields.
const (
	readOnly       = refmodel.ReadOnly
	waitsForItself = "waits for itself"
	waitsForOther  = "waits for the other"
)

// special adds the refusals that do not follow from a layout.
func (d device) special(l pkt.Layout, at refmodel.Place, add func(operand, outcome string)) {
	switch l.Op {
	case pkt.OpCopy, pkt.OpFill:
		if d.LengthBits < 32 {
			add("Bytes", cause(cpreg.CauseLength))
		}
		if l.Op == pkt.OpCopy {
			for _, way := range []string{"VRAM to VRAM", "VRAM to host", "host to VRAM", "host to host"} {
				add(way, retired)
			}
		}
	case pkt.OpCopy2D:
		add("no source", cause(cpreg.CauseState))
		add("formats", cause(cpreg.CauseState))
		d.surface("source", at, false, add)
		add("source", cause(cpreg.CauseReadError))
		add("no destination", cause(cpreg.CauseState))
		d.surface("destination", at, true, add)
	case pkt.OpFill2D:
		add("no destination", cause(cpreg.CauseState))
		add("format", cause(cpreg.CauseState))
		d.surface("destination", at, true, add)
	case pkt.OpPredicate:
		add("skips", retired)
		add(continues, retired)
		if at != refmodel.InRing {
			add("Dwords", cause(cpreg.CauseLength))
		}
	case pkt.OpRestoreState:
		add("word", cause(cpreg.CauseState))
	case pkt.OpFence:
		add("ID", cause(cpreg.CauseFence))
	case pkt.OpWaitFence:
		if d.Nodes > 1 {
			add(waitsForItself, retired)
			add(waitsForOther, retired)
			add(continues, retired)
		} else {
			add("Node", cause(cpreg.CauseState))
		}
	}
}

// surface adds the refusals of a 2D packet because of a surface.
func (d device) surface(name string, at refmodel.Place, written bool, add func(operand, outcome string)) {
	add(name+" "+vramClass, cause(cpreg.CauseAddress))
	add(name+" "+hostClass, cause(cpreg.CauseAddress))
	if written {
		add(name, cause(cpreg.CauseWriteError))
	}
	if at == refmodel.Guarded {
		add(name, cause(cpreg.CauseWindow))
		if written {
			add(name+" "+readOnly, cause(cpreg.CauseWindow))
		}
	}
}
