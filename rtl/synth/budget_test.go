package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// instances returns how often the configuration default has each block.
func instances(t *testing.T) map[string]int {
	g, err := gpu.New(Shrink(gpu.Default()))
	require.NoError(t, err)
	d, err := verilog.Translate("../..", g)
	require.NoError(t, err)
	n := map[string]int{}
	for _, b := range Of(d).Blocks {
		n[b] = 1
	}
	n["cp"], n["fence"], n["noc_reads"] = gpu.Default().Nodes, gpu.Default().Nodes, 2
	return n
}

// The budgets of all blocks of the configuration default add up to no more than they may.
func TestBudgets(t *testing.T) {
	tooltest.Long(t)
	n, sum := instances(t), 0
	parts := budgets()
	for name, times := range n {
		assert.NotZero(t, parts[name], name)
		sum += times * parts[name]
	}
	assert.Len(t, parts, len(n))
	assert.LessOrEqual(t, sum, partsLUT)
}

func TestBudgetsOfConfigurations(t *testing.T) {
	for _, tt := range []struct {
		config string
		target Target
		limit  int
	}{
		{"default", ECP5, 18000}, {MCU, ICE40, 2950}, {"default", ICE40, 0}, {"small", ECP5, 0}, {"small", ICE40, 0},
	} {
		e, err := Expected(tt.config, tt.target)
		require.NoError(t, err)
		assert.Equal(t, tt.limit, e.LUT, "%s for %s", tt.config, tt.target)
		assert.Equal(t, tt.limit != 0, e.Budgets != nil)
	}
}

// A block or a whole above its budget is refused, and so is a block without a budget.
func TestAboveBudget(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	const adder = `module part(input wire clk, input wire [7:0] a, output reg [7:0] q);
	always @(posedge clk) q <= q + a;
	endmodule
	module top(input wire clk, input wire [7:0] a, output wire [7:0] q);
	part one (.clk(clk), .a(a), .q(q));
	endmodule`
	s := source(adder)
	s.Blocks = []string{"part", "top"}
	for _, tt := range []struct {
		name string
		want Expectation
		says []Finding
	}{
		{"no limit", Expectation{}, nil},
		{"within", Expectation{LUT: 8, Budgets: map[string]int{"top": 1, "part": 8}}, nil},
		{"the whole is too large", Expectation{LUT: 7}, []Finding{{Size, "8 LUTs, want at most 7"}}},
		{"a block is too large", Expectation{Budgets: map[string]int{"top": 1, "part": 7}}, []Finding{{Size, "part takes 8 LUTs, want at most 7"}}},
		{"a block has no budget", Expectation{Budgets: map[string]int{"top": 1}}, []Finding{{Size, "part has no part of the budget; it takes 8 LUTs"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Run(s, ECP5, tt.want)
			require.NoError(t, err)
			assert.Equal(t, 8, r.Total.LUT, "four carry cells of two bits")
			assert.ElementsMatch(t, tt.says, r.Findings)
		})
	}
}

// A RAM of 16x4 bits takes the LUTs of its words and of its write port.
func TestLUTsOfRAM(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	r, err := Run(source(asyncMemory), ECP5, Expectation{Memories: []Memory{{"mem", InLUT}}})
	require.NoError(t, err)
	assert.Empty(t, r.Findings)
	assert.Equal(t, 2, r.Total.LUTRAM)
	assert.GreaterOrEqual(t, r.Total.LUT, 2*6)
}
