// Package wdogreg declares the registers of the watchdog (WDOG).
package wdogreg

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes, and field masks.
const (
	Base = 0x0300
	Size = 0x100

	Limit  = 0x00
	Status = 0x04

	Hang0 = 1 << 0
	Hang1 = 1 << 1
)

// Block describes the registers.
var Block = reg.Block{Name: "WDOG", Base: Base, Size: Size, Needs: caps.Watchdog, Doc: "watchdog of the nodes", Regs: []reg.Reg{
	{Off: Limit, Name: "LIMIT", Access: reg.RW, Unit: "clocks", Doc: "longest time without progress. A node that is not idle and for this number of clocks takes no dword of a buffer, retires no packet and writes no byte with the DMA engine sets its bit in STATUS and raises its FAULT event, once until it makes progress. A write restarts the count; 0: off"},
	{Off: Status, Name: "STATUS", Access: reg.W1C, Volatile: true, Doc: "nodes that made no progress. The watchdog does not stop them: a node reset does, or ID.RESET if they wait for a read that the host never answers and READ_TIMEOUT is 0", Fields: []reg.Field{
		{Mask: Hang0, Name: "HANG0", Doc: "node 0 reached LIMIT; a hang in the clock of its acknowledge stays set"},
		{Mask: Hang1, Name: "HANG1", Doc: "node 1 reached LIMIT"},
	}},
}}
