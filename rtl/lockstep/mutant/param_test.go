package mutant

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A named constant is replaced with the others of its declaration, and one that has none
// like a number. This holds for labels, comparisons, assignments and reset values.
func TestSitesOfNames(t *testing.T) {
	const text = `module names (input wire clk, input wire rst, input wire go);
  // state at names.go:3.
  localparam [1:0]
    idle = 2'd0,
    busy = 2'd1,
    done = 2'd2;
  localparam [3:0]
    limit = 4'd9;
  reg [1:0] state;
  reg [3:0] n;
  reg [1:0] n_state;
  always @* begin
    n_state = state;
    case (state)
    idle, busy: begin
      n_state = done;
    end
    default: begin
      if (n == limit) begin
        n_state = idle;
      end
    end
    endcase
  end
  always @(posedge clk) begin
    state <= rst ? busy : n_state;
    n <= rst ? 4'd0 : {2'd0, busy};
  end
endmodule
`
	m, err := parse(verilog.File{Name: "names.v", Text: []byte(text)})
	require.NoError(t, err)
	found := map[string][]string{}
	for _, s := range m.sites {
		found[fmt.Sprintf("%d %s: %s", s.line, s.kind, m.src[s.lo:s.hi])] = s.options
	}
	for site, want := range map[string][]string{
		"15 label: idle": {"busy", "done"}, "15 label: busy": {"idle", "done"}, "16 constant: done": {"idle", "busy"},
		"20 constant: idle": {"busy", "done"}, "26 reset: busy": {"idle", "done"}, "27 constant: busy": {"idle", "done"},
	} {
		assert.Equal(t, want, found[site], site)
	}
	assert.Subset(t, found["19 constant: limit"], []string{"4'h8", "4'hb", "4'hd", "4'h1", "4'ha"})
	assert.Contains(t, found, "26 no reset: rst ? busy : n_state")
	assert.NotContains(t, found, "26 constant: busy")
}

// The carry of a register that only counts is cut at a bit that it reaches.
func TestCarryOfCounter(t *testing.T) {
	cuts := func(body string) []string {
		text := "module m (input wire clk, input wire rst, input wire step, input wire [63:0] to);\n\treg [63:0] n;\n\treg [63:0] n_n;\n" +
			"`ifdef LOCKSTEP\n\treg [63:0] only;\n\talways @(posedge clk) only <= only + 64'd1;\n`endif\n" +
			"\talways @* begin\n" + body + "\tend\n\talways @(posedge clk) n <= rst ? 64'd0 : n_n;\nendmodule\n"
		m, err := parse(verilog.File{Name: "m.v", Text: []byte(text)})
		require.NoError(t, err)
		var out []string
		for _, s := range m.sites {
			if s.kind == Carry {
				out = append(out, s.options...)
			}
		}
		return out
	}
	for _, sum := range []string{"64'd1", "{63'd0, step}"} {
		got := cuts("\t\tn_n = n;\n\t\tif (step) n_n = n + " + sum + ";\n")
		require.Len(t, got, 2)
		assert.Contains(t, got[0], "64'hff)")
		assert.Contains(t, got[1], "64'hffff)")
	}
	for _, other := range []string{"n_n = to;", "n_n = n + to;"} {
		got := cuts("\t\tn_n = n;\n\t\tif (step) n_n = n + 64'd1; else " + other + "\n")
		require.NotEmpty(t, got)
		assert.Contains(t, got[0], "64'hffffffff)", other)
	}
}
