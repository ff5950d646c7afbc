// Package perfreg declares the registers of the performance counters (PERF).
package perfreg

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes, and field masks. A counter is a pair of
// registers, low half first. Those of node n are at Node + n*Stride.
const (
	Base = 0x0200
	Size = 0x100

	Ctl    = 0x00
	Cycles = 0x08
	Node   = 0x20
	Stride = 0x40

	Busy       = 0x00
	StallRead  = 0x08
	StallWrite = 0x10
	StallRing  = 0x18
	Bytes      = 0x20
	Packets    = 0x28

	CtlRun      = 1 << 0
	CtlClear    = 1 << 1
	CtlSnapshot = 1 << 2
)

// counter returns both registers of a counter.
func counter(off uint32, name, suffix string, needs caps.Set, unit, doc string) []reg.Reg {
	half := func(off uint32, end, doc string) reg.Reg {
		return reg.Reg{Off: off, Name: name + end + suffix, Access: reg.RO, Needs: needs, Unit: unit, Doc: doc}
	}
	return []reg.Reg{half(off, "_LO", doc+", at the last SNAPSHOT, low half"), half(off+4, "_HI", "high half")}
}

// node returns the counters of a node.
func node(n uint32) []reg.Reg {
	suffix, needs, at := [2]string{"0", "1"}[n], [2]caps.Set{0, caps.Node1}[n], Node+n*Stride
	var rs []reg.Reg
	for _, c := range []struct {
		off             uint32
		name, unit, doc string
	}{
		{Busy, "BUSY", "clocks", "clocks in which node " + suffix + " was not idle"},
		{StallRead, "STALL_READ", "clocks", "clocks in which it could not write because data of a COPY or COPY_2D had not arrived, or in which it waited for the value of a PREDICATE or the words of a RESTORE_STATE"},
		{StallWrite, "STALL_WRITE", "clocks", "clocks in which it offered a write, of the DMA engine or of its fence unit, and no part of the write was taken"},
		{StallRing, "STALL_RING", "clocks", "clocks in which it waited for a dword of the ring or of an indirect buffer"},
		{Bytes, "BYTES", "bytes", "bytes that COPY, COPY_2D, FILL, FILL_2D and SAVE_STATE have written, without refused writes"},
		{Packets, "PACKETS", "packets", "packets retired"},
	} {
		rs = append(rs, counter(at+c.off, c.name, suffix, needs, c.unit, c.doc)...)
	}
	return rs
}

// Block describes the registers.
var Block = reg.Block{Name: "PERF", Base: Base, Size: Size, Needs: caps.Counters, Doc: "performance counters", Regs: registers()}

func registers() []reg.Reg {
	rs := []reg.Reg{{Off: Ctl, Name: "CTL", Access: reg.RW, Poke: reg.Safe, Doc: "all counters of all nodes at once, in the clock of the write: first SNAPSHOT, then CLEAR, then RUN", Fields: []reg.Field{
		{Mask: CtlRun, Name: "RUN", Doc: "1: count, from this clock on; 0: freeze"},
		{Mask: CtlClear, Name: "CLEAR", Write: reg.Trigger, Doc: "1 sets the counters to 0; reads as 0"},
		{Mask: CtlSnapshot, Name: "SNAPSHOT", Write: reg.Trigger, Doc: "1 copies the counters to the registers below, which keep them until the next SNAPSHOT, so that both halves are of the same clock; reads as 0"},
	}}}
	rs = append(rs, counter(Cycles, "CYCLES", "", 0, "clocks", "clocks in which RUN was 1")...)
	return append(append(rs, node(0)...), node(1)...)
}
