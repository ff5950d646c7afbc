package pcie

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// VRAM is the input from the memory side.
type VRAM struct {
	ReadReady bool            // the header of the read is taken
	Cpl       port.Completion // of the read; taken if Takes returns true
	BeatTaken bool            // VRAM takes the host's beat in this clock
}

// VRAM returns the read of the VRAM aperture. Its address is an offset in VRAM,
// its local tag 0.
func (m *Module) VRAM() port.Request {
	r := port.Request{Len: m.left, Addr: m.addr & (m.vramBytes - 1)}
	if m.headerUp && m.state == stateVRAMRead {
		r.Kind = port.MemRead
	}
	return r
}

// VRAMWrite returns the header of a write of the VRAM aperture, in the one clock
// in which it is taken. Its address is an offset in VRAM. The host sends the
// beats.
func (m *Module) VRAMWrite() port.Request {
	r := port.Request{Len: m.left, Addr: m.addr & (m.vramBytes - 1)}
	if m.headerUp && m.state == stateVRAMWrite {
		r.Kind = port.MemWrite
	}
	return r
}

// Streams reports whether an aperture write is in progress, in which VRAM takes
// the host's beats.
func (m *Module) Streams() bool { return m.state == stateVRAMWrite }
