package lockstep

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A Module is any module in lockstep with its Verilog. Its methods are for one goroutine.
// Err returns the first divergence found so far, and Close the first of the run.
type Module struct {
	circuit *moduleCircuit
	lock    *Lockstep
	rng     *rand.Rand // of the inputs during a reset
	err     error
}

// NewModule translates the source of a module, builds its Verilog, and starts both in
// lockstep after a reset. root is the root of the source tree, top a pointer to a struct
// with Tick and Reset, and outputs are the methods whose results are ports.
func NewModule(root string, top any, o Options, outputs ...string) (*Module, error) {
	d, err := verilog.TranslateModule(root, top, outputs...)
	if err != nil {
		return nil, err
	}
	c := newModuleCircuit(top, outputs)
	lock, err := New(d, c, o)
	if err != nil {
		return nil, err
	}
	return startModule(c, lock), nil
}

// NewVariantModule is like NewVariants for a module in its initial state. d is its Verilog
// with the selector.
func NewVariantModule(top any, d *verilog.Design, v Variants, o Options, outputs ...string) (*Module, error) {
	c := newModuleCircuit(top, outputs)
	lock, err := NewVariants(d, c, v, o)
	if err != nil {
		return nil, err
	}
	return startModule(c, lock), nil
}

func startModule(c *moduleCircuit, l *Lockstep) *Module {
	return &Module{circuit: c, lock: l, rng: rand.New(rand.NewPCG(0, 0x7265736574))}
}

// Tick is a clock of both sides; after a divergence only of the Go side. args are those of the module's Tick.
func (m *Module) Tick(args ...any) {
	in := m.circuit.in[:0]
	for i, a := range args {
		v := reflect.ValueOf(a)
		if want := m.circuit.tick.Type().In(i); v.Type() != want {
			v = v.Convert(want)
		}
		in = scalars(in, v)
	}
	m.circuit.in = in
	m.clock(false, in)
}

// Reset is a clock of both sides with the reset input set. Each of the other inputs is random, or
// has the value of the clock before: the module must ignore them.
func (m *Module) Reset() {
	if len(m.circuit.in) == 0 {
		m.circuit.in = make([]uint64, len(m.lock.in))
	}
	for i, in := range m.lock.layout.In[1 : 1+len(m.lock.in)] {
		if m.rng.IntN(2) == 0 {
			m.circuit.in[i] = m.rng.Uint64() >> (64 - in.Width)
		}
	}
	m.clock(true, m.circuit.in)
}

func (m *Module) clock(rst bool, in []uint64) {
	if m.err != nil {
		m.circuit.Clock(rst, in)
		return
	}
	m.err = m.lock.Clock(rst, in)
}

// Verdicts returns the outcome of each variant of a closed module; see Lockstep.
func (m *Module) Verdicts() []error { return m.lock.Verdicts() }

// Err returns the first divergence found so far.
func (m *Module) Err() error { return m.err }

// Clocks returns the number of clocks since the start.
func (m *Module) Clocks() uint64 { return m.lock.Clocks() }

// Close compares what is left and returns the first divergence.
func (m *Module) Close() error {
	if err := m.lock.Close(); m.err == nil {
		m.err = err
	}
	return m.err
}

// moduleCircuit is a module as a Circuit. Its ports are the scalars of the arguments and
// results, in order, as in its Verilog.
type moduleCircuit struct {
	top         any
	tick, reset reflect.Value
	outputs     []reflect.Value
	args        []reflect.Value // of tick; addressable
	in          []uint64
}

var _ Circuit = (*moduleCircuit)(nil)

func newModuleCircuit(top any, outputs []string) *moduleCircuit {
	v := reflect.ValueOf(top)
	c := &moduleCircuit{top: top, tick: v.MethodByName("Tick"), reset: v.MethodByName("Reset")}
	for _, name := range outputs {
		c.outputs = append(c.outputs, v.MethodByName(name))
	}
	for i := range c.tick.Type().NumIn() {
		c.args = append(c.args, reflect.New(c.tick.Type().In(i)).Elem())
	}
	return c
}

func (c *moduleCircuit) Root() any { return c.top }

func (c *moduleCircuit) Clock(rst bool, in []uint64) {
	if rst {
		c.reset.Call(nil)
		return
	}
	for _, a := range c.args {
		in = setScalars(a, in)
	}
	c.tick.Call(c.args)
}

func (c *moduleCircuit) Outputs(out []uint64) {
	all := out[:0]
	for _, f := range c.outputs {
		for _, v := range f.Call(nil) {
			all = scalars(all, v)
		}
	}
}

// scalars appends the scalars of a value: the fields of a struct in their order.
func scalars(s []uint64, v reflect.Value) []uint64 {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			s = scalars(s, v.Field(i))
		}
		return s
	case reflect.Bool:
		if v.Bool() {
			return append(s, 1)
		}
		return append(s, 0)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return append(s, v.Uint())
	}
	panic(fmt.Sprintf("lockstep: a port of type %v", v.Type()))
}

// setScalars sets a value from the first scalars, and returns the others.
func setScalars(v reflect.Value, s []uint64) []uint64 {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			s = setScalars(v.Field(i), s)
		}
		return s
	case reflect.Bool:
		v.SetBool(s[0] != 0)
	default:
		v.SetUint(s[0])
	}
	return s[1:]
}
