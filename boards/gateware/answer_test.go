package gateware

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestShell simulates what yosys reads, with the clock of the board in place of its PLL. Of
// boards with a UART and the same shell it takes the first.
func TestShell(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	seen := map[string]bool{}
	for _, b := range All() {
		if seen[string(b.Shell)] || b.New == nil {
			continue // the package of a board with a PHY simulates its own shell
		}
		seen[string(b.Shell)] = true
		g, _, err := b.Make("../..")
		require.NoError(t, err)
		d := &verilog.Design{Files: []verilog.File{{Name: "aaa.v", Text: []byte("`define SIMULATION\n")}}, Manifest: verilog.Manifest{Top: "bench", Ports: []verilog.Port{
			{Name: "clk", Input: true, Width: 1}, {Name: "rst", Input: true, Width: 1},
			{Name: "uart_rx", Input: true, Width: 1}, {Name: "uart_tx", Width: 1},
		}}}
		bench := fmt.Sprintf("module bench(input wire clk, input wire rst, input wire uart_rx, output wire uart_tx);\n"+
			"  shell shell(.%s(clk), .uart_rx(uart_rx), .uart_tx(uart_tx), .led());\nendmodule\n", b.Pins[0].Port)
		d.Files = append(append(d.Files, g.Source.Files...), verilog.File{Name: "bench.v", Text: []byte(bench)})
		answers(t, b, d, sim.BuildOptions{Cache: t.TempDir(), Unoptimized: true})
	}
}

// answers compares what a host reads from a simulation and from the Go.
func answers(t *testing.T, b *Board, d *verilog.Design, o sim.BuildOptions) {
	t.Helper()
	top, err := b.New(b.Build())
	require.NoError(t, err)
	want, sent := identity(t, b, top)
	chip := newChip(t, d, o)
	got, same := identity(t, b, chip)
	assert.Equal(t, want, got)
	assert.Equal(t, fmt.Sprintf("%08x", b.Build()), got.Build)
	assert.Equal(t, sent, same, "bytes sent and received by the host")
	require.NoError(t, chip.process.Close())
	t.Logf("build %s answers, %d clocks, %d and %d bytes", got.Build, chip.clocks, sent[0], sent[1])
}

// identity returns what a host reads from a board, and the bytes on the line.
func identity(t *testing.T, b *Board, top Top) (regs.Identity, [2]uint64) {
	t.Helper()
	wire, err := pins.New(pins.NewSerial(top, b.Hz, b.Rates, 0), pins.Options{Hz: b.Hz})
	require.NoError(t, err)
	wire.Run(2000) // the reset of the shell
	link, err := rootport.New(wire.Dial, regs.NoMemory{}, rootport.Options{})
	require.NoError(t, err)
	f, err := regs.Open(link, regs.Options{})
	require.NoError(t, err)
	id := f.Identity()
	require.NoError(t, f.Close())
	require.NoError(t, link.Close())
	return id, [2]uint64{wire.BytesDown, wire.BytesUp}
}

// A chip is a board in a simulation. It implements Top.
type chip struct {
	t       *testing.T
	process *sim.Process
	layout  *sim.Layout
	in      []byte
	out, x  []byte
	line    *sim.Signal
	level   bool
	clocks  int
}

func newChip(t *testing.T, d *verilog.Design, o sim.BuildOptions) *chip {
	t.Helper()
	m, err := sim.Build(d, o)
	require.NoError(t, err)
	c := &chip{t: t, layout: m.Layout(), level: true}
	c.process, err = m.Start()
	require.NoError(t, err)
	c.in, c.out, c.x = make([]byte, c.layout.InBytes), make([]byte, c.layout.OutBytes), make([]byte, c.layout.OutBytes)
	for i := range c.layout.Out {
		if s := &c.layout.Out[i]; s.Name == "uart_tx" {
			c.line = s
		}
	}
	require.NotNil(t, c.line)
	return c
}

func (c *chip) Line() bool { return c.level }

func (c *chip) Tick(rx bool) {
	level := uint64(0)
	if rx {
		level = 1
	}
	c.layout.PackInputs(c.in, false, []uint64{level})
	require.NoError(c.t, c.process.Run(c.in, c.out, c.x))
	if c.line.Get(c.x) != 0 {
		require.Fail(c.t, "the line is x", "in clock %d", c.clocks)
	}
	c.level = c.line.Get(c.out) != 0
	c.clocks++
}
