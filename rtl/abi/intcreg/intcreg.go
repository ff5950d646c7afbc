// Package intcreg declares the registers of the interrupt controller (INTC).
package intcreg

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes, and field masks. A set bit of MASK enables
// the event. Vector 0 reports completions, vector 1 faults.
const (
	Base = 0x0100
	Size = 0x100

	Status        = 0x00
	Mask          = 0x04
	Raise         = 0x08
	CoalesceCount = 0x0c
	CoalesceTime  = 0x10

	Done0  = 1 << 0
	Done1  = 1 << 1
	Fault0 = 1 << 8
	Fault1 = 1 << 9

	// With caps.MCU.
	Firmware = 1 << 2
	Hung     = 1 << 7

	DoneAll  = Done0 | Done1 | Firmware
	FaultAll = Fault0 | Fault1 | Hung
	All      = DoneAll | FaultAll
	NodesAll = All &^ (Firmware | Hung)

	CoalesceCountEvents = 0xff
	CoalesceTimeClocks  = 0xffffff

	VectorDone  = 0
	VectorFault = 1
)

var events = []reg.Field{
	{Mask: Done0, Name: "DONE0", Doc: "node 0 executed a FENCE or SIGNAL with IRQ set, or stopped for a preemption while ARB.OWNER gives it to the host"},
	{Mask: Done1, Name: "DONE1", Doc: "node 1 executed a FENCE or SIGNAL with IRQ set, or stopped for a preemption while ARB.OWNER gives it to the host"},
	{Mask: Firmware, Name: "FIRMWARE", Needs: caps.MCU, Doc: "the program of the microcontroller has written this bit to RAISE"},
	{Mask: Hung, Name: "HUNG", Needs: caps.MCU, Doc: "the microcontroller reached MCU.LIMIT"},
	{Mask: Fault0, Name: "FAULT0", Doc: "node 0 stopped on a fault"},
	{Mask: Fault1, Name: "FAULT1", Doc: "node 1 stopped on a fault"},
}

// Block describes the registers.
var Block = reg.Block{Name: "INTC", Base: Base, Size: Size, Doc: "interrupt status and mask", Regs: []reg.Reg{
	{Off: Status, Name: "STATUS", Access: reg.W1C, Volatile: true, Doc: "events since their last acknowledge; an event in the clock of its acknowledge stays set and sends its own message", Fields: events},
	{Off: Mask, Name: "MASK", Access: reg.RW, Doc: "1 lets the event send a message; an event that occurred while its bit was 0 sends one when the bit is set", Fields: events},
	{Off: Raise, Name: "RAISE", Access: reg.WO, Write: reg.Trigger, Poke: reg.Idle, Doc: "raises the events written as 1, for tests of the interrupt path", Fields: events},
	{Off: CoalesceCount, Name: "COALESCE_COUNT", Access: reg.RW, Needs: caps.Coalescing, Doc: "how many DONE events share a message; without effect while COALESCE_TIME is 0", Fields: []reg.Field{
		{Mask: CoalesceCountEvents, Name: "EVENTS", Unit: "events", Doc: "the message of vector 0 waits for this number of DONE events since the previous message. Events of both nodes and raised events count if MASK enables them. 0: only COALESCE_TIME ends the wait"},
	}},
	{Off: CoalesceTime, Name: "COALESCE_TIME", Access: reg.RW, Needs: caps.Coalescing, Doc: "longest time that a message waits for more events; FAULT events never wait", Fields: []reg.Field{
		{Mask: CoalesceTimeClocks, Name: "CLOCKS", Unit: "clocks", Doc: "from the first DONE event that MASK enables to the start of the message, later only if the vector is held; an acknowledge does not withdraw a waiting event; 0: no message waits"},
	}},
}}
