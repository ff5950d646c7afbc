// Package gartreg declares the registers of the aperture (GART), the range of GPU addresses
// that it maps, and the entries of its table.
package gartreg

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// The GPU addresses that belong to the aperture: from Start, PAGES pages of PageBytes bytes,
// at most MaxPages. Bit 40 of an address without bit 63 tells that it is one of them.
const (
	StartLog2 = 40
	Start     = uint64(1) << StartLog2
	SizeLog2  = 31 // of the largest aperture, in bytes
	PageLog2  = 12
	PageBytes = 1 << PageLog2
	MaxPages  = 1 << (SizeLog2 - PageLog2)
)

// An entry of the table has EntryBytes bytes, little-endian. All other bits are 0.
const (
	EntryBytes    = 8
	EntryValid    = uint64(1) << 0
	EntryWritable = uint64(1) << 1
	EntryPage     = uint64(1)<<52 - PageBytes // address of the page in host memory

	LineEntries = 8 // entries that one read of the table loads
	Lines       = 4 // such reads that are kept
)

// Offsets from Base in BAR0, in bytes, and field masks.
const (
	Base = 0x0500
	Size = 0x100

	Ctl     = 0x00
	TableLo = 0x04
	TableHi = 0x08
	Pages   = 0x0c
	Flush   = 0x10
	Fault   = 0x14
	FaultLo = 0x18
	FaultHi = 0x1c

	CtlEnable = 1 << 0

	TableLoBytes = 0xffff_ffc0

	PagesCount = 0xf_ffff

	FlushBusy = 1 << 0

	FaultValid = 1 << 0
	FaultNode  = 1 << 1
	FaultWrite = 1 << 2
	FaultLost  = 1 << 3
	FaultKind  = 3 << 4
)

// Values of FAULT.KIND.
const (
	KindNone     = 0 // no fault
	KindInvalid  = 1 // the page has no valid entry
	KindReadOnly = 2 // the entry is valid and not writable
	KindTable    = 3 // the table could not be read
)

// Block describes the registers.
var Block = reg.Block{Name: "GART", Base: Base, Size: Size, Needs: caps.GART, Doc: "aperture: GPU addresses whose pages are looked up in a table", Regs: []reg.Reg{
	{Off: Ctl, Name: "CTL", Access: reg.RW, Poke: reg.Destructive, Doc: "control", Fields: []reg.Field{
		{Mask: CtlEnable, Name: "ENABLE", Doc: "1: the aperture has PAGES pages; 0: it has none, so each access to it is a fault"},
	}},
	{Off: TableLo, Name: "TABLE_LO", Access: reg.RW, Poke: reg.Destructive, Doc: "GPU address of the table, low half; the aperture never translates it. An entry has 8 bytes: bit 0 valid, bit 1 writable, bits 51..12 the page of host memory, all other bits 0. Write it while ENABLE is 0, and flush before ENABLE is 1 again", Fields: []reg.Field{
		{Mask: TableLoBytes, Name: "BYTES", Unit: "64 bytes", Doc: "a multiple of 64 bytes"},
	}},
	{Off: TableHi, Name: "TABLE_HI", Access: reg.RW, Poke: reg.Destructive, Unit: "bytes", Doc: "high half; bit 31 selects host memory"},
	{Off: Pages, Name: "PAGES", Access: reg.RW, Poke: reg.Destructive, Doc: "size of the aperture", Fields: []reg.Field{
		{Mask: PagesCount, Name: "COUNT", Unit: "4096 bytes", Doc: "pages, 0 to 524288; the table has an entry for each, and is read in blocks of 8 entries. A larger number is taken as 524288"},
	}},
	{Off: Flush, Name: "FLUSH", Access: reg.RW, Volatile: true, Doc: "entries are kept when they were read, and may be used until a flush even if the table has changed", Fields: []reg.Field{
		{Mask: FlushBusy, Name: "BUSY", Write: reg.Trigger, Doc: "writing 1 starts a flush: all kept entries are dropped. Reads as 1 until each access that used an entry from before it has completed. A write while it is 1 starts anew, so 0 answers all flushes that were written before the read"},
	}},
	{Off: Fault, Name: "FAULT", Access: reg.RW, Volatile: true, Doc: "the first page that could not be accessed since a write of any value cleared this record. The node has stopped with the cause PAGE, if it was not stopped by an earlier error of the same packet", Fields: []reg.Field{
		{Mask: FaultValid, Name: "VALID", Doc: "there is one"},
		{Mask: FaultNode, Name: "NODE", Doc: "number of the node"},
		{Mask: FaultWrite, Name: "WRITE", Doc: "1: the access was a write"},
		{Mask: FaultLost, Name: "LOST", Doc: "1: another one followed, and is not recorded here"},
		{Mask: FaultKind, Name: "KIND", Doc: "why: INVALID, the page has no valid entry or is outside of PAGES; READ_ONLY, a write, and the entry is valid but not writable; TABLE, the read of the table was answered with an error or not in time, or TABLE is not an address of memory", Enum: []string{"NONE", "INVALID", "READ_ONLY", "TABLE"}},
	}},
	{Off: FaultLo, Name: "FAULT_LO", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "GPU address of the first byte that could not be accessed, low half"},
	{Off: FaultHi, Name: "FAULT_HI", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
}}
