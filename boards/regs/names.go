package regs

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// Names finds registers by name.
type Names struct {
	entries []regmap.Entry // by offset
	known   []string       // names of registers and pairs
	have    caps.Set       // of the device
}

// A Target is the target of a name: a register, one of its fields, or a pair of
// registers.
type Target struct {
	Entry  regmap.Entry  // the low half of a pair
	High   *regmap.Entry // high half of a pair, or nil
	Field  *reg.Field    // or nil
	Forced bool          // the name ended in "!"
	Glob   bool          // the name was a pattern
}

// AllNames returns the names of a device with every capability.
func AllNames() *Names { return NewNames(caps.All() | caps.Node1) }

// NewNames returns the names of a device with the given capabilities.
func NewNames(have caps.Set) *Names {
	n := &Names{have: have}
	for _, e := range regmap.New().Entries() {
		if e.In(have) {
			n.entries = append(n.entries, e)
		}
	}
	for _, e := range n.entries {
		n.known = append(n.known, Target{Entry: e}.Name())
		if high := n.high(e); high != nil {
			n.known = append(n.known, Target{Entry: e, High: high}.Name())
		}
	}
	return n
}

// Entries returns the registers by offset.
func (n *Names) Entries() []regmap.Entry { return slices.Clone(n.entries) }

// Name returns the name in lower case, without "!".
func (t Target) Name() string {
	name := t.Entry.Reg.Name
	if t.High != nil {
		name, _ = pairName(name)
	}
	name = t.Entry.Block.Name + "." + name
	if t.Field != nil {
		name += "." + t.Field.Name
	}
	return strings.ToLower(name)
}

// pairName returns the name of the pair whose low half is low: RING_BASE for
// RING_BASE_LO, ADDR0 for ADDR_LO0.
func pairName(low string) (string, bool) {
	i := strings.LastIndex(low, "_LO")
	if i < 0 || strings.Trim(low[i+3:], "0123456789") != "" {
		return "", false
	}
	return low[:i] + low[i+3:], true
}

// high returns the high half of the pair whose low half is e, or nil if there
// is none.
func (n *Names) high(e regmap.Entry) *regmap.Entry {
	if _, ok := pairName(e.Reg.Name); !ok {
		return nil
	}
	i := strings.LastIndex(e.Reg.Name, "_LO")
	want := e.Reg.Name[:i] + "_HI" + e.Reg.Name[i+3:]
	for _, h := range n.entries {
		if h.Block.Name == e.Block.Name && h.Reg.Name == want && h.Off() == e.Off()+4 {
			return &h
		}
	}
	return nil
}

// Find returns the targets of a name or a pattern, by offset, with fields in
// the order of the table. If there are none it fails with ErrName and similar
// names.
func (n *Names) Find(name string) ([]Target, error) {
	rest, asked := strings.CutSuffix(name, "!")
	var found []Target
	var err error
	if hex, ok := strings.CutPrefix(rest, "@"); ok {
		found, err = n.at(hex)
	} else {
		found, err = n.match(strings.ToLower(rest))
	}
	for i := range found {
		found[i].Forced = asked
	}
	return found, err
}

// FindAll returns the targets of several names, as Find does.
func (n *Names) FindAll(names ...string) ([]Target, error) {
	var all []Target
	for _, name := range names {
		found, err := n.Find(name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// at returns the register at an offset.
func (n *Names) at(text string) ([]Target, error) {
	off, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return nil, fmt.Errorf("%w: @%s, want an offset in BAR0 like @0x1004", ErrName, text)
	}
	for _, e := range n.entries {
		if uint64(e.Off()) == off {
			return []Target{{Entry: e}}, nil
		}
	}
	return nil, fmt.Errorf("%w: no register at %#x", ErrName, off)
}

// isBlock reports whether a pattern is that of a block.
func (n *Names) isBlock(pattern string) bool {
	return slices.ContainsFunc(n.entries, func(e regmap.Entry) bool { return match(pattern, e.Block.Name) })
}

// match returns the targets of a name in lower case.
func (n *Names) match(name string) ([]Target, error) {
	parts := strings.Split(name, ".")
	if len(parts) == 1 && n.isBlock(name) {
		name += ".*"
		parts = append(parts, "*")
	}
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return nil, fmt.Errorf("%w: %q, want BLOCK.REGISTER or BLOCK.REGISTER.FIELD%s", ErrName, name, n.near(name))
	}
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrName, name, err)
		}
	}
	glob := strings.ContainsAny(name, `*?[\`)
	var found []Target
	for _, e := range n.entries {
		if !match(parts[0], e.Block.Name) {
			continue
		}
		t := Target{Entry: e, Glob: glob}
		if high := n.high(e); high != nil && len(parts) == 2 {
			if pair, _ := pairName(e.Reg.Name); strings.EqualFold(pair, parts[1]) {
				t.High = high
				found = append(found, t)
				continue
			}
		}
		if !match(parts[1], e.Reg.Name) {
			continue
		}
		if len(parts) == 2 {
			found = append(found, t)
			continue
		}
		for i := range e.Reg.Fields {
			if match(parts[2], e.Reg.Fields[i].Name) {
				t.Field = &e.Reg.Fields[i]
				found = append(found, t)
			}
		}
	}
	if found == nil {
		if elsewhere, err := n.elsewhere(name); err == nil {
			return nil, fmt.Errorf("%w: %q is not on this board, which has no %s", ErrName, name, elsewhere)
		}
		return nil, fmt.Errorf("%w: %q is not a register%s", ErrName, name, n.near(name))
	}
	return found, nil
}

// elsewhere returns what the device lacks for the first register of a name that
// other devices have. It fails with ErrName if none has it.
func (n *Names) elsewhere(name string) (string, error) {
	all := AllNames()
	if n.have == all.have {
		return "", ErrName
	}
	found, err := all.match(name)
	if err != nil {
		return "", err
	}
	lacks := found[0].Entry.Needs() &^ n.have
	if lacks.Has(caps.Node1) {
		return "node 1", nil
	}
	return lacks.String(), nil
}

// match reports whether a pattern in lower case matches a name of the table.
func match(pattern, name string) bool {
	ok, _ := path.Match(pattern, strings.ToLower(name))
	return ok
}

// near returns similar names for the end of an error message.
func (n *Names) near(name string) string {
	type candidate struct {
		name string
		cost int
	}
	candidates := n.known
	if i := strings.LastIndex(name, "."); strings.Count(name, ".") == 2 {
		for _, e := range n.entries {
			if match(name[:i], Target{Entry: e}.Name()) {
				for j := range e.Reg.Fields {
					candidates = append(slices.Clip(candidates), Target{Entry: e, Field: &e.Reg.Fields[j]}.Name())
				}
			}
		}
	}
	var close []candidate
	for _, c := range candidates {
		cost := distance(name, c)
		if _, last, _ := strings.Cut(c, "."); !strings.Contains(name, ".") {
			cost = min(cost, distance(name, last))
		}
		if cost <= 1+len(name)/4 {
			close = append(close, candidate{c, cost})
		}
	}
	slices.SortStableFunc(close, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	if len(close) == 0 {
		return "; 'hilgpu reg list' lists all names"
	}
	var words []string
	for _, c := range close[:min(len(close), 3)] {
		words = append(words, c.name)
	}
	return "; near: " + strings.Join(words, ", ")
}

// distance returns the Levenshtein distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
