package mutant

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A module is a file with one module, or several related ones, and the sites in it.
type module struct {
	name       string // name of the last module
	file       string
	src        string
	statements int
	sites      []site
}

// A site is a place that can be mutated, with its possible replacements.
type site struct {
	kind    Kind
	lo, hi  int // byte offsets
	line    int
	source  string
	options []string
}

// parse finds the sites of a file.
func parse(f verilog.File) (*module, error) {
	m := &module{file: f.Name, src: string(f.Text)}
	tokens, err := scan(f.Name, m.src)
	if err != nil {
		return nil, err
	}
	for len(tokens) > 0 {
		n := slices.IndexFunc(tokens, func(t token) bool { return t.text == "endmodule" })
		if n < 2 || tokens[0].text != "module" {
			return nil, fmt.Errorf("%w: %s:%d: the file must begin with a module", ErrText, f.Name, tokens[0].line)
		}
		m.name = tokens[1].text
		p := &parser{m: m, tokens: tokens[:n]}
		if err := p.run(); err != nil {
			return nil, err
		}
		tokens = tokens[n+1:]
	}
	return m, nil
}

// text returns the file with mutants, each selected by its number. The selector is
// added to the ports of all modules and instances.
func (m *module) text(ms []Mutant) ([]byte, error) {
	ms = slices.Clone(ms)
	sort.SliceStable(ms, func(i, j int) bool {
		if ms[i].lo != ms[j].lo {
			return ms[i].lo < ms[j].lo
		}
		return ms[i].hi > ms[j].hi
	})
	var b strings.Builder
	rest := m.render(&b, 0, len(m.src), ms)
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %s overlaps another mutant", ErrText, rest[0])
	}
	out := regexp.MustCompile(`input\s+(wire\s+)?clk,`).ReplaceAllString(b.String(), "input wire [15:0] "+Selector+",\n\t$0")
	return []byte(strings.ReplaceAll(out, ".clk(clk)", "."+Selector+"("+Selector+"), .clk(clk)")), nil
}

// render writes [lo, hi) of the source with the mutants that begin in it and returns
// the remaining mutants. ms must be sorted, outer mutants first.
func (m *module) render(b *strings.Builder, lo, hi int, ms []Mutant) []Mutant {
	for len(ms) > 0 && ms[0].lo < hi && ms[0].hi <= hi {
		x := ms[0]
		b.WriteString(m.src[lo:x.lo])
		fmt.Fprintf(b, "((%s == 16'd%d) ? (%s) : (", Selector, x.ID, x.New)
		ms = m.render(b, x.lo, x.hi, ms[1:])
		b.WriteString("))")
		lo = x.hi
	}
	b.WriteString(m.src[lo:hi])
	return ms
}
