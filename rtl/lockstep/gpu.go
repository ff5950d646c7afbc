package lockstep

import (
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A Top is a GPU that is compared: with a port for a second master if its
// configuration has caps.Master and no microcontroller, which is that master.
type Top struct {
	g      *gpu.GPU
	shared *gpu.Shared // nil: no second master
}

// NewTop builds a GPU. It fails with gpu.ErrConfig.
func NewTop(c gpu.Config) (Top, error) {
	if !c.Caps.Has(caps.Master) || c.Caps.Has(caps.MCU) {
		g, err := gpu.New(c)
		return Top{g: g}, err
	}
	s, err := gpu.NewShared(c)
	if err != nil {
		return Top{}, err
	}
	return Top{g: s.GPU(), shared: s}, nil
}

// Translate returns the Verilog of the GPU, from the source of the module at root.
func (t Top) Translate(root string) (*verilog.Design, error) {
	if t.shared != nil {
		return verilog.TranslateShared(root, t.shared)
	}
	return verilog.Translate(root, t.g)
}

// gpuCircuit is a GPU as a Circuit.
type gpuCircuit struct {
	Top
	ports *sim.Ports
}

var _ Circuit = (*gpuCircuit)(nil)

// Root returns the top.
func (c *gpuCircuit) Root() any {
	if c.shared != nil {
		return c.shared
	}
	return c.g
}

// Clock ticks or resets the GPU.
func (c *gpuCircuit) Clock(rst bool, in []uint64) {
	var p sim.Inputs
	c.ports.SetInputs(&p, in)
	switch {
	case rst && c.shared != nil:
		c.shared.Reset()
	case rst:
		c.g.Reset()
	case c.shared != nil:
		c.shared.Tick(p.Req, p.Beat, p.CplReady, p.Cpl, p.ReqReady, p.DataReady, p.Ask)
	default:
		c.g.Tick(p.Req, p.Beat, p.CplReady, p.Cpl, p.ReqReady, p.DataReady)
	}
}

// Outputs reads the ports.
func (c *gpuCircuit) Outputs(out []uint64) {
	var p sim.Outputs
	p.Cpl, p.ReqReady, p.DataReady = c.g.Target()
	p.Req, p.Beat = c.g.Initiator()
	if c.shared != nil {
		p.Answer = c.shared.Answer()
	}
	c.ports.GetOutputs(&p, out)
}

// A Device is a GPU in lockstep with its Verilog: each clock drives both. Err returns
// the first divergence found so far, and Close the first of the run.
type Device struct {
	circuit *gpuCircuit
	lock    *Lockstep
	values  []uint64
	ask     regbus.Req // of the next clock
	host    hostRules
	rng     *rand.Rand // of the inputs during a reset
	err     error
}

var _ port.Device = (*Device)(nil)

// NewDevice translates the source of the module at root for a configuration, builds
// the GPU and its Verilog, and starts both in lockstep after a reset.
func NewDevice(root string, c gpu.Config, o Options) (*Device, error) {
	top, err := NewTop(c)
	if err != nil {
		return nil, err
	}
	d, err := top.Translate(root)
	if err != nil {
		return nil, err
	}
	return deviceOf(top, d, o)
}

// deviceOf starts a GPU in lockstep with the Verilog d that was made from it.
func deviceOf(top Top, d *verilog.Design, o Options) (*Device, error) {
	ports, err := sim.NewPorts(&d.Manifest)
	if err != nil {
		return nil, err
	}
	if o.Hz == 0 {
		o.Hz = uint64(top.g.Config().ClockHz)
	}
	circuit := &gpuCircuit{top, ports}
	l, err := New(d, circuit, o)
	if err != nil {
		return nil, err
	}
	return startDevice(circuit, l), nil
}

func startDevice(c *gpuCircuit, l *Lockstep) *Device {
	return &Device{circuit: c, lock: l, values: make([]uint64, c.ports.NumInputs()), rng: rand.New(rand.NewPCG(0, 0x7265736574))}
}

// Target returns the values that the target port drives.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	return d.circuit.g.Target()
}

// Initiator returns the values that the initiator port drives.
func (d *Device) Initiator() (req port.Request, beat port.Beat) { return d.circuit.g.Initiator() }

// Ask gives the next Tick an access of the second master, which the GPU must have.
func (d *Device) Ask(r regbus.Req) { d.ask = r }

// Answer returns the answer to the second master.
func (d *Device) Answer() arbiter.Answer { return d.circuit.shared.Answer() }

// Tick runs one clock of both sides. After a divergence it runs only the Go side.
func (d *Device) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.clock(false, sim.Inputs{Req: req, Beat: beat, CplReady: cplReady, Cpl: cpl, ReqReady: reqReady, DataReady: dataReady, Ask: d.ask})
	d.ask = regbus.Req{}
}

func (d *Device) clock(rst bool, p sim.Inputs) {
	d.circuit.ports.GetInputs(&p, d.values)
	if rst {
		for i, in := range d.lock.layout.In[1:] {
			d.values[i] = d.rng.Uint64() >> (64 - in.Width)
		}
	}
	if err := d.host.check(rst, p, d.circuit.g); d.err == nil {
		d.err = err
	}
	if d.err != nil {
		d.circuit.Clock(rst, d.values)
		return
	}
	d.err = d.lock.Clock(rst, d.values)
}

// Reset runs one clock with the reset input set. The other inputs are random: the GPU must
// ignore them.
func (d *Device) Reset() {
	d.clock(true, sim.Inputs{})
	d.ask = regbus.Req{}
}

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
