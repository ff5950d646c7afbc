package gateware

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// design returns an empty module in place of a design with a UART.
func design(name string) verilog.File {
	return verilog.File{Name: name + ".v", Text: []byte("/* verilator lint_off UNUSED */\nmodule " + name + ` (
  input  wire       clk,
  input  wire       rst,
  input  wire       rx,
  output wire       Line,
  output wire [7:0] LEDs
);
  assign Line = 1'b1;
  assign LEDs = 8'd0;
endmodule
`)}
}

// pll is the PLL of an iCE40 with the ports that a shell connects, from the iCE Technology
// Library of Lattice, SB_PLL40_CORE.
const pll = `/* verilator lint_off UNUSED */
module SB_PLL40_CORE #(
  parameter FEEDBACK_PATH = "SIMPLE",
  parameter [3:0] DIVR = 4'd0,
  parameter [6:0] DIVF = 7'd0,
  parameter [2:0] DIVQ = 3'd0,
  parameter [2:0] FILTER_RANGE = 3'd0
) (
  input  wire REFERENCECLK,
  output wire PLLOUTCORE,
  input  wire BYPASS,
  input  wire RESETB,
  output wire LOCK
);
  assign PLLOUTCORE = 1'b0;
  assign LOCK = 1'b0;
endmodule
`

// lint returns the warnings of Verilator for the shell of a board, as yosys reads it, around
// an empty design.
func lint(t *testing.T, b *Board, shell []byte, top string) string {
	t.Helper()
	with := *b
	with.Shell = shell
	d := &verilog.Design{Files: []verilog.File{design(top), {Name: "SB_PLL40_CORE.v", Text: []byte(pll)}}}
	for _, name := range []string{"rx", "Line", "LEDs"} {
		d.Manifest.Ports = append(d.Manifest.Ports, verilog.Port{Name: name, Go: name})
	}
	dir := t.TempDir()
	for _, f := range with.around(d).Source.Files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o666))
	}
	cmd := exec.Command("verilator", "--lint-only", "-Wall", "--top-module", "shell", "shell.v")
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if len(text) == 0 {
		require.NoError(t, err)
	}
	return string(text)
}

// TestLint: Verilator gives no warning for a shell with a UART, and one for each mistake. The
// package of a board with a PHY checks its own shell.
func TestLint(t *testing.T) {
	tooltest.Need(t, "verilator")
	for name, top := range map[string]string{"ice40-hx8k": "ice40hx8k", "ulx3s": "ulx3s"} {
		b, err := Find(name)
		require.NoError(t, err)
		assert.Empty(t, lint(t, b, b.Shell, top), name)
		for _, tt := range []struct{ code, old, now string }{
			{"%Warning-WIDTH", "count + 10'd1", "count + 11'd1"},
			{"%Warning-PINMISSING", "    .rst(rst),\n", ""},
			{"%Warning-UNDRIVEN", "  assign led = lights;\n", ""},
		} {
			require.Equal(t, 1, bytes.Count(b.Shell, []byte(tt.old)))
			assert.Contains(t, lint(t, b, bytes.Replace(b.Shell, []byte(tt.old), []byte(tt.now), 1), top), tt.code, name)
		}
	}
}
