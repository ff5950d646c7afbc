package mutant

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// meterText has the form of the emitter's output for a meter, except for the names.
const meterText = `// meter: adds by while enabled.
module meter (
	input wire clk,
	input wire rst,
	input wire en,
	input wire [7:0] by,
	output reg [7:0] Sum,
	output reg Full
);
	reg [7:0] sum;
	reg [7:0] last;
	reg [7:0] n_sum;
	reg [7:0] n_last;

	(* src = "meter.go:3" *)
	always @* begin
		Sum = sum;
		Full = (sum == 8'hff);
	end

	(* src = "meter.go:9" *)
	always @* begin
		n_sum = sum;
		n_last = last;
		if ((en && (last != by))) begin
			n_sum = (n_sum + (by >> 1));
			n_last = by;
		end else if ((n_sum < 8'd16)) begin
			n_sum = (n_sum | 8'd3);
		end
		case ((by & 8'd3))
		8'd1, 8'd2: begin
			n_last = {4'd0, by[7:4]};
		end
		default: begin
			n_last = (en ? n_sum : n_last);
		end
		endcase
	end

	(* src = "meter.go:3" *)
	always @(posedge clk) begin
		sum <= rst ? 8'd5 : n_sum;
		last <= rst ? 8'd0 : n_last;
	end
endmodule
`

// meter is the Go side of meterText.
type meter struct{ sum, last uint8 }

func (m *meter) Root() any { return m }

func (m *meter) Clock(rst bool, in []uint64) {
	en, by := in[0] != 0, uint8(in[1])
	if rst {
		*m = meter{sum: 5}
		return
	}
	if en && m.last != by {
		m.sum += by >> 1
		m.last = by
	} else if m.sum < 16 {
		m.sum |= 3
	}
	switch by & 3 {
	case 1, 2:
		m.last = by >> 4
	default:
		if en {
			m.last = m.sum
		}
	}
}

func (m *meter) Outputs(out []uint64) {
	out[0], out[1] = uint64(m.sum), 0
	if m.sum == 255 {
		out[1] = 1
	}
}

func meterDesign() *verilog.Design {
	return &verilog.Design{
		Files: []verilog.File{{Name: "meter.v", Text: []byte(meterText)}},
		Manifest: verilog.Manifest{
			Top: "meter",
			Ports: []verilog.Port{
				{Name: "clk", Input: true, Width: 1}, {Name: "rst", Input: true, Width: 1},
				{Name: "en", Input: true, Width: 1, Go: "en"}, {Name: "by", Input: true, Width: 8, Go: "by"},
				{Name: "Sum", Width: 8, Go: "Sum"}, {Name: "Full", Width: 1, Go: "Full"},
			},
			Registers: []verilog.Register{
				{Name: "sum", Width: 8, Verilog: "sum", Go: "sum", Elem: -1},
				{Name: "last", Width: 8, Verilog: "last", Go: "last", Elem: -1},
			},
		},
	}
}

// Each mutant of the meter that random inputs do not detect is proven equivalent, and
// the design without a mutant equals the meter.
func TestEveryMutantIsCaughtOrProven(t *testing.T) {
	tooltest.Need(t, append(lockstep.Icarus.Tools(), "yosys", "yosys-abc")...)
	d := meterDesign()
	mutated, ms, err := Generate(d, 3, 24)
	require.NoError(t, err)
	l, err := lockstep.NewVariants(mutated, &meter{}, Selection(ms), lockstep.Options{
		Sim: lockstep.Icarus, Batch: 100, Cache: filepath.Join(os.TempDir(), "hilgpu-lockstep-test"),
	})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	for err == nil && l.Clocks() < 20000 {
		by := rng.Uint64N(256)
		if rng.IntN(2) == 0 {
			by = rng.Uint64N(8)
		}
		err = l.Clock(rng.IntN(60) == 0, []uint64{rng.Uint64N(2), by})
	}
	require.NoError(t, err, "only the control is left")
	require.NoError(t, l.Close())
	c := campaign{s: Subject{Design: d}, ms: ms, results: make([]Result, len(ms))}
	require.NoError(t, c.judge(ms, l.Verdicts(), l.Clocks()))
	require.NoError(t, c.prove(fast))
	require.NoError(t, c.prove(slow))
	r := &Report{Mutants: len(ms), Clocks: l.Clocks()}
	for _, x := range c.results {
		r.add(x)
	}
	assert.Equal(t, len(ms), r.Caught+r.Equivalent, "%+v", r.Results)
	assert.Greater(t, r.Caught, 18)
	assert.Len(t, r.Results, len(ms))
}

