// Package pcie is the PCIe function at its target port: configuration space,
// the register BAR and the VRAM aperture.
package pcie

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Target is the target port's input.
type Target struct {
	Req      port.Request
	Beat     port.Beat
	CplReady bool
}

// VRAM is what comes back from the memory side.
type VRAM struct {
	ReadReady bool            // the header of VRAM is taken
	Cpl       port.Completion // of the read; never stalled
	ReqReady  bool            // the header of VRAMWrite is taken
	BeatReady bool            // the beat of VRAMWrite is taken
}

// Master is what the initiator side reports into configuration space.
type Master struct {
	Status  port.Status // of the completion that arrives in this clock
	Pending bool        // reads of the device are in flight
}

// Module is the PCIe function.
type Module struct{}

// New returns the function after reset. vramBytes is the size of BAR2, a power
// of two of at least 16.
func New(vramBytes uint64) Module { return Module{} }

// Target returns the target port's outputs: a completion, taken if Tick is told
// CplReady, and whether a header and a beat are taken in this clock.
func (m *Module) Target() (cpl port.Completion, reqReady, dataReady bool) { return }

// Regs returns the access of the register bus; its answer is due in the next
// clock's Tick.
func (m *Module) Regs() regbus.Req { return regbus.Req{} }

// VRAM returns the read of the VRAM aperture, at an offset in VRAM; its local
// tag is 0.
func (m *Module) VRAM() port.Request { return port.Request{} }

// VRAMWrite returns the write of the VRAM aperture.
func (m *Module) VRAMWrite() (req port.Request, beat port.Beat) { return }

// BusMaster reports whether the function may send requests.
func (m *Module) BusMaster() bool { return false }

// MSIX returns the MSI-X capability's enable, which includes BusMaster, and its
// function mask.
func (m *Module) MSIX() (enable, functionMask bool) { return }

// Err returns a refused access, in one clock.
func (m *Module) Err() ident.Error { return ident.Error{} }

// Tick is one rising clock edge. regs is the OR of all blocks' answers.
func (m *Module) Tick(in Target, regs regbus.Rsp, vram VRAM, master Master) {}

// Reset sets the registers to their values after power on.
func (m *Module) Reset() {}

// IdleFor returns math.MaxUint64 if only an input can wake the function, and 0
// otherwise.
func (m *Module) IdleFor() uint64 { return 0 }

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}
