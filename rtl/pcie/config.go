package pcie

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// maxReadReqReset is the reset value of DevCtlMaxReadReq, 512 bytes (PCIe 3.0
// §7.8.4).
const maxReadReqReset = 2 << 12

// config is what can be written in configuration space.
type config struct {
	memory      bool
	busMaster   bool
	intxDisable bool
	gotAbort    bool
	gotUR       bool

	bar0    uint32
	bar2    uint64
	intLine uint8

	msixEnable   bool
	functionMask bool
	devCtl       uint16
	nonFatal     bool
	sawUR        bool
	pending      bool
}

func resetConfig() config { return config{devCtl: maxReadReqReset} }

// report takes what the initiator side reports.
func (c *config) report(in Master) {
	c.gotAbort = c.gotAbort || in.Status == port.CplAbort
	c.gotUR = c.gotUR || in.Status == port.CplUnsupported
	c.pending = in.Pending
}

// unsupported records a request that no BAR takes. A posted one has no
// completion that would tell its sender, so it is an error in its own right
// (PCIe 3.0 §6.2.3.2.4).
func (c *config) unsupported(posted bool) {
	c.sawUR = true
	c.nonFatal = c.nonFatal || posted
}

// hitBAR0 reports whether addr is in the register BAR.
func (c *config) hitBAR0(addr uint64) bool {
	return c.memory && addr&^(pcicfg.BAR0Size-1) == uint64(c.bar0)
}

// hitBAR2 reports whether addr is in the VRAM aperture.
func (c *config) hitBAR2(addr, size uint64) bool {
	return c.memory && addr&^(size-1) == c.bar2
}

// bit returns mask if b is set.
func bit(b bool, mask uint32) uint32 {
	var v uint32
	if b {
		v = mask
	}
	return v
}

// read returns a dword of configuration space. What is not there reads as 0.
func (c *config) read(off uint16) uint32 {
	var v uint32
	switch off {
	case pcicfg.ID:
		v = pcicfg.VendorID | pcicfg.DeviceID<<16
	case pcicfg.Command:
		v = pcicfg.StatusCapList | bit(c.memory, pcicfg.CommandMemory) |
			bit(c.busMaster, pcicfg.CommandBusMaster) | bit(c.intxDisable, pcicfg.CommandINTxDisable) |
			bit(c.gotAbort, pcicfg.StatusReceivedAbort) | bit(c.gotUR, pcicfg.StatusReceivedUR)
	case pcicfg.Class:
		v = pcicfg.Revision | pcicfg.ClassCode<<8
	case pcicfg.Header:
		v = pcicfg.HeaderType << 16
	case pcicfg.BAR0:
		v = c.bar0
	case pcicfg.BAR2:
		v = uint32(c.bar2) | pcicfg.BARMem64 | pcicfg.BARPrefetchable
	case pcicfg.BAR3:
		v = uint32(c.bar2 >> 32)
	case pcicfg.SubID:
		v = pcicfg.Subvendor | pcicfg.Subsystem<<16
	case pcicfg.CapPtr:
		v = pcicfg.MSIX
	case pcicfg.IntLine:
		v = uint32(c.intLine)
	default:
		v = c.readCaps(off)
	}
	return v
}

// readCaps returns a dword of the capabilities.
func (c *config) readCaps(off uint16) uint32 {
	var v uint32
	switch off {
	case pcicfg.MSIX:
		v = pcicfg.MSIXCapID | pcicfg.PCIe<<8 | (pcicfg.Vectors-1)<<16 |
			bit(c.msixEnable, pcicfg.MSIXEnable) | bit(c.functionMask, pcicfg.MSIXFunctionMask)
	case pcicfg.MSIXTable:
		v = pcicfg.MSIXTableOffset
	case pcicfg.MSIXPending:
		v = pcicfg.MSIXPendingOffset
	case pcicfg.PCIe:
		v = pcicfg.PCIeCapID | pcicfg.PCIeCapVal<<16
	case pcicfg.DevCtl:
		v = uint32(c.devCtl) | bit(c.nonFatal, pcicfg.DevStaNonFatal) |
			bit(c.sawUR, pcicfg.DevStaUnsupported) | bit(c.pending, pcicfg.DevStaPending)
	default:
	}
	return v
}

// write writes the bits of mask of a dword of configuration space. What is not
// there or read-only ignores it.
func (c *config) write(off uint16, data, mask uint32, vramBytes uint64) {
	set := data & mask
	switch off {
	case pcicfg.Command:
		c.memory = merge(c.memory, set, mask, pcicfg.CommandMemory)
		c.busMaster = merge(c.busMaster, set, mask, pcicfg.CommandBusMaster)
		c.intxDisable = merge(c.intxDisable, set, mask, pcicfg.CommandINTxDisable)
		c.gotAbort = c.gotAbort && set&pcicfg.StatusReceivedAbort == 0
		c.gotUR = c.gotUR && set&pcicfg.StatusReceivedUR == 0
	case pcicfg.BAR0:
		c.bar0 = (c.bar0&^mask | set) &^ (pcicfg.BAR0Size - 1)
	case pcicfg.BAR2:
		c.bar2 = (c.bar2&^uint64(mask) | uint64(set)) &^ (vramBytes - 1)
	case pcicfg.BAR3:
		c.bar2 = (c.bar2&^(uint64(mask)<<32) | uint64(set)<<32) &^ (vramBytes - 1)
	case pcicfg.IntLine:
		c.intLine = c.intLine&^uint8(mask) | uint8(set)
	case pcicfg.MSIX:
		c.msixEnable = merge(c.msixEnable, set, mask, pcicfg.MSIXEnable)
		c.functionMask = merge(c.functionMask, set, mask, pcicfg.MSIXFunctionMask)
	case pcicfg.DevCtl:
		c.devCtl = (c.devCtl&^uint16(mask) | uint16(set)) & (pcicfg.DevCtlMaxPayload | pcicfg.DevCtlMaxReadReq)
		c.nonFatal = c.nonFatal && set&pcicfg.DevStaNonFatal == 0
		c.sawUR = c.sawUR && set&pcicfg.DevStaUnsupported == 0
	default:
	}
}

// merge returns the new value of a one-bit field.
func merge(was bool, set, mask, field uint32) bool {
	v := was
	if mask&field != 0 {
		v = set&field != 0
	}
	return v
}
