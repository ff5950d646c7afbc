package verilog

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runTool runs a tool in dir and returns what it prints.
func runTool(t *testing.T, dir, tool string, args ...string) string {
	t.Helper()
	c := exec.Command(tool, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// writeFiles writes a design and returns its directory and file names.
func writeFiles(t *testing.T, d *Design) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range d.Files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o644))
		names = append(names, f.Name)
	}
	return dir, names
}

// icarus clocks a design once for each vector, which holds rst and the inputs. It
// returns the outputs and then the registers after each clock, in hexadecimal.
func icarus(t *testing.T, d *Design, vectors [][]uint64) [][]string {
	t.Helper()
	dir, names := writeFiles(t, d)
	var decl, conn, inputs, shown, hex strings.Builder
	width := 0
	for _, p := range d.Manifest.Ports {
		fmt.Fprintf(&conn, ", .%s(%s)", p.Name, p.Name)
		switch {
		case p.Name == "clk":
		case p.Input:
			fmt.Fprintf(&decl, "reg %s%s;\n", dimension(p.Width), p.Name)
			fmt.Fprintf(&inputs, ", %s", p.Name)
			width += p.Width
		default:
			fmt.Fprintf(&decl, "wire %s%s;\n", dimension(p.Width), p.Name)
			fmt.Fprintf(&shown, ", %s", p.Name)
		}
	}
	for _, r := range d.Manifest.Registers {
		fmt.Fprintf(&shown, ", dut.%s", r.Verilog)
	}
	for _, v := range vectors {
		var bits strings.Builder
		i := 0
		for _, p := range d.Manifest.Ports[1:] {
			if p.Input {
				fmt.Fprintf(&bits, "%0*b", p.Width, v[i])
				i++
			}
		}
		fmt.Fprintln(&hex, bits.String())
	}
	text := fmt.Sprintf(`module tb;
reg clk;
%s
%s dut (%s);
reg [%d:0] vec [0:%d];
integer tb_i;
initial begin
	$readmemb("vec", vec);
	clk = 0;
	for (tb_i = 0; tb_i < %d; tb_i = tb_i + 1) begin
		{%s} = vec[tb_i];
		#1 clk = 1;
		#1 $display("%s"%s);
		clk = 0;
		#1;
	end
end
endmodule
`, decl.String(), d.Manifest.Top, conn.String()[2:], width-1, len(vectors)-1, len(vectors), inputs.String()[2:],
		strings.TrimSpace(strings.Repeat("%h ", strings.Count(shown.String(), ","))), shown.String())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tb.v"), []byte(text), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vec"), []byte(hex.String()), 0o644))
	args := append([]string{"-g2001", "-Wimplicit", "-o", "tb.vvp", "-s", "tb", "tb.v"}, names...)
	runTool(t, dir, "iverilog", args...)
	var out [][]string
	for line := range strings.Lines(runTool(t, dir, "vvp", "tb.vvp")) {
		out = append(out, strings.Fields(line))
	}
	require.Len(t, out, len(vectors))
	return out
}
