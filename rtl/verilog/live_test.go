package verilog

import (
	"go/ast"
	"go/parser"
	"go/types"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// snippet loads a package from its text, in which hdl and noc are imported, and
// returns the loader and the type Module in it.
func snippet(t *testing.T, text string) (*loader, *types.Named) {
	t.Helper()
	l, _, pkg := snippetFile(t, text)
	return l, pkg.Scope().Lookup("Module").Type().(*types.Named)
}

// snippetFile loads a package from its text and returns its file too.
func snippetFile(t *testing.T, text string) (*loader, *ast.File, *types.Package) {
	t.Helper()
	l, err := newLoader("../..")
	require.NoError(t, err)
	src := "package snippet\n\n" + text
	for _, p := range []string{"math/bits", l.module + "/rtl/hdl", l.module + "/rtl/noc"} {
		if strings.Contains(text, p[strings.LastIndex(p, "/")+1:]+".") {
			src = strings.Replace(src, "\n\n", "\n\nimport \""+p+"\"\n", 1)
		}
	}
	f, err := parser.ParseFile(l.fset, l.root+"/snippet.go", src, parser.SkipObjectResolution)
	require.NoError(t, err)
	for line := range strings.SplitSeq(src, "\n") {
		l.lines[l.root+"/snippet.go"] = append(l.lines[l.root+"/snippet.go"], []byte(line))
	}
	pkg, err := l.types(l.module+"/snippet", []*ast.File{f})
	require.NoError(t, err)
	return l, f, pkg
}

// liveOf returns the zero value of a type, with memories of 8 words.
func liveOf(t types.Type) reflect.Value {
	switch types.TypeString(t, short) {
	case "hdl.RAM":
		return reflect.ValueOf(hdl.NewRAM(8))
	case "hdl.FIFO[uint64]":
		return reflect.ValueOf(hdl.NewFIFO[uint64](4))
	}
	return reflect.Zero(reflectType(t))
}

// moduleOf returns a live module of type t.
func moduleOf(t *types.Named) reflect.Value {
	v := reflect.New(reflectType(t)).Elem()
	s := t.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		if s.Field(i).Exported() {
			v.Field(i).Set(liveOf(s.Field(i).Type()))
		}
	}
	return v
}

// reflectType returns the Go type of t, its named types replaced by what they
// are made of.
func reflectType(t types.Type) reflect.Type {
	if subset.IsPrimitive(t) {
		return liveOf(t).Type()
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		var fs []reflect.StructField
		for f := range u.Fields() {
			sf := reflect.StructField{Name: f.Name(), Type: reflectType(f.Type())}
			if !f.Exported() {
				sf.PkgPath = "snippet"
			}
			fs = append(fs, sf)
		}
		return reflect.StructOf(fs)
	case *types.Array:
		return reflect.ArrayOf(int(u.Len()), reflectType(u.Elem()))
	case *types.Basic:
		for _, x := range []any{false, uint8(0), uint16(0), uint32(0), uint64(0), 0, "", int8(0), 0.0} {
			if reflect.TypeOf(x).Kind().String() == u.Name() || u.Name() == "byte" && x == uint8(0) {
				return reflect.TypeOf(x)
			}
		}
	}
	return reflect.TypeFor[*int]()
}
