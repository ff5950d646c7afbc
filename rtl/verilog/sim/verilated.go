package sim

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// Verilated is the Verilog of a GPU, built without probes, as a port.Device. Each
// clock, or each Run, is one message to the process and one back. After the
// process fails, its outputs are idle, and Err has the cause.
type Verilated struct {
	process *Process
	layout  *Layout
	ports   *Ports
	values  []uint64
	in, out []byte
	now     Outputs
	err     error
}

var _ port.Device = (*Verilated)(nil)

// NewVerilated translates the GPU of a configuration from the module source at
// root, builds it with Verilator or finds it in the cache, starts it and resets it.
// Of the options it uses Cache and Unoptimized.
func NewVerilated(root string, c gpu.Config, o BuildOptions) (*Verilated, error) {
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return nil, err
	}
	ports, err := NewPorts(&d.Manifest)
	if err != nil {
		return nil, err
	}
	m, err := Build(d, BuildOptions{Cache: o.Cache, Unoptimized: o.Unoptimized})
	if err != nil {
		return nil, err
	}
	p, err := m.Start()
	if err != nil {
		return nil, err
	}
	v := &Verilated{
		process: p, layout: m.layout, ports: ports, values: make([]uint64, ports.NumInputs()),
		in: make([]byte, m.layout.InBytes), out: make([]byte, m.layout.OutBytes),
	}
	v.Reset()
	return v, v.err
}

// Target returns the outputs of the target port.
func (v *Verilated) Target() (cpl port.Completion, reqReady, dataReady bool) {
	return v.now.Cpl, v.now.ReqReady, v.now.DataReady
}

// Initiator returns the outputs of the initiator port.
func (v *Verilated) Initiator() (req port.Request, beat port.Beat) { return v.now.Req, v.now.Beat }

// Tick is one clock.
func (v *Verilated) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	v.clock(false, Inputs{Req: req, Beat: beat, CplReady: cplReady, Cpl: cpl, ReqReady: reqReady, DataReady: dataReady})
}

// Reset is one clock with the reset input set.
func (v *Verilated) Reset() { v.clock(true, Inputs{}) }

func (v *Verilated) clock(rst bool, p Inputs) {
	v.now = Outputs{}
	if v.err != nil {
		return
	}
	v.ports.GetInputs(&p, v.values)
	v.layout.PackInputs(v.in, rst, v.values)
	if v.err = v.process.Run(v.in, v.out, nil); v.err != nil {
		return
	}
	v.ports.setOutputs(&v.now, v.layout, v.out)
}

// IdleFor returns 0, since the ports do not show whether the device sleeps. A
// failed process sleeps forever.
func (v *Verilated) IdleFor() uint64 {
	if v.err != nil {
		return math.MaxUint64
	}
	return 0
}

// Skip runs n clocks without input.
func (v *Verilated) Skip(n uint64) {
	for n > 0 && v.err == nil {
		n -= v.hold(n)
	}
}

// Run runs up to n clocks without input, n at least 1, and returns their number.
// It stops early if the outputs change, and at once if the device offers
// something now.
func (v *Verilated) Run(n uint64) uint64 {
	if v.err != nil || v.now.Req.Kind != port.None || v.now.Beat.Valid || v.now.Cpl.Status != port.CplNone {
		return 0
	}
	return v.hold(n)
}

// hold runs up to n clocks without input, until the outputs change.
func (v *Verilated) hold(n uint64) uint64 {
	v.ports.GetInputs(&Inputs{}, v.values)
	v.layout.PackInputs(v.in, false, v.values)
	v.now = Outputs{}
	if n, v.err = v.process.Hold(v.in, v.out, n); v.err == nil {
		v.ports.setOutputs(&v.now, v.layout, v.out)
	}
	return n
}

// Err returns why the process has failed, or nil.
func (v *Verilated) Err() error { return v.err }

// Close ends the process and returns Err, or the error of ending it.
func (v *Verilated) Close() error {
	err := v.process.Close()
	if v.err != nil {
		return v.err
	}
	return err
}

// Kill ends the process at once, as if it had failed.
func (v *Verilated) Kill() error { return v.process.Kill() }
