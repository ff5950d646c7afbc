package synth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// source returns a design of one file.
func source(text string) Source {
	return Source{Files: []verilog.File{{Name: "top.v", Text: []byte(text)}}, Top: "top", Blocks: []string{"top"}}
}

const (
	blockMemory = `module top(input wire clk, input wire we, input wire [7:0] wa, input wire [7:0] ra, input wire [7:0] d, output reg [7:0] q);
	(* no_rw_check *) reg [7:0] mem [0:255];
	always @(posedge clk) if (we) mem[wa] <= d;
	always @(posedge clk) q <= mem[ra];
endmodule
`
	asyncMemory = `module top(input wire clk, input wire we, input wire [3:0] wa, input wire [3:0] ra, input wire [7:0] d, output wire [7:0] q);
	reg [7:0] mem [0:15];
	always @(posedge clk) if (we) mem[wa] <= d;
	assign q = mem[ra];
endmodule
`
)

// inBlock expects one memory, mem, in a block RAM.
func inBlock() Expectation { return Expectation{RAM: 1, Memories: []Memory{{"mem", InBlock}}} }

func TestGate(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	for _, tt := range []struct {
		name, text string
		want       Expectation
		kinds      []Kind
	}{
		{"a register is fine", `module top(input wire clk, input wire d, output reg q);
			always @(posedge clk) q <= d;
			endmodule`, Expectation{}, nil},
		{"a latch", `module top(input wire en, input wire d, output reg q);
			always @* if (en) q = d;
			endmodule`, Expectation{}, []Kind{Latch}},
		{"an undriven net", `module top(input wire a, output wire y);
			wire n;
			assign y = a & n;
			endmodule`, Expectation{}, []Kind{Undriven}},
		{"two drivers", `module top(input wire clk, input wire a, input wire b, output reg y);
			always @(posedge clk) y <= a;
			always @(posedge clk) y <= b;
			endmodule`, Expectation{}, []Kind{Drivers}},
		{"a loop", `module top(input wire a, output wire y);
			wire n;
			assign n = ~(n & a);
			assign y = n;
			endmodule`, Expectation{}, []Kind{Loop}},
		{"a loop through two instances", `module inv(input wire a, output wire y);
			assign y = ~a;
			endmodule
			module top(input wire a, output wire y);
			wire n, m;
			inv i0 (.a(m), .y(n));
			inv i1 (.a(n & a), .y(m));
			assign y = n;
			endmodule`, Expectation{}, []Kind{Loop}},
		{"a warning that is not allowed", `module top(input wire a, output wire y);
			assign n = a;
			assign y = n;
			endmodule`, Expectation{}, []Kind{Warning}},
		{"a memory in block RAM", blockMemory, inBlock(), nil},
		{"a memory that is not expected", blockMemory, Expectation{RAM: 1}, []Kind{RAM}},
		{"a memory that is missing", `module top(input wire a, output wire y);
			assign y = a;
			endmodule`, inBlock(), []Kind{RAM, RAM}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Run(source(tt.text), ECP5, tt.want)
			require.NoError(t, err)
			assert.Equal(t, tt.kinds, kinds(r.Findings), "%v", r.Findings)
		})
	}
}

// Messages of the iCE40 mapper about its own work are not findings.
func TestMapperWarnings(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	for _, tt := range []struct{ name, text string }{
		{"a flip-flop that ABC uses twice", `module top(input wire clk, input wire [7:0] a, input wire [7:0] b, input wire c, output reg [7:0] d, output reg t, output reg u, output reg v);
			wire less = a < b;
			always @(posedge clk) begin
				d <= a - b;
				t <= less & c | ~less & a[0];
				u <= less ^ c;
				v <= a > b;
			end
			endmodule`},
		{"more carries in a row than a clock has time for", `module top(input wire clk, input wire [47:0] a, input wire [47:0] b, output reg [47:0] q);
			function [47:0] turn(input [47:0] x);
				integer i;
				for (i = 0; i < 48; i = i + 1) turn[i] = x[47-i];
			endfunction
			always @(posedge clk) q <= turn(turn(turn(turn(a + b) + b) + q) + a) + b;
			endmodule`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Run(source(tt.text), ICE40, Expectation{})
			require.NoError(t, err)
			assert.Empty(t, r.Findings)
		})
	}
}

