package bringup

import (
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// identity compares the identity of the device with the map, and its capabilities
// with their limits.
func identity(s *session) outcome {
	var f finding
	id := func(off uint32) uint32 { return s.Reg(idreg.Base + off) }
	constant := func(name string, off, want uint32, likely string) uint32 {
		got := id(off)
		if got != want && s.Err == nil {
			f.add(likely, "ID.%s is %#08x, want %#08x: %s", name, got, want, named(uint64(want), uint64(got)))
		}
		return got
	}
	constant("MAGIC", idreg.Magic, idreg.MagicValue, "another device, swapped bytes, or data lines of the register path that are stuck (see regs.data)")
	s.device.Version = constant("VERSION", idreg.Version, idreg.VersionValue, "another version of the gateware")
	s.device.MapHash = constant("MAP_HASH", idreg.MapHash, regmap.Hash(), "the gateware and this program have different register maps")
	reserved := func(off, fields uint32) uint32 {
		e, _ := regmap.New().Lookup(idreg.Base + off)
		got := id(off)
		if stray := got &^ fields; stray != 0 && s.Err == nil {
			f.add("", "%s is %#08x, of which %#x is reserved", e.Name(), got, stray)
		}
		return got
	}
	numbers := uint32(idreg.CapsNodes | idreg.CapsTags | idreg.CapsLength | idreg.CapsVRAMPorts)
	word := reserved(idreg.Caps, numbers|caps.All().Word(0))
	have := caps.Of(word, reserved(idreg.Caps2, caps.All().Word(1)))
	inRange := func(name string, v, lo, hi uint32) {
		if s.Err == nil && (v < lo || v > hi) {
			f.add("", "%s is %d, want %d to %d", name, v, lo, hi)
		}
	}
	nodes, tags, length := word&idreg.CapsNodes, word&idreg.CapsTags>>8, word&idreg.CapsLength>>16
	inRange("ID.CAPS.NODES", nodes, 1, 2)
	inRange("ID.CAPS.TAGS", tags, 2, 16)
	inRange("ID.CAPS.LENGTH", length, 16, 32)
	s.device.Nodes = int(nodes)
	s.device.HostBits = id(idreg.HostBits)
	inRange("ID.HOST_BITS", s.device.HostBits, 32, 62)
	s.device.ClockHz = id(idreg.ClockHz)
	inRange("ID.CLOCK_HZ", s.device.ClockHz, 1, 1<<32-1)
	if declared := have.Has(caps.Aperture); s.Err == nil && declared != s.aperture {
		f.add("", "ID.CAPS.APERTURE is %t, presence of BAR 2 is %t", declared, s.aperture)
	}
	if vram := uint64(id(idreg.VRAMSize)); s.Err == nil && vram != s.vram {
		f.add("", "ID.VRAM_SIZE is %#x, BAR 2 has size %#x: %s", vram, s.vram, named(s.vram, vram))
	} else if s.Err == nil && bits.OnesCount64(vram) != 1 {
		f.add("", "ID.VRAM_SIZE is %#x, want a power of two", vram)
	}
	if lo := id(idreg.TimeLo); id(idreg.TimeLo) == lo && s.Err == nil {
		f.add("the clock of the device does not run", "ID.TIME_LO stays at %#x", lo)
	}
	return f.outcome(fmt.Sprintf("version %d.%d, map %08x, %d nodes, %s of VRAM",
		s.device.Version>>16, s.device.Version&0xffff, s.device.MapHash, nodes, size(s.vram)))
}

// size formats a number of bytes.
func size(n uint64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
