// Package mutant tests that lockstep detects errors: it changes the emitted Verilog in
// many small ways, as a faulty translator might, and runs lockstep on each change.
//
// All mutants are in one design. Selector, an input port of every module, selects the
// active mutant; each mutated expression is
// (mutant == 16'dN) ? mutated : original. 0 selects the original design. Unknown (x)
// values, which the original never exposes, are replaced with alternating 0 and 1, so
// that a mutant that exposes one differs.
package mutant

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// Errors of Generate.
var (
	ErrText  = errors.New("mutant: Verilog of another shape than the emitter's")
	ErrCount = errors.New("mutant: bad count")
)

// Selector is the port that selects the mutant; it is 16 bits wide.
const Selector = "mutant"

// A Kind is a kind of mistake.
type Kind string

// The kinds of mistakes.
const (
	Operator  Kind = "operator"  // other operator: + for -, & for |, == for !=, < for <=, > for >=, << for >>
	Constant  Kind = "constant"  // value plus one, minus one, or with one bit flipped
	Condition Kind = "condition" // inverted condition
	Drop      Kind = "drop"      // omitted update of a register
	Source    Kind = "source"    // read of another register of equal width
	Reset     Kind = "reset"     // other reset value
	NoReset   Kind = "no reset"  // omitted reset of a register
	Term      Kind = "term"      // omitted term of a sum or a condition
	Carry     Kind = "carry"     // sum without the carry between two bits
	Compare   Kind = "compare"   // comparison of signed or of truncated values
	Shift     Kind = "shift"     // other shift amount
	Strobe    Kind = "strobe"    // bit that is never or always set
	Stuck     Kind = "stuck"     // one bit of a register that is never or always set
	Rotate    Kind = "rotate"    // rotation by one bit
	Sign      Kind = "sign"      // sign extension in place of zeros
	Stale     Kind = "stale"     // current value of a register for its next one
	Early     Kind = "early"     // next value of a register for its current one
	Swap      Kind = "swap"      // signal of the other node, port or word
	Memory    Kind = "memory"    // other word of a RAM
	Label     Kind = "label"     // other case label

	KnownMistake Kind = "known" // of Known
)

// A Mutant is one change.
type Mutant struct {
	ID     int    `json:"id"` // value of Selector, from 1
	Kind   Kind   `json:"kind"`
	Module string `json:"module"`
	File   string `json:"file"`
	Line   int    `json:"line"` // in the file before the change
	Source string `json:"source"`
	Old    string `json:"old"`
	New    string `json:"new"`

	lo, hi int // byte offsets of Old in the file
}

// String formats the mutant in one line.
func (m Mutant) String() string {
	return fmt.Sprintf("mutant %d, %s in %s at %s:%d (%s): %s -> %s", m.ID, m.Kind, m.Module, m.File, m.Line, m.Source, short(m.Old), short(m.New))
}

// short returns a text in one line and shortens the middle of a long one.
func short(text string) string {
	const half = 40
	if text = strings.Join(strings.Fields(text), " "); len(text) > 2*half+5 {
		return text[:half] + " ... " + text[len(text)-half:]
	}
	return text
}

// checkCount fails with ErrCount if the selector cannot represent count mutants.
func checkCount(count int) error {
	if count < 1 || count >= 1<<16 {
		return fmt.Errorf("%w: %d, want 1 to 65535", ErrCount, count)
	}
	return nil
}

// Generate returns d with count random mutants, distributed over the modules of the names in
// only, or over all if it is empty, in proportion to their statements and over the kinds. Equal seeds give equal mutants.
// It fails with ErrCount if d has too few sites, and with ErrText.
func Generate(d *verilog.Design, seed uint64, count int, only ...string) (*verilog.Design, []Mutant, error) {
	if err := checkCount(count); err != nil {
		return nil, nil, err
	}
	var modules []*module
	for _, f := range d.Files {
		name, text := strings.CutSuffix(f.Name, ".v")
		if text && (len(only) == 0 || slices.Contains(only, name)) {
			m, err := parse(f)
			if err != nil {
				return nil, nil, err
			}
			modules = append(modules, m)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d7574616e74))
	shares, err := share(modules, count)
	if err != nil {
		return nil, nil, err
	}
	var all []Mutant
	for i, m := range modules {
		all = append(all, m.pick(rng, shares[i], len(all)+1)...)
	}
	out, err := mutate(d, all)
	if err != nil {
		return nil, nil, err
	}
	alternate(out)
	return out, all, nil
}

