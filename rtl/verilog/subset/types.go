package subset

import (
	"go/types"
	"reflect"
	"strconv"
	"strings"
)

// Width returns the width of a scalar type in bits, and false if hardware does
// not have the type. An int has 64 bits.
func Width(t types.Type) (int, bool) {
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

// IsInt reports whether t is int, which is allowed only for constants and loop
// indices.
func IsInt(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Int || b.Kind() == types.UntypedInt || b.Kind() == types.UntypedRune)
}

// MaxArray is the largest size of an array of registers, in bits.
const MaxArray = 64

// MaxIterations is the most iterations of a loop.
const MaxIterations = 256

// Size returns the size of a type in bits, ignoring width tags.
func Size(t types.Type) int {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		n := 0
		for f := range u.Fields() {
			n += Size(f.Type())
		}
		return n
	case *types.Array:
		return int(u.Len()) * Size(u.Elem())
	}
	n, _ := Width(t)
	return n
}

// IsPrimitive reports whether t is a type of package hdl with storage.
func IsPrimitive(t types.Type) bool {
	_, storage := t.Underlying().(*types.Struct)
	return storage && inHDL(t)
}

// Single returns the part of t that a module of package p may have only in a
// field: hdl.RAM, hdl.ROM or an instance of another module, since a copy would be a
// second one. It returns nil if there is none.
func Single(t types.Type, p *types.Package) types.Type {
	if IsInstance(t, p) && !isQueue(t) {
		return t
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if x := Single(f.Type(), p); x != nil {
				return x
			}
		}
	case *types.Array:
		return Single(u.Elem(), p)
	}
	return nil
}

func isQueue(t types.Type) bool {
	return inHDL(t) && types.Unalias(t).(*types.Named).Obj().Name() == "FIFO"
}

// IsNap reports whether t is hdl.Nap, which is not a register.
func IsNap(t types.Type) bool {
	_, scalar := t.Underlying().(*types.Basic)
	return scalar && inHDL(t)
}

func inHDL(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && strings.HasSuffix(n.Obj().Pkg().Path(), "/rtl/hdl")
}

// IsModule reports whether t has a Tick.
func IsModule(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	obj, _, _ := types.LookupFieldOrMethod(n, true, n.Obj().Pkg(), "Tick")
	_, ok = obj.(*types.Func)
	return ok
}

// IsInstance reports whether a field of type t in a module of package p is an
// instance of another module.
func IsInstance(t types.Type, p *types.Package) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && IsModule(t) && n.Obj().Exported() && n.Obj().Pkg() != p
}

// Missing returns the part of t that hardware does not have, or nil.
func Missing(t types.Type) types.Type {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if _, ok := Width(t); ok {
			return nil
		}
	case *types.Struct:
		if IsPrimitive(t) {
			return nil
		}
		for f := range u.Fields() {
			if bad := Missing(f.Type()); bad != nil {
				return bad
			}
		}
		return nil
	case *types.Array:
		return Missing(u.Elem())
	}
	return t
}

// TagWidth returns the width in tag w of field i, 0 without a tag, and the width
// of the field's type. ok is false for a bad tag.
func TagWidth(s *types.Struct, i int) (n, full int, ok bool) {
	t := s.Field(i).Type()
	if a, array := t.Underlying().(*types.Array); array {
		t = a.Elem()
	}
	full, scalar := Width(t)
	tag, tagged := reflect.StructTag(s.Tag(i)).Lookup("w")
	if !tagged {
		return 0, full, true
	}
	n, err := strconv.Atoi(tag)
	return n, full, err == nil && scalar && n >= 1 && n <= full
}