// TestSites checks every site of the meter, with its kind and its replacements.
func TestSites(t *testing.T) {
	m, err := parse(meterDesign().Files[0])
	require.NoError(t, err)
	assert.Equal(t, "meter", m.name)
	assert.Equal(t, 14, m.statements, "2 outputs, 2 defaults, 2 ifs, 3 updates in them, a case with 2, 2 registers")
	found := map[string]int{}
	for _, s := range m.sites {
		old := m.src[s.lo:s.hi]
		for _, option := range s.options {
			assert.NotEqual(t, old, option)
			found[fmt.Sprintf("%d %s: %s -> %s", s.line, s.kind, old, option)]++
		}
	}
	for _, want := range []string{
		"18 operator: sum == 8'hff -> sum != 8'hff",
		"18 source: sum -> last",
		"18 constant: 8'hff -> 8'hfe",
		"25 condition: (en && (last != by)) -> !((en && (last != by)))",
		"25 operator: last != by -> last == by",
		"26 drop: (n_sum + (by >> 1)) -> n_sum",
		"26 operator: n_sum + (by >> 1) -> n_sum - (by >> 1)",
		"26 constant: 1 -> 2",
		"26 source: n_sum -> n_last",
		"28 operator: n_sum < 8'd16 -> n_sum <= 8'd16",
		"36 condition: en -> !(en)",
		"43 reset: 8'd5 -> 8'h1",
		"43 no reset: rst ? 8'd5 : n_sum -> n_sum",
		"25 term: en && (last != by) -> en",
		"26 carry: n_sum + (by >> 1) -> (((n_sum) ^ ((by >> 1))) & ~8'hf) | ((((n_sum) & 8'hf) + (((by >> 1)) & 8'hf)) & 8'hf)",
		"28 compare: n_sum < 8'd16 -> $signed(n_sum) < $signed(8'd16)",
		"18 compare: sum == 8'hff -> ((sum) & 8'h7f) == ((8'hff) & 8'h7f)",
		"26 shift: 1 -> (1) + 1'b1",
		"18 stuck: sum -> sum & ~8'h80",
		"18 rotate: sum -> {sum[6:0], sum[7]}",
		"28 stale: n_sum -> sum",
		"25 early: last -> n_last",
		"32 label: 8'd2 -> 8'h3",
	} {
		assert.Contains(t, found, want)
	}
	for s := range found {
		assert.NotContains(t, s, "22 drop", "the default assignment must stay")
		assert.False(t, strings.HasPrefix(s, "32 ") && !strings.HasPrefix(s, "32 label:"), "a case label: %s", s)
	}
}

