package verilog

import (
	"flag"
	"fmt"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var fuzzSeed = flag.Uint64("fuzzseed", 1, "seed of TestRandomPrograms")
var fuzzPrograms = flag.Int("fuzzprograms", 24, "programs of TestRandomPrograms")

// fuzzClocks is the number of clocks that each program runs.
const fuzzClocks = 200

// A program is a random module of the subset, being written.
type program struct {
	*rand.Rand
	strings.Builder
	vars   map[int][]string // readable, by width; 1 is bool
	writes map[int][]string // assignable
	locals int
	indent int
	inTick bool
}

// fields are the registers of every program, with their widths.
var fields = []struct {
	name  string
	width int
}{
	{"R0", 8}, {"R1", 8}, {"S0", 16}, {"S1", 16}, {"W0", 32}, {"W1", 32}, {"D0", 64}, {"D1", 64}, {"F0", 1}, {"F1", 1},
	{"A[0]", 8}, {"A[1]", 8}, {"A[2]", 8}, {"A[3]", 8}, {"P.X", 16}, {"P.On", 1}, {"P.Z", 64}, {"Q.X", 16}, {"Q.On", 1}, {"Q.Z", 64},
}

var inputs = []struct {
	name  string
	width int
}{{"a", 8}, {"b", 16}, {"c", 32}, {"d", 64}, {"f", 1}}

func goType(w int) string {
	if w == 1 {
		return "bool"
	}
	return fmt.Sprintf("uint%d", w)
}

func (p *program) one(list []string) string { return list[p.IntN(len(list))] }

func (p *program) width() int { return []int{1, 8, 16, 32, 64}[p.IntN(5)] }

func (p *program) number() int { return []int{8, 16, 32, 64}[p.IntN(4)] }

// expr returns a random expression of the given width that is not a constant.
func (p *program) expr(w, depth int) string {
	if depth == 0 {
		return p.one(p.vars[w])
	}
	sub := func(w int) string { return p.expr(w, depth-1) }
	if w == 1 {
		return p.truth(sub)
	}
	lit := strconv.FormatUint(p.Uint64()>>(64-w)>>p.IntN(w), 10)
	switch p.IntN(12) {
	case 0, 1:
		return p.one(p.vars[w])
	case 2:
		return fmt.Sprintf("(%s %s %s)", sub(w), p.one([]string{"+", "-", "&", "|", "^", "&^", "*"}), lit)
	case 3:
		return fmt.Sprintf("(%s %s %s)", sub(w), p.one([]string{"<<", ">>"}), sub(p.number()))
	case 4:
		return fmt.Sprintf("(%s %s %d)", sub(w), p.one([]string{"<<", ">>"}), p.IntN(w+3))
	case 5, 6:
		return fmt.Sprintf("%s(%s)", goType(w), sub(p.number()))
	case 7:
		return fmt.Sprintf("^%s", sub(w))
	case 8:
		return fmt.Sprintf("(%s %s %d)", sub(w), p.one([]string{"/", "%"}), 1<<p.IntN(w-1))
	case 9:
		return fmt.Sprintf("%s(%s, %s)", p.one([]string{"min", "max"}), sub(w), sub(w))
	case 10:
		if p.inTick {
			return fmt.Sprintf("%s(early#(%s, %s))", goType(w), sub(32), sub(8))
		}
		return fmt.Sprintf("-(%s)", sub(w))
	}
	return fmt.Sprintf("(%s %s %s)", sub(w), p.one([]string{"+", "-", "&", "|", "^", "&^", "*"}), sub(w))
}

// truth returns a random condition.
func (p *program) truth(sub func(int) string) string {
	w := p.number()
	switch p.IntN(6) {
	case 0:
		return p.one(p.vars[1])
	case 1:
		return fmt.Sprintf("!(%s)", sub(1))
	case 2:
		return fmt.Sprintf("(%s %s %s)", sub(1), p.one([]string{"&&", "||", "==", "!="}), sub(1))
	}
	return fmt.Sprintf("(%s %s %s)", sub(w), p.one([]string{"==", "!=", "<", "<=", ">", ">="}), sub(w))
}

func (p *program) line(format string, args ...any) {
	p.WriteString(strings.Repeat("\t", p.indent))
	fmt.Fprintf(p, format+"\n", args...)
}

// block writes n random statements in a new scope.
func (p *program) block(n, depth int) {
	saved := map[int]int{}
	for w, l := range p.vars {
		saved[w] = len(l)
	}
	savedWrites := map[int]int{}
	for w, l := range p.writes {
		savedWrites[w] = len(l)
	}
	p.indent++
	for range n {
		p.statement(depth)
	}
	p.indent--
	for w := range p.vars {
		p.vars[w] = p.vars[w][:saved[w]]
		p.writes[w] = p.writes[w][:savedWrites[w]]
	}
}

func (p *program) statement(depth int) {
	w := p.width()
	kind := p.IntN(11)
	if depth == 0 {
		kind = p.IntN(5)
	}
	switch kind {
	case 0, 1:
		p.line("%s = %s", p.one(p.writes[w]), p.expr(w, 3))
	case 2:
		w = p.number()
		p.line("%s %s= %s", p.one(p.writes[w]), p.one([]string{"+", "-", "^", "|", "&^", "<<", ">>"}), p.expr(w, 2))
	case 3:
		x, y := p.one(p.writes[w]), p.one(p.writes[w])
		if x != y {
			p.line("%s, %s = %s, %s", x, y, p.expr(w, 1), p.expr(w, 1))
		}
	case 4:
		p.locals++
		name := fmt.Sprintf("v%d", p.locals)
		p.line("%s := %s", name, p.expr(w, 2))
		p.line("_ = %s", name)
		p.vars[w] = append(p.vars[w], name)
		p.writes[w] = append(p.writes[w], name)
	case 5, 6:
		p.line("if %s {", p.expr(1, 2))
		p.block(2, depth-1)
		if p.IntN(2) == 0 {
			p.line("} else {")
			p.block(2, depth-1)
		}
		p.line("}")
	case 7:
		p.line("switch %s & 3 {", p.expr(8, 1))
		for i := range 1 + p.IntN(3) {
			p.line("case %d:", i)
			p.block(1, depth-1)
		}
		p.line("default:")
		p.block(1, depth-1)
		p.line("}")
	case 8:
		p.line("for i := uint8(0); i < %d; i++ {", 1+p.IntN(3))
		p.vars[8] = append(p.vars[8], "i")
		p.block(1, depth-1)
		p.vars[8] = p.vars[8][:len(p.vars[8])-1]
		p.line("}")
	default:
		p.tickOnly()
	}
}

// tickOnly writes statements that use registers.
func (p *program) tickOnly() {
	switch {
	case !p.inTick:
		p.line("if %s {", p.expr(1, 2))
		p.line("\treturn %s", p.expr(32, 1))
		p.line("}")
	case p.IntN(4) == 0:
		p.line("m.P, m.Q = m.Q, m.P")
	case p.IntN(3) == 0:
		p.line("m.P = pair#{X: %s, On: %s, Z: m.P.Z}", p.expr(16, 2), p.expr(1, 2))
	case p.IntN(2) == 0:
		p.line("m.A[%s&3] ^= m.A[%s&3]", p.expr(8, 1), p.expr(8, 1))
	default:
		p.line("m.change(%s, %s)", p.expr(16, 2), p.expr(1, 1))
	}
}

// source returns the text of a random module. Its types and functions are
// numbered n.
func source(r *rand.Rand, n int) string {
	p := &program{Rand: r, vars: map[int][]string{}, writes: map[int][]string{}}
	for _, in := range []struct {
		name  string
		width int
	}{{"x", 32}, {"y", 8}, {"s16", 16}, {"s64", 64}, {"on", 1}} {
		p.vars[in.width] = append(p.vars[in.width], in.name)
		p.writes[in.width] = append(p.writes[in.width], in.name)
	}
	p.line("func early#(x uint32, y uint8) uint32 {")
	p.line("\ts16, s64, on := uint16(x), uint64(x)*uint64(y), x > uint32(y)")
	p.line("\t_, _, _ = s16, s64, on")
	p.block(4, 2)
	p.line("\treturn %s\n}\n", p.expr(32, 2))
	p.vars, p.writes, p.inTick = map[int][]string{}, map[int][]string{}, true
	for _, f := range fields {
		p.vars[f.width] = append(p.vars[f.width], "m."+f.name)
		p.writes[f.width] = append(p.writes[f.width], "m."+f.name)
	}
	change := p.expr(64, 2)
	for _, in := range inputs {
		p.vars[in.width] = append(p.vars[in.width], in.name)
	}
	p.line("type pair# struct { X uint16; On bool; Z uint64 }\n")
	p.line("type M# struct { R0, R1 uint8; S0, S1 uint16; W0, W1 uint32; D0, D1 uint64; F0, F1 bool; A [4]uint8; P, Q pair# }\n")
	p.line("func (m *M#) change(x uint16, on bool) {\n\tif on {\n\t\tm.D0 = %s\n\t\treturn\n\t}\n\tm.S1 += x\n}\n", change)
	p.line("func (m *M#) Tick(a uint8, b uint16, c uint32, d uint64, f bool) {")
	p.block(9, 3)
	p.line("}\n")
	return strings.ReplaceAll(p.String(), "#", strconv.Itoa(n))
}

// stimulus is the input generator, shared by the test and the program that runs
// the modules in Go.
const stimulus = `
type gen uint64

func (g *gen) next() uint64 {
	*g = *g*6364136223846793005 + 1442695040888963407
	x := uint64(*g)
	return (x ^ x>>29) >> (x >> 58)
}
`

type gen uint64

func (g *gen) next() uint64 {
	*g = *g*6364136223846793005 + 1442695040888963407
	x := uint64(*g)
	return (x ^ x>>29) >> (x >> 58)
}

// mainText returns the program that clocks n modules and prints their fields.
func mainText(n int) string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"fmt\"\n\t\"fuzz/mods\"\n)\n" + stimulus + "\nfunc u(b bool) int {\n\tif b {\n\t\treturn 1\n\t}\n\treturn 0\n}\n\nfunc main() {\n")
	for i := range n {
		fmt.Fprintf(&b, "\t{\n\t\tvar m mods.M%d\n\t\tg := gen(%d)\n\t\tfor range %d {\n", i, i, fuzzClocks)
		b.WriteString("\t\t\tm.Tick(uint8(g.next()), uint16(g.next()), uint32(g.next()), g.next(), g.next()&1 != 0)\n\t\t\tfmt.Println(")
		for _, f := range fields {
			if f.width == 1 {
				fmt.Fprintf(&b, "u(m.%s), ", f.name)
			} else {
				fmt.Fprintf(&b, "m.%s, ", f.name)
			}
		}
		b.WriteString(")\n\t\t}\n\t}\n")
	}
	return b.String() + "}\n"
}

