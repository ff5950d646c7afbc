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
var Block = reg.Block{Name: "WDOG", Base: Base, Size: Size, Needs: caps.Watchdog, Doc: "watchdog over the nodes", Regs: []reg.Reg{
	{Off: Limit, Name: "LIMIT", Access: reg.RW, Unit: "clocks", Doc: "a node that is not idle and for so many clocks takes no dword of a buffer, retires no packet and writes no byte of one that moves sets its bit in STATUS and raises its FAULT event, once until it goes on; a write begins anew; 0: never"},
	{Off: Status, Name: "STATUS", Access: reg.W1C, Volatile: true, Doc: "nodes that have not gone on; they are not stopped: a node reset stops them, unless they wait for a read that the host never answers, then ID.RESET does", Fields: []reg.Field{
		{Mask: Hang0, Name: "HANG0", Doc: "node 0 reached LIMIT; one in the clock of its acknowledge stays set"},
		{Mask: Hang1, Name: "HANG1", Doc: "node 1 reached LIMIT"},
	}},
}}
