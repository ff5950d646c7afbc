package verilog

import (
	"fmt"
	"go/types"
	"reflect"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// sameType fails with ErrSource if the type of a live object at path differs from
// t: then the source has changed since this program was built. It does not check
// whether hardware has the type.
func sameType(t types.Type, live reflect.Type, path string) error {
	kind := live.Kind()
	switch u := t.Underlying().(type) {
	case *types.Struct:
		if kind == reflect.Struct {
			if _, named := types.Unalias(t).(*types.Named); named {
				path = types.TypeString(t, short)
			}
			return sameFields(u, live, path)
		}
	case *types.Array:
		if kind == reflect.Array && int64(live.Len()) == u.Len() {
			return sameType(u.Elem(), live.Elem(), path)
		}
	case *types.Slice:
		switch {
		case subset.Missing(u.Elem()) != nil:
			return nil
		case kind == reflect.Slice: // the words of a memory
			return sameType(u.Elem(), live.Elem(), path)
		}
	case *types.Basic:
		if kind.String() == types.Typ[u.Kind()].Name() {
			return nil
		}
	default:
		return nil
	}
	return fmt.Errorf("%w: %s has a different type in the source than in this program: rebuild the program", ErrSource, path)
}

// sameFields fails if the fields of a live struct differ from those of s.
func sameFields(s *types.Struct, live reflect.Type, path string) error {
	known := map[string]bool{}
	for f := range s.Fields() {
		known[f.Name()] = true
		sf, ok := live.FieldByName(f.Name())
		if !ok || len(sf.Index) > 1 {
			return fmt.Errorf("%w: the source has field %s, which this program does not have: rebuild the program", ErrSource, join(path, f.Name()))
		}
		if err := sameType(f.Type(), sf.Type, join(path, f.Name())); err != nil {
			return err
		}
	}
	for i := range live.NumField() {
		if name := live.Field(i).Name; !known[name] {
			return fmt.Errorf("%w: the source has no field %s, which this program has: rebuild the program", ErrSource, join(path, name))
		}
	}
	return nil
}

// livePath returns the value at path below v.
func livePath(v reflect.Value, path string) reflect.Value {
	for path != "" {
		var name string
		if i := strings.IndexAny(path[1:], ".["); i >= 0 {
			name, path = path[:i+1], path[i+1:]
		} else {
			name, path = path, ""
		}
		switch name[0] {
		case '[':
			i, err := strconv.Atoi(strings.Trim(name, "[]"))
			if err != nil {
				panic(err)
			}
			v = v.Index(i)
		default:
			v = v.FieldByName(strings.TrimPrefix(name, "."))
		}
	}
	return v
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
