package main

import (
	"bytes"
	"fmt"
	"go/constant"
	"go/format"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// instance writes the methods of one type.
func (s *snapshotter) instance(t *types.Named) error {
	b := &block{}
	if err := s.collectStruct(b, "", t.Underlying().(*types.Struct)); err != nil {
		return err
	}
	name := t.Obj().Name()
	w := &s.body
	fmt.Fprintf(w, "\n// %sWords is the number of words that Snapshot fills.\nconst %sWords = %d", name, name, len(b.registers))
	for _, in := range b.inner {
		fmt.Fprintf(w, " + %s", in.words)
	}
	w.WriteString("\n")
	s.snapshotMethod(name, b)
	s.updateMethod(name, b)
	s.restoreMethod(name, b)
	s.signalsMethod(name, b)
	s.memoriesMethod(name, b)
	return nil
}

func (s *snapshotter) snapshotMethod(name string, b *block) {
	w := &s.body
	fmt.Fprintf(w, "\n// Snapshot stores the registers in the first %sWords words of s.\n", name)
	fmt.Fprintf(w, "func (m *%s) Snapshot(s []uint64) {\n\t_ = s[%sWords-1]\n", name, name)
	for i, r := range b.registers {
		fmt.Fprintf(w, "\ts[%d] = %s\n", i, word("m."+r.path, r.typ))
	}
	rest(w, len(b.registers), b.inner, func(in inner, s string) string { return fmt.Sprintf("m.%s.Snapshot(%s)", in.path, s) })
	w.WriteString("}\n")
}

// updateMethod writes Parts and Update, if the last clock may have left out an instance.
func (s *snapshotter) updateMethod(name string, b *block) {
	if !slices.ContainsFunc(b.inner, func(in inner) bool { return in.slept != "" }) {
		return
	}
	w := &s.body
	fmt.Fprintf(w, "\n// Parts returns the numbers of words of the parts of a Snapshot, in order.\nfunc (m *%s) Parts() []int {\n\treturn []int{%d", name, len(b.registers))
	for _, in := range b.inner {
		w.WriteString(", " + in.words)
	}
	w.WriteString("}\n}\n")
	fmt.Fprintf(w, "\n// Update is Snapshot for an s that has the words before the last clock. It leaves out\n// what slept in that clock. Bit i of stored is set if part i may have changed.\n")
	fmt.Fprintf(w, "func (m *%s) Update(s []uint64) (stored uint32) {\n\t_ = s[%sWords-1]\n", name, name)
	for i, r := range b.registers {
		fmt.Fprintf(w, "\ts[%d] = %s\n", i, word("m."+r.path, r.typ))
	}
	fmt.Fprintf(w, "\tstored = 1\n")
	i := 0
	rest(w, len(b.registers), b.inner, func(in inner, s string) string {
		i++
		call := fmt.Sprintf("m.%s.Snapshot(%s)\nstored |= 1 << %d", in.path, s, i)
		if in.slept != "" {
			call = fmt.Sprintf("if !m.%s {\n%s\n}", in.slept, call)
		}
		return call
	})
	w.WriteString("\treturn stored\n}\n")
}

// rest writes a call for each inner instance with its part of s.
func rest(w *bytes.Buffer, at int, all []inner, call func(in inner, s string) string) {
	if len(all) == 0 {
		return
	}
	if at > 0 {
		fmt.Fprintf(w, "\ts = s[%d:]\n", at)
	}
	for i, in := range all {
		fmt.Fprintf(w, "\t%s\n", call(in, "s"))
		if i < len(all)-1 {
			fmt.Fprintf(w, "\ts = s[%s:]\n", in.words)
		}
	}
}

func (s *snapshotter) restoreMethod(name string, b *block) {
	w := &s.body
	fmt.Fprintf(w, "\n// Restore sets the registers to the values stored by Snapshot.\n")
	fmt.Fprintf(w, "func (m *%s) Restore(s []uint64) {\n\t_ = s[%sWords-1]\n", name, name)
	for i, r := range b.registers {
		fmt.Fprintf(w, "\tm.%s = %s\n", r.path, s.value(fmt.Sprintf("s[%d]", i), r.typ))
	}
	for _, path := range b.naps {
		fmt.Fprintf(w, "\tm.%s = false\n", path)
	}
	rest(w, len(b.registers), b.inner, func(in inner, s string) string { return fmt.Sprintf("m.%s.Restore(%s)", in.path, s) })
	w.WriteString("}\n")
}

func (s *snapshotter) signalsMethod(name string, b *block) {
	w := &s.body
	fmt.Fprintf(w, "\n// Signals appends the signals of Snapshot's words; at is the instance path.\n")
	fmt.Fprintf(w, "func (m *%s) Signals(at string, s []hdl.Signal) []hdl.Signal {\n", name)
	for i, r := range b.registers {
		if i == 0 {
			w.WriteString("\ts = append(s,\n")
		}
		fmt.Fprintf(w, "\t\thdl.Signal{Name: at + %q, Width: %d%s},\n", "."+flat(r.path), r.width, s.names(r.typ))
		if i == len(b.registers)-1 {
			w.WriteString("\t)\n")
		}
	}
	for _, in := range b.inner {
		fmt.Fprintf(w, "\ts = m.%s.Signals(at+%q, s)\n", in.path, "."+flat(in.path))
	}
	w.WriteString("\treturn s\n}\n")
}

func (s *snapshotter) memoriesMethod(name string, b *block) {
	w := &s.body
	fmt.Fprintf(w, "\n// Memories passes the words of the memories to v, which may change them.\n")
	fmt.Fprintf(w, "func (m *%s) Memories(v hdl.Visitor) {\n", name)
	for _, m := range b.memories {
		if m.elem == nil {
			fmt.Fprintf(w, "\tv.Words(m.%s.Words())\n", m.path)
			continue
		}
		fmt.Fprintf(w, "\tfor i := range m.%s.Slots() {\n\t\tx, w := &m.%s.Slots()[i], v.Room(%d)\n", m.path, m.path, len(m.values))
		for i, r := range m.values {
			fmt.Fprintf(w, "\t\tw[%d] = %s\n", i, word(under(r.path), r.typ))
		}
		w.WriteString("\t\tv.Words(w)\n")
		for i, r := range m.values {
			fmt.Fprintf(w, "\t\t%s = %s\n", under(r.path), s.value(fmt.Sprintf("w[%d]", i), r.typ))
		}
		w.WriteString("\t}\n")
	}
	for _, in := range b.inner {
		if !in.primitive {
			fmt.Fprintf(w, "\tm.%s.Memories(v)\n", in.path)
		}
	}
	w.WriteString("}\n")
}

// under returns the field path relative to the value that x points to.
func under(path string) string {
	if path == "" {
		return "*x"
	}
	return "x." + path
}

// flat returns the name of a register within its instance, as in the Verilog.
func flat(path string) string {
	return strings.NewReplacer(".", "_", "[", "_", "]", "").Replace(path)
}

// word returns an expression that converts a scalar to a word.
func word(path string, t types.Type) string {
	b := t.Underlying().(*types.Basic)
	switch {
	case b.Kind() == types.Bool:
		return "hdl.Bit(" + path + ")"
	case types.Identical(t, types.Typ[types.Uint64]):
		return path
	}
	return "uint64(" + path + ")"
}

// value returns an expression that converts a word to a scalar.
func (s *snapshotter) value(word string, t types.Type) string {
	b := t.Underlying().(*types.Basic)
	switch {
	case b.Kind() == types.Bool:
		return word + " != 0"
	case types.Identical(t, types.Typ[types.Uint64]):
		return word
	}
	return s.typeName(t) + "(" + word + ")"
}

// typeName returns a type as the package spells it.
func (s *snapshotter) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg {
			return ""
		}
		s.imports[p.Path()] = true
		return p.Name()
	})
}

