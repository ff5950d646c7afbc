package regs

import (
	"slices"
	"strings"
)

// A Candidate is a completion of the beginning of a name, with its description.
type Candidate struct {
	Text string
	Doc  string
}

// Complete returns the completions of the beginning of a name: a block with its
// dot, then its registers and pairs, then the fields of one register.
func (n *Names) Complete(text string) []Candidate {
	text = strings.ToLower(text)
	if strings.Count(text, ".") == 2 {
		return n.fields(text)
	}
	var all []Candidate
	for _, name := range n.known {
		block, _, _ := strings.Cut(name, ".")
		if !strings.Contains(text, ".") {
			name = block + "."
		}
		if !strings.HasPrefix(name, text) || slices.ContainsFunc(all, func(c Candidate) bool { return c.Text == name }) {
			continue
		}
		c := Candidate{Text: name}
		if found, err := n.Find(name); err == nil {
			c.Doc = found[0].Entry.Reg.Doc
		}
		all = append(all, c)
		if name == text && len(n.fields(name+".")) > 0 {
			all = append(all, Candidate{name + ".", "a field"})
		}
	}
	return all
}

// fields returns the fields whose names begin with text.
func (n *Names) fields(text string) []Candidate {
	found, err := n.Find(text[:strings.LastIndex(text, ".")+1] + "*")
	if err != nil {
		return nil
	}
	var all []Candidate
	for _, t := range found {
		if strings.HasPrefix(t.Name(), text) {
			all = append(all, Candidate{t.Name(), t.Field.Doc})
		}
	}
	return all
}

// Values returns the names of a field's values, in lower case, or none if the
// value is a number.
func (t Target) Values() []string {
	if t.Field == nil {
		return nil
	}
	var all []string
	for _, name := range t.Field.Enum {
		all = append(all, strings.ToLower(name))
	}
	return all
}
