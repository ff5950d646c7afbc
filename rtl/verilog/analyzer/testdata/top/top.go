// Package top has a module with an instance of another package's module.
package top

import "github.com/hilgpu/hilgpu/rtl/verilog/analyzer/testdata/block"

// Top is a module.
type Top struct {
	block block.Module
	extra block.Module
	both  bool
	sum   uint8
	names []string // want `RTL001: hardware has no \[\]string; rewrite: use bool`
}

// Tick is one rising clock edge.
func (t *Top) Tick(in uint8) { // want Tick:"changes its receiver" Tick:"RTL010"
	count := t.block.Count()
	t.sum = block.Double(count) + in
	t.sum += t.block.Third() // want `RTL010: Third cannot be translated: .*block.go:\d+:\d+: a division by something other than a constant power of two`
	t.sum += block.First(in) // want `RTL003: First cannot be translated: .*block.go:\d+:\d+: a statement`
	count = t.block.Take()   // want `RTL014: Take of an instance of a module`
	if t.both {
		t.extra.Tick(in > count) // a condition on a parameter
	}
	t.block.Tick(in == 3)
}

// Reset sets the registers.
func (t *Top) Reset() { // want Reset:"changes its receiver"
	t.sum = 0
	t.block.Reset()
	t.extra.Reset()
}

// Names is not translated.
func (t *Top) Names() []string { return t.names } // want Names:"RTL001"
