// Package cp is the command processor of a node: it fetches packets from the
// ring and from indirect buffers and executes them.
package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Params are the limits that addresses and lengths are checked against.
type Params struct {
	HostBits   int    // width of a host address
	VRAMBytes  uint64 // power of two
	LengthBits int    // width of a linear packet's byte count
}

// Mem is what comes back from the memory side.
type Mem struct {
	Ready bool            // the header of Fetch is taken
	Cpl   port.Completion // of a fetch; never stalled
}

// DMA is what comes back from the DMA engine: for each descriptor exactly one
// pulse of Done, Err or WriteErr.
type DMA struct {
	Ready    bool // the descriptor is taken
	Done     bool // a descriptor of this node is complete
	Err      bool // one of its reads was answered with an error
	WriteErr bool // one of its writes was refused
}

// Fence is what comes back from the node's fence unit.
type Fence struct {
	Ready  bool
	Result fence.Result
}

// Module is the command processor of one node.
type Module struct{}

// New returns the command processor of a node after reset.
func New(node int, p Params) Module { return Module{} }

// Fetch returns the read of a ring or an indirect buffer; its local tag is 0.
func (m *Module) Fetch() port.Request { return port.Request{} }

// Desc returns the descriptor for the DMA engine.
func (m *Module) Desc() dma.Desc { return dma.Desc{} }

// Fence returns the request for the node's fence unit.
func (m *Module) Fence() fence.Req { return fence.Req{} }

// Scratch returns the write of a scratch register, in one clock.
func (m *Module) Scratch() ident.Scratch { return ident.Scratch{} }

// Fault reports that the node has stopped on a fault, in one clock.
func (m *Module) Fault() bool { return false }

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp { return regbus.Rsp{} }

// Packets returns the packets retired since reset, modulo 2^32.
func (m *Module) Packets() uint32 { return 0 }

// Tick is one rising clock edge.
func (m *Module) Tick(mem Mem, d DMA, f Fence, regs regbus.Req) {}

// Reset sets the registers to their values after power on.
func (m *Module) Reset() {}

// IdleFor returns math.MaxUint64 if only an input can wake the node, and 0
// otherwise.
func (m *Module) IdleFor() uint64 { return 0 }

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}