// alternate replaces the unknown values of all files.
func alternate(d *verilog.Design) {
	for i := range d.Files {
		d.Files[i].Text = alternateUnknown(d.Files[i].Text)
	}
}

// alternateUnknown replaces unknown values with a register that alternates between 0 and 1. A
// simulator without x would use a constant, which might be right by chance.
func alternateUnknown(text []byte) []byte {
	unknown := regexp.MustCompile(`\b([0-9]+)'bx\b`)
	ports := bytes.Index(text, []byte("\n);"))
	if ports < 0 || !unknown.Match(text) {
		return text
	}
	body := unknown.ReplaceAll(text[ports+3:], []byte("{$1{unknown_x}}"))
	out := append(bytes.Clone(text[:ports+3]), "\n\treg unknown_x;\n\tinitial unknown_x = 1'b0;\n\talways @(posedge clk) unknown_x <= !unknown_x;"...)
	return append(out, body...)
}

// mutate returns d with mutants that Generate has made for it.
func mutate(d *verilog.Design, ms []Mutant) (*verilog.Design, error) {
	out := &verilog.Design{Manifest: d.Manifest}
	for _, f := range d.Files {
		if !strings.HasSuffix(f.Name, ".v") {
			continue
		}
		var own []Mutant
		for _, m := range ms {
			if m.File == f.Name {
				own = append(own, m)
			}
		}
		text, err := (&module{src: string(f.Text)}).text(own)
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, verilog.File{Name: f.Name, Text: text})
	}
	out.Manifest.Ports = append(slices.Clone(d.Manifest.Ports), verilog.Port{Name: Selector, Input: true, Width: 16})
	return out, nil
}

// share divides count among the modules by their statements, largest remainder first.
// A module with too few sites passes the rest to the others.
func share(ms []*module, count int) ([]int, error) {
	statements, sites := 0, 0
	for _, m := range ms {
		statements += m.statements
		sites += len(m.sites)
	}
	if count > sites {
		return nil, fmt.Errorf("%w: %d mutants, want at most %d", ErrCount, count, sites)
	}
	shares, order := make([]int, len(ms)), make([]int, len(ms))
	left := count
	for i, m := range ms {
		shares[i] = min(count*m.statements/statements, len(m.sites))
		left -= shares[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return count*ms[b].statements%statements - count*ms[a].statements%statements
	})
	for at := 0; left > 0; at++ {
		if i := order[at%len(order)]; shares[i] < len(ms[i].sites) {
			shares[i]++
			left--
		}
	}
	return shares, nil
}

// pick returns n random mutants of m, numbered from first. It picks a kind first and
// then a site of that kind.
func (m *module) pick(rng *rand.Rand, n, first int) []Mutant {
	byKind := map[Kind][]site{}
	var kinds []Kind
	for _, s := range m.sites {
		if byKind[s.kind] == nil {
			kinds = append(kinds, s.kind)
		}
		byKind[s.kind] = append(byKind[s.kind], s)
	}
	var out []Mutant
	for len(out) < n {
		k := rng.IntN(len(kinds))
		list := byKind[kinds[k]]
		i := rng.IntN(len(list))
		s := list[i]
		list = slices.Delete(list, i, i+1)
		byKind[kinds[k]] = list
		if len(list) == 0 {
			kinds = slices.Delete(kinds, k, k+1)
		}
		out = append(out, Mutant{
			ID: first + len(out), Kind: s.kind, Module: m.name, File: m.file, Line: s.line, Source: s.source,
			Old: m.src[s.lo:s.hi], New: s.options[rng.IntN(len(s.options))], lo: s.lo, hi: s.hi,
		})
	}
	return out
}
