package sim

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// icarusSources returns the design with a testbench, and the command that builds
// the file model from them.
//
// The testbench speaks the protocol of the Verilated model, with two differences.
// It reads numbers with the highest byte first, as $fread expects. It writes them
// in the format of $fwrite's %z: for each word one word of values and one of the
// bits that are x or z.
func icarusSources(d *verilog.Design, l *Layout) ([]verilog.File, [][]string) {
	files := append([]verilog.File{{Name: "lockstep_tb.v", Text: []byte(icarusBench(l))}}, d.Files...)
	args := []string{"iverilog", "-g2001", "-o", "model", "-s", "lockstep_tb", "lockstep_tb.v"}
	for _, f := range d.Files {
		if strings.HasSuffix(f.Name, ".v") {
			args = append(args, f.Name)
		}
	}
	return files, [][]string{args}
}

const benchTail = `
  initial begin
    from = $fopen("/dev/stdin", "rb");
    clk = 0;
    in = 0;
    #1;
    got = $fread(n, from);
    while (got == 4 && n != 0) begin
      while (n != 0) begin
        got = $fread(in, from);
        #1 clk = 1;
        #1 out = {
SAMPLE        };
        $fwrite(32'h80000001, "%z", out);
        clk = 0;
        n = n - 1;
      end
      $fflush(32'h80000001);
      got = $fread(n, from);
    end
    if (got == 4) begin
MEMORIES    end
    $fflush(32'h80000001);
    $finish(0);
  end
endmodule
`

func icarusBench(l *Layout) string {
	var b, ports strings.Builder
	b.WriteString("module lockstep_tb;\n  reg clk;\n  integer from, got, i;\n  reg [31:0] n;\n")
	fmt.Fprintf(&b, "  reg [%d:0] in;\n  reg [%d:0] out;\n", 8*l.InBytes-1, 8*l.OutBytes-1)
	for k, m := range l.Memories {
		fmt.Fprintf(&b, "  reg [%d:0] word%d;\n", m.Width-1, k)
	}
	ports.WriteString(".clk(clk)")
	for i := range l.In {
		s := &l.In[i]
		fmt.Fprintf(&ports, ",\n    .%s(in[%d:%d])", s.Name, 8*s.At+s.Width-1, 8*s.At)
	}
	for i := range l.Out[:l.Outputs] {
		s := &l.Out[i]
		fmt.Fprintf(&b, "  wire [%d:0] port%d;\n", s.Width-1, i)
		fmt.Fprintf(&ports, ",\n    .%s(port%d)", s.Name, i)
	}
	fmt.Fprintf(&b, "  %s dut (\n    %s);\n", l.Top, ports.String())
	b.WriteString(strings.NewReplacer("SAMPLE", sampleAll(l), "MEMORIES", dumpAll(l)).Replace(benchTail))
	return b.String()
}

// sampleAll returns the elements of the concatenation that forms a record, the
// last signal first.
func sampleAll(l *Layout) string {
	var b strings.Builder
	for i := len(l.Out) - 1; i >= 0; i-- {
		s := &l.Out[i]
		if pad := slot(s) - s.Width; pad > 0 {
			fmt.Fprintf(&b, "          %d'd0, ", pad)
		} else {
			b.WriteString("          ")
		}
		if i < l.Outputs {
			fmt.Fprintf(&b, "port%d", i)
		} else {
			b.WriteString("dut." + s.Name)
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// dumpAll returns the statements that write out the memories.
func dumpAll(l *Layout) string {
	var b strings.Builder
	if len(l.Out) == l.Outputs {
		return ""
	}
	for k, m := range l.Memories {
		fmt.Fprintf(&b, "      for (i = 0; i < %d; i = i + 1) begin\n        word%d = dut.%s[i];\n"+
			"        $fwrite(32'h80000001, \"%%z\", word%d);\n      end\n", m.Words, k, m.Verilog, k)
	}
	return b.String()
}

// slot is the width of a signal's place in a record, in bits.
func slot(s *Signal) int {
	if s.Wide() {
		return 64
	}
	return 32
}
