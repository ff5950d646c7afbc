package synth

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/uart"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// echo is a board that returns each byte of its UART plus 1.
func echo(t *testing.T) *Gateware {
	t.Helper()
	top := uart.New()
	d, err := verilog.TranslateModule("../..", &top, "Line", "Received", "Ready")
	require.NoError(t, err)
	shell, err := os.ReadFile("testdata/echo.v")
	require.NoError(t, err)
	part := HX8K()
	return &Gateware{
		Name: "echo", Part: part, Manifest: d.Manifest, Instance: "top", Seed: 1,
		Source: Source{
			Files: append(d.Files, verilog.File{Name: "shell.v", Text: shell}, verilog.File{Name: "board.vh", Text: []byte("`define DIVF 7'd55\n`define DIVQ 3'd5\n")}),
			Top:   "shell", Cells: true, MHz: 21,
		},
		Pins: part.Constraints([][2]string{
			{"clk12", "J3"}, {"uart_rx", "B10"}, {"uart_tx", "B12"},
			{"led[0]", "B5"}, {"led[1]", "B4"}, {"led[2]", "A2"}, {"led[3]", "A1"}, {"led[4]", "C5"}, {"led[5]", "C4"}, {"led[6]", "B3"}, {"led[7]", "C3"},
		}),
	}
}

// TestBitstream builds the same bitstream twice, and a simulation of what is in it returns
// bytes.
func TestBitstream(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, append(UnpackTools(), "nextpnr-ice40", "icepack", "icetime", "icebox_chipdb", "iverilog", "vvp")...)
	g := echo(t)
	dir := t.TempDir()
	var steps []string
	a, err := g.Build(filepath.Join(dir, "a"), g.Hash(), func(name string) { steps = append(steps, name) })
	require.NoError(t, err)
	t.Log("\n" + a.String())
	b, err := g.Build(filepath.Join(dir, "b"), g.Hash(), nil)
	require.NoError(t, err)
	assert.Equal(t, a.SHA256, b.SHA256)
	assert.Equal(t, []string{"synthesis", "placing and routing", "timing", "packing"}, steps)
	assert.Empty(t, a.Findings)
	assert.Greater(t, a.MHz, 21.0)
	assert.Greater(t, a.StaticMHz, 21.0)
	for _, e := range []End{a.Path.From, a.Path.To} {
		assert.Regexp(t, `^rtl/uart/\w+\.go:\d+$`, e.Pos, "%v", e)
	}

	bits, err := os.ReadFile(a.File)
	require.NoError(t, err)
	d, err := Unpack(bits, g.Pins, "clk12")
	require.NoError(t, err)
	assert.Equal(t, []byte{0x12, 0xff, 0}, returned(t, d, 0x11, 0xfe, 0xff))
}

// returned sends bytes to the unpacked board, each after the answer to the one before, and
// returns the answers. A bit has 14 clocks.
func returned(t *testing.T, d *verilog.Design, bytes ...byte) []byte {
	t.Helper()
	m, err := sim.Build(d, sim.BuildOptions{Sim: sim.Icarus, Cache: t.TempDir()})
	require.NoError(t, err)
	p, err := m.Start()
	require.NoError(t, err)
	lay := m.Layout()
	in, out, x := make([]byte, lay.InBytes), make([]byte, lay.OutBytes), make([]byte, lay.OutBytes)
	line := 0
	for i := range lay.Out {
		if lay.Out[i].Name == "uart_tx" {
			line = i
		}
	}
	clock := func(rx uint64) bool {
		lay.PackInputs(in, false, []uint64{rx})
		require.NoError(t, p.Run(in, out, x))
		return lay.Out[line].Get(out) != 0
	}
	for range 100 {
		clock(1)
	}
	var all []byte
	for _, v := range bytes {
		word, levels := uint64(v)<<1|1<<9, []bool{}
		for i := range 400 {
			level := uint64(1)
			if i < 140 {
				level = word >> (i / 14) & 1
			}
			levels = append(levels, clock(level))
		}
		start := 0
		for start < len(levels) && levels[start] {
			start++
		}
		require.Less(t, start+140, len(levels), "no answer")
		got := byte(0)
		for bit := range 8 {
			if levels[start+7+14*(bit+1)] {
				got |= 1 << bit
			}
		}
		all = append(all, got)
	}
	require.NoError(t, p.Close())
	return all
}
