package lockstep

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// inputs are the arguments of port.Device.Tick.
type inputs struct {
	req       port.Request
	beat      port.Beat
	cplReady  bool
	cpl       port.Completion
	reqReady  bool
	dataReady bool
}

// outputs are the results of port.Device.Target and Initiator.
type outputs struct {
	cpl       port.Completion
	reqReady  bool
	dataReady bool
	req       port.Request
	beat      port.Beat
}

// inputFields maps the manifest's Go names of input ports to their places.
func inputFields() map[string]field[inputs] {
	m := map[string]field[inputs]{
		"cplReady":  flag(func(p *inputs) *bool { return &p.cplReady }),
		"reqReady":  flag(func(p *inputs) *bool { return &p.reqReady }),
		"dataReady": flag(func(p *inputs) *bool { return &p.dataReady }),
	}
	request(m, "req.", func(p *inputs) *port.Request { return &p.req })
	beat(m, "beat.", func(p *inputs) *port.Beat { return &p.beat })
	completion(m, "cpl.", func(p *inputs) *port.Completion { return &p.cpl })
	return m
}

// outputFields does the same for output ports.
func outputFields() map[string]field[outputs] {
	m := map[string]field[outputs]{
		"Target.reqReady":  flag(func(p *outputs) *bool { return &p.reqReady }),
		"Target.dataReady": flag(func(p *outputs) *bool { return &p.dataReady }),
	}
	completion(m, "Target.cpl.", func(p *outputs) *port.Completion { return &p.cpl })
	request(m, "Initiator.req.", func(p *outputs) *port.Request { return &p.req })
	beat(m, "Initiator.beat.", func(p *outputs) *port.Beat { return &p.beat })
	return m
}

// A field gets and sets one scalar in an S.
type field[S any] struct {
	get func(*S) uint64
	set func(*S, uint64)
}

func flag[S any](at func(*S) *bool) field[S] {
	return field[S]{
		get: func(s *S) uint64 {
			if *at(s) {
				return 1
			}
			return 0
		},
		set: func(s *S, v uint64) { *at(s) = v != 0 },
	}
}

func number[S any, T ~uint8 | ~uint64](at func(*S) *T) field[S] {
	return field[S]{
		get: func(s *S) uint64 { return uint64(*at(s)) },
		set: func(s *S, v uint64) { *at(s) = T(v) },
	}
}

func request[S any](m map[string]field[S], prefix string, at func(*S) *port.Request) {
	m[prefix+"Kind"] = number(func(s *S) *port.Kind { return &at(s).Kind })
	m[prefix+"Tag"] = number(func(s *S) *uint8 { return &at(s).Tag })
	m[prefix+"Len"] = number(func(s *S) *uint8 { return &at(s).Len })
	m[prefix+"Addr"] = number(func(s *S) *uint64 { return &at(s).Addr })
}

func beat[S any](m map[string]field[S], prefix string, at func(*S) *port.Beat) {
	m[prefix+"Valid"] = flag(func(s *S) *bool { return &at(s).Valid })
	m[prefix+"Last"] = flag(func(s *S) *bool { return &at(s).Last })
	m[prefix+"Enable"] = number(func(s *S) *uint8 { return &at(s).Enable })
	m[prefix+"Data"] = number(func(s *S) *uint64 { return &at(s).Data })
}

func completion[S any](m map[string]field[S], prefix string, at func(*S) *port.Completion) {
	m[prefix+"Tag"] = number(func(s *S) *uint8 { return &at(s).Tag })
	m[prefix+"Status"] = number(func(s *S) *port.Status { return &at(s).Status })
	m[prefix+"Last"] = flag(func(s *S) *bool { return &at(s).Last })
	m[prefix+"Data"] = number(func(s *S) *uint64 { return &at(s).Data })
}

// gpuCircuit is a GPU as a Circuit.
type gpuCircuit struct {
	g   *gpu.GPU
	in  []field[inputs]
	out []field[outputs]
}

var _ Circuit = (*gpuCircuit)(nil)

