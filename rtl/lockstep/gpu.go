package lockstep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// gpuCircuit is a GPU as a Circuit.
type gpuCircuit struct {
	g     *gpu.GPU
	ports *sim.Ports
}

var _ Circuit = (*gpuCircuit)(nil)

// Root returns the GPU.
func (c *gpuCircuit) Root() any { return c.g }

// Clock ticks or resets the GPU.
func (c *gpuCircuit) Clock(rst bool, in []uint64) {
	if rst {
		c.g.Reset()
		return
	}
	var p sim.Inputs
	c.ports.SetInputs(&p, in)
	c.g.Tick(p.Req, p.Beat, p.CplReady, p.Cpl, p.ReqReady, p.DataReady)
}

// Outputs reads both ports.
func (c *gpuCircuit) Outputs(out []uint64) {
	var p sim.Outputs
	p.Cpl, p.ReqReady, p.DataReady = c.g.Target()
	p.Req, p.Beat = c.g.Initiator()
	c.ports.GetOutputs(&p, out)
}

// A Device is a GPU in lockstep with its Verilog: each clock drives both. Err returns
// the first divergence found so far, and Close the first of the run.
type Device struct {
	circuit *gpuCircuit
	lock    *Lockstep
	values  []uint64
	err     error
}

var _ port.Device = (*Device)(nil)

// NewDevice translates the source of the module at root for a configuration, builds
// the GPU and its Verilog, and starts both in lockstep after a reset.
func NewDevice(root string, c gpu.Config, o Options) (*Device, error) {
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return nil, err
	}
	return deviceOf(g, d, o)
}

// deviceOf starts g in lockstep with the Verilog d that was made from it.
func deviceOf(g *gpu.GPU, d *verilog.Design, o Options) (*Device, error) {
	ports, err := sim.NewPorts(&d.Manifest)
	if err != nil {
		return nil, err
	}
	if o.Hz == 0 {
		o.Hz = uint64(g.Config().ClockHz)
	}
	circuit := &gpuCircuit{g: g, ports: ports}
	l, err := New(d, circuit, o)
	if err != nil {
		return nil, err
	}
	return &Device{circuit: circuit, lock: l, values: make([]uint64, ports.NumInputs())}, nil
}

// Target returns the values that the target port drives.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	return d.circuit.g.Target()
}

// Initiator returns the values that the initiator port drives.
func (d *Device) Initiator() (req port.Request, beat port.Beat) { return d.circuit.g.Initiator() }

// Tick runs one clock of both sides. After a divergence it runs only the Go side.
func (d *Device) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.clock(false, sim.Inputs{Req: req, Beat: beat, CplReady: cplReady, Cpl: cpl, ReqReady: reqReady, DataReady: dataReady})
}

func (d *Device) clock(rst bool, p sim.Inputs) {
	d.circuit.ports.GetInputs(&p, d.values)
	if d.err != nil {
		d.circuit.Clock(rst, d.values)
		return
	}
	d.err = d.lock.Clock(rst, d.values)
}

// Reset runs one clock with the reset input set.
func (d *Device) Reset() { d.clock(true, sim.Inputs{}) }

// IdleFor returns the number of clocks in which the GPU only counts.
func (d *Device) IdleFor() uint64 { return d.circuit.g.IdleFor() }

// Skip runs n clocks without input. It ticks each clock, so it also verifies that
// nothing happens in them.
func (d *Device) Skip(n uint64) {
	for ; n > 0; n-- {
		d.clock(false, sim.Inputs{})
	}
}

// Config returns the configuration of the GPU.
func (d *Device) Config() gpu.Config { return d.circuit.g.Config() }

// Clocks returns the number of clocks since the start.
func (d *Device) Clocks() uint64 { return d.lock.Clocks() }

// Err returns the first divergence found so far, or nil.
func (d *Device) Err() error { return d.err }

// Close compares the remaining clocks and ends the simulation. It returns the first
// divergence of the run.
func (d *Device) Close() error {
	err := d.lock.Close()
	if d.err != nil {
		return d.err
	}
	return err
}

// Registers returns the number of registers that are compared.
func (d *Device) Registers() int { return d.lock.layout.Registers }
