package pins

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// lineOutput is the output of a top that has the level of the line to the host.
const lineOutput = "Line"

// Verilated is the Verilog of a board's top in a process that Verilator built. It
// implements Batch. After the process has failed, each call fails.
type Verilated struct {
	process *sim.Process
	layout  *sim.Layout
	line    *sim.Signal
	in, out []byte
}

var _ Batch = (*Verilated)(nil)

// NewVerilated translates the top of a board from the module source at root, builds it with
// Verilator or finds it in the cache, starts it and resets it. outputs are the methods whose
// results are ports, among them Line. It fails with sim.ErrSource, sim.ErrTool or
// sim.ErrBuild.
func NewVerilated(root string, top any, o sim.BuildOptions, outputs ...string) (*Verilated, error) {
	d, err := verilog.TranslateModule(root, top, outputs...)
	if err != nil {
		return nil, err
	}
	m, err := sim.Build(d, sim.BuildOptions{Cache: o.Cache, Unoptimized: o.Unoptimized})
	if err != nil {
		return nil, err
	}
	v := &Verilated{layout: m.Layout()}
	for i := range v.layout.Out {
		if s := &v.layout.Out[i]; s.Name == lineOutput {
			v.line = s
		}
	}
	if v.line == nil || len(v.layout.In) != 2 {
		return nil, fmt.Errorf("%w: %s has no output %s, or other inputs than rst and the line", sim.ErrManifest, v.layout.Top, lineOutput)
	}
	if v.process, err = m.Start(); err != nil {
		return nil, err
	}
	if err := v.Reset(); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Run implements Batch.
func (v *Verilated) Run(rx, tx []bool) error { return v.run(false, rx, tx) }

// Reset implements Batch.
func (v *Verilated) Reset() error { return v.run(true, make([]bool, 1), make([]bool, 1)) }

func (v *Verilated) run(rst bool, rx, tx []bool) error {
	in, out := v.layout.InBytes, v.layout.OutBytes
	if len(v.in) != len(rx)*in {
		v.in, v.out = make([]byte, len(rx)*in), make([]byte, len(rx)*out)
	}
	level := [1]uint64{}
	for i, high := range rx {
		level[0] = 0
		if high {
			level[0] = 1
		}
		v.layout.PackInputs(v.in[i*in:], rst, level[:])
	}
	if err := v.process.Run(v.in, v.out, nil); err != nil {
		return err
	}
	for i := range tx {
		tx[i] = v.line.Get(v.out[i*out:]) != 0
	}
	return nil
}

// Close ends the process.
func (v *Verilated) Close() error { return v.process.Close() }