// names returns the Names field of a signal whose values have names, and has
// their function generated.
func (s *snapshotter) names(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || len(valueNames(named)) == 0 {
		return ""
	}
	obj := named.Obj()
	name := strings.ToLower(obj.Name()[:1]) + obj.Name()[1:] + "Names"
	if obj.Pkg() != s.pkg {
		name = obj.Pkg().Name() + obj.Name() + "Names"
	}
	s.enums[name] = named
	return ", Names: " + name + "()"
}

// valueNames returns the names of a type's constants, which count from 0,
// without their common prefix.
func valueNames(t *types.Named) []string {
	scope := t.Obj().Pkg().Scope()
	byValue := map[uint64]string{}
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) {
			if v, ok := constant.Uint64Val(constant.ToInt(c.Val())); ok {
				byValue[v] = name
			}
		}
	}
	var names []string
	for i := range uint64(len(byValue)) {
		name, ok := byValue[i]
		if !ok {
			return nil
		}
		names = append(names, name)
	}
	for i := range names {
		names[i] = names[i][len(prefix(slices.Collect(maps.Values(byValue)))):]
	}
	return names
}

// prefix returns the common prefix of names, in whole words.
func prefix(names []string) string {
	if len(names) < 2 {
		return ""
	}
	p := names[0]
	for _, n := range names {
		for !strings.HasPrefix(n, p) || len(n) == len(p) || n[len(p)] < 'A' || n[len(p)] > 'Z' {
			if p == "" {
				return ""
			}
			p = p[:len(p)-1]
		}
	}
	return p
}

// file returns the text of the file.
func (s *snapshotter) file() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "// Code generated by cmd/gen from the registers of the package. DO NOT EDIT.\n\npackage %s\n\nimport (\n", s.pkg.Name())
	for _, p := range slices.Sorted(maps.Keys(s.imports)) {
		fmt.Fprintf(&out, "\t%q\n", p)
	}
	out.WriteString(")\n")
	out.Write(s.body.Bytes())
	for _, name := range slices.Sorted(maps.Keys(s.enums)) {
		fmt.Fprintf(&out, "\nfunc %s() []string {\n\treturn []string{\n", name)
		for _, n := range valueNames(s.enums[name]) {
			fmt.Fprintf(&out, "\t\t%q,\n", n)
		}
		out.WriteString("\t}\n}\n")
	}
	return format.Source(out.Bytes())
}