// The sites of bits, RAMs, nodes and extended values have the kinds of mistakes that are
// made with them.
func TestSitesOfKinds(t *testing.T) {
	const text = `module kinds (input wire clk, input wire rst, input wire [3:0] at);
	reg busy;
	reg [7:0] ram [0:15];
	reg [7:0] word0;
	reg [7:0] word1;
	always @(posedge clk) begin
		word1 <= ram[at];
		if (busy) ram[at] <= word0;
		busy <= {{8{1'b0}}, word1} == 16'd9;
		word0 <= {7'd0, (word0 > 8'd9)};
	end
endmodule
`
	m, err := parse(verilog.File{Name: "kinds.v", Text: []byte(text)})
	require.NoError(t, err)
	found := map[string]bool{}
	for _, s := range m.sites {
		for _, option := range s.options {
			found[fmt.Sprintf("%d %s: %s -> %s", s.line, s.kind, m.src[s.lo:s.hi], option)] = true
		}
	}
	for _, want := range []string{
		"7 memory: at -> (at) ^ 1'b1", "8 memory: at -> (at) + 1'b1", "8 strobe: busy -> 1'b0", "8 strobe: busy -> 1'b1",
		"8 swap: word0 -> word1", "9 sign: {8{1'b0}} -> {8{word1[7]}}",
		"10 operator: word0 > 8'd9 -> word0 >= 8'd9", "10 compare: word0 > 8'd9 -> $signed(word0) > $signed(8'd9)",
	} {
		assert.Contains(t, found, want)
	}
}

// The statement of a loop has sites, its bounds have none.
func TestSitesOfLoops(t *testing.T) {
	const text = `module loops #(parameter WIDTH = 16) (input wire clk, input wire rst, input wire [1:0] enable, input wire [15:0] data);
	reg [15:0] mem [0:3];
	integer lane;
	initial begin
		mem[0] = 16'd3;
	end
	always @(posedge clk) begin
		for (lane = 0; lane < WIDTH/8; lane = lane + 1) begin
			if (enable[lane] && !rst) mem[1'b1][8*lane +: 8] <= data[8*lane +: 8];
		end
	end
endmodule
`
	m, err := parse(verilog.File{Name: "loops.v", Text: []byte(text)})
	require.NoError(t, err)
	var found []string
	for _, s := range m.sites {
		found = append(found, fmt.Sprintf("%d %s: %s", s.line, s.kind, m.src[s.lo:s.hi]))
	}
	assert.Equal(t, []string{
		"9 condition: enable[lane] && !rst", "9 term: enable[lane] && !rst", "9 operator: enable[lane] && !rst",
		"9 memory: 1'b1", "9 drop: data[8*lane +: 8]",
	}, found)
}

// A register that keeps its value in some clocks is a source. An unknown value is no
// site, because nothing reads it. Bits of a register are replaced with the same bits
// of another.
func TestSitesOfStrobes(t *testing.T) {
	text := strings.NewReplacer(
		"n_last = last;", "n_last = 8'bx;", "last <= rst", "if ((en || rst)) last <= rst", "{4'd0, by", "{sum[3:0], by",
	).Replace(meterText)
	m, err := parse(verilog.File{Name: "meter.v", Text: []byte(text)})
	require.NoError(t, err)
	resets, bits := 0, 0
	for _, s := range m.sites {
		if s.kind == Reset {
			resets++
		}
		if text[s.lo:s.hi] == "sum[3:0]" {
			bits++
			assert.Equal(t, []string{"last[3:0]"}, s.options)
		}
		assert.NotContains(t, text[s.lo:s.hi], "'bx")
	}
	assert.Equal(t, 2, resets, "of both registers")
	assert.Equal(t, 1, bits)
}

func TestGenerate(t *testing.T) {
	d := meterDesign()
	a, ms, err := Generate(d, 7, 20)
	require.NoError(t, err)
	b, again, err := Generate(d, 7, 20)
	require.NoError(t, err)
	assert.Equal(t, a, b, "the same seed")
	assert.Equal(t, ms, again)
	_, others, err := Generate(d, 8, 20)
	require.NoError(t, err)
	assert.NotEqual(t, ms, others, "another seed")
	text := string(a.Files[0].Text)
	places := map[string]bool{}
	for i, m := range ms {
		assert.Equal(t, i+1, m.ID)
		assert.Equal(t, 1, strings.Count(text, fmt.Sprintf("(mutant == 16'd%d)", m.ID)))
		assert.Equal(t, m.Old, meterText[m.lo:m.hi])
		places[fmt.Sprint(m.Kind, m.lo, m.hi)] = true
	}
	assert.Len(t, places, len(ms), "no place twice")
	assert.Contains(t, text, "input wire [15:0] mutant,\n\tinput wire clk,")
	assert.Len(t, d.Manifest.Ports, 6, "the original is unchanged")
	assert.Equal(t, verilog.Port{Name: Selector, Input: true, Width: 16}, a.Manifest.Ports[6])
}

