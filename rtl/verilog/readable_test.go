package verilog

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/sample"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// goLine returns a line of the source, and false if there is none.
func goLine(t *testing.T, at string) (string, bool) {
	t.Helper()
	file, number, _ := strings.Cut(at, ":")
	text, err := os.ReadFile(filepath.Join("../..", file))
	require.NoError(t, err)
	n, err := strconv.Atoi(number)
	require.NoError(t, err, at)
	lines := strings.Split(string(text), "\n")
	if n < 1 || n > len(lines) {
		return "", false
	}
	return lines[n-1], true
}

// fieldOf returns the name of the field at the end of a path.
func fieldOf(path string) string {
	path, _, _ = strings.Cut(path[strings.LastIndex(path, ".")+1:], "[")
	return path
}

// Each register of each module is in the header comment of its file, with the line
// of the Go source that declares it.
func TestHeaderNamesEveryRegister(t *testing.T) {
	for name, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small()} {
		t.Run(name, func(t *testing.T) {
			d := gpuOf(t, c)
			heads := map[string]bool{} // "name file:line" of all headers
			for _, f := range d.Files {
				head, _, _ := strings.Cut(string(f.Text), "\nmodule ")
				for line := range strings.Lines(head) {
					if w := strings.Fields(line); len(w) > 2 && w[0] == "//" {
						heads[w[1]+" "+w[len(w)-1]] = true
					}
				}
			}
			for _, r := range d.Manifest.Registers {
				assert.True(t, heads[r.Name+" "+r.Pos], "%s at %s", r.Name, r.Pos)
				line, ok := goLine(t, r.Pos)
				assert.True(t, ok, r.Pos)
				assert.Regexp(t, `\b`+regexp.QuoteMeta(fieldOf(r.Go))+`\b`, line, r.Pos)
			}
		})
	}
}

// Each assignment, if and case that comes from Go stands below a comment with its
// line of the source, which exists.
func TestStatementsHaveTheirSource(t *testing.T) {
	src := regexp.MustCompile(`// src (\S+:\d+)$`)
	for _, f := range gpuOf(t, gpu.Default()).Files {
		if strings.HasPrefix(f.Name, "hdl_") {
			continue // by hand
		}
		for _, process := range strings.Split(string(f.Text), "  always @* begin\n")[1:] {
			process, _, _ = strings.Cut(process, "\n  end\n")
			seen := ""
			for line := range strings.SplitSeq(process, "\n") {
				if m := src.FindStringSubmatch(line); m != nil {
					seen = m[1]
					text, ok := goLine(t, seen)
					assert.True(t, ok && strings.TrimSpace(text) != "", "%s: %s", f.Name, seen)
				} else if word := strings.TrimSpace(line); strings.HasPrefix(word, "if ") || strings.HasPrefix(word, "case ") {
					assert.NotEmpty(t, seen, "%s: %s", f.Name, line)
				}
			}
		}
	}
}

// No line is too long for a reader's window, however a tab is shown.
func TestLinesAreShort(t *testing.T) {
	tooltest.Long(t)
	for name, d := range designs(t) {
		for _, f := range d.Files {
			assert.NotContains(t, string(f.Text), "\t", "%s: %s", name, f.Name)
			for line := range strings.SplitSeq(string(f.Text), "\n") {
				assert.LessOrEqual(t, len(line), 120, "%s: %s: %s", name, f.Name, line)
				assert.Equal(t, strings.TrimRight(line, " "), line, "%s: %s", name, f.Name)
			}
		}
	}
}

// The comment above a statement is the line that assigns it, also where the call is
// inlined.
func TestSourceOfInlinedCalls(t *testing.T) {
	l, named := snippet(t, `type Module struct { a, b uint8 }

func (m *Module) Tick(x uint8) {
	m.set(x)
	m.b = m.a
}

func (m *Module) set(x uint8) {
	if x > 3 {
		m.a = x
	}
}
`)
	d, err := l.translate(named, moduleOf(named), nil)
	require.NoError(t, err)
	text := string(d.Files[0].Text)
	assert.Contains(t, text, "    // src snippet.go:11\n    if (x > 8'd3) begin\n")
	assert.Contains(t, text, "      // src snippet.go:12\n      n_a = x;\n")
	assert.Contains(t, text, "    // src snippet.go:7\n    n_b = n_a;\n")
	assert.Contains(t, text, "//   a  [7:0]  snippet.go:3\n")
}

// The result and the locals of an inlined call have the name of the function and of
// what it is called with. No result has only a number.
func TestNamesOfInlinedCalls(t *testing.T) {
	l, named := snippet(t, `type Part struct { left uint8 }

func (p *Part) half() uint8 {
	if p.left > 8 {
		return 4
	}
	return p.left / 2
}

type Module struct { part Part; sum uint8 }

func (m *Module) Tick(x uint8) {
	m.part.left = x
	m.sum = m.part.half() + clip(m.part.left) + clip(7 & x)
}

func clip(v uint8) uint8 {
	low := v & 3
	if v > 9 {
		return low
	}
	return v
}
`)
	d, err := l.translate(named, moduleOf(named), nil)
	require.NoError(t, err)
	for _, want := range []string{"half_part", "clip_left", "clip_left_low", "clip_x", "clip_x_low"} {
		assert.Contains(t, string(d.Files[0].Text), "  reg [7:0] "+want+";\n")
	}
	for _, f := range gpuOf(t, gpu.Default()).Files {
		assert.NotRegexp(t, `\b\w+_r[0-9]+(_[0-9]+)?\b`, string(f.Text), f.Name)
	}
}

