package sim

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// Inputs are the arguments of port.Device.Tick, and the further one of
// gpu.Shared.Tick.
type Inputs struct {
	Req       port.Request
	Beat      port.Beat
	CplReady  bool
	Cpl       port.Completion
	ReqReady  bool
	DataReady bool
	Ask       regbus.Req
}

// Outputs are the results of port.Device.Target and Initiator, and of
// gpu.Shared.Answer.
type Outputs struct {
	Cpl       port.Completion
	ReqReady  bool
	DataReady bool
	Req       port.Request
	Beat      port.Beat
	Answer    arbiter.Answer
}

// inputFields maps the manifest's Go names of input ports to their fields. shared
// reports whether there is a port of a second master.
func inputFields(shared bool) map[string]field[Inputs] {
	m := map[string]field[Inputs]{
		"cplReady":  flag(func(p *Inputs) *bool { return &p.CplReady }),
		"reqReady":  flag(func(p *Inputs) *bool { return &p.ReqReady }),
		"dataReady": flag(func(p *Inputs) *bool { return &p.DataReady }),
	}
	request(m, "req.", func(p *Inputs) *port.Request { return &p.Req })
	beat(m, "beat.", func(p *Inputs) *port.Beat { return &p.Beat })
	completion(m, "cpl.", func(p *Inputs) *port.Completion { return &p.Cpl })
	if shared {
		m["ask.Op"] = number(func(p *Inputs) *regbus.Op { return &p.Ask.Op })
		m["ask.Off"] = number(func(p *Inputs) *uint16 { return &p.Ask.Off })
		m["ask.Data"] = number(func(p *Inputs) *uint32 { return &p.Ask.Data })
	}
	return m
}

// outputFields does the same for output ports.
func outputFields(shared bool) map[string]field[Outputs] {
	m := map[string]field[Outputs]{
		"Target.reqReady":  flag(func(p *Outputs) *bool { return &p.ReqReady }),
		"Target.dataReady": flag(func(p *Outputs) *bool { return &p.DataReady }),
	}
	completion(m, "Target.cpl.", func(p *Outputs) *port.Completion { return &p.Cpl })
	request(m, "Initiator.req.", func(p *Outputs) *port.Request { return &p.Req })
	beat(m, "Initiator.beat.", func(p *Outputs) *port.Beat { return &p.Beat })
	if shared {
		m["Answer.Done"] = flag(func(p *Outputs) *bool { return &p.Answer.Done })
		m["Answer.Hit"] = flag(func(p *Outputs) *bool { return &p.Answer.Hit })
		m["Answer.Refused"] = flag(func(p *Outputs) *bool { return &p.Answer.Refused })
		m["Answer.Data"] = number(func(p *Outputs) *uint32 { return &p.Answer.Data })
	}
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

func number[S any, T ~uint8 | ~uint16 | ~uint32 | ~uint64](at func(*S) *T) field[S] {
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

// Ports moves values between a GPU's ports in Go and those of a manifest.
type Ports struct {
	in  []field[Inputs]
	out []field[Outputs]
}

// NewPorts finds the manifest's ports. It fails with ErrManifest unless it has
// each port of the GPU exactly once, and those of a second master all or not at all.
func NewPorts(m *verilog.Manifest) (*Ports, error) {
	c := &Ports{}
	shared := slices.ContainsFunc(m.Ports, func(p verilog.Port) bool { return p.Go == "ask.Op" })
	ins, outs := inputFields(shared), outputFields(shared)
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
		return nil, fmt.Errorf("%w: %d inputs and %d outputs of the GPU are missing", ErrManifest, len(ins), len(outs))
	}
	return c, nil
}

// NumInputs returns how many values GetInputs stores.
func (c *Ports) NumInputs() int { return len(c.in) }

// GetInputs stores the input ports after clk and rst, in the order of the
// manifest.
func (c *Ports) GetInputs(p *Inputs, values []uint64) {
	for i := range c.in {
		values[i] = c.in[i].get(p)
	}
}

// SetInputs is the inverse of GetInputs.
func (c *Ports) SetInputs(p *Inputs, values []uint64) {
	for i, v := range values {
		c.in[i].set(p, v)
	}
}

// GetOutputs stores the output ports in the order of the manifest.
func (c *Ports) GetOutputs(p *Outputs, values []uint64) {
	for i := range c.out {
		values[i] = c.out[i].get(p)
	}
}

// setOutputs reads the output ports of a record.
func (c *Ports) setOutputs(p *Outputs, l *Layout, rec []byte) {
	for i := range c.out {
		c.out[i].set(p, l.Out[i].Get(rec))
	}
}
