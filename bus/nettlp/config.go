package nettlp

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// maxPayload is the encoding of the largest payload of the adapter, 512 bytes.
const maxPayload = 2

// config is the configuration space of the adapter's function, as the driver of the GPU
// sees it. It has no function-level reset: a device in software cannot be told of one.
type config struct {
	aperture uint64 // size of BAR 2 in bytes, a power of two; 0: no BAR 2

	command uint32
	bar0    uint32
	bar2    uint64
	msix    uint32 // its enables
	devCtl  uint32
	intLine uint8
}

const (
	commandBits = pcicfg.CommandMemory | pcicfg.CommandBusMaster | pcicfg.CommandINTxDisable
	msixBits    = pcicfg.MSIXEnable | pcicfg.MSIXFunctionMask
	devCtlBits  = pcicfg.DevCtlMaxPayload | pcicfg.DevCtlMaxReadReq
)

// read returns a dword. One that is not implemented reads as 0.
func (c *config) read(off uint64) uint32 {
	switch off {
	case pcicfg.ID:
		return pcicfg.VendorID | pcicfg.DeviceID<<16
	case pcicfg.Command:
		return pcicfg.StatusCapList | c.command
	case pcicfg.Class:
		return pcicfg.Revision | pcicfg.ClassCode<<8
	case pcicfg.BAR0:
		return c.bar0
	case pcicfg.BAR2:
		if c.aperture != 0 {
			return uint32(c.bar2) | pcicfg.BARMem64 | pcicfg.BARPrefetchable
		}
	case pcicfg.BAR3:
		return uint32(c.bar2 >> 32)
	case pcicfg.SubID:
		return pcicfg.Subvendor | pcicfg.Subsystem<<16
	case pcicfg.CapPtr:
		return pcicfg.MSIX
	case pcicfg.IntLine:
		return uint32(c.intLine)
	}
	return c.readCaps(off)
}

// readCaps returns a dword of the capabilities.
func (c *config) readCaps(off uint64) uint32 {
	switch off {
	case pcicfg.MSIX:
		return pcicfg.MSIXCapID | pcicfg.PCIe<<8 | (pcicfg.Vectors-1)<<16 | c.msix
	case pcicfg.MSIXTable:
		return pcicfg.MSIXTableOffset
	case pcicfg.MSIXPending:
		return pcicfg.MSIXPendingOffset
	case pcicfg.PCIe:
		return pcicfg.PCIeCapID | pcicfg.PCIeCapVal<<16
	case pcicfg.DevCap:
		return maxPayload
	case pcicfg.DevCtl:
		return c.devCtl
	}
	return 0
}

// write writes a dword. Read-only bits ignore it.
func (c *config) write(off uint64, v uint32) {
	switch off {
	case pcicfg.Command:
		c.command = v & commandBits
	case pcicfg.BAR0:
		c.bar0 = v &^ (pcicfg.BAR0Size - 1)
	case pcicfg.BAR2:
		c.setBAR2(c.bar2>>32<<32 | uint64(v))
	case pcicfg.BAR3:
		c.setBAR2(c.bar2&0xffffffff | uint64(v)<<32)
	case pcicfg.IntLine:
		c.intLine = uint8(v)
	case pcicfg.MSIX:
		c.msix = v & msixBits
	case pcicfg.DevCtl:
		c.devCtl = v & devCtlBits
	}
}

func (c *config) setBAR2(v uint64) {
	if c.aperture != 0 {
		c.bar2 = v &^ (c.aperture - 1)
	}
}

// complete returns the completion of a configuration request.
func (c *config) complete(p *tlp.Packet) tlp.Packet {
	switch {
	case p.Completer&7 != 0:
		return p.Reply(p.Completer, tlp.UR)
	case p.Kind == tlp.CfgRd0:
		data := binary.LittleEndian.AppendUint32(nil, c.read(p.Addr))
		return p.ReplyData(p.Completer, tlp.Part{Len: 1, ByteCount: 4}, data)
	}
	v := c.read(p.Addr)
	for i := range 4 {
		if p.First>>i&1 != 0 {
			v = v&^(0xff<<(8*i)) | uint32(p.Data[i])<<(8*i)
		}
	}
	c.write(p.Addr, v)
	return p.Reply(p.Completer, tlp.SC)
}

// masters reports whether the device may access host memory.
func (c *config) masters() bool { return c.command&pcicfg.CommandBusMaster != 0 }

// offset returns the place in the window of n bytes at an address of the host; ok is
// false if there is none. The device itself refuses what is beyond BAR 0, up to BAR 2.
func (c *config) offset(addr uint64, n int) (off uint64, ok bool) {
	if c.command&pcicfg.CommandMemory == 0 {
		return 0, false
	}
	if at := addr - c.bar2; c.aperture != 0 && addr >= c.bar2 && at+uint64(n) <= c.aperture {
		return ApertureAt + at, true
	}
	at := addr - uint64(c.bar0)
	return at, addr >= uint64(c.bar0) && at+uint64(n) <= ApertureAt
}
