package verilog

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
)

// A value is what a Go expression is in hardware: a scalar, fields or elements,
// an instance of a primitive, or an instance of a module.
type value struct {
	t     types.Type
	e     *expr    // a scalar
	sub   []*value // fields of a struct or elements of an array
	prim  *primitive
	clear [2]*variable // of a primitive: reset before and behind its tick
	child *child
	zero  bool // a primitive without a memory: the zero value
	still bool // an instance that is never ticked: its registers are constants
}

// isScalar reports whether t has a width.
func isScalar(t types.Type) bool {
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

// widthOf returns the width of a scalar type in bits, and false if hardware does
// not have it. An int has 64.
func widthOf(t types.Type) (int, bool) {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return 0, false
	}
	switch b.Kind() {
	case types.Bool, types.UntypedBool:
		return 1, true
	case types.Uint8:
		return 8, true
	case types.Uint16:
		return 16, true
	case types.Uint32:
		return 32, true
	case types.Uint64, types.Int, types.UntypedInt, types.UntypedRune:
		return 64, true
	}
	return 0, false
}

func isInt(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Int || b.Kind() == types.UntypedInt || b.Kind() == types.UntypedRune)
}

// maxArray is the size of the largest array that is not a memory, in bits.
const maxArray = 64

// checkType fails if hardware does not have t.
func (l *loader) checkType(pos token.Pos, t types.Type) *Error {
	const rewrite = "use bool, uint8 to uint64, structs and small arrays of them"
	bad := func() *Error {
		return l.fail(pos, CodeType, fmt.Sprintf("hardware has no %s", types.TypeString(t, short)), rewrite)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if _, ok := widthOf(t); !ok {
			return bad()
		}
	case *types.Struct:
		if isPrimitive(t) {
			return nil
		}
		for f := range u.Fields() {
			if err := l.checkType(pos, f.Type()); err != nil {
				return err
			}
		}
	case *types.Array:
		return l.checkType(pos, u.Elem())
	default:
		return bad()
	}
	return nil
}

func short(p *types.Package) string { return p.Name() }

// sizeOf returns the bits of a type, width tags not counted.
func sizeOf(t types.Type) int {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		n := 0
		for f := range u.Fields() {
			n += sizeOf(f.Type())
		}
		return n
	case *types.Array:
		return int(u.Len()) * sizeOf(u.Elem())
	}
	n, _ := widthOf(t)
	return n
}

// tagWidth returns the width that field i's tag gives, 0 without one.
func (l *loader) tagWidth(s *types.Struct, i int) (int, *Error) {
	tag, ok := reflect.StructTag(s.Tag(i)).Lookup("w")
	if !ok {
		return 0, nil
	}
	t := s.Field(i).Type()
	if a, ok := t.Underlying().(*types.Array); ok {
		t = a.Elem()
	}
	full, scalar := widthOf(t)
	n, err := strconv.Atoi(tag)
	if err != nil || !scalar || n < 1 || n > full {
		return 0, l.fail(s.Field(i).Pos(), CodeTag, fmt.Sprintf("width %q of a field of %d bits", tag, full),
			"give a number from 1 to the width of the field's type")
	}
	return n, nil
}

// A maker decides what the parts of a value are.
//
//	leaf  the scalar of a field: its path of Go names, width and declaration
//	inst  the instance of a type, or nil if it is none; nil makes a zero memory
type maker struct {
	leaf func(f field) *expr
	inst func(t types.Type, path string, pos token.Pos) (*value, *Error)
}

// A field is where a scalar is.
type field struct {
	t    types.Type
	w    int    // bits, of the tag or the type
	path string // Go names
	pos  token.Pos
	elem int // in its array, or -1
}

// build returns the value of type t at path, declared at pos; w is the width
// that a tag gives, 0 without one.
func (l *loader) build(t types.Type, path string, pos token.Pos, w int, mk maker) (*value, *Error) {
	return l.buildElem(field{t: t, w: w, path: path, pos: pos, elem: -1}, mk)
}

func (l *loader) buildElem(f field, mk maker) (*value, *Error) {
	v := &value{t: f.t}
	if mk.inst != nil {
		if i, err := mk.inst(f.t, f.path, f.pos); i != nil || err != nil {
			return i, err
		}
	} else if isPrimitive(f.t) {
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
			sub, err := l.buildElem(field{u.Elem(), f.w, fmt.Sprintf("%s[%d]", f.path, i), f.pos, i}, mk)
			if err != nil {
				return nil, err
			}
			v.sub = append(v.sub, sub)
		}
		return v, l.checkArray(f)
	}
	full, ok := widthOf(f.t)
	if !ok {
		return nil, l.checkType(f.pos, f.t)
	}
	if f.w == 0 {
		f.w = full
	}
	v.e = zext(mk.leaf(f), full)
	return v, nil
}

// checkArray fails if the array at f has too many flip-flops.
func (l *loader) checkArray(f field) *Error {
	a := f.t.Underlying().(*types.Array)
	n := int(a.Len()) * sizeOf(a.Elem())
	if f.w != 0 {
		n = int(a.Len()) * f.w
	}
	if n > maxArray {
		return l.fail(f.pos, CodeArray, fmt.Sprintf("an array of %d bits, want at most %d", n, maxArray), "use hdl.RAM")
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// zeroValue returns the zero value of t.
func (l *loader) zeroValue(pos token.Pos, t types.Type) (*value, *Error) {
	return l.build(t, "", pos, 0, maker{leaf: func(f field) *expr { return konst(f.w, 0) }})
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

// liveBits returns the bits of a live scalar.
func liveBits(v reflect.Value) uint64 {
	switch {
	case v.Kind() == reflect.Bool && v.Bool():
		return 1
	case v.Kind() == reflect.Bool:
		return 0
	case v.CanInt():
		return uint64(v.Int())
	}
	return v.Uint()
}
