package testbench_test

import (
	"image"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// The driver stack sees no difference between the Go RTL and its Verilog: the frame
// and all counts outside the board are equal, and so are the cycles.
func TestVerilatedComposesAsTheEmulator(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	o := compose.Options{Width: 40, Height: 30, Contexts: 2, Seed: 5, Sources: noise(3, image.Pt(20, 20), image.Pt(9, 33))}
	want, counts := composed(t, "emu?config=small", o, testbench.Options{})
	got, verilated := composed(t, "verilated?config=small", o, testbench.Options{})
	assert.Equal(t, want, got)
	counts.Packets, counts.BytesMoved = 0, 0
	assert.Equal(t, counts, verilated)
}
