package regmap

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// valid fails if something is twice in a map, or if it has a value that no map has.
func (m *jsonMap) valid() error {
	var s seen
	for _, b := range m.Blocks {
		s.once("block", "", b.Name)
		s.once("base of a block", "", hex(b.Base).String())
		for _, r := range b.Regs {
			name := b.Name + "." + r.Name
			s.once("register", b.Name+".", r.Name)
			s.once("offset of a register", b.Name+"+", hex(r.Off).String())
			s.oneOf("access of "+name, r.Access, reg.RO, reg.RW, reg.W1C, reg.WO)
			s.oneOf("effect of a read of "+name, r.Read, reg.Plain, reg.Latch)
			s.oneOf("effect of a write of "+name, r.Write, reg.Plain, reg.Trigger, reg.Doorbell)
			for _, f := range r.Fields {
				s.once("field", name+".", f.Name)
				s.oneOf("effect of a write of "+name+"."+f.Name, f.Write, reg.Plain, reg.Trigger, reg.Doorbell)
			}
		}
	}
	for _, p := range m.Packets {
		s.once("packet", "", p.Name)
		s.once("opcode", "", hex(p.Op).String())
	}
	return s.err
}

// seen keeps the first error of a map.
type seen struct {
	names map[string]bool
	err   error
}

// once notes a name of a kind. It must be the first one.
func (s *seen) once(kind, within, name string) {
	key := kind + " " + within + name
	if s.names == nil {
		s.names = map[string]bool{}
	}
	if s.names[key] && s.err == nil {
		s.err = fmt.Errorf("it has the %s twice", key)
	}
	s.names[key] = true
}

// oneOf notes a value, which must be the text of one of those that exist.
func (s *seen) oneOf(what, value string, all ...fmt.Stringer) {
	known := slices.ContainsFunc(all, func(x fmt.Stringer) bool { return x.String() == value })
	if !known && s.err == nil {
		s.err = fmt.Errorf("the %s is unknown: %q", what, value)
	}
}
