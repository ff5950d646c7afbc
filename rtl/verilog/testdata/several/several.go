// Package several has a module with several instances of the same types.
package several

import "github.com/hilgpu/hilgpu/rtl/verilog/testdata/sample"

// Module has two instances that differ in a number, two that differ in a condition, and two
// that differ in a divisor, which must be a constant.
type Module struct {
	Low, High   sample.Offset
	Once, Twice sample.Repeat
	Half, Whole sample.Part
	Last        uint16
}

// New returns the module.
func New() *Module {
	return &Module{
		Low: sample.NewOffset(3), High: sample.NewOffset(0x1200),
		Once: sample.NewRepeat(1), Twice: sample.NewRepeat(2),
		Half: sample.NewPart(2), Whole: sample.NewPart(1),
	}
}

// Tick is one rising clock edge.
func (m *Module) Tick(a uint8) {
	m.Last = m.Half.Out() ^ m.Whole.Out()
	m.Low.Tick(a)
	m.High.Tick(a)
	m.Once.Tick(a)
	m.Twice.Tick(a)
	m.Half.Tick(a)
	m.Whole.Tick(a)
}

// Reset sets the registers.
func (m *Module) Reset() {
	m.Last = 0
	m.Low.Reset()
	m.High.Reset()
	m.Once.Reset()
	m.Twice.Reset()
	m.Half.Reset()
	m.Whole.Reset()
}

// Tables has two tables.
type Tables struct{ Low, High sample.Table }

// NewTables returns Tables whose ROMs have the given words.
func NewTables(low, high []uint64) *Tables {
	return &Tables{*sample.NewTable(low), *sample.NewTable(high)}
}

// Tick is one rising clock edge.
func (m *Tables) Tick(addr uint16, write bool, v uint8) {
	m.Low.Tick(addr, write, v)
	m.High.Tick(addr, write, v)
}
