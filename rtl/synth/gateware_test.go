package synth

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// blink is gateware without a PLL, for a part.
func blink(part Part) *Gateware {
	text := "// A counter.\nmodule shell(input wire clk, output wire led);\n  (* src = \"a.go:1\" *)\n  reg [3:0] n = 4'd0; // four bits\n  always @(posedge clk) n <= n + 4'd1;\n  assign led = n[3];\nendmodule\n"
	return &Gateware{
		Name: "blink", Part: part, Instance: "top", Seed: 1,
		Source: Source{Files: []verilog.File{{Name: "shell.v", Text: []byte(text)}}, Top: "shell", Cells: true, MHz: 25},
		Pins:   part.Constraints([][2]string{{"clk", "G2"}, {"led", "B2"}}),
	}
}

// TestCounted: a design may use four fifths of the LUTs of an ECP5, and all block RAMs.
func TestCounted(t *testing.T) {
	for _, tt := range []struct {
		thousands, luts, rams int
		want                  []Finding
	}{
		{25, 19_430, 56, nil},
		{25, 19_431, 56, []Finding{{Size, "19431 LUTs, want at most 19430 of 24288"}}},
		{12, 10, 57, []Finding{{RAM, "57 block RAMs, want at most 56"}}},
		{85, 66_912, 208, nil},
		{85, 66_913, 209, []Finding{{Size, "66913 LUTs, want at most 66912 of 83640"}, {RAM, "209 block RAMs, want at most 208"}}},
	} {
		p := LFE5U(tt.thousands)
		all, found := p.counted(Cells{LUT: tt.luts, FF: 7, RAM: tt.rams})
		assert.Equal(t, tt.want, found)
		assert.Equal(t, []Resource{{"LUT4", tt.luts, p.LUTs}, {"TRELLIS_FF", 7, p.LUTs}, {"DP16KD", tt.rams, p.RAMs}}, all)
	}
	all, found := HX8K().counted(Cells{LUT: 1 << 20, RAM: 1 << 20})
	assert.Nil(t, all, "nextpnr counts")
	assert.Nil(t, found)
}

// The hash is that of what the tools read: not of comments, positions and the seed, but of
// every number, pin and other option.
func TestHash(t *testing.T) {
	one := blink(HX8K()).Hash()
	assert.Equal(t, one, blink(HX8K()).Hash())
	replace := func(from, to string) func(*Gateware) {
		return func(g *Gateware) {
			f := &g.Source.Files[0]
			require.Contains(t, string(f.Text), from)
			f.Text = bytes.Replace(f.Text, []byte(from), []byte(to), 1)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(g *Gateware)
		same   bool
	}{
		{"a comment", replace("four bits", "some bits"), true},
		{"a position", replace("a.go:1", "a.go:2"), true},
		{"a blank line", replace("endmodule", "\nendmodule"), true},
		{"the name of the board", func(g *Gateware) { g.Name = "x" }, true},
		{"a number", replace("+ 4'd1", "+ 4'd2"), false},
		{"a pin", func(g *Gateware) { g.Pins = append(g.Pins, ' ') }, false},
		{"the seed", func(g *Gateware) { g.Seed = 2 }, true},
		{"the clock", func(g *Gateware) { g.Source.MHz = 24 }, false},
		{"the part", func(g *Gateware) { g.Part.Place = []string{"--lp8k"} }, false},
	} {
		g := blink(HX8K())
		tt.change(g)
		assert.Equal(t, tt.same, one == g.Hash(), tt.name)
	}
}

func TestConstraints(t *testing.T) {
	assert.Equal(t, "set_io clk G2\nset_io led B2\n", string(blink(HX8K()).Pins))
	assert.Equal(t, "LOCATE COMP \"clk\" SITE \"G2\";\nIOBUF PORT \"clk\" IO_TYPE=LVCMOS33;\nLOCATE COMP \"led\" SITE \"B2\";\nIOBUF PORT \"led\" IO_TYPE=LVCMOS33;\n",
		string(blink(LFE5U(25)).Pins))
}

// Debian has no tools that place an ECP5: without them a build ends after the synthesis.
func TestWithoutThePlacer(t *testing.T) {
	tooltest.Need(t, "yosys")
	if Tools("nextpnr-ecp5") == nil {
		return
	}
	dir := t.TempDir()
	out, err := blink(LFE5U(25)).Build(dir, 0, nil)
	require.ErrorIs(t, err, ErrTool)
	assert.EqualError(t, err, "synth: missing tool: nextpnr-ecp5 (not in Debian)")
	assert.FileExists(t, filepath.Join(dir, "netlist.json"))
	require.NotNil(t, out)
	assert.Empty(t, out.File)
	assert.Equal(t, Resource{"TRELLIS_FF", 4, 24_288}, out.Resources[1])
	assert.Contains(t, out.String(), "    4 of 24288 TRELLIS_FF\n")
	assert.NotContains(t, out.String(), "clock")
}

func TestBuildRefuses(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys", "nextpnr-ice40", "icepack", "icetime", "icebox_chipdb")
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := blink(HX8K()).Build(filepath.Join(file, "x"), 0, nil)
	assert.ErrorIs(t, err, ErrDir)

	g := blink(HX8K()) // a clock that no iCE40 reaches
	g.Source.MHz = 2000
	g.Pins = g.Part.Constraints([][2]string{{"clk", "J3"}, {"led", "B5"}})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "blink.bin"), nil, 0o600))
	out, err := g.Build(dir, 0, nil)
	require.NoError(t, err)
	require.Len(t, out.Findings, 2)
	assert.Equal(t, Clock, out.Findings[0].Kind)
	assert.Regexp(t, `MHz by nextpnr, want 2000 MHz$`, out.Findings[0].Text)
	assert.Regexp(t, `MHz by icetime, want 2000 MHz$`, out.Findings[1].Text)
	assert.Contains(t, out.String(), "REFUSED clock: ")
	assert.NoFileExists(t, filepath.Join(dir, "blink.bin"), "no bitstream, not even that of an earlier build")
	assert.Empty(t, out.File)

	t.Setenv("PATH", dir)
	_, err = g.Build(dir, 0, nil)
	assert.EqualError(t, err, "synth: missing tool: yosys (Debian package yosys)")
}

