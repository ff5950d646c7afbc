package mutant

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// proves returns the proofs for changes of a design's only file. changes alternates
// between old and new texts.
func proves(t *testing.T, d *verilog.Design, changes ...string) []string {
	t.Helper()
	tooltest.Need(t, "yosys", "yosys-abc")
	var ms []Mutant
	for i := 0; i < len(changes); i += 2 {
		lo := strings.Index(string(d.Files[0].Text), changes[i])
		require.Positive(t, lo, changes[i])
		ms = append(ms, Mutant{ID: i/2 + 1, File: d.Files[0].Name, Old: changes[i], New: changes[i+1], lo: lo, hi: lo + len(changes[i])})
	}
	p, err := NewProver(d, ms)
	require.NoError(t, err)
	var out []string
	for _, m := range ms {
		how, _, err := p.Prove(m, fast)
		require.NoError(t, err)
		if how == "" {
			how, _, err = p.Prove(m, slow)
			require.NoError(t, err)
		}
		out = append(out, how)
	}
	return out
}

const (
	always  = "equal in every state"
	reached = "equal in every reachable state"
)

func TestProve(t *testing.T) {
	got := proves(t, meterDesign(),
		"8'd16", "8'd17", // another value
		"(n_sum < 8'd16)", "(n_sum <= 8'd15)", // equivalent
		"8'hff", "8'hfe", // another output
		"8'd5", "8'd4", // another reset value
		"by >> 1", "by << 1", // other operator on an input
	)
	assert.Equal(t, []string{"", always, "", "", ""}, got)
}

// design returns a design of one module.
func design(top, text string) *verilog.Design {
	d := &verilog.Design{Files: []verilog.File{{Name: top + ".v", Text: []byte(text)}}}
	d.Manifest.Top = top
	return d
}

// A selection among constants stays logic, which can be proven; it must not become a
// memory.
func TestProveConstantSelection(t *testing.T) {
	var b strings.Builder
	b.WriteString("module table16 (input wire clk, input wire rst, input wire [5:0] at, output reg [7:0] v);\n\treg [7:0] n;\n" +
		"\talways @* case (at)\n")
	for i := range 64 {
		fmt.Fprintf(&b, "\t\t6'd%d: n = 8'd%d;\n", i, i*i%251)
	}
	b.WriteString("\t\tdefault: n = 8'd0;\n\tendcase\n\talways @(posedge clk) v <= rst ? 8'd0 : n + 8'd1;\nendmodule\n")
	d := design("table16", b.String())
	assert.Equal(t, []string{always}, proves(t, d, "n + 8'd1", "8'd1 + n"))
	assert.Equal(t, []string{""}, proves(t, d, "n + 8'd1", "n + 8'd2"))
}

// Unreachable states do not count in a proof; states that are reached late do.
func TestProveReachableStates(t *testing.T) {
	const text = `module decade (input wire clk, input wire rst, output reg odd);
	reg [7:0] n;
	always @(posedge clk) begin
		n <= rst ? 8'd0 : (n < 8'd99) ? n + 8'd1 : 8'd0;
		odd <= rst ? 1'b0 : (n == 8'd200) || (n == 8'd90);
	end
endmodule
`
	assert.Equal(t, []string{reached, ""}, proves(t, design("decade", text), "8'd200", "8'd201", "8'd90", "8'd91"))
	late := strings.Replace(text, "reg [7:0] n;", "reg [7:0] n;\n\treg [7:0] kept;\n\tinitial kept = 8'd7;", 1)
	assert.Equal(t, []string{""}, proves(t, design("decade", late), "8'd200", "8'd201"), "an initial value other than 0")
}

// Registers that nothing reads are compared too, and so are the values that replace x.
func TestProveComparesEveryRegister(t *testing.T) {
	const text = `module keeps (input wire clk, input wire rst, input wire en, output reg Out);
	reg [3:0] unread;
	reg n_out;
	always @* begin
		n_out = 1'bx;
		if (en) n_out = 1'b1 & 1'b0;
	end
	always @(posedge clk) begin
		unread <= rst ? 4'd0 : unread + 4'd1;
		if (en || rst) Out <= rst ? 1'b0 : n_out;
	end
endmodule
`
	d := design("keeps", text)
	assert.Equal(t, []string{always}, proves(t, d, "unread + 4'd1", "4'd1 + unread"))
	assert.Equal(t, []string{"", ""}, proves(t, d,
		"unread + 4'd1", "unread + 4'd2",
		"1'b1 & 1'b0", "n_out", // an x gets into a register
	))
}

