package lockstep

import "github.com/hilgpu/hilgpu/rtl/verilog/sim"

// Sim is a simulator of the Verilog side.
type Sim = sim.Sim

// The simulators. Icarus also knows x, which differs from every value.
const (
	Verilator = sim.Verilator
	Icarus    = sim.Icarus
)

// Errors of the Verilog side.
var (
	ErrTool     = sim.ErrTool
	ErrBuild    = sim.ErrBuild
	ErrModel    = sim.ErrModel
	ErrManifest = sim.ErrManifest
	ErrSource   = sim.ErrSource
)

// ModuleRoot returns the root of the source tree that has dir. It fails with
// ErrSource.
func ModuleRoot(dir string) (string, error) { return sim.ModuleRoot(dir) }
