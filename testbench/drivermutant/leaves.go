package drivermutant

import (
	"reflect"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// maxDepth is the depth to which structures are searched for values.
const maxDepth = 4

// leaves calls add for each value of a type that can be wrong, with the operators
// that change it.
func leaves(t reflect.Type, at place, add func(at place, ops ...operator)) {
	if len(at.path) > maxDepth {
		return
	}
	in := func(name string) place {
		at := at
		at.path = append(slices.Clone(at.path), name)
		return at
	}
	switch {
	case t == reflect.TypeFor[ddi.Status](), t == reflect.TypeFor[ddi.HRESULT]():
		add(at, fails, passes)
	case isHandle(t):
		add(at, stale)
	case t.Kind() == reflect.Bool:
		add(at, flipped)
	case isNumber(t):
		add(at, more, less, zero)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				leaves(f.Type, in(f.Name), add)
			}
		}
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		leaves(t.Elem(), at, add)
	case t.Kind() == reflect.Slice:
		add(at, shorter)
		if t.Elem().Kind() == reflect.Uint8 {
			add(in("[0]"), more)
			return
		}
		leaves(t.Elem(), in("[0]"), add)
	}
}

// isHandle reports whether a type is a handle: a structure of one pointer or one
// interface, or a kernel handle.
func isHandle(t reflect.Type) bool {
	if t == reflect.TypeFor[ddi.KMHandle]() {
		return true
	}
	if t.Kind() != reflect.Struct || t.NumField() != 1 {
		return false
	}
	k := t.Field(0).Type.Kind()
	return k == reflect.Interface || k == reflect.Pointer
}

func isNumber(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}

// A mutation changes values. It remembers earlier values, to use them again.
type mutation struct {
	op      operator
	seen    []reflect.Value // distinct earlier values, for stale
	applied int             // values that were changed
}

// change changes the value of v at path and reports whether it differs now.
// Structures that a pointer names are copied first, so that the other side's are kept.
func (m *mutation) change(v reflect.Value, path []string) {
	switch {
	case v.Kind() == reflect.Pointer && len(path) > 0 && !isHandle(v.Type()):
		if !v.IsNil() {
			m.change(v.Elem(), path)
		}
	case len(path) == 0:
		m.apply(v)
	case path[0] == "[0]":
		if v.Len() > 0 {
			m.change(v.Index(0), path[1:])
		}
	default:
		m.change(v.FieldByName(path[0]), path[1:])
	}
}

// apply changes a value.
func (m *mutation) apply(v reflect.Value) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	switch m.op {
	case more:
		add(v, 1)
	case less:
		add(v, -1)
	case zero:
		v.SetZero()
	case flipped:
		v.SetBool(!v.Bool())
	case shorter:
		if n := v.Len(); n > 0 {
			v.Set(v.Slice(0, n-1))
			m.applied++
		}
		return
	case stale:
		m.replace(v)
	case fails:
		setResult(v, uint64(ddi.StatusUnsuccessful), uint64(ddi.EFail))
	case passes:
		v.SetZero()
	}
	if !old.Equal(v) {
		m.applied++
	}
}

// replace puts an earlier, different value into v.
func (m *mutation) replace(v reflect.Value) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	for _, s := range slices.Backward(m.seen) {
		if !s.Equal(old) {
			v.Set(s)
			break
		}
	}
	if !slices.ContainsFunc(m.seen, func(s reflect.Value) bool { return s.Equal(old) }) {
		m.seen = append(m.seen, old)
	}
}

// setResult sets a status.
func setResult(v reflect.Value, status, hresult uint64) {
	if v.Type() == reflect.TypeFor[ddi.Status]() {
		v.SetUint(status)
		return
	}
	v.SetUint(hresult)
}

// add adds d to a number, which wraps around.
func add(v reflect.Value, d int64) {
	if v.CanInt() {
		v.SetInt(v.Int() + d)
		return
	}
	v.SetUint((v.Uint() + uint64(d)) & (1<<v.Type().Bits() - 1))
}