// In a large memory, a write is compared only when enabled and a read only when its
// word is used. A small memory becomes registers.
func TestProveMemories(t *testing.T) {
	tooltest.Long(t)
	const text = `module store (
	input wire clk, input wire rst, input wire read, input wire write, input wire [5:0] at, input wire [7:0] data, output reg [7:0] Out);
	reg [7:0] mem [0:63];
	wire [5:0] from = read ? at : 6'd10;
	wire [5:0] to = write ? at : 6'd20;
	wire [7:0] what = write ? data : 8'd30;
	always @(posedge clk) begin
		if (write ^ 1'b0) mem[to] <= what;
		if (read) Out <= mem[from];
	end
endmodule
`
	for _, size := range []string{"0:63", "0:15"} {
		for _, tt := range []struct{ name, old, new, how string }{
			{"address of no read", "6'd10", "6'd11", always},
			{"address of a read", "read ? at : 6'd10", "read ? data[5:0] : 6'd10", ""},
			{"address of no write", "6'd20", "6'd21", always},
			{"address of a write", "write ? at : 6'd20", "write ? 6'd3 : 6'd20", ""},
			{"data of no write", "8'd30", "8'd31", always},
			{"data of a write", "write ? data : 8'd30", "write ? {data[7:1], 1'b0} : 8'd30", ""},
			{"no write", "write ^ 1'b0", "write && read", ""},
		} {
			t.Run(size+" "+tt.name, func(t *testing.T) {
				d := design("store", strings.Replace(text, "0:63", size, 1))
				assert.Equal(t, []string{tt.how}, proves(t, d, tt.old, tt.new))
			})
		}
	}
}

// A RAM may have more bits than yosys allows a wire. Every bit of its addresses is compared.
func TestProveLargeRAM(t *testing.T) {
	const text = `module store #(parameter WORDS = 2097152) (
	input wire clk, input wire rst, input wire [20:0] at, input wire [63:0] data, output reg [63:0] Out);
	reg [63:0] mem [0:WORDS-1];
	always @(posedge clk) begin
		mem[at ^ 21'd0] <= data;
		Out <= mem[at + 21'd0];
	end
endmodule
`
	assert.Equal(t, []string{always, "", "", "", ""}, proves(t, design("store", text),
		"at ^ 21'd0", "at + 21'd0",
		"at ^ 21'd0", "at ^ 21'h100000",
		"at ^ 21'd0", "{16'd0, at[4:0]}",
		"at + 21'd0", "at + 21'h100000",
		"at + 21'd0", "{16'd0, at[4:0]}",
	))
}

// A proof knows the words of a ROM of at most 16 words, and no words of a larger one.
func TestProveROM(t *testing.T) {
	const text = `module store (
	input wire clk, input wire rst, input wire [1:0] at, output reg [7:0] Out);
	reg [7:0] q;
	reg [7:0] mem [0:3];
	initial begin
		mem[0] = 8'h0;
		mem[1] = 8'h1f;
		mem[2] = 8'h2;
		mem[3] = 8'h3;
	end
	always @(posedge clk) begin
		q <= rst ? 8'd0 : mem[at];
		Out <= rst ? 8'd0 : q & 8'hff;
	end
endmodule
`
	changes := []string{"8'hff", "8'h0f", "8'hff", "8'h1f", "q & 8'hff", "q | 8'h00"}
	assert.Equal(t, []string{"", reached, always}, proves(t, design("store", text), changes...))
	large := strings.NewReplacer("0:3", "0:63", "[1:0]", "[5:0]").Replace(text)
	assert.Equal(t, []string{"", "", always}, proves(t, design("store", large), changes...))
}

