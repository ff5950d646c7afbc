// Package idreg declares the identity and control registers of the device (ID).
package idreg

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes, and field masks.
const (
	Base = 0x0000
	Size = 0x100

	Magic     = 0x00
	Version   = 0x04
	Caps      = 0x08
	MapHash   = 0x0c
	VRAMSize  = 0x10
	ClockHz   = 0x14
	TimeLo    = 0x18
	TimeHi    = 0x1c
	Scratch0  = 0x20
	Scratch1  = 0x24
	Scratch2  = 0x28
	Scratch3  = 0x2c
	ErrCount  = 0x30
	ErrAddrLo = 0x34
	ErrAddrHi = 0x38
	ErrInfo   = 0x3c
	HostBits  = 0x40
	Reset     = 0x44
	Caps2     = 0x48

	ReadTimeout = 0x4c
	Build       = 0x50

	MagicValue   = 0x47504c48 // bytes 48 4c 50 47, "HLPG"
	VersionValue = 0x00010000

	// The numbers in CAPS. Its other bits are declared in package caps.
	CapsNodes     = 0xf << 0
	CapsTags      = 0xff << 8
	CapsLength    = 0x3f << 16
	CapsVRAMPorts = 3 << 27
	CapsTwoPorts  = 2 << 27 // of CapsVRAMPorts

	ResetWhole = 1 << 0

	ReadTimeoutRange = 0x7 << 0

	ErrInfoCause  = 0x7 << 0
	ErrInfoWrite  = 1 << 4
	ErrInfoSecond = 1 << 5
	ErrInfoBAR    = 0x7 << 8
)

// Values of ERR_INFO.CAUSE.
const (
	ErrNone     = 0
	ErrUnmapped = 1
	ErrPartial  = 2
	ErrDecode   = 3
	ErrOwner    = 4
)

