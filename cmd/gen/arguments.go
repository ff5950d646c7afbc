package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/constant"
	"go/format"
	"go/types"
	"maps"
	"slices"
	"sort"
	"strings"
)

// handleKinds maps types of handles to the names of their objects in a trace.
var handleKinds = map[string]string{
	"umddi.HAdapter": "adapter", "umddi.HDevice": "device", "umddi.HResource": "resource", "umddi.HRenderTargetView": "view",
	"umddi.HQuery": "query", "umddi.HCommandList": "list", "umddi.HRTAdapter": "adapter", "umddi.HRTDevice": "device",
	"umddi.HRTCoreLayer": "layer", "umddi.HRTResource": "resource", "umddi.HRTRenderTargetView": "view", "umddi.HRTQuery": "query",
	"umddi.HRTCommandList": "list", "umddi.DXGIContext": "dxgi_context", "kmddi.HAdapter": "km_adapter", "kmddi.HDevice": "km_device",
	"kmddi.HContext": "km_context", "kmddi.HAllocation": "km_allocation", "kmddi.HDeviceAllocation": "km_open_allocation",
	"kmddi.HDxgkrnl": "dxgkrnl", "kmddi.HMapping": "mapping",
}

// room lists the fields with elements that the callee writes. A trace has only
// their length.
var room = map[string]bool{
	"kmddi.Render.PatchLocationListOut": true, "kmddi.Present.PatchLocationListOut": true,
	"umddi.CreateContext.AllocationList": true, "umddi.CreateContext.PatchLocationList": true,
	"umddi.Render.NewAllocationList": true, "umddi.Render.NewPatchLocationList": true,
}

// errValue is returned, wrapped, for a type that a trace cannot show.
var errValue = errors.New("gen: no way to show a value")

// valuer generates the functions that show the arguments and results of the
// DDI.
type valuer struct {
	structs map[string]*types.Named // by name; the structs whose functions are generated
	enums   map[string]*types.Named
	cases   map[string]string // body by type
	err     error
}

// arguments generates runtime/verifier/arguments.go.
func arguments(root string) ([]byte, error) {
	l := newLoader(root)
	v := &valuer{structs: map[string]*types.Named{}, enums: map[string]*types.Named{}, cases: map[string]string{}}
	for _, t := range tables {
		pkg, err := l.Import(modulePath + "runtime/ddi/" + t.pkg)
		if err != nil {
			return nil, err
		}
		v.table(pkg.Scope().Lookup(t.name).Type().Underlying().(*types.Struct))
	}
	umddi, err := l.Import(modulePath + "runtime/ddi/umddi")
	if err != nil {
		return nil, err
	}
	v.top(types.NewPointer(umddi.Scope().Lookup("OpenAdapter").Type())) // in no table
	return v.file()
}

// table collects the arguments and results of a function table.
func (v *valuer) table(t *types.Struct) {
	for i := range t.NumFields() {
		sig, ok := t.Field(i).Type().Underlying().(*types.Signature)
		if !ok {
			continue
		}
		for j := 1; j < sig.Params().Len(); j++ { // parameter 0 is the thread
			v.top(sig.Params().At(j).Type())
		}
		for r := range sig.Results().Variables() {
			v.top(r.Type())
		}
	}
}

// top adds the case of an argument or result type. Scalars and hidden values
// have none.
func (v *valuer) top(t types.Type) {
	if _, scalar := t.(*types.Basic); scalar || hiddenValue(t) {
		return
	}
	v.cases[name(t)] = v.show("v", t, "", false)
}

// name returns a type as package verifier spells it.
func name(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }

// hiddenValue reports whether a trace omits values of a type: functions, and
// tables of functions.
func hiddenValue(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok && s.NumFields() > 0 {
		for f := range s.Fields() {
			if _, table := f.Type().Underlying().(*types.Signature); table {
				return true
			}
		}
	}
	_, function := t.Underlying().(*types.Signature)
	return function
}

// show returns the statement that shows expr under the name field.
func (v *valuer) show(expr string, t types.Type, field string, countOnly bool) string {
	switch n := name(t); {
	case handleKinds[n] != "":
		f := t.Underlying().(*types.Struct).Field(0)
		return fmt.Sprintf("e.handle(%q, %s.%s)\n", handleKinds[n], expr, f.Name())
	case n == "*ddi.Object":
		return fmt.Sprintf("e.handle(\"object\", %s)\n", expr)
	case n == "ddi.Status", n == "ddi.HRESULT":
		return fmt.Sprintf("e.text(%s.Error())\n", expr)
	case n == "ddi.UserMemory":
		return fmt.Sprintf("e.userMemory(%s)\n", expr)
	case n == "kmddi.UserPatchList":
		return fmt.Sprintf("e.patchList(%s)\n", expr)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return v.scalar(expr, t, u, field)
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Struct); ok {
			return v.call(expr, u.Elem())
		}
	case *types.Struct:
		return v.call("&"+expr, t)
	case *types.Array:
		return v.elements(expr, u.Elem(), field)
	case *types.Slice:
		if name(u.Elem()) == "byte" || name(u.Elem()) == "uint8" {
			return fmt.Sprintf("e.bytes(%s)\n", expr)
		}
		if countOnly {
			return fmt.Sprintf("e.length(len(%s))\n", expr)
		}
		return fmt.Sprintf("if %s == nil {\ne.null()\n} else {\n%s}\n", expr, v.elements(expr, u.Elem(), field))
	}
	v.err = errors.Join(v.err, fmt.Errorf("%w: %s of type %s", errValue, field, name(t)))
	return ""
}