// Reports of nextpnr 0.4 and icetime, and a netlist of yosys 0.23, each shortened.
func TestReports(t *testing.T) {
	const report = `{"critical_paths": [
		{"from": "<async>", "to": "posedge clk", "path": [{"delay": 99, "type": "source", "from": {"cell": "a"}, "to": {"cell": "b"}}]},
		{"from": "posedge clk", "to": "posedge clk", "path": [
			{"delay": 0.5, "type": "clk-to-q", "from": {"cell": "other"}, "to": {"cell": "top.b_LUT_LC"}},
			{"delay": 1.25, "type": "routing", "from": {"cell": "top.b_LUT_LC"}, "to": {"cell": "x_LC"}},
			{"delay": 0.25, "type": "logic", "from": {"cell": "x_LC"}, "to": {"cell": "x_LC"}},
			{"delay": 1, "type": "setup", "from": {"cell": "top.vram.mem.0.0_RAM"}, "to": {"cell": "top.vram.mem.0.0_RAM"}}]}],
		"fmax": {"clk": {"achieved": 33.5, "constraint": 21}},
		"utilization": {"ICESTORM_RAM": {"used": 26, "available": 32}, "ICESTORM_LC": {"used": 7000, "available": 7680}, "SB_GB": {"used": 0, "available": 8}}}`
	const netlist = `{"modules": {"shell": {
		"cells": {
			"top.b_LUT": {"type": "SB_LUT4", "connections": {"O": [7], "I0": ["0"]}},
			"top.b_DFF": {"type": "SB_DFFE", "connections": {"D": [7], "Q": [9], "C": [2]}},
			"top.c_DFF": {"type": "SB_DFF", "connections": {"D": [9], "Q": [11], "C": [2]}},
			"top.vram.mem.0.0": {"type": "SB_RAM40_4K", "connections": {}}},
		"netnames": {"top.cp0.b": {"bits": [8, 9]}, "top.c": {"bits": [11]}, "n": {"bits": ["1"]}}}}}`
	m := &verilog.Manifest{
		Registers: []verilog.Register{{Verilog: "cp0.b", Go: "gpu.cp0.b", Pos: "rtl/cp/cp.go:7", Width: 2}, {Verilog: "c", Go: "c", Pos: "c.go:1", Width: 1}},
		Memories:  []verilog.Memory{{Verilog: "vram.mem", Go: "gpu.vram.ram.words"}},
	}
	ends, err := owners([]byte(netlist), "shell", "top", m)
	require.NoError(t, err)
	assert.Equal(t, End{Go: "c", Pos: "c.go:1"}, ends["top.c_DFF_DFFLC"])
	p, err := critical([]byte(report), ends)
	require.NoError(t, err)
	assert.Equal(t, "critical path: 3.00 ns through 1 cells\n  from gpu.cp0.b[1]  rtl/cp/cp.go:7\n  to   gpu.vram.ram.words\n", p.String())
	r, err := resources([]byte(report))
	require.NoError(t, err)
	assert.Equal(t, []Resource{{"ICESTORM_LC", 7000, 7680}, {"ICESTORM_RAM", 26, 32}}, r)
	mhz, err := static("// Creating timing netlist..\n// Timing estimate: 8.40 ns (119.09 MHz)\n")
	require.NoError(t, err)
	assert.Equal(t, 119.09, mhz)

	_, err = static("// Reading")
	assert.ErrorIs(t, err, ErrPlace)
	_, err = critical([]byte("{"), nil)
	assert.ErrorIs(t, err, ErrPlace)
	_, err = owners([]byte("{}"), "shell", "top", m)
	assert.ErrorIs(t, err, ErrYosys)
	_, err = resources([]byte("x"))
	assert.ErrorIs(t, err, ErrPlace)
}