// TestRandomPrograms clocks random modules of the subset in Go and in Icarus.
func TestRandomPrograms(t *testing.T) {
	tooltest.Long(t)
	t.Parallel()
	tooltest.Need(t, "iverilog", "vvp")
	t.Logf("seed %d", *fuzzSeed)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(*fuzzSeed, 0))
	text := "package mods\n\n"
	for i := range *fuzzPrograms {
		text += source(r, i)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "mods"), 0o755))
	for name, s := range map[string]string{"go.mod": "module fuzz\n\ngo 1.26\n", "main.go": mainText(*fuzzPrograms), "mods/mods.go": text} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644))
	}
	lines := strings.Split(strings.TrimSpace(runTool(t, dir, "go", "run", ".")), "\n")
	require.Len(t, lines, *fuzzPrograms*fuzzClocks)
	l, err := newLoader(dir)
	require.NoError(t, err)
	pkg, err := l.Import("fuzz/mods")
	require.NoError(t, err)
	for i := range *fuzzPrograms {
		named := pkg.Scope().Lookup(fmt.Sprintf("M%d", i)).Type().(*types.Named)
		d, err := l.translate(named, moduleOf(named), nil)
		require.NoError(t, err)
		runProgram(t, d, i, lines[i*fuzzClocks:(i+1)*fuzzClocks])
	}
}

// runProgram compares a module in Icarus with the values that it printed in Go.
func runProgram(t *testing.T, d *Design, n int, lines []string) {
	t.Helper()
	g := gen(n)
	vectors := [][]uint64{{1, 0, 0, 0, 0, 0}}
	var want [][]uint64
	order := map[string]int{}
	for i, f := range fields {
		order[f.name] = i
	}
	zero := make([]uint64, len(d.Manifest.Registers))
	want = append(want, zero)
	for _, line := range lines {
		vec := []uint64{0}
		for _, in := range inputs {
			vec = append(vec, g.next()&lowMask(in.width))
		}
		vectors = append(vectors, vec)
		vals := strings.Fields(line)
		var row []uint64
		for _, r := range d.Manifest.Registers {
			v, err := strconv.ParseUint(vals[order[r.Go]], 10, 64)
			require.NoError(t, err)
			row = append(row, v)
		}
		want = append(want, row)
	}
	compare(t, d, want, icarus(t, d, vectors))
}
