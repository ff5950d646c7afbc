package lockstep

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// Sim is a simulator of the Verilog side.
type Sim = sim.Sim

// The simulators. Icarus also simulates x, which differs from every value. Netlist is
// Verilator with the netlist that yosys makes for iCE40; it compares ports only.
const (
	Verilator     = sim.Verilator
	Icarus        = sim.Icarus
	Netlist   Sim = "netlist"
)

// Errors of the Verilog side.
var (
	ErrSim        = sim.ErrSim
	ErrTool       = sim.ErrTool
	ErrBuild      = sim.ErrBuild
	ErrSimulation = sim.ErrSimulation
	ErrManifest   = sim.ErrManifest
	ErrSource     = sim.ErrSource
)

// ModuleRoot returns the root of the source tree that contains dir, for a command with the flag
// --source. It fails with ErrSource.
func ModuleRoot(dir string) (string, error) {
	root, err := sim.ModuleRoot(dir)
	if err != nil {
		return "", fmt.Errorf("%w: run there, or give --source DIR", err)
	}
	return root, nil
}

// Tools returns the programs that s needs, as named in package tool.
func Tools(s Sim) []string {
	if s == Netlist {
		return append([]string{"yosys"}, Verilator.Tools()...)
	}
	return s.Tools()
}

// Check returns ErrTool, with the Debian package, if a tool that s needs is missing.
// It returns ErrSim if s is not a known simulator.
func Check(s Sim) error {
	switch s {
	case Verilator, Icarus:
		return s.Check()
	case Netlist:
	default:
		return fmt.Errorf("%w %q, want %s, %s or %s", ErrSim, s, Verilator, Icarus, Netlist)
	}
	if p, missing := tool.Missing("yosys"); missing {
		return fmt.Errorf("%w: %v", ErrTool, p)
	}
	return Verilator.Check()
}

// prepared returns the design to build and the options to build it with.
func prepared(d *verilog.Design, o Options) (*verilog.Design, sim.BuildOptions, error) {
	b := sim.BuildOptions{Sim: o.Sim, Cache: o.Cache, Probes: true}
	if o.Sim == Netlist {
		b.Sim = Verilator
		var err error
		if d, err = synth.Netlist(d, o.Cache); err != nil {
			return nil, b, fmt.Errorf("%w: %w", ErrBuild, err)
		}
	}
	return d, b, nil
}