// An exposed unknown value changes from clock to clock.
func TestGenerateWithUnknown(t *testing.T) {
	text := strings.Replace(meterText, "n_last = last;", "n_last = 8'bx;", 1)
	d := meterDesign()
	d.Files[0].Text = []byte(text)
	out, _, err := Generate(d, 1, 1)
	require.NoError(t, err)
	got := string(out.Files[0].Text)
	assert.Contains(t, got, "n_last = {8{unknown_x}};")
	assert.Contains(t, got, "\n);\n\treg unknown_x;\n")
	assert.Contains(t, got, "always @(posedge clk) unknown_x <= !unknown_x;")
	out, _, err = Generate(meterDesign(), 1, 1)
	require.NoError(t, err)
	assert.NotContains(t, string(out.Files[0].Text), "unknown_x")
}

func TestGenerateBadInput(t *testing.T) {
	for _, tt := range []struct {
		name  string
		count int
		text  string
		want  error
	}{
		{"none", 0, meterText, ErrCount},
		{"too many for the port", 1 << 16, meterText, ErrCount},
		{"too many for the design", 1000, meterText, ErrCount},
		{"no module", 1, "wire x;", ErrText},
		{"no end", 1, "module x (", ErrText},
		{"strange character", 1, "module x ();\n\"\nendmodule", ErrText},
		{"strange item", 1, "module x ();\n= 1;\nendmodule", ErrText},
		{"strange statement", 1, "module x ();\nalways @* begin\nx + 1;\nend\nendmodule", ErrText},
		{"half a process", 1, "module x ();\nalways @*\nendmodule", ErrText},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &verilog.Design{Files: []verilog.File{{Name: "x.v", Text: []byte(tt.text)}}}
			_, _, err := Generate(d, 1, tt.count)
			assert.ErrorIs(t, err, tt.want)
		})
	}
}

func TestReport(t *testing.T) {
	r := &Report{Config: "small"}
	r.add(Result{Mutant: Mutant{ID: 1, Kind: Drop, Module: "cp"}, Outcome: Caught})
	r.add(Result{Mutant: Mutant{ID: 2, Kind: Drop, Module: "cp"}, Outcome: Caught})
	r.add(Result{Mutant: Mutant{ID: 3, Kind: Reset, Module: "dma"}, Outcome: Survived})
	r.add(Result{Mutant: Mutant{ID: 4, Kind: Reset, Module: "cp", Old: strings.Repeat("x", 200)}, Outcome: Equivalent, By: "so"})
	r.add(Result{Mutant: Mutant{ID: 5, Kind: Drop, Module: "cp"}, Outcome: Undecided})
	assert.InDelta(t, 2.0/4, r.Rate(), 1e-9)
	var b strings.Builder
	require.NoError(t, r.Print(&b))
	assert.Contains(t, b.String(), "2 caught, 1 proven equivalent, 1 survived, 1 undecided\n")
	assert.True(t, strings.HasSuffix(b.String(), "\n2 caught of 4 not proven equivalent: 50.0 %\n"), b.String())
	assert.Regexp(t, `(?m)^drop +2 +0 +0 +1$`, b.String())
	assert.Regexp(t, `(?m)^cp +2 +1 +0 +1$`, b.String())
	assert.Regexp(t, `(?m)^survived: mutant 3, reset in dma`, b.String())
	assert.Regexp(t, `(?m)^undecided: mutant 5`, b.String())
	assert.Regexp(t, `(?m)^equivalent, so: mutant 4`, b.String())
	assert.Less(t, b.Len(), 800)
}
