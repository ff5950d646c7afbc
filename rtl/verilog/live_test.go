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

// snippet loads a package from its text, which may use packages hdl and noc, and
// returns the loader and the package's type Module.
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
	case "hdl.ROM":
		return reflect.ValueOf(hdl.NewROM(5, []uint64{3, 1, 4, 1, 5, 9, 2, 6}))
	case "hdl.FIFO[uint64]":
		return reflect.ValueOf(hdl.NewFIFO[uint64](4))
	case "hdl.FIFO[uint32]":
		return reflect.ValueOf(hdl.NewFIFO[uint32](4))
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

// reflectType returns the Go type of t, with named types replaced by their
// underlying types.
func reflectType(t types.Type) reflect.Type {
	if subset.IsPrimitive(t) {
		return liveOf(t).Type()
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		var fs []reflect.StructField
		for f := range u.Fields() {
			sf := reflect.StructField{Name: f.Name(), Type: reflectType(f.Type()), Anonymous: f.Embedded()}
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

// kinds are the types of the fields in TestOtherSource.
const kinds = "\ntype mode uint8\ntype Pair struct{ X, Y bool }\ntype Lone struct{ X bool }\ntype Queue struct{ First uint32 }\n"

// TestOtherSource checks that a source is refused if its registers differ from
// the program's.
func TestOtherSource(t *testing.T) {
	const source = "type Module struct { A mode; B [2]uint8; P Pair; Q hdl.FIFO[uint64] }" + kinds +
		"func (m *Module) Tick(a uint8) {\n\tm.A, m.B[0], m.P.Y = mode(a), a, !m.P.X\n\tm.Q.Tick(false, 0, false)\n}"
	for _, tt := range []struct {
		name  string
		built string // the fields that the program was built with
		want  string // "" for no error
	}{
		{"the same", "A mode; B [2]uint8; P Pair; Q hdl.FIFO[uint64]", ""},
		{"in another order", "Q hdl.FIFO[uint64]; P struct{ Y, X bool }; B [2]mode; A uint8", ""},
		{"a register more", "B [2]uint8; P Pair; Q hdl.FIFO[uint64]", "the source has field snippet.Module.A, which this program does not have"},
		{"one more in a struct", "A mode; B [2]uint8; P Lone; Q hdl.FIFO[uint64]", "the source has field snippet.Pair.Y, which this program does not have"},
		{"one that was embedded", "Inner; B [2]uint8; P Pair; Q hdl.FIFO[uint64]", "the source has field snippet.Module.A, which this program does not have"},
		{"a register less", "A mode; B [2]uint8; P Pair; Q hdl.FIFO[uint64]; Z bool", "the source has no field snippet.Module.Z, which this program has"},
		{"another width", "A uint16; B [2]uint8; P Pair; Q hdl.FIFO[uint64]", "snippet.Module.A has a different type in the source than in this program"},
		{"a struct for a register", "A Pair; B [2]uint8; P Pair; Q hdl.FIFO[uint64]", "snippet.Module.A has a different type in the source than in this program"},
		{"a register for a struct", "A mode; B [2]uint8; P bool; Q hdl.FIFO[uint64]", "snippet.Module.P has a different type in the source than in this program"},
		{"another length", "A mode; B [3]uint8; P Pair; Q hdl.FIFO[uint64]", "snippet.Module.B has a different type in the source than in this program"},
		{"other elements", "A mode; B [2]bool; P Pair; Q hdl.FIFO[uint64]", "snippet.Module.B has a different type in the source than in this program"},
		{"no array", "A mode; B uint8; P Pair; Q hdl.FIFO[uint64]", "snippet.Module.B has a different type in the source than in this program"},
		{"a queue of others", "A mode; B [2]uint8; P Pair; Q hdl.FIFO[uint32]", "hdl.FIFO[uint64].slots has a different type in the source than in this program"},
		{"no queue", "A mode; B [2]uint8; P Pair; Q Queue", "the source has field hdl.FIFO[uint64].slots, which this program does not have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, built := snippet(t, "type Module struct { "+tt.built+" }"+kinds+"type Inner struct{ A mode }\n")
			l, named := snippet(t, source)
			_, err := l.translate(named, moduleOf(built), nil)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrSource)
			require.EqualError(t, err, ErrSource.Error()+": "+tt.want+": rebuild the program")
		})
	}
}

// gone is a type that only the package's tests declare.
type gone struct{ A uint8 }

func TestTypeNotInSource(t *testing.T) {
	_, err := translate("../..", &gone{})
	require.ErrorIs(t, err, ErrSource)
	require.ErrorContains(t, err, "the source has no type verilog.gone, which this program has: rebuild the program")
}