// Block describes the registers.
var Block = reg.Block{Name: "ID", Base: Base, Size: Size, Doc: "identity, capabilities and errors of register accesses", Regs: []reg.Reg{
	{Off: Magic, Name: "MAGIC", Access: reg.RO, Reset: MagicValue, Doc: "the bytes H, L, P, G in address order; any other value means another device or a byte-order error"},
	{Off: Version, Name: "VERSION", Access: reg.RO, Reset: VersionValue, Doc: "major 31..16, minor 15..0"},
	{Off: Caps, Name: "CAPS", Access: reg.RO, Config: true, Doc: "features of this configuration", Fields: capsFields(0,
		reg.Field{Mask: CapsNodes, Name: "NODES", Doc: "number of nodes, 1 or 2"},
		reg.Field{Mask: CapsTags, Name: "TAGS", Doc: "reads that the DMA engine keeps in flight"},
		reg.Field{Mask: CapsLength, Name: "LENGTH", Unit: "bits", Doc: "width of the byte length of a linear COPY or FILL"},
		reg.Field{Mask: CapsVRAMPorts, Name: "VRAM_PORTS", Doc: "ports of VRAM; 2: it can be read and written in the same clock; 1: one or the other"},
	)},
	{Off: MapHash, Name: "MAP_HASH", Access: reg.RO, Config: true, Doc: "first four bytes, big-endian, of the SHA-256 of the canonical register and packet map"},
	{Off: VRAMSize, Name: "VRAM_SIZE", Access: reg.RO, Config: true, Unit: "bytes", Doc: "size of VRAM, a power of two"},
	{Off: ClockHz, Name: "CLOCK_HZ", Access: reg.RO, Config: true, Unit: "Hz", Doc: "frequency of the clock that TIME counts"},
	{Off: TimeLo, Name: "TIME_LO", Access: reg.RO, Volatile: true, Read: reg.Latch, Unit: "clocks", Doc: "clocks since reset, low half; a read of it latches the high half into TIME_HI"},
	{Off: TimeHi, Name: "TIME_HI", Access: reg.RO, Volatile: true, Unit: "clocks", Doc: "high half at the last read of TIME_LO"},
	{Off: Scratch0, Name: "SCRATCH0", Access: reg.RW, Doc: "any value; WRITE_REG may write it"},
	{Off: Scratch1, Name: "SCRATCH1", Access: reg.RW, Doc: "any value; WRITE_REG may write it"},
	{Off: Scratch2, Name: "SCRATCH2", Access: reg.RW, Doc: "any value; WRITE_REG may write it"},
	{Off: Scratch3, Name: "SCRATCH3", Access: reg.RW, Doc: "any value; WRITE_REG may write it"},
	{Off: ErrCount, Name: "ERR_COUNT", Access: reg.RW, Volatile: true, Doc: "refused accesses to the BARs since reset or since the last write of this register, saturating"},
	{Off: ErrAddrLo, Name: "ERR_ADDR_LO", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "address of the first refused access while ERR_INFO.CAUSE was 0, low half"},
	{Off: ErrAddrHi, Name: "ERR_ADDR_HI", Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
	{Off: ErrInfo, Name: "ERR_INFO", Access: reg.RW, Volatile: true, Doc: "kind of that access; a write of any value clears this register and rearms the capture", Fields: []reg.Field{
		{Mask: ErrInfoCause, Name: "CAUSE", Doc: "why the access was refused", Enum: []string{"NONE", "UNMAPPED", "PARTIAL", "DECODE", "OWNER"}},
		{Mask: ErrInfoWrite, Name: "WRITE", Doc: "1 a write, 0 a read"},
		{Mask: ErrInfoSecond, Name: "SECOND", Doc: "1 an access of the second master, whose address is an offset in BAR 0; 0 of the host; always 0 without CAPS2.MASTER"},
		{Mask: ErrInfoBAR, Name: "BAR", Doc: "0 registers, 2 VRAM aperture, 7 none"},
	}},
	{Off: HostBits, Name: "HOST_BITS", Access: reg.RO, Config: true, Unit: "bits", Doc: "width of the host addresses that the device can access"},
	{Off: Reset, Name: "RESET", Access: reg.RW, Volatile: true, Poke: reg.Destructive, Doc: "whole-device reset", Fields: []reg.Field{
		{Mask: ResetWhole, Name: "WHOLE", Write: reg.Trigger, Doc: "1 resets both nodes with their FENCE, and all registers of BAR0 but TIME and the MSI-X table; configuration space and VRAM are kept. A header that is offered to the host, and the data of a write, are sent first; without credits of the host the reset waits for them. Reads of host memory are not awaited: late completions are dropped. Reads as 1 until done"},
	}},
	{Off: Caps2, Name: "CAPS2", Access: reg.RO, Config: true, Doc: "more features of this configuration; bits without a field are reserved and 0", Fields: capsFields(1)},
	{Off: ReadTimeout, Name: "READ_TIMEOUT", Access: reg.RW, Needs: caps.ReadTimeout, Doc: "PCIe's completion time-out. A read of host memory without its last completion ends as if it had been answered with an error: in the fault READ_ERROR of the node. Its tag is retired until that completion, which is dropped, or until a fundamental reset; until then no other read has it. A read whose tag is retired has one of 4 spare tags. It waits while they are in use. If all are retired, it ends in the same way at the next multiple of the time below. Writes are posted and have no time-out", Fields: []reg.Field{
		{Mask: ReadTimeoutRange, Name: "RANGE", Unit: "clocks", Doc: "0: off; r: 2^(4r+3), from 2^7 to 2^31. A read ends after 1 to 2 times that and up to 64 clocks, and 64 more each time that a completion of another read arrives in the clock in which it would end. A write of this register may shorten the time of reads in flight"},
	}},
	{Off: Build, Name: "BUILD", Access: reg.RO, Config: true, Doc: "first four bytes, big-endian, of the SHA-256 of the gateware's source: its Verilog with 0 in this register, its constraints and the settings of the tools; 0 if the device is not gateware of a board, such as the emulator"},
}}

// TimeoutClocks returns the shortest time-out of a RANGE of READ_TIMEOUT other than
// 0, in clocks. The longest is twice that and up to 64 clocks.
func TimeoutClocks(r uint32) uint64 { return 1 << (4*(r&ReadTimeoutRange) + 3) }

// capsFields returns the fields of CAPS, for word 0, or of CAPS2, for word 1: a
// bit for each capability, and the given numbers.
func capsFields(word int, numbers ...reg.Field) []reg.Field {
	fields := numbers
	for _, c := range caps.Table {
		if mask := c.Bit.Word(word); mask != 0 {
			fields = append(fields, reg.Field{Mask: mask, Name: c.Name, Doc: fmt.Sprintf("1: %s (%s)", c.Doc, c.There)})
		}
	}
	slices.SortFunc(fields, func(a, b reg.Field) int { return cmp.Compare(a.Mask, b.Mask) })
	return fields
}

// Condition returns when a device has these capabilities, as in "CAPS.NODES is 2 and CAPS2.MCU
// is 1"; "" if needs is 0.
func Condition(needs caps.Set) string {
	var all []string
	for word, off := range []uint32{Caps, Caps2} {
		i := slices.IndexFunc(Block.Regs, func(r reg.Reg) bool { return r.Off == off })
		r := Block.Regs[i]
		for _, f := range r.Fields {
			if v := f.Get(needs.Word(word)); v != 0 {
				all = append(all, fmt.Sprintf("%s.%s is %d", r.Name, f.Name, v))
			}
		}
	}
	return strings.Join(all, " and ")
}
