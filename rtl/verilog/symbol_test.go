package verilog

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// The names of constants are in labels, comparisons, assignments and reset values. Their
// localparams are in the order of the source, and only those that are used.
func TestConstantsKeepTheirNames(t *testing.T) {
	l, named := snippet(t, `type state uint8

const (
	idle state = iota
	load
	store
	never
	drain state = 6 + iota // 10
)

// Opcodes.
const (
	opCopy = 0x41
	opFill = 0x42
	wide   = 1 << 12
	amount = 3
)

const load_2 uint8 = 7

type Module struct { s, last state; code uint8; n uint16; Seen hdl.FIFO[uint32] }

func (m *Module) Reset() { m.s, m.last, m.code, m.n = load, idle, opFill, 0; m.Seen.Reset() }

func (m *Module) Tick(op uint8, go1 bool) {
	const local = 0x55
	m.Seen.Tick(go1, uint32(op), false)
	m.code = op >> amount
	switch m.s {
	case idle, store:
		if op == opCopy || op == uint8(opFill) {
			m.s = load
		}
	case load:
		m.s = pick(op > local)
		m.n |= wide
	default:
		if m.s != drain {
			m.n = uint16(load_2) + opCopy + 1
			m.s = state(0)
		}
	}
	m.last = m.s
}

func pick(b bool) (s state) {
	if b {
		s = store
	}
	return s
}
`)
	d, err := l.translate(named, moduleOf(named), nil)
	require.NoError(t, err)
	text := string(d.Files[len(d.Files)-1].Text)
	assert.Contains(t, text, `);
  // state at snippet.go:6.
  localparam [3:0]
    idle = 4'd0,
    load = 4'd1,
    store = 4'd2,
    drain = 4'ha;
  // Constants at snippet.go:15.
  localparam [7:0]
    opCopy = 8'h41,
    opFill = 8'h42;
  localparam [15:0]
    wide = 16'h1000;
  // Constants at snippet.go:29.
  localparam [7:0]
    local_r = 8'h55;
  reg [3:0] s;
`)
	for _, want := range []string{
		"    idle, store: begin\n", "if ((op == opCopy) || (op == opFill)) begin", "pick_op_b = op > local_r;", "pick_op_s = idle;", "pick_op_s = store;",
		"n_n = n | wide;", "if (s != drain) begin", "n_code = op >> 3;", "n_s = idle;", "n_n = 16'h49;",
		"if (w_s || rst) s <= rst ? load : d_s;", "last <= rst ? idle : n_last;", "code <= rst ? opFill : n_code;",
	} {
		assert.Contains(t, text, want)
	}
}

// A constant of another package has the name of the package, and a constant that is used
// with two widths has the smaller one.
func TestConstantsOfOtherPackages(t *testing.T) {
	l, named := snippet(t, `type Module struct { a uint8; b uint32 }

const few = 9

func (m *Module) Tick(x uint8, y uint32) {
	m.b = few
	if x == few || x == noc.WriteDMA {
		m.a = noc.ReadDMA
	}
	if y != few {
		m.b = y
	}
}
`)
	d, err := l.translate(named, moduleOf(named), nil)
	require.NoError(t, err)
	text := string(d.Files[0].Text)
	assert.Regexp(t, `// Constants at snippet.go:6.
  localparam \[7:0\]
    few = 8'd9;
  // Constants at rtl/noc/noc.go:[0-9]+.
  localparam \[7:0\]
    noc_ReadDMA = 8'd2;
`, text)
	for _, want := range []string{"x == few", "n_a = noc_ReadDMA;", "n_b = {24'd0, few};", "y != {24'd0, few}"} {
		assert.Contains(t, text, want)
	}
}

// Each localparam of the GPU is used, and has a line of the source that declares it. No
// state is a number.
func TestConstantsOfTheGPU(t *testing.T) {
	head := regexp.MustCompile(`^  // \w+ at (\S+:[0-9]+)\.$`)
	number := regexp.MustCompile(`\b\w*state (==|!=|=|<= rst \?) [0-9]+'[dh]|case \(\w*state\)\n *[0-9]`)
	for name, d := range map[string]*Design{"default": gpuOf(t, gpu.Default()), "small": gpuOf(t, gpu.Small())} {
		params := 0
		for _, f := range d.Files {
			if strings.HasPrefix(f.Name, "hdl_") {
				continue // by hand
			}
			text := string(f.Text)
			assert.NotRegexp(t, number, text, "%s: %s", name, f.Name)
			_, body, _ := strings.Cut(text, "\n);\n")
			for line := range strings.SplitSeq(body, "\n") {
				if m := head.FindStringSubmatch(line); m != nil {
					source, ok := goLine(t, m[1])
					assert.True(t, ok && strings.HasPrefix(strings.TrimSpace(source), "const"), "%s: %s", f.Name, line)
				}
				if id, _, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && strings.HasPrefix(line, "    ") && strings.HasSuffix(line, ",") {
					params++
					assert.Greater(t, len(regexp.MustCompile(`\b`+id+`\b`).FindAllString(body, 2)), 1, "%s: %s", f.Name, id)
				}
			}
		}
		assert.Greater(t, params, 100, name)
	}
}
