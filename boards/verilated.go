package boards

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

func verilator() scheme {
	return scheme{
		name: "verilated", doc: "the GPU as Verilog, in a process that Verilator builds on first use",
		open: openVerilated, virtual: true, only: []string{"linux", "darwin"},
		options: append(options(false),
			option{name: "source", doc: "directory in the source tree of this program, to be translated, . by default"},
			option{name: "optimize", doc: "0 to compile without optimization, which takes less time and runs slower, 1 by default", values: []string{"0", "1"}},
		),
	}
}

// openVerilated builds the simulation of a GPU and the wire to it. It fails
// with sim.ErrSource, sim.ErrTool or sim.ErrBuild.
func openVerilated(at opening) (bus.Link, bus.Clock, error) {
	o := values{Values: at.values}
	config := o.config()
	wire := o.wire(config)
	at.captureWire(&wire)
	faults := o.faults(config, false)
	use := o.earlierUse()
	optimize := true
	o.flag("optimize", &optimize)
	if o.err != nil {
		return nil, nil, o.err
	}
	if _, err := gpu.New(config); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errOption, err)
	}
	root, err := o.root("verilated")
	if err != nil {
		return nil, nil, err
	}
	simulation, err := sim.NewVerilated(root, config, sim.BuildOptions{Unoptimized: !optimize})
	if err != nil {
		return nil, nil, err
	}
	v := &verilated{simulation: simulation}
	if err := use.apply(simulation, shortIdle); err != nil {
		return nil, nil, errors.Join(err, simulation.Close())
	}
	if v.faulty, err = newFaulty(simulation, faults.ports, at.host, wire); err != nil {
		return nil, nil, errors.Join(err, simulation.Close())
	}
	return v, v, nil
}

// root returns the root of the source tree that the option source names, for what needs
// it and Verilator. It fails with sim.ErrSource or sim.ErrTool.
func (o *values) root(what string) (string, error) {
	source := "."
	if o.Has("source") {
		source = o.Get("source")
	}
	root, err := sim.ModuleRoot(source)
	if err != nil {
		return "", fmt.Errorf("%w: %s needs the source tree: run there, or give source=DIR", err, what)
	}
	return root, sim.Verilator.Check()
}

// verilated is the link to the simulation of a GPU. Once the simulation has
// failed, every call returns bus.ErrLinkDown with the cause.
type verilated struct {
	faulty
	simulation *sim.Verilated
	once       sync.Once
	ended      error
}

// check takes the link down if the simulation has failed, and returns the
// cause.
func (v *verilated) check(err error) error {
	var cause error
	v.Sample(func() { cause = v.simulation.Err() })
	if cause == nil {
		return err
	}
	v.Break(cause)
	return fmt.Errorf("%w: %w", bus.ErrLinkDown, cause)
}

// ReadConfig implements bus.Link.
func (v *verilated) ReadConfig(off int) (uint32, error) {
	w, err := v.Link.ReadConfig(off)
	return w, v.check(err)
}

// WriteConfig implements bus.Link.
func (v *verilated) WriteConfig(off int, w uint32) error { return v.check(v.Link.WriteConfig(off, w)) }

// Read implements bus.Link.
func (v *verilated) Read(bar int, off uint64, p []byte) error {
	return v.check(v.Link.Read(bar, off, p))
}

// Write implements bus.Link.
func (v *verilated) Write(bar int, off uint64, p []byte) error {
	return v.check(v.Link.Write(bar, off, p))
}

// Wait implements bus.Clock.
func (v *verilated) Wait(deadline uint64) (event bool, err error) {
	event, err = v.Link.Wait(deadline)
	return event, v.check(err)
}

// Close releases the link and ends the simulation. Each call returns the error
// of a simulation that ended abnormally.
func (v *verilated) Close() error {
	err := v.Link.Close()
	v.once.Do(func() { v.Sample(func() { v.ended = v.simulation.Close() }) })
	return errors.Join(err, v.ended)
}

// Counters returns the counters of the wire.
func (v *verilated) Counters() []Counter { return v.counters() }
