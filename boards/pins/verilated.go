package pins

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// lineOutput is the output of a top, in Go, that has the level of the line to the host.
const lineOutput = "Line"

// symbolOutputs returns those that have the symbol for the PHY.
func symbolOutputs() []string {
	return []string{"Symbol.valid", "Symbol.s.Enable", "Symbol.s.Last", "Symbol.s.Data"}
}

// A chip is the Verilog of a board's top in a process that Verilator built.
type chip struct {
	process *sim.Process
	layout  *sim.Layout
	idle    []uint64 // inputs of a reset
	in, out []byte
}

// Verilated is the Verilog of a board with a UART in a process that Verilator built. It
// implements Batch. After the process has failed, each call fails.
type Verilated struct {
	chip
	line *sim.Signal
}

// EtherVerilated is the same for a board on Ethernet. It implements EtherBatch.
type EtherVerilated struct {
	chip
	symbol [4]*sim.Signal // valid, Enable, Last, Data
}

var (
	_ Batch      = (*Verilated)(nil)
	_ EtherBatch = (*EtherVerilated)(nil)
)

// NewVerilated translates the top of a board from the module source at root, builds it with
// Verilator or finds it in the cache, starts it and resets it. outputs are the methods whose
// results are ports, among them Line. It fails with sim.ErrSource, sim.ErrTool or
// sim.ErrBuild.
func NewVerilated(root string, top any, o sim.BuildOptions, outputs ...string) (*Verilated, error) {
	v := &Verilated{}
	found, err := v.start(root, top, 1, o, outputs, lineOutput)
	if err != nil {
		return nil, err
	}
	v.line = found[0]
	return v, nil
}

// NewEtherVerilated is NewVerilated for a board on Ethernet, which has the output Symbol.
func NewEtherVerilated(root string, top any, o sim.BuildOptions, outputs ...string) (*EtherVerilated, error) {
	v := &EtherVerilated{}
	found, err := v.start(root, top, 5, o, outputs, symbolOutputs()...)
	if err != nil {
		return nil, err
	}
	v.symbol = [4]*sim.Signal(found)
	return v, nil
}

// start builds and starts a top with the given number of inputs. It returns the outputs with
// some names in Go.
func (c *chip) start(root string, top any, inputs int, o sim.BuildOptions, outputs []string, names ...string) ([]*sim.Signal, error) {
	d, err := verilog.TranslateModule(root, top, outputs...)
	if err != nil {
		return nil, err
	}
	m, err := sim.Build(d, sim.BuildOptions{Cache: o.Cache, Unoptimized: o.Unoptimized})
	if err != nil {
		return nil, err
	}
	c.layout, c.idle = m.Layout(), make([]uint64, inputs)
	var found []*sim.Signal
	for _, name := range names {
		found = append(found, c.output(d, name))
	}
	if slices.Contains(found, nil) || len(c.layout.In) != 1+inputs {
		return nil, fmt.Errorf("%w: %s has no output %v, or not %d inputs and rst", sim.ErrManifest, c.layout.Top, names, inputs)
	}
	if c.process, err = m.Start(); err != nil {
		return nil, err
	}
	if err := c.Reset(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return found, nil
}

// output returns the output with a name in Go, or nil.
func (c *chip) output(d *verilog.Design, name string) *sim.Signal {
	for _, p := range d.Manifest.Ports {
		for i := range c.layout.Out {
			if s := &c.layout.Out[i]; p.Go == name && s.Name == p.Name {
				return s
			}
		}
	}
	return nil
}

// room makes room for n clocks.
func (c *chip) room(n int) {
	if len(c.in) != n*c.layout.InBytes {
		c.in, c.out = make([]byte, n*c.layout.InBytes), make([]byte, n*c.layout.OutBytes)
	}
}

// pack sets the inputs of clock i.
func (c *chip) pack(i int, rst bool, v ...uint64) {
	c.layout.PackInputs(c.in[i*c.layout.InBytes:], rst, v)
}

// get returns an output after clock i.
func (c *chip) get(i int, s *sim.Signal) uint64 { return s.Get(c.out[i*c.layout.OutBytes:]) }

// Reset is a clock with the reset input set.
func (c *chip) Reset() error {
	c.room(1)
	c.pack(0, true, c.idle...)
	return c.process.Run(c.in, c.out, nil)
}

// Close ends the process.
func (c *chip) Close() error { return c.process.Close() }

// Run implements Batch.
func (v *Verilated) Run(rx, tx []bool) error {
	v.room(len(rx))
	for i, high := range rx {
		v.pack(i, false, word(high))
	}
	if err := v.process.Run(v.in, v.out, nil); err != nil {
		return err
	}
	for i := range tx {
		tx[i] = v.get(i, v.line) != 0
	}
	return nil
}

// Run implements EtherBatch.
func (v *EtherVerilated) Run(rx []mac.Byte, tx []mac.Symbol) error {
	v.room(len(rx))
	for i, b := range rx {
		v.pack(i, false, word(b.Valid), word(b.End), word(b.Error), uint64(b.Data), 1)
	}
	if err := v.process.Run(v.in, v.out, nil); err != nil {
		return err
	}
	for i := range tx {
		tx[i] = mac.Symbol{}
		if v.get(i, v.symbol[0]) != 0 {
			tx[i] = mac.Symbol{Enable: v.get(i, v.symbol[1]) != 0, Last: v.get(i, v.symbol[2]) != 0, Data: uint8(v.get(i, v.symbol[3]))}
		}
	}
	return nil
}

func word(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
