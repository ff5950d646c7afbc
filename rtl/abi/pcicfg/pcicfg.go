// Package pcicfg declares the configuration space of the GPU's PCIe function:
// a type-0 header, an MSI-X and a PCI Express capability (PCI 3.0 §6.1, PCIe
// 3.0 §7.8, §7.7). All offsets are in bytes, all accesses are dwords.
package pcicfg

// Identity. Vendor 0x1234 is not assigned by the PCI-SIG. Emulated devices use
// it.
const (
	VendorID   = 0x1234
	DeviceID   = 0x4847
	Revision   = 0x01
	ClassCode  = 0x038000 // display controller, other
	Subvendor  = VendorID
	Subsystem  = 0x0001
	HeaderType = 0x00
)

// The type-0 header.
const (
	ID      = 0x00 // vendor 15..0, device 31..16
	Command = 0x04 // command 15..0, status 31..16
	Class   = 0x08 // revision 7..0, class code 31..8
	Header  = 0x0c // cache line 7..0, latency 15..8, header type 23..16, BIST 31..24
	BAR0    = 0x10 // registers, 32-bit, not prefetchable
	BAR1    = 0x14 // not implemented, reads as 0
	BAR2    = 0x18 // VRAM aperture, 64-bit, prefetchable: low half; without an aperture not implemented, reads as 0
	BAR3    = 0x1c // its high half
	BAR4    = 0x20
	BAR5    = 0x24
	SubID   = 0x2c // subsystem vendor 15..0, subsystem 31..16
	ROM     = 0x30 // not implemented, reads as 0
	CapPtr  = 0x34
	IntLine = 0x3c // read-write scratch for the host, pin 0: no INTx
)

// Bits of Command. The status half reads CapList; its error bits are write-1-to-clear.
const (
	CommandMemory       = 1 << 1
	CommandBusMaster    = 1 << 2
	CommandINTxDisable  = 1 << 10
	StatusCapList       = 1 << 20
	StatusReceivedAbort = 1 << 28 // received a completer abort
	StatusReceivedUR    = 1 << 29 // received an unsupported request ("master abort")
)

// Bits of a BAR.
const (
	BARMem64        = 2 << 1
	BARPrefetchable = 1 << 3
	BARFlags        = 0xf
)

// BAR0Size is the size of the register BAR in bytes. BAR2 has the size of
// VRAM, a power of two.
const BAR0Size = 0x10000

// The MSI-X capability (PCI 3.0 §6.8.2). Table and pending bits are in BAR0.
const (
	MSIX        = 0x40 // id 0x11 7..0, next 15..8, message control 31..16
	MSIXTable   = 0x44 // BAR 2..0, offset 31..3
	MSIXPending = 0x48
	MSIXCapID   = 0x11

	MSIXEnable       = 1 << 31
	MSIXFunctionMask = 1 << 30
	MSIXSize         = 0x7ff << 16 // vectors - 1, read-only

	Vectors           = 2 // 0 completion, 1 fault
	MSIXTableOffset   = 0x8000
	MSIXPendingOffset = 0x9000
)

// The PCI Express capability (PCIe 3.0 §7.8), version 2, endpoint.
const (
	PCIe       = 0x60 // id 0x10 7..0, next 15..8, capabilities 31..16
	PCIeCapID  = 0x10
	DevCap     = 0x64 // max payload 2..0 (0: 128 bytes); function-level reset 28
	DevCtl     = 0x68 // control 15..0, status 31..16
	LinkCap    = 0x6c
	LinkCtl    = 0x70
	PCIeEnd    = 0x9c
	PCIeCapVal = 0x0002 // version 2, device/port type 0000: endpoint

	DevCapReset       = 1 << 28 // function-level reset is supported
	DevCapMaxPayload  = 7       // largest payload that the function accepts: 128 bytes shifted left
	DevCtlReset       = 1 << 15 // write-1: a function-level reset; reads as 0
	DevCtlMaxPayload  = 7 << 5
	DevCtlMaxReadReq  = 7 << 12
	DevStaNonFatal    = 1 << 17
	DevStaUnsupported = 1 << 19 // unsupported request detected, write-1-to-clear
	DevStaPending     = 1 << 21 // transactions pending
)