// call returns a call of a struct's function, and has that function generated.
func (v *valuer) call(pointer string, t types.Type) string {
	n := t.(*types.Named)
	v.structs[name(t)] = n
	return fmt.Sprintf("%s(e, %s)\n", function("show", n), pointer)
}

func (v *valuer) elements(expr string, t types.Type, field string) string {
	return fmt.Sprintf("e.open('[')\nfor i := range %s {\n%s}\ne.close(']')\n", expr, v.show(expr+"[i]", t, field, false))
}

// scalar returns the statement that shows a number, a boolean or a string.
func (v *valuer) scalar(expr string, t types.Type, b *types.Basic, field string) string {
	switch {
	case b.Info()&types.IsBoolean != 0:
		return fmt.Sprintf("e.truth(bool(%s))\n", expr)
	case b.Info()&types.IsFloat != 0:
		return fmt.Sprintf("e.float(float64(%s))\n", expr)
	case b.Info()&types.IsString != 0:
		return fmt.Sprintf("e.text(string(%s))\n", expr)
	case b.Info()&types.IsInteger == 0:
		v.err = errors.Join(v.err, fmt.Errorf("%w: %s of type %s", errValue, field, name(t)))
		return ""
	}
	n, named := t.(*types.Named)
	switch {
	case named && strings.HasSuffix(n.Obj().Name(), "Flags"), name(t) == "ddi.KMHandle":
		return fmt.Sprintf("e.hex(uint64(%s))\n", expr)
	case named:
		v.enums[name(t)] = n
		return fmt.Sprintf("e.enum(%s(%s), uint64(%s))\n", function("name", n), expr, expr)
	case b.Info()&types.IsUnsigned != 0:
		return fmt.Sprintf("e.number(%q, uint64(%s))\n", field, expr)
	}
	return fmt.Sprintf("e.signed(int64(%s))\n", expr)
}

// function returns the name of a type's function.
func function(prefix string, n *types.Named) string {
	return prefix + strings.ToUpper(n.Obj().Pkg().Name()[:1]) + n.Obj().Pkg().Name()[1:] + n.Obj().Name()
}

// file returns the source file.
func (v *valuer) file() ([]byte, error) {
	var body bytes.Buffer
	done := map[string]bool{}
	for len(done) < len(v.structs) { // a struct may add others
		for _, n := range slices.Sorted(maps.Keys(v.structs)) {
			if !done[n] {
				done[n] = true
				v.structFunc(&body, v.structs[n])
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(v.enums)) {
		enumFunc(&body, v.enums[n])
	}
	if v.err != nil {
		return nil, v.err
	}
	var out bytes.Buffer
	out.WriteString("// Code generated by cmd/gen from the types of runtime/ddi. DO NOT EDIT.\n\npackage verifier\n\nimport (\n")
	for _, p := range []string{"", "/dxgi", "/kmddi", "/umddi"} {
		fmt.Fprintf(&out, "\t\"%sruntime/ddi%s\"\n", modulePath, p)
	}
	out.WriteString(")\n\n// value shows an argument or a result that is not a scalar, and reports whether\n// the type is known.\n")
	out.WriteString("func (e *encoder) value(v any) bool {\n\tswitch v := v.(type) {\n")
	for _, n := range slices.Sorted(maps.Keys(v.cases)) {
		fmt.Fprintf(&out, "\tcase %s:\n%s", n, v.cases[n])
	}
	out.WriteString("\tdefault:\n\t\treturn false\n\t}\n\treturn true\n}\n")
	out.Write(body.Bytes())
	return format.Source(out.Bytes())
}

// structFunc writes the function that shows a struct field by field.
func (v *valuer) structFunc(out *bytes.Buffer, n *types.Named) {
	fmt.Fprintf(out, "\nfunc %s(e *encoder, v *%s) {\n\tif v == nil {\n\t\te.null()\n\t\treturn\n\t}\n\te.open('{')\n", function("show", n), name(n))
	for f := range n.Underlying().(*types.Struct).Fields() {
		if hiddenValue(f.Type()) {
			continue
		}
		fmt.Fprintf(out, "\te.key(%q)\n\t%s", f.Name(), v.show("v."+f.Name(), f.Type(), f.Name(), room[name(n)+"."+f.Name()]))
	}
	out.WriteString("\te.close('}')\n}\n")
}

// enumFunc writes the function that returns the names of a type's constants.
func enumFunc(out *bytes.Buffer, n *types.Named) {
	var all []*types.Const
	scope := n.Obj().Pkg().Scope()
	for _, id := range scope.Names() {
		if c, ok := scope.Lookup(id).(*types.Const); ok && types.Identical(c.Type(), n) {
			all = append(all, c)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		a, _ := constant.Uint64Val(all[i].Val())
		b, _ := constant.Uint64Val(all[j].Val())
		return a < b
	})
	fmt.Fprintf(out, "\nfunc %s(v %s) string {\n\tswitch v {\n", function("name", n), name(n))
	for _, c := range all {
		fmt.Fprintf(out, "\tcase %s.%s:\n\t\treturn %q\n", c.Pkg().Name(), c.Name(), c.Name())
	}
	out.WriteString("\t}\n\treturn \"\"\n}\n")
}
