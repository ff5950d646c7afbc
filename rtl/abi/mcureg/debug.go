package mcureg

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from DebugBase in BAR0, in bytes, and field masks.
const (
	DebugBase = 0x0700
	DebugSize = 0x100

	DebugCtl    = 0x00
	DebugStatus = 0x04
	Exec        = 0x08
	Data        = 0x0c
	PC          = 0x10
	Break       = 0x20 // the first of Breakpoints
	Watch       = 0x30

	CtlHalt   = 1 << 0
	CtlResume = 1 << 1
	CtlStep   = 1 << 2
	CtlCatch  = 1 << 3

	DebugHalted = 1 << 0
	DebugCause  = 0x7 << 4

	PointEnable = 1 << 0
	PointAddr   = 0xffff_fffc

	Breakpoints = 4
	Watchpoints = 1

	// Scratch is the CSR through which an instruction of EXEC reads and writes DATA: dscratch0.
	Scratch = 0x7b2
)

// Values of MCUDBG.STATUS.CAUSE, as core.Cause has them.
const (
	CauseNone = iota
	CauseHalt
	CauseStep
	CausePoint
	CauseBreak
	CauseExec
	CauseFault
)

// Debug describes the registers of the debug unit.
var Debug = reg.Block{
	Name: "MCUDBG", Base: DebugBase, Size: DebugSize, Needs: caps.MCU,
	Doc: "the debug unit of the microcontroller",
	Regs: append([]reg.Reg{
		{Off: DebugCtl, Name: "CTL", Access: reg.RW, Poke: reg.Destructive, Doc: "halt and resume; CTL.RUN = 0 of MCU does not change it", Fields: []reg.Field{
			{Mask: CtlHalt, Name: "HALT", Doc: "1: the processor halts before its next instruction. It can be set before CTL.RUN"},
			{Mask: CtlResume, Name: "RESUME", Write: reg.Trigger, Doc: "1: a halted processor continues. It executes one instruction if HALT is set; a breakpoint at that one does not stop it. Reads as 0"},
			{Mask: CtlStep, Name: "STEP", Doc: "with RESUME: it halts again after one instruction and takes no interrupt before. Reads as 0"},
			{Mask: CtlCatch, Name: "CATCH", Doc: "1: an EBREAK halts the processor and is no exception"},
		}},
		{Off: DebugStatus, Name: "STATUS", Access: reg.RO, Volatile: true, Doc: "why the processor is halted", Fields: []reg.Field{
			{Mask: DebugHalted, Name: "HALTED", Doc: "1: it is halted and takes an instruction from EXEC"},
			{Mask: DebugCause, Name: "CAUSE", Doc: "of the last halt: CTL.HALT or HUNG; one step; a breakpoint or the watchpoint; an EBREAK; an instruction of EXEC that is complete; one that failed with an exception, which is not taken", Enum: []string{"NONE", "HALT", "STEP", "POINT", "BREAK", "EXEC", "FAULT"}},
		}},
		{Off: Exec, Name: "EXEC", Access: reg.WO, Write: reg.Trigger, Poke: reg.Destructive, Doc: "an instruction that a halted processor executes: an instruction of RV32I, whose CSR dscratch0 (0x7b2) is DATA. PC stays, unless it is a jump. Ignored while the processor is not halted"},
		{Off: Data, Name: "DATA", Access: reg.RW, Volatile: true, Doc: "what dscratch0 reads; an instruction that writes dscratch0 writes it"},
		{Off: PC, Name: "PC", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "address of the next instruction of a halted processor"},
	}, points()...),
}

// points returns the registers of the breakpoints and the watchpoint.
func points() []reg.Reg {
	enable := reg.Field{Mask: PointEnable, Name: "ENABLE", Doc: "1: it halts the processor"}
	var rs []reg.Reg
	for i := range uint32(Breakpoints) {
		rs = append(rs, reg.Reg{Off: Break + 4*i, Name: fmt.Sprintf("BREAK%d", i), Access: reg.RW, Doc: "a breakpoint: the processor halts before the instruction there", Fields: []reg.Field{
			enable, {Mask: PointAddr, Name: "ADDR", Unit: "bytes", Doc: "address of the instruction. One outside of the memory halts nothing"},
		}})
	}
	return append(rs, reg.Reg{Off: Watch, Name: "WATCH", Access: reg.RW, Doc: "the watchpoint: the processor halts after an instruction that stored to this word", Fields: []reg.Field{
		enable, {Mask: PointAddr, Name: "ADDR", Unit: "bytes", Doc: "address of the word"},
	}})
}
