package verilog

import (
	"go/types"
	"reflect"
	"slices"
)

// Design note: instances of one type whose parameters differ only in the values of scalar
// fields share one module, and these fields are its parameters in Verilog. A field that
// decides a condition, a width or a loop cannot be one: then there is a module for each
// set of values.

// A generic is a field that is a parameter of the Verilog module.
type generic struct {
	field
	v     *variable
	value uint64 // default
}

// shared returns one module for an object of type t, whose module is m, and for the known
// modules that differ from m in the values of scalar fields only. It returns m if there
// are none, or if these fields cannot be parameters.
func (d *designer) shared(t *types.Named, live reflect.Value, m *module) *module {
	for _, k := range d.modules {
		if k.named != t || d.generic[t] != nil {
			continue
		}
		paths := differing(k, m)
		if paths == nil {
			continue
		}
		d.generic[t] = paths
		if one, err := d.passes(t, live); err == nil && d.sameOutputs(one, k) == nil && !one.decides() {
			return one
		}
		d.generic[t] = map[string]bool{}
	}
	return m
}

// sameOutputs translates those output methods of one that the parent calls on k.
func (d *designer) sameOutputs(one, k *module) *Error {
	return protect(func() {
		for _, o := range k.outputs {
			fn, decl := d.methodOf(one.named, o.name)
			d.output(one, decl, fn)
		}
	})
}

// decides reports whether a parameter of the Verilog decides a condition of m.
func (m *module) decides() bool {
	found := false
	var look func(e *expr)
	look = func(e *expr) {
		params, others := 0, 0
		e.reads(func(v *variable) {
			if v.kind == kindParam {
				params++
			} else {
				others++
			}
		})
		found = found || e.width == 1 && params > 0 && others == 0
		for _, a := range e.args {
			look(a)
		}
	}
	for _, p := range []*process{m.out, m.tick} {
		walk(p.body, func(s stmt) {
			switch s := s.(type) {
			case *assign:
				look(s.e)
			case *ifStmt:
				look(s.cond)
			case *caseStmt:
				look(s.sel)
			}
		})
	}
	return found
}

// differing returns the paths of the scalar parameters that differ between two modules of a
// type, or nil if there are none or if the modules differ in anything else.
func differing(a, b *module) map[string]bool {
	if !slices.Equal(a.params, b.params) || len(a.scalars) != len(b.scalars) {
		return nil
	}
	var out map[string]bool
	for path, v := range a.scalars {
		w, ok := b.scalars[path]
		if !ok {
			return nil
		}
		if v != w {
			if out == nil {
				out = map[string]bool{}
			}
			out[path] = true
		}
	}
	return out
}
