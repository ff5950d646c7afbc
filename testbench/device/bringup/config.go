package bringup

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// configHeader compares the header, the sizes of the BARs and the capabilities with
// pcicfg.
func configHeader(s *session) outcome {
	var f finding
	field := func(name string, got, want uint32) {
		if s.Err == nil && got != want {
			f.add("", "%s is %#x, want %#x", name, got, want)
		}
	}
	id := s.Config(pcicfg.ID)
	field("vendor", id&0xffff, pcicfg.VendorID)
	field("device", id>>16, pcicfg.DeviceID)
	field("class code", s.Config(pcicfg.Class)>>8, pcicfg.ClassCode)
	field("header type", s.Config(pcicfg.Header)>>16&0xff, pcicfg.HeaderType)
	s.SetConfig(pcicfg.Command, 0)
	flags, vram, aperture := uint32(pcicfg.BARMem64|pcicfg.BARPrefetchable), s.vram, "BAR 2 "+size(s.vram)
	if !s.aperture {
		flags, vram, aperture = 0, 0, "no BAR 2"
	}
	for _, bar := range []struct {
		name  string
		off   int
		flags uint32
		size  uint64
	}{
		{"BAR 0", pcicfg.BAR0, 0, pcicfg.BAR0Size},
		{"BAR 1", pcicfg.BAR1, 0, 0},
		{"BAR 2", pcicfg.BAR2, flags, vram},
		{"BAR 4", pcicfg.BAR4, 0, 0},
		{"BAR 5", pcicfg.BAR5, 0, 0},
	} {
		field(bar.name+" flags", s.Config(bar.off)&pcicfg.BARFlags, bar.flags)
		if got := s.Size(bar.off); s.Err == nil && got != bar.size {
			f.add("an address line of the decoder, or a VRAM of another size than the identity reports", "%s has size %#x bytes, want %#x", bar.name, got, bar.size)
		}
	}
	s.PlaceBARs()
	s.checkCaps(field)
	return f.outcome(fmt.Sprintf("device %04x:%04x, BAR 0 %s, %s, MSI-X with %d vectors",
		id&0xffff, id>>16, size(pcicfg.BAR0Size), aperture, pcicfg.Vectors))
}

// checkCaps checks the list of capabilities.
func (s *session) checkCaps(field func(name string, got, want uint32)) {
	field("capability list bit of the status", s.Config(pcicfg.Command)&pcicfg.StatusCapList, pcicfg.StatusCapList)
	msix := s.Config(pcicfg.MSIX)
	field("capability pointer", s.Config(pcicfg.CapPtr)&0xff, pcicfg.MSIX)
	field("capability at 0x40", msix&0xff, pcicfg.MSIXCapID)
	field("next capability", msix>>8&0xff, pcicfg.PCIe)
	field("MSI-X table size", msix&pcicfg.MSIXSize>>16+1, pcicfg.Vectors)
	field("MSI-X table", s.Config(pcicfg.MSIXTable), pcicfg.MSIXTableOffset)
	field("MSI-X pending bits", s.Config(pcicfg.MSIXPending), pcicfg.MSIXPendingOffset)
	express := s.Config(pcicfg.PCIe)
	field("capability at 0x60", express&0xff, pcicfg.PCIeCapID)
	field("last capability", express>>8&0xff, 0)
}

// configCommand sets and clears the bits of the command register, and checks that
// memory decode gates the BARs.
func configCommand(s *session) outcome {
	var f finding
	command := func(write, want uint32) {
		s.SetConfig(pcicfg.Command, write)
		if got := s.Config(pcicfg.Command) & 0xffff; s.Err == nil && got != want {
			f.add("", "the command register reads 0x%04x after 0x%04x was written, want 0x%04x", got, write, want)
		}
	}
	command(0xffff, bare.CommandOn)
	for _, bit := range []uint32{pcicfg.CommandMemory, pcicfg.CommandBusMaster, pcicfg.CommandINTxDisable} {
		command(bit, bit)
	}
	command(0, 0)
	for _, bar := range s.bars() {
		if err := s.attempt(bar, 0); s.Err == nil && !errors.Is(err, bus.ErrUnsupported) {
			f.add("", "a read of BAR %d with memory decode off returns %s, want unsupported request", bar, answer(err))
		}
	}
	command(bare.CommandOn, bare.CommandOn)
	for _, bar := range s.bars() {
		if err := s.attempt(bar, 0); s.Err == nil && err != nil {
			f.add("", "a read of BAR %d with memory decode on returns %v, want data", bar, err)
		}
	}
	s.SetConfig(pcicfg.DevCtl, s.Config(pcicfg.DevCtl)|pcicfg.DevStaUnsupported|pcicfg.DevStaNonFatal)
	return f.outcome("memory, bus master and INTx disable; decode off is refused")
}

// bars returns the implemented BARs.
func (s *session) bars() []int {
	if s.aperture {
		return []int{0, 2}
	}
	return []int{0}
}

// answer describes the answer to a read.
func answer(err error) string {
	if err == nil {
		return "data"
	}
	return err.Error()
}