// kinds returns the kinds of findings. Equal neighbours are merged, except RAM.
func kinds(fs []Finding) []Kind {
	var out []Kind
	for _, f := range fs {
		if f.Kind == RAM || len(out) == 0 || out[len(out)-1] != f.Kind {
			out = append(out, f.Kind)
		}
	}
	return out
}

func TestMemoryThatBecomesFlipFlops(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	r, err := Run(source(asyncMemory), ICE40, inBlock())
	require.NoError(t, err)
	assert.Equal(t, []Memory{{"mem", InFlipFlops}}, r.Memories)
	assert.Equal(t, 16*8, r.Total.FF)
	assert.Equal(t, []Finding{
		{RAM, "0 block RAMs, want 1"},
		{RAM, "mem is in flip-flops, want block"},
	}, r.Findings)
	r, err = Run(source(blockMemory), ICE40, inBlock())
	require.NoError(t, err)
	assert.Empty(t, r.Findings)
	assert.Equal(t, 1, r.Total.RAM)
}

// vram returns the block VRAM with the given size in bytes and number of ports.
func vram(t *testing.T, bytes uint64, ports int) Source {
	t.Helper()
	c := gpu.Small()
	c.VRAMBytes, c.VRAMPorts = bytes, ports
	g, err := gpu.New(c)
	require.NoError(t, err)
	d, err := verilog.Translate("../..", g)
	require.NoError(t, err)
	s := Source{Top: "mem", Blocks: []string{"mem"}}
	for _, f := range d.Files {
		if f.Name == "mem.v" || strings.HasPrefix(f.Name, "hdl_ram") {
			s.Files = append(s.Files, f)
		}
	}
	return s
}

// Single-port VRAM takes as many block RAMs as dual-port VRAM.
func TestVRAMPorts(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	for _, ports := range []int{1, 2} {
		for target, blocks := range map[Target]int{ICE40: 16, ECP5: 4} {
			r, err := Run(vram(t, VRAMBytes, ports), target, Expectation{RAM: blocks, Memories: []Memory{{"ram.mem", InBlock}}})
			require.NoError(t, err)
			assert.Empty(t, r.Findings, "%d ports, %s", ports, target)
		}
	}
}

