// Package mcureg declares the registers of the microcontroller: those that the host has in
// BAR0 (MCU), those of its debug unit (MCUDBG), and those that only its program has.
package mcureg

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes, and field masks.
const (
	Base = 0x0600
	Size = 0x100

	Info     = 0x00
	Ctl      = 0x04
	Status   = 0x08
	Limit    = 0x0c
	LoadAddr = 0x10
	LoadData = 0x14
	CRC      = 0x18
	Doorbell = 0x1c
	Blocks   = 0x20
	Mail     = 0x40 // the first of Mails words
	Window   = 0x80 // the first of Windows windows, Stride bytes apart

	InfoMemory      = 0x7f << 0 // KiB
	InfoWindows     = 0xf << 8
	InfoBreakpoints = 0xf << 12
	InfoWatchpoints = 0xf << 16

	CtlRun = 1 << 0

	StatusAsleep = 1 << 0
	StatusHalted = 1 << 1
	StatusHung   = 1 << 2

	LoadAddrBytes = 0xfffc

	Mails   = 8
	Windows = 8
	Stride  = 0x10

	// In each window.
	BaseLo     = 0x0
	BaseHi     = 0x4
	WindowSize = 0x8

	BaseLoBytes  = 0xffff_fffc
	SizeBytes    = 0x1fff_fffc
	SizeWrite    = 1 << 0
	WindowMax    = 1 << 28 // largest size of a window in bytes
	FreeWindow   = 7       // the window whose base the program sets
	BlockBytes   = 0x100   // of BAR0 for each bit of BLOCKS
	BlocksInMask = 32
)

// Addresses of what a program reaches.
const (
	Memory  = 0x0000_0000 // its memory
	Local   = 0x1000_0000 // the registers below
	Bus     = 0x2000_0000 // BAR0, as the host sees it
	Through = 0x8000_0000 // window 0; window i is WindowMax*i bytes above
)

// Offsets from Local, in bytes, of the registers that only the program has. It has the mail
// words too, at Mail.
const (
	TimeLo        = 0x00
	TimeHi        = 0x04
	CompareLo     = 0x08
	CompareHi     = 0x0c
	LocalDoorbell = 0x10
	Kick          = 0x14
	Events        = 0x18
	FreeLo        = 0x20
	FreeHi        = 0x24
)

