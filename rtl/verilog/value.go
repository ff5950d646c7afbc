package verilog

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// A value is a Go expression in hardware: a scalar, fields or elements, an
// instance of a primitive, or an instance of a module.
type value struct {
	t        types.Type
	e        *expr    // a scalar
	sub      []*value // fields of a struct or elements of an array
	prim     *primitive
	clear    [2]*variable // of a FIFO: reset before and after its tick
	child    *child
	zero     bool // a primitive without a memory: the zero value
	unticked bool // an instance that is never ticked: its registers are constants
}

// isScalar reports whether t has a width.
func isScalar(t types.Type) bool {
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

// checkType fails if hardware does not have t.
func (l *loader) checkType(pos token.Pos, t types.Type) *Error {
	if bad := subset.Missing(t); bad != nil {
		return l.fail(pos, subset.CodeType, fmt.Sprintf("hardware has no %s", types.TypeString(bad, short)),
			"use bool, uint8 to uint64, structs and small arrays of them")
	}
	return nil
}

func short(p *types.Package) string { return p.Name() }

// tagWidth returns the width in field i's tag, or 0 without one.
func (l *loader) tagWidth(s *types.Struct, i int) (int, *Error) {
	n, full, ok := subset.TagWidth(s, i)
	if !ok {
		return 0, l.fail(s.Field(i).Pos(), subset.CodeTag, fmt.Sprintf("the width of a field of %d bits is not in its tag %q", full, s.Tag(i)),
			"give a number from 1 to the width of the field's type")
	}
	return n, nil
}

// A maker makes the parts of a value.
//
//	leaf  returns the scalar of a field: its path of Go names, width and declaration
//	inst  returns the instance of a type, or nil; if inst is nil, memories are zero
type maker struct {
	leaf func(f field) *expr
	inst func(t types.Type, path string, pos token.Pos) (*value, *Error)
}

// A field is the place of a scalar.
type field struct {
	t    types.Type
	w    int    // bits, of the tag or the type
	enum int    // bits of an enumeration's constants, 0 for another type
	path string // Go names
	pos  token.Pos
	elem int // index in its array, or -1
}

// build returns the value of type t at path, declared at pos. w is the width in a
// tag, 0 without one.
func (l *loader) build(t types.Type, path string, pos token.Pos, w int, mk maker) (*value, *Error) {
	return l.buildElem(field{t: t, w: w, path: path, pos: pos, elem: -1}, mk)
}

func (l *loader) buildElem(f field, mk maker) (*value, *Error) {
	v := &value{t: f.t}
	if mk.inst != nil {
		if i, err := mk.inst(f.t, f.path, f.pos); i != nil || err != nil {
			return i, err
		}
	} else if subset.IsPrimitive(f.t) {
		v.zero = true
		return v, nil
	}
	switch u := f.t.Underlying().(type) {
	case *types.Struct:
		v.sub = []*value{}
		for i := range u.NumFields() {
			sf := u.Field(i)
			n, err := l.tagWidth(u, i)
			if err != nil {
				return nil, err
			}
			sub, err := l.build(sf.Type(), join(f.path, sf.Name()), sf.Pos(), n, mk)
			if err != nil {
				return nil, err
			}
			v.sub = append(v.sub, sub)
		}
		return v, nil
	case *types.Array:
		v.sub = []*value{}
		for i := range int(u.Len()) {
			sub, err := l.buildElem(field{t: u.Elem(), w: f.w, path: fmt.Sprintf("%s[%d]", f.path, i), pos: f.pos, elem: i}, mk)
			if err != nil {
				return nil, err
			}
			v.sub = append(v.sub, sub)
		}
		return v, l.checkArray(f)
	}
	full, ok := subset.Width(f.t)
	if !ok {
		return nil, l.checkType(f.pos, f.t)
	}
	if f.w == 0 {
		f.w = full
	}
	f.enum = subset.EnumWidth(f.t)
	v.e = zext(mk.leaf(f), full)
	return v, nil
}

// bits returns the bits of the values of a field, at most those of the field.
func (f field) bits() int {
	if f.enum != 0 {
		return min(f.w, f.enum)
	}
	return f.w
}

// value returns the values of the field in the variable v, which may be wider.
func (f field) value(v *variable) *expr {
	if f.bits() == v.width {
		return v.ref()
	}
	return &expr{op: opSlice, width: f.bits(), v: v}
}

// checkArray fails if the array at f has too many flip-flops.
func (l *loader) checkArray(f field) *Error {
	a := f.t.Underlying().(*types.Array)
	n := int(a.Len()) * subset.Size(a.Elem())
	if f.w != 0 {
		n = int(a.Len()) * f.w
	}
	if n > subset.MaxArray {
		return l.fail(f.pos, subset.CodeArray, fmt.Sprintf("an array of %d bits, want at most %d", n, subset.MaxArray), "use hdl.RAM")
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// leaves calls f for each scalar and primitive of v, in order.
func (v *value) leaves(f func(*value)) {
	if v.sub == nil {
		f(v)
	}
	for _, s := range v.sub {
		s.leaves(f)
	}
}

// scalars returns the expressions of v in order; primitives have none.
func (v *value) scalars() []*expr {
	var out []*expr
	v.leaves(func(s *value) {
		if s.e != nil {
			out = append(out, s.e)
		}
	})
	return out
}
