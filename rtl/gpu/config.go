package gpu

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/noc"
)

// ErrConfig is wrapped by the error for a configuration that cannot be built.
var ErrConfig = errors.New("gpu: bad configuration")

// Config is the configuration of a GPU. Software can read all of it from the ID
// block.
type Config struct {
	Nodes      int    // number of command processors, 1 or 2
	VRAMBytes  uint64 // power of two, 4 KiB to 256 MiB
	VRAMPorts  int    // 2: VRAM is read and written in the same clock; 1: one or the other
	HostBits   int    // width of a host address, 32 to 62
	LengthBits int    // width of a linear packet's byte count, 16 to 32
	Tags       int    // number of DMA reads in flight, 2, 4, 8 or 16
	MaxPayload int    // largest payload of a PCIe packet to the GPU in bytes, power of two, 128 to 4096
	ClockHz    uint32 // value of ID.CLOCK_HZ; not 0
	MCUBytes   int    // memory of the microcontroller, a power of two, 8 KiB to 64 KiB; 0: the least
	Build      uint32 // value of ID.BUILD; 0 if the GPU is not gateware of a board

	Caps caps.Set // optional features to build, of caps.All
}

// Default returns the configuration of the selector "emu".
func Default() Config {
	return Config{
		Nodes: 2, VRAMBytes: 16 << 20, VRAMPorts: 2, HostBits: 48, LengthBits: 32, Tags: 16, MaxPayload: 128, ClockHz: 100_000_000,
		MCUBytes: 32 << 10, Caps: caps.Default(),
	}
}

// Full returns the configuration of the selector "emu?config=full": that of Default with a
// microcontroller and an aperture for GPU addresses.
func Full() Config {
	c := Default()
	c.Caps = caps.Full()
	return c
}

// Small returns the configuration of the selector "emu?config=small": the
// smallest one that can execute every basic packet, for small FPGAs.
func Small() Config {
	return Config{
		Nodes: 1, VRAMBytes: 8 << 10, VRAMPorts: 2, HostBits: 40, LengthBits: 16, Tags: 4, MaxPayload: 128, ClockHz: 100_000_000,
		MCUBytes: 8 << 10, Caps: caps.Small(),
	}
}

func (c Config) check() error {
	for _, r := range []struct {
		name   string
		v      uint64
		lo, hi uint64
		pow2   bool
	}{
		{"nodes", uint64(c.Nodes), 1, 2, false},
		{"VRAM bytes", c.VRAMBytes, 4 << 10, 256 << 20, true},
		{"VRAM ports", uint64(c.VRAMPorts), 1, 2, false},
		{"host address bits", uint64(c.HostBits), 32, 62, false},
		{"length bits", uint64(c.LengthBits), 16, 32, false},
		{"tags", uint64(c.Tags), 2, 16, true},
		{"payload bytes", uint64(c.MaxPayload), 128, 4096, true},
		{"clock Hz", uint64(c.ClockHz), 1, 1<<32 - 1, false},
		{"bytes of the microcontroller", uint64(c.mcuBytes()), core.MinBytes, core.MaxBytes, true},
	} {
		if r.v < r.lo || r.v > r.hi || r.pow2 && bits.OnesCount64(r.v) != 1 {
			return fmt.Errorf("%w: %s %d, want %d to %d%s", ErrConfig, r.name, r.v, r.lo, r.hi, pow2(r.pow2))
		}
	}
	if unknown := c.Caps &^ caps.All(); unknown != 0 {
		return fmt.Errorf("%w: capabilities %#x, want of %#x", ErrConfig, uint64(c.Caps), uint64(caps.All()))
	}
	if missing := c.Caps.Missing(); missing != 0 {
		return fmt.Errorf("%w: capabilities %v without %v", ErrConfig, c.Caps, missing)
	}
	return nil
}

// mcuBytes returns the size of the microcontroller's memory, the least one if there is none.
func (c Config) mcuBytes() int {
	if c.Caps.Has(caps.MCU) && c.MCUBytes != 0 {
		return c.MCUBytes
	}
	return core.MinBytes
}

func pow2(p bool) string {
	if p {
		return ", a power of two"
	}
	return ""
}

// otherTags returns the tags of the readers of host memory beside the nodes and the DMA engine.
func (c Config) otherTags() []uint8 {
	var tags []uint8
	if c.Caps.Has(caps.MCU) {
		tags = append(tags, noc.TagMCU)
	}
	if c.Caps.Has(caps.GART) {
		tags = append(tags, noc.TagGART)
	}
	return tags
}
