package regs

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// A Description describes a target in JSON. Numbers given as strings are
// hexadecimal.
type Description struct {
	Name     string             `json:"name"`
	Offset   Hex                `json:"offset"`
	Bits     int                `json:"bits"`
	Value    string             `json:"value,omitempty"` // omitted if not read
	Access   string             `json:"access"`
	Reset    string             `json:"reset"` // "config" if it depends on the configuration
	Volatile bool               `json:"volatile"`
	Read     string             `json:"read_effect,omitempty"`
	Write    string             `json:"write_effect,omitempty"`
	Poke     string             `json:"poke,omitempty"`
	Unit     string             `json:"unit,omitempty"`
	Doc      string             `json:"doc"`
	Fields   []FieldDescription `json:"fields,omitempty"`
}

// A FieldDescription describes a field in JSON.
type FieldDescription struct {
	Name    string   `json:"name"`
	Mask    Hex      `json:"mask"`
	Value   *uint32  `json:"value,omitempty"`
	Meaning string   `json:"meaning,omitempty"` // name of the value, if it has one
	Unit    string   `json:"unit,omitempty"`
	Enum    []string `json:"enum,omitempty"`
	Doc     string   `json:"doc"`
}

// A WriteDescription is a Written in JSON, in hexadecimal.
type WriteDescription struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	Sent   string `json:"sent"`
	After  string `json:"after,omitempty"`
}

// Describe describes the target without a value.
func (t Target) Describe() Description { return t.describe(nil) }

// Describe describes the target with its value.
func (v Value) Describe() Description { return v.Target.describe(&v.Value) }

// describe describes a target; value is nil if it was not read.
func (t Target) describe(value *uint64) Description {
	r := t.Entry.Reg
	d := Description{
		Name: t.Name(), Offset: Hex(t.Entry.Off()), Bits: t.Bits(), Access: r.Access.String(), Reset: fmt.Sprintf("%#x", r.Reset),
		Volatile: r.Volatile, Read: r.Read.String(), Write: r.Write.String(), Unit: r.Unit, Doc: r.Doc,
	}
	if r.Config {
		d.Reset = "config"
	}
	if r.Access != reg.RO {
		d.Poke = r.Poke.String()
	}
	for _, f := range t.fields() {
		d.Fields = append(d.Fields, t.describeField(f, value))
	}
	if value != nil {
		d.Value = fmt.Sprintf("%#x", *value)
	}
	return d
}

// fields returns the target's field, or the fields of its register.
func (t Target) fields() []reg.Field {
	if t.Field != nil {
		return []reg.Field{*t.Field}
	}
	return t.Entry.Reg.Fields
}

func (t Target) describeField(f reg.Field, value *uint64) FieldDescription {
	d := FieldDescription{Name: strings.ToLower(f.Name), Mask: Hex(f.Mask), Unit: f.Unit, Enum: f.Enum, Doc: f.Doc}
	if value == nil {
		return d
	}
	v := uint32(*value)
	if t.Field == nil {
		v = f.Get(v)
	}
	d.Value = &v
	if int64(v) < int64(len(f.Enum)) {
		d.Meaning = f.Enum[v]
	}
	return d
}

// Describe describes the write.
func (w Written) Describe() WriteDescription {
	hex := func(v *uint64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%#x", *v)
	}
	return WriteDescription{w.Target.Name(), hex(w.Before), hex(&w.Sent), hex(w.After)}
}

// Listing describes the target: one line for the register and, if fields is
// set, one for each field.
func (t Target) Listing(fields bool) string {
	r := t.Entry.Reg
	var marks []string
	for _, m := range []struct {
		on   bool
		text string
	}{
		{r.Volatile, "volatile"},
		{r.Read != reg.Plain, "read: " + r.Read.String()},
		{r.Write != reg.Plain, "write: " + r.Write.String()},
		{r.Access != reg.RO && r.Poke != reg.Safe, r.Poke.String()},
	} {
		if m.on {
			marks = append(marks, m.text)
		}
	}
	doc := r.Doc
	if len(marks) > 0 {
		doc = "[" + strings.Join(marks, ", ") + "] " + doc
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s @0x%04x %-3s  %s\n", t.Name(), t.Entry.Off(), r.Access, doc)
	if !fields {
		return b.String()
	}
	for _, f := range t.fields() {
		fmt.Fprintf(&b, "  %-6s %-10s %s", f.Bits(), strings.ToLower(f.Name), f.Doc)
		for i, name := range f.Enum {
			fmt.Fprintf(&b, "%s%d %s", map[bool]string{true: "; ", false: ", "}[i == 0], i, name)
		}
		b.WriteString("\n")
	}
	return b.String()
}