// A comparison has its constant on the right, and none is under a negation.
func TestComparisonsReadLikeGo(t *testing.T) {
	l, named := snippet(t, `type Module struct { a, b, c uint8 }

func (m *Module) Tick(x, y uint8) {
	if x&1 != 0 {
		return
	}
	if x > 9 || !(y >= 4) || 7 <= y {
		m.a++
	}
	if x > y {
	} else {
		m.b++
	}
	if 5 == x {
		m.c++
	}
}
`)
	d, err := l.translate(named, moduleOf(named), nil)
	require.NoError(t, err)
	text := string(d.Files[0].Text)
	for _, want := range []string{
		"if ((x & 8'd1) == 8'd0) begin", "if ((x > 8'd9) || (y < 8'd4) || (y >= 8'd7)) begin",
		"if (x <= y) begin", "if (x == 8'd5) begin",
	} {
		assert.Contains(t, text, want)
	}
	left := regexp.MustCompile(`[0-9]+'[bdh][0-9a-f]+ (==|!=|<|<=|>|>=) |!\(\w+ (==|!=|<|<=|>|>=) `)
	for _, f := range gpuOf(t, gpu.Default()).Files {
		for line := range strings.SplitSeq(string(f.Text), "\n") {
			assert.False(t, left.MatchString(line) && !strings.Contains(line, " <= rst ?"), "%s: %s", f.Name, line)
		}
	}
}

// A register, a local and an inner port of an enumeration have the bits of its largest
// constant, also without a tag, and nothing is compared with zeros above it.
func TestEnumerationsHaveTheirWidth(t *testing.T) {
	const text = `type kind uint8

const (
	none kind = iota
	first
	second
	third kind = 9
)

type Module struct {
	k, l kind
	n uint8 ` + "`w:\"3\"`" + `
	left uint16 ` + "`w:\"5\"`" + `
	Seen hdl.FIFO[uint32]
}

func (m *Module) Reset() { m.k, m.l, m.n, m.left = none, none, 0, 0; m.Seen.Reset() }

func (m *Module) Tick(in kind, x uint8, at uint8) {
	m.Seen.Tick(m.k == third, uint32(m.k), uint16(m.n) < m.left)
	was := m.k
	switch m.n {
	case 1, 8:
		m.k = in
	case 9:
		m.k = third
	default:
	}
	if x > 3 && was != none {
		m.l = kind(x & 7)
	}
	m.n, m.left = x&7, uint16(at&31)
}
`
	l, named := snippet(t, text)
	d, err := l.translate(named, moduleOf(named), nil)
	require.NoError(t, err)
	out := string(d.Files[len(d.Files)-1].Text)
	for _, want := range []string{
		"input wire [7:0] in,", "reg [3:0] k;", "reg [3:0] l;", "reg [3:0] Tick_was;", "case (n)\n    3'd1: begin\n", "n_k = in[3:0];",
		"{2'd0, n} < left",
	} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "8'd9")
	assert.Len(t, regexp.MustCompile(`(?m)^    3'd\d: begin$`).FindAllString(out, -1), 1, "n has 3 bits: it is never 8 or 9")

	l, named = snippet(t, strings.Replace(text, "x & 7", "x", 1))
	_, err = l.translate(named, moduleOf(named), nil)
	assert.ErrorContains(t, err, "RTL015: a value of up to 8 bits is written to 4 bits")

	for name, d := range map[string]*Design{"default": gpuOf(t, gpu.Default()), "small": gpuOf(t, gpu.Small())} {
		wide := regexp.MustCompile(`case \(\{[0-9]+'d0,|\{[0-9]+'d0, \w+\} (==|!=|<|<=|>|>=) ([0-9]+'|\{)`)
		for _, f := range d.Files {
			assert.NotRegexp(t, wide, string(f.Text), "%s: %s", name, f.Name)
		}
		kinds := 0
		for _, r := range d.Manifest.Registers {
			if strings.HasSuffix(r.Go, ".req.Kind") {
				assert.Equal(t, 3, r.Width, r.Go)
				kinds++
			}
		}
		assert.Positive(t, kinds, "the five kinds of a request")
	}
}

// golden is a file with the Verilog of a sample. With HILGPU_GOLDEN set the test
// writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if os.Getenv("HILGPU_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "if the change is wanted, run the test with HILGPU_GOLDEN=1 and review the file")
}

// The text of the samples is the one that a reader has approved.
func TestGolden(t *testing.T) {
	for name, top := range map[string]any{
		"arith": &sample.Arith{}, "flow": sample.NewFlow(1), "record": &sample.Record{}, "store": sample.NewStore(), "narrow": sample.NewNarrow(),
	} {
		t.Run(name, func(t *testing.T) {
			d, err := translate("../..", top)
			require.NoError(t, err)
			golden(t, name+".v", d.Files[len(d.Files)-1].Text)
		})
	}
}