// Only the expected output of the tool counts as a proof.
func TestVerdict(t *testing.T) {
	every, some := proofs()[0], proofs()[1]
	for _, tt := range []struct {
		name  string
		way   proof
		out   string
		err   error
		late  bool
		want  verdict
		fails bool
	}{
		{"proven", every, "UNSATISFIABLE  Time = 0.1", nil, false, proven, false},
		{"refuted", every, "SATISFIABLE (output = 0) Time = 0.1", nil, false, refuted, false},
		{"given up", every, "UNDECIDED  Time = 0.1", nil, false, undecided, false},
		{"late", every, "UNSATISFIABLE", nil, true, undecided, false},
		{"silent", every, "ABC command line", nil, false, undecided, true},
		{"an error", every, "UNSATISFIABLE", errors.New("exit 1"), false, undecided, true},
		{"bad file", some, "Reading AIGER failed", nil, false, undecided, true},
		{"proven for reachable states", some, "Property proved.  Time = 1", nil, false, proven, false},
		{"refuted in a reachable state", some, "Output 0 of miter was asserted in frame 5", nil, false, refuted, false},
		{"out of time", some, "Reached timeout (60 seconds) in frame 4", nil, false, undecided, false},
		{"both", some, "Property proved. Output 0 was asserted in frame 5", nil, false, refuted, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.way.verdict(tt.out, tt.err, tt.late)
			assert.Equal(t, tt.want, got)
			if tt.fails {
				assert.ErrorIs(t, err, ErrYosys)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

// An error of yosys is reported, and its messages do not count as a proof.
func TestProverBadInput(t *testing.T) {
	tooltest.Need(t, "yosys", "yosys-abc")
	p, err := NewProver(design("x", "module x (input wire clk, input wire rst);\n\tbad y;\nendmodule\n"), nil)
	require.NoError(t, err)
	_, _, err = p.Prove(Mutant{ID: 1}, fast)
	assert.ErrorIs(t, err, ErrYosys)
	_, err = proofs()[0].run(filepath.Join(t.TempDir(), "missing.aig"))
	assert.ErrorIs(t, err, ErrYosys)
	t.Setenv("PATH", "")
	_, err = NewProver(meterDesign(), nil)
	assert.ErrorIs(t, err, lockstep.ErrTool)
	assert.ErrorContains(t, err, "Debian package yosys")
}

func TestReadNetlistBadInput(t *testing.T) {
	good := "aag 3 2 0 1 1\n2\n4\n6\n6 2 4\ni0 a\ni1 b\no0 y\nc\n"
	n, err := readNetlist([]byte(good))
	require.NoError(t, err)
	assert.Equal(t, map[string]lit{"a": 2, "b": 4}, n.inputs)
	for _, old := range []string{"aag 3", "aag 3 2 0 1 1\n", "o0 y\n", "6 2 4\n", "6 2 4", "i1 b", "i1"} {
		_, err := readNetlist([]byte(strings.Replace(good, old, "", 1)))
		assert.ErrorIs(t, err, errAiger, old)
	}
}

// A module that has the mutant is never left out, and nor is one that has its module inside.
func TestLeftOut(t *testing.T) {
	tooltest.Need(t, "yosys", "yosys-abc")
	long := strings.Repeat("\n", largeLines+1)
	module := func(name, body string) verilog.File {
		return verilog.File{Name: name + ".v", Text: []byte("module " + name + " (input wire clk, input wire rst);\n" + body + "endmodule\n")}
	}
	d := design("top", "")
	d.Files = []verilog.File{
		module("top", "  big big (\n  );\n  other other (\n  );\n  small small (\n  );\n"), module("big", long+"  inner inner (\n  );\n"),
		module("other", long), module("small", ""), module("inner", long),
	}
	p := mustProver(t, d)
	for keep, want := range map[string][]string{
		"top": {"big", "other"}, "big": {"other"}, "inner": {"other"}, "other": {"big"}, "small": {"big", "other"},
	} {
		assert.Equal(t, want, p.leftOut(scope{module: "top", out: outLarge, keep: keep}), keep)
	}
	assert.Equal(t, []string{"big", "other", "small"}, p.leftOut(scope{module: "top", out: outAll}))
	assert.Empty(t, p.leftOut(scope{module: "top"}))
}

// A mutant is proven with the logic of its module, or of that without its instances, and
// otherwise with the entire design.
func TestProveScopes(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys", "yosys-abc")
	d := design("whole", `module whole (input wire clk, input wire rst, input wire [3:0] by, output wire [7:0] sum, output reg odd);
	wire [3:0] few = by & 4'd7;
	part part (
		.clk(clk), .rst(rst), .by(few), .sum(sum)
	);
	always @(posedge clk) odd <= rst ? 1'b0 : sum[0] ^ 1'b1;
endmodule
`)
	d.Files = append(d.Files, verilog.File{Name: "part.v", Text: []byte(`module part (input wire clk, input wire rst, input wire [3:0] by, output reg [7:0] sum);
	reg held_0;
	always @(posedge clk) begin
		held_0 <= rst ? 1'b0 : by[0];
		sum <= rst ? 8'd0 : (by == 4'd9) ? 8'd9 : (sum == 8'd3) ? 8'd0 : sum + 8'd1;
	end
endmodule
`)})
	mutant := func(id int, module, old, changed string) Mutant {
		for _, f := range d.Files {
			if lo := strings.Index(string(f.Text), old); f.Name == module+".v" && lo > 0 {
				return Mutant{ID: id, Module: module, File: f.Name, Old: old, New: changed, lo: lo, hi: lo + len(old)}
			}
		}
		t.Fatal(old)
		return Mutant{}
	}
	ms := []Mutant{
		mutant(1, "whole", "by & 4'd7", "4'd7 & by"),
		mutant(2, "whole", "sum[0] ^ 1'b1", "sum[1] ^ 1'b1"),
		mutant(3, "whole", "by & 4'd7", "by & 4'd6"),
		mutant(4, "part", "sum + 8'd1", "8'd1 + sum"),
		mutant(5, "part", "sum == 8'd3", "sum[1:0] == 2'd3"),
		mutant(6, "part", "8'd9", "8'd2"),
		mutant(7, "part", "by[0]", "by[1]"),
	}
	for i := range ms { // one change of a text at a time
		p, err := NewProver(d, ms[i:i+1])
		require.NoError(t, err)
		quick, _, err := p.Prove(ms[i], fast)
		require.NoError(t, err)
		more, _, err := p.Prove(ms[i], slow)
		require.NoError(t, err)
		want := [][2]string{{always, always}, {}, {}, {always, always}, {"", reached}, {"", always}, {}}[i]
		assert.Equal(t, want[0], quick, "%s", ms[i])
		if quick == "" {
			assert.Equal(t, want[1], more, "%s", ms[i])
		}
	}
	assert.Equal(t, []scope{{module: "whole", out: outAll}, {module: "whole", out: outLarge, keep: "whole"}, {module: "whole"}}, mustProver(t, d).scopes(ms[0]))
	assert.Equal(t, []scope{{module: "part"}, {module: "whole", out: outLarge, keep: "part"}, {module: "whole"}}, mustProver(t, d).scopes(ms[4]))
	d.Files[1].Text = append(d.Files[1].Text, "module other #(parameter N = 1) ();\nendmodule\n"...)
	assert.Equal(t, []scope{{module: "whole"}}, mustProver(t, d).scopes(ms[4]))
}

// A proof with the logic of a module holds for all values of its parameters, and one with the
// design for those of its instances. An instance that is left out is one in the netlist.
func TestProveParameters(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys", "yosys-abc")
	d := design("part", `module part #(
	parameter [7:0] base = 8'h30
) (
	input wire clk,
	input wire rst,
	input wire [7:0] at,
	output reg hit
);
	always @(posedge clk) hit <= rst ? 1'b0 : (at == base);
endmodule
`)
	d.Manifest.Top = "pair"
	d.Files = append(d.Files, verilog.File{Name: "pair.v", Text: []byte(`module pair (
	input wire clk, input wire rst, input wire [7:0] at, output wire one, output wire two);
	part #(.base(8'h10)) part0 (
		.clk(clk), .rst(rst), .at(at), .hit(one)
	);
	part #(.base(8'h20)) part1 (
		.clk(clk), .rst(rst), .at(at), .hit(two)
	);
endmodule
`)})
	for _, tt := range []struct{ changed, quick, slow string }{
		{"(base == at)", always, always},
		{"(at == base && base != 8'd0)", "", always}, // no instance has base 0
		{"(at == (base | 8'h20))", "", ""},
	} {
		lo := strings.Index(string(d.Files[0].Text), "(at == base)")
		m := Mutant{ID: 1, Module: "part", File: "part.v", Old: "(at == base)", New: tt.changed, lo: lo, hi: lo + len("(at == base)")}
		p, err := NewProver(d, []Mutant{m})
		require.NoError(t, err)
		quick, _, err := p.Prove(m, fast)
		require.NoError(t, err)
		assert.Equal(t, tt.quick, quick, tt.changed)
		if quick == "" {
			more, _, err := p.Prove(m, slow)
			require.NoError(t, err)
			assert.Equal(t, tt.slow, more, tt.changed)
		}
	}
	p := mustProver(t, d)
	n, err := p.netlist(scope{module: "pair", out: outAll})
	require.NoError(t, err)
	assert.Contains(t, n.inputs, "part0.hit")
	assert.Contains(t, n.inputs, "part1.hit")
	n, err = p.netlist(scope{module: "pair"})
	require.NoError(t, err)
	assert.NotContains(t, n.inputs, "part0.hit")
}

func mustProver(t *testing.T, d *verilog.Design) *Prover {
	t.Helper()
	p, err := NewProver(d, nil)
	require.NoError(t, err)
	return p
}