// newGPUCircuit finds the manifest's ports.
func newGPUCircuit(g *gpu.GPU, m *verilog.Manifest) (*gpuCircuit, error) {
	c := &gpuCircuit{g: g}
	ins, outs := inputFields(), outputFields()
	for i, p := range m.Ports {
		if i < 2 {
			continue
		}
		in, isIn := ins[p.Go]
		out, isOut := outs[p.Go]
		switch {
		case p.Input && isIn:
			c.in = append(c.in, in)
			delete(ins, p.Go)
		case !p.Input && isOut:
			c.out = append(c.out, out)
			delete(outs, p.Go)
		default:
			return nil, fmt.Errorf("%w: port %s is %q, which the GPU does not have or has twice", ErrManifest, p.Name, p.Go)
		}
	}
	if len(ins)+len(outs) > 0 {
		return nil, fmt.Errorf("%w: %d inputs and %d outputs of the GPU are not there", ErrManifest, len(ins), len(outs))
	}
	return c, nil
}

// Root returns the GPU.
func (c *gpuCircuit) Root() any { return c.g }

// Clock ticks or resets the GPU.
func (c *gpuCircuit) Clock(rst bool, in []uint64) {
	if rst {
		c.g.Reset()
		return
	}
	var p inputs
	for i, v := range in {
		c.in[i].set(&p, v)
	}
	c.g.Tick(p.req, p.beat, p.cplReady, p.cpl, p.reqReady, p.dataReady)
}

// Outputs reads both ports.
func (c *gpuCircuit) Outputs(out []uint64) {
	var p outputs
	p.cpl, p.reqReady, p.dataReady = c.g.Target()
	p.req, p.beat = c.g.Initiator()
	for i := range out {
		out[i] = c.out[i].get(&p)
	}
}

// A Device is a GPU whose Verilog is clocked along with it: whoever drives it
// drives both. A divergence shows in Err, and Close returns it.
type Device struct {
	circuit *gpuCircuit
	lock    *Lockstep
	values  []uint64
	err     error
}

var _ port.Device = (*Device)(nil)

// NewDevice translates the GPU of a configuration, from the source of the
// module at root, and puts it and its Verilog in lockstep, after a reset.
func NewDevice(root string, c gpu.Config, o Options) (*Device, error) {
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return nil, err
	}
	circuit, err := newGPUCircuit(g, &d.Manifest)
	if err != nil {
		return nil, err
	}
	l, err := New(d, circuit, o)
	if err != nil {
		return nil, err
	}
	return &Device{circuit: circuit, lock: l, values: make([]uint64, len(circuit.in))}, nil
}

// Target returns what the target port drives.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	return d.circuit.g.Target()
}

// Initiator returns what the initiator port drives.
func (d *Device) Initiator() (req port.Request, beat port.Beat) { return d.circuit.g.Initiator() }

// Tick is one clock of both sides; once they have differed, of the Go side.
func (d *Device) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.clock(false, inputs{req, beat, cplReady, cpl, reqReady, dataReady})
}

func (d *Device) clock(rst bool, p inputs) {
	for i := range d.values {
		d.values[i] = d.circuit.in[i].get(&p)
	}
	if d.err != nil {
		d.circuit.Clock(rst, d.values)
		return
	}
	d.err = d.lock.Clock(rst, d.values)
}

// Reset is one clock with the reset input set.
func (d *Device) Reset() { d.clock(true, inputs{}) }

// IdleFor returns how many clocks do nothing but count.
func (d *Device) IdleFor() uint64 { return d.circuit.g.IdleFor() }

// Skip is n clocks without input, each of them ticked: it is also checked that
// nothing else happens in them.
func (d *Device) Skip(n uint64) {
	for ; n > 0; n-- {
		d.clock(false, inputs{})
	}
}

// Config returns what the GPU was built from.
func (d *Device) Config() gpu.Config { return d.circuit.g.Config() }

// Clocks returns the clocks so far.
func (d *Device) Clocks() uint64 { return d.lock.Clocks() }

// Err returns the first divergence that is known of.
func (d *Device) Err() error { return d.err }

// Close compares what is left and ends the model. It returns Err, or what was
// found now.
func (d *Device) Close() error {
	err := d.lock.Close()
	if d.err != nil {
		return d.err
	}
	return err
}

// Registers returns how many registers are compared.
func (d *Device) Registers() int { return len(d.lock.probes) }
