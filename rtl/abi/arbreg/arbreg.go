// Package arbreg declares the registers of the arbiter of the register bus (ARB).
package arbreg

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes, and field masks.
const (
	Base = 0x0400
	Size = 0x100

	Events = 0x00
	Owner  = 0x04

	OwnerNode0 = 1 << 0
	OwnerNode1 = 1 << 1

	Fence0    = 1 << 0
	Preempt0  = 1 << 1
	Fault0    = 1 << 2
	Watchdog0 = 1 << 3
	Fence1    = 1 << 8
	Preempt1  = 1 << 9
	Fault1    = 1 << 10
	Watchdog1 = 1 << 11

	All = 0xf0f
)

// Block describes the registers.
var Block = reg.Block{Name: "ARB", Base: Base, Size: Size, Needs: caps.Master, Doc: "the two masters of the register bus: the host, and a second one inside the device", Regs: []reg.Reg{
	{Off: Events, Name: "EVENTS", Access: reg.W1C, Volatile: true, Doc: "events since this master cleared them; each master has a register of its own. An event in the clock of its clear stays set. They send no messages: those of INTC do not depend on this register", Fields: []reg.Field{
		{Mask: Fence0, Name: "FENCE0", Doc: "node 0 executed a FENCE or SIGNAL with IRQ set"},
		{Mask: Preempt0, Name: "PREEMPT0", Doc: "node 0 stopped for a preemption"},
		{Mask: Fault0, Name: "FAULT0", Doc: "node 0 stopped on a fault"},
		{Mask: Watchdog0, Name: "WATCHDOG0", Doc: "the watchdog reported node 0"},
		{Mask: Fence1, Name: "FENCE1", Doc: "node 1 executed a FENCE or SIGNAL with IRQ set"},
		{Mask: Preempt1, Name: "PREEMPT1", Doc: "node 1 stopped for a preemption"},
		{Mask: Fault1, Name: "FAULT1", Doc: "node 1 stopped on a fault"},
		{Mask: Watchdog1, Name: "WATCHDOG1", Doc: "the watchdog reported node 1"},
	}},
	{Off: Owner, Name: "OWNER", Access: reg.RW, Poke: reg.Idle, Doc: "which master may write the registers of each node: 0 the host, 1 the second master. A write by the other one changes nothing and is captured in ID.ERR_INFO with the cause OWNER. So is a write of this register by the second master. Both may read all registers. ID.RESET and a function-level reset give all nodes to the host", Fields: []reg.Field{
		{Mask: OwnerNode0, Name: "NODE0", Doc: "owner of CP0"},
		{Mask: OwnerNode1, Name: "NODE1", Doc: "owner of CP1; always 0 without node 1"},
	}},
}}