// 128 KiB of single-port VRAM fit the SPRAM of an UltraPlus.
func TestSPRAM(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	dir, err := scratch(vram(t, 128<<10, 1).Files)
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	script := `read_verilog -D SYNTHESIS mem.v hdl_ram_single.v
hierarchy -check -top mem
setattr -set ram_style "huge" *hdl_ram_single*/mem
synth_ice40 -device u -spram -top mem
select -assert-count 4 t:SB_SPRAM256KA
select -assert-none t:SB_RAM40_4K
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.ys"), []byte(script), 0o666))
	out, err := command(dir, "yosys", "-q", "-s", "run.ys")
	assert.NoError(t, err, tail(out))
}

func TestRunRefuses(t *testing.T) {
	_, err := Run(source(""), "stratix", Expectation{})
	assert.ErrorIs(t, err, ErrTarget)
	tooltest.Need(t, "yosys")
	_, err = Run(source("module top(; endmodule"), ICE40, Expectation{})
	assert.ErrorIs(t, err, ErrYosys)
	assert.ErrorContains(t, err, "syntax error")
}

func TestTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := PlaceTools()
	assert.ErrorIs(t, err, ErrTool)
	assert.ErrorContains(t, err, "yosys (Debian package yosys)")
	_, err = Run(source(blockMemory), ICE40, inBlock())
	assert.ErrorIs(t, err, ErrTool)
}

func TestBlocks(t *testing.T) {
	got, err := blocks([]byte(`{"modules": {
		"\\a": {"num_cells_by_type": {"b": 2, "SB_LUT4": 1}},
		"\\b": {"num_cells_by_type": {"\\c": 3, "SB_DFFSR": 4, "SB_DFFE": 1, "SB_CARRY": 2}},
		"\\c": {"num_cells_by_type": {"SB_RAM40_4K": 5, "CCU2C": 2, "TRELLIS_DPR16X4": 1, "MULT18X18D": 1, "PFUMX": 7}},
		"\\unused": {"num_cells_by_type": {"SB_LUT4": 9}}
	}}`), "a")
	require.NoError(t, err)
	assert.Equal(t, []Block{
		{"a", 1, 0, Cells{LUT: 1}},
		{"b", 2, 0, Cells{FF: 5, Carry: 2}},
		{"c", 6, 0, Cells{LUT: 10, Carry: 2, RAM: 5, LUTRAM: 1, DSP: 1, Other: 7}},
	}, got)
	got, err = blocks([]byte(`{"modules": {
		"\\a": {"num_cells_by_type": {"$paramod\\b\\at=16'0001000000000000\\on=1'1": 1, "$paramod\\b\\at=16'0001000100000000\\on=1'1": 2, "$paramod$12ab\\c": 1}},
		"$paramod\\b\\at=16'0001000000000000\\on=1'1": {"num_cells_by_type": {"LUT4": 3}},
		"$paramod\\b\\at=16'0001000100000000\\on=1'1": {"num_cells_by_type": {"LUT4": 4}},
		"$paramod$12ab\\c": {"num_cells_by_type": {"LUT4": 5}}
	}}`), "a")
	require.NoError(t, err)
	assert.Equal(t, []Block{
		{"a", 1, 0, Cells{}},
		{"b(at=16'h1000, on=1'h1)", 1, 0, Cells{LUT: 3}},
		{"b(at=16'h1100, on=1'h1)", 2, 0, Cells{LUT: 4}},
		{"c(12ab)", 1, 0, Cells{LUT: 5}},
	}, got)
	_, err = blocks([]byte(`{"modules": {}}`), "a")
	assert.ErrorIs(t, err, ErrYosys)
	_, err = blocks([]byte(`nonsense`), "a")
	assert.ErrorIs(t, err, ErrYosys)
}

func TestMemories(t *testing.T) {
	log := "mapping memory gpu.cp0.ring.slots via $__ICE40_RAM4K_\n" +
		"using FF mapping for memory gpu.dma.queue.slots\n" +
		`using FF mapping for memory gpu.$flatten\cp0.$auto$proc_rom.cc:150:do_switch$2875` + "\n" +
		"mapping memory gpu.a.mem via $__ECP5_DP16KD_\n" +
		"mapping memory gpu.b.mem via $__TRELLIS_DPR16X4_\n" +
		"mapping memory gpu.c.mem via $__ECP5_PDPW16KD_\n" +
		"using FF mapping for memory gpu.d.mem\n\n" +
		"Mapping memory \\dma.queue.slots in module \\gpu:\n  created 4 $dff cells and 0 static cells of width 9.\n" +
		"  read interface: 0 $dff and 7 $mux cells.\n  write interface: 4 write mux blocks.\n" +
		"Mapping memory \\d.mem in module \\gpu:\n  created 8 $dff cells and 0 static cells of width 9.\n" +
		"  read interface: 1 $dff and 7 $mux cells.\n  write interface: 0 write mux blocks.\n"
	assert.Equal(t, []Memory{
		{"a.mem", InBlock}, {"b.mem", InLUT}, {"c.mem", InBlock}, {"cp0.ring.slots", InBlock}, {"d.mem", InLogic}, {"dma.queue.slots", InFlipFlops},
	}, memories(log, "gpu"))
}

// Instances with different parameters are counted one by one, and no pattern of the script
// is without a module.
func TestBlocksWithParameters(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	const text = `// A counter.
module counter #(
  parameter [15:0] limit = 16'd9
) (input wire clk, input wire rst, output reg [15:0] n);
  always @(posedge clk) n <= rst || n == limit ? 16'd0 : n + 16'd1;
endmodule
module top (input wire clk, input wire rst, output wire [15:0] a, output wire [15:0] b);
  counter #(.limit(16'h1000)) c0 (.clk(clk), .rst(rst), .n(a));
  counter #(.limit(16'h1100)) c1 (.clk(clk), .rst(rst), .n(b));
endmodule
`
	s := Source{Files: []verilog.File{{Name: "top.v", Text: []byte(text)}}, Top: "top", Blocks: []string{"top", "counter"}}
	r, err := Run(s, ECP5, Expectation{})
	require.NoError(t, err)
	assert.Empty(t, r.Refused())
	var names []string
	for _, b := range r.Blocks {
		names = append(names, b.Name)
		if b.Name != "top" {
			assert.Equal(t, 16, b.FF, b.Name)
		}
	}
	assert.Equal(t, []string{"top", "counter(limit=16'h1000)", "counter(limit=16'h1100)"}, names)
}
