package pcie

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// maxReadReqReset is the reset value of DevCtlMaxReadReq, 512 bytes (PCIe 3.0
// §7.8.4).
const maxReadReqReset = 2 << 12

// config is the writable state of configuration space.
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

// report records what the initiator side reports.
func (m *Module) report(in Master) {
	m.cfg.gotAbort = m.cfg.gotAbort || in.Status == port.CplAbort
	m.cfg.gotUR = m.cfg.gotUR || in.Status == port.CplUnsupported
	m.cfg.pending = in.Pending
}

// unsupported records a request that no BAR accepts. A posted request has no
// completion that would tell its sender, so it also counts as an error (PCIe 3.0
// §6.2.3.2.4).
func (m *Module) unsupported(posted bool) {
	m.cfg.sawUR = true
	m.cfg.nonFatal = m.cfg.nonFatal || posted
}

// hitBAR0 reports whether the current address is in the register BAR.
func (m *Module) hitBAR0() bool {
	return m.cfg.memory && m.addr&^(pcicfg.BAR0Size-1) == uint64(m.cfg.bar0)
}

// hitBAR2 reports whether the current address is in the VRAM aperture.
func (m *Module) hitBAR2() bool {
	return m.aperture && m.cfg.memory && m.addr&^(m.vramBytes-1) == m.cfg.bar2
}

// bit returns mask if b is set.
func bit(b bool, mask uint32) uint32 {
	var v uint32
	if b {
		v = mask
	}
	return v
}

// readConfig returns a dword of configuration space. An unimplemented dword reads
// as 0.
func (m *Module) readConfig(off uint16) uint32 {
	var v uint32
	switch off {
	case pcicfg.ID:
		v = pcicfg.VendorID | pcicfg.DeviceID<<16
	case pcicfg.Command:
		v = pcicfg.StatusCapList | bit(m.cfg.memory, pcicfg.CommandMemory) |
			bit(m.cfg.busMaster, pcicfg.CommandBusMaster) | bit(m.cfg.intxDisable, pcicfg.CommandINTxDisable) |
			bit(m.cfg.gotAbort, pcicfg.StatusReceivedAbort) | bit(m.cfg.gotUR, pcicfg.StatusReceivedUR)
	case pcicfg.Class:
		v = pcicfg.Revision | pcicfg.ClassCode<<8
	case pcicfg.Header:
		v = pcicfg.HeaderType << 16
	case pcicfg.BAR0:
		v = m.cfg.bar0
	case pcicfg.BAR2:
		if m.aperture {
			v = uint32(m.cfg.bar2) | pcicfg.BARMem64 | pcicfg.BARPrefetchable
		}
	case pcicfg.BAR3:
		v = uint32(m.cfg.bar2 >> 32)
	case pcicfg.SubID:
		v = pcicfg.Subvendor | pcicfg.Subsystem<<16
	case pcicfg.CapPtr:
		v = pcicfg.MSIX
	case pcicfg.IntLine:
		v = uint32(m.cfg.intLine)
	default:
		v = m.readCaps(off)
	}
	return v
}

// readCaps returns a dword of the capabilities.
func (m *Module) readCaps(off uint16) uint32 {
	var v uint32
	switch off {
	case pcicfg.MSIX:
		v = pcicfg.MSIXCapID | pcicfg.PCIe<<8 | (pcicfg.Vectors-1)<<16 |
			bit(m.cfg.msixEnable, pcicfg.MSIXEnable) | bit(m.cfg.functionMask, pcicfg.MSIXFunctionMask)
	case pcicfg.MSIXTable:
		v = pcicfg.MSIXTableOffset
	case pcicfg.MSIXPending:
		v = pcicfg.MSIXPendingOffset
	case pcicfg.PCIe:
		v = pcicfg.PCIeCapID | pcicfg.PCIeCapVal<<16
	case pcicfg.DevCap:
		v = pcicfg.DevCapReset | m.maxPayload
	case pcicfg.DevCtl:
		v = uint32(m.cfg.devCtl) | bit(m.cfg.nonFatal, pcicfg.DevStaNonFatal) |
			bit(m.cfg.sawUR, pcicfg.DevStaUnsupported) | bit(m.cfg.pending, pcicfg.DevStaPending)
	default:
	}
	return v
}

// writeConfig writes the bits of mask of a dword of configuration space.
// Unimplemented and read-only bits ignore it.
func (m *Module) writeConfig(off uint16, data, mask uint32) {
	set := data & mask
	switch off {
	case pcicfg.Command:
		m.cfg.memory = merge(m.cfg.memory, set, mask, pcicfg.CommandMemory)
		m.cfg.busMaster = merge(m.cfg.busMaster, set, mask, pcicfg.CommandBusMaster)
		m.cfg.intxDisable = merge(m.cfg.intxDisable, set, mask, pcicfg.CommandINTxDisable)
		m.cfg.gotAbort = m.cfg.gotAbort && set&pcicfg.StatusReceivedAbort == 0
		m.cfg.gotUR = m.cfg.gotUR && set&pcicfg.StatusReceivedUR == 0
	case pcicfg.BAR0:
		m.cfg.bar0 = (m.cfg.bar0&^mask | set) &^ (pcicfg.BAR0Size - 1)
	case pcicfg.BAR2:
		if m.aperture {
			m.cfg.bar2 = (m.cfg.bar2&^uint64(mask) | uint64(set)) &^ (m.vramBytes - 1)
		}
	case pcicfg.BAR3:
		if m.aperture {
			m.cfg.bar2 = (m.cfg.bar2&^(uint64(mask)<<32) | uint64(set)<<32) &^ (m.vramBytes - 1)
		}
	case pcicfg.IntLine:
		m.cfg.intLine = m.cfg.intLine&^uint8(mask) | uint8(set)
	case pcicfg.MSIX:
		m.cfg.msixEnable = merge(m.cfg.msixEnable, set, mask, pcicfg.MSIXEnable)
		m.cfg.functionMask = merge(m.cfg.functionMask, set, mask, pcicfg.MSIXFunctionMask)
	case pcicfg.DevCtl:
		m.cfg.devCtl = (m.cfg.devCtl&^uint16(mask) | uint16(set)) & (pcicfg.DevCtlMaxPayload | pcicfg.DevCtlMaxReadReq)
		m.function = set&pcicfg.DevCtlReset != 0
		m.cfg.nonFatal = m.cfg.nonFatal && set&pcicfg.DevStaNonFatal == 0
		m.cfg.sawUR = m.cfg.sawUR && set&pcicfg.DevStaUnsupported == 0
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