// Block describes the registers of the host.
var Block = reg.Block{
	Name: "MCU", Base: Base, Size: Size, Needs: caps.MCU,
	Doc: "the microcontroller: its program, its limits, and its messages",
	Regs: append([]reg.Reg{
		{Off: Info, Name: "INFO", Access: reg.RO, Config: true, Doc: "what this microcontroller has", Fields: []reg.Field{
			{Mask: InfoMemory, Name: "MEMORY", Unit: "KiB", Doc: "size of its memory, a power of two, 8 to 64"},
			{Mask: InfoWindows, Name: "WINDOWS", Doc: "number of windows"},
			{Mask: InfoBreakpoints, Name: "BREAKPOINTS", Doc: "number of breakpoints"},
			{Mask: InfoWatchpoints, Name: "WATCHPOINTS", Doc: "number of watchpoints"},
		}},
		{Off: Ctl, Name: "CTL", Access: reg.RW, Poke: reg.Destructive, Doc: "start and stop", Fields: []reg.Field{
			{Mask: CtlRun, Name: "RUN", Write: reg.Trigger, Doc: "1: the program runs from address 0; LOAD_ADDR, LOAD_DATA, BLOCKS and windows 0 to 6 are locked and ignore writes. 0: the processor is in reset, and they are open. Memory, mail words and windows keep their contents. An access of the program that has begun still ends"},
		}},
		{Off: Status, Name: "STATUS", Access: reg.RO, Volatile: true, Doc: "what the processor is doing", Fields: []reg.Field{
			{Mask: StatusAsleep, Name: "ASLEEP", Doc: "it waits in WFI"},
			{Mask: StatusHalted, Name: "HALTED", Doc: "it is halted; MCUDBG.STATUS has the cause"},
			{Mask: StatusHung, Name: "HUNG", Doc: "LIMIT was reached, and the processor halts before its next instruction. CTL.RUN = 0 clears it"},
		}},
		{Off: Limit, Name: "LIMIT", Access: reg.RW, Unit: "clocks", Doc: "longest time in which the program neither writes KICK nor sleeps in WFI. After it, HUNG is set and the event HUNG of INTC is raised. A halted processor does not count, and a write restarts the count; 0: off"},
		{Off: LoadAddr, Name: "LOAD_ADDR", Access: reg.RW, Volatile: true, Unit: "bytes", Poke: reg.Idle, Doc: "address in the memory of the next word of LOAD_DATA; a write also begins a new CRC", Fields: []reg.Field{
			{Mask: LoadAddrBytes, Name: "BYTES", Unit: "bytes", Doc: "a multiple of 4; bits above the memory are ignored"},
		}},
		{Off: LoadData, Name: "LOAD_DATA", Access: reg.WO, Write: reg.Trigger, Poke: reg.Destructive, Doc: "a word for the memory at LOAD_ADDR, which then advances by 4"},
		{Off: CRC, Name: "CRC", Access: reg.RO, Volatile: true, Doc: "CRC-32 of IEEE 802.3 of the words written to LOAD_DATA since the last write of LOAD_ADDR, each from its lowest byte"},
		{Off: Doorbell, Name: "DOORBELL", Access: reg.WO, Write: reg.Doorbell, Doc: "a 1 rings the doorbell of that number. The program sees those that rang as an interrupt, and clears them"},
		{Off: Blocks, Name: "BLOCKS", Access: reg.RW, Poke: reg.Idle, Doc: "bit i: the program may write registers from 0x100*i to 0x100*i + 0xff of BAR0. It may read all, and write none from 0x2000 on. Locked by CTL.RUN"},
	}, append(mails(), windows()...)...),
}

// mails returns the mail words.
func mails() []reg.Reg {
	var rs []reg.Reg
	for i := range uint32(Mails) {
		rs = append(rs, reg.Reg{
			Off: Mail + 4*i, Name: fmt.Sprintf("MAIL%d", i), Access: reg.RW, Volatile: true,
			Doc: "a word that the host and the program write and read; what it means is theirs",
		})
	}
	return rs
}

// windows returns the registers of the windows.
func windows() []reg.Reg {
	var rs []reg.Reg
	for i := range uint32(Windows) {
		at, name := Window+Stride*i, fmt.Sprintf("WINDOW%d_", i)
		if i == FreeWindow {
			rs = append(rs,
				reg.Reg{Off: at + BaseLo, Name: name + "BASE_LO", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "low half of the base of the window that the program moves, for reads of 256 MiB"},
				reg.Reg{Off: at + BaseHi, Name: name + "BASE_HI", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
			)
			continue
		}
		rs = append(rs,
			reg.Reg{Off: at + BaseLo, Name: name + "BASE_LO", Access: reg.RW, Unit: "bytes", Poke: reg.Idle, Doc: "GPU address of the window, low half. Locked by CTL.RUN", Fields: []reg.Field{
				{Mask: BaseLoBytes, Name: "BYTES", Unit: "bytes", Doc: "a multiple of 4"},
			}},
			reg.Reg{Off: at + BaseHi, Name: name + "BASE_HI", Access: reg.RW, Unit: "bytes", Poke: reg.Idle, Doc: "high half; bit 31 selects host memory. Locked by CTL.RUN"},
			reg.Reg{Off: at + WindowSize, Name: name + "SIZE", Access: reg.RW, Poke: reg.Idle, Doc: "size and use of the window. Locked by CTL.RUN", Fields: []reg.Field{
				{Mask: SizeBytes, Name: "BYTES", Unit: "bytes", Doc: "a multiple of 4, up to 256 MiB; 0: closed"},
				{Mask: SizeWrite, Name: "WRITE", Doc: "1: the program may write, 0: only read"},
			}},
		)
	}
	return rs
}
