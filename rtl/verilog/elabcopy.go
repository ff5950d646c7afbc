package verilog

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// checkCopy fails for a variable of type t, which is not a field, if it would hold a
// RAM, a ROM or an instance of a module: a copy would be a second one, with its own
// state.
func (e *elab) checkCopy(n ast.Node, t types.Type) {
	switch x := subset.Single(t, e.m.named.Obj().Pkg()); {
	case x == nil:
	case subset.IsPrimitive(x):
		e.fail(n, subset.CodeMemory, "a "+types.Unalias(x).(*types.Named).Obj().Name()+" is copied", "keep the memory in its field and call its methods")
	default:
		e.copyFail(n)
	}
}

func (e *elab) copyFail(n ast.Node) {
	e.fail(n, subset.CodeChild, "an instance of a module is copied", "keep the instance in its field and call its methods")
}

// local binds v to a local variable, a parameter or a value receiver. pure
// reports whether no register changes in the scope of the name.
func (e *elab) local(id *ast.Ident, v *value, pure bool) {
	obj := e.l.info.Defs[id]
	switch {
	case obj == nil || id.Name == "_":
	case e.d.mutated(e.frame.decl)[obj]:
		e.frame.env[obj] = e.copyOf(id, id.Name, v)
	default:
		e.frame.env[obj] = e.bind(id, id.Name, v, pure)
	}
}

// copyOf returns new variables that hold v's value.
func (e *elab) copyOf(n ast.Node, name string, v *value) *value {
	out := e.fresh(n, name, v.t)
	e.graft(n, out, v)
	e.assign(n, out, v)
	return out
}

// graft puts v's queues into out, which was built from the type only.
func (e *elab) graft(n ast.Node, out, v *value) {
	switch {
	case v.child != nil || v.unticked:
		e.copyFail(n)
	case v.prim != nil:
		out.prim, out.zero = v.prim, false
		for i := range out.clear {
			out.clear[i] = e.p.local(v.clear[i].name, 1)
		}
	}
	for i := range out.sub {
		e.graft(n, out.sub[i], v.sub[i])
	}
}

// bind returns v for a name that is never assigned: v itself where that is safe,
// and otherwise a variable that holds it.
func (e *elab) bind(n ast.Node, name string, v *value, pure bool) *value {
	switch {
	case v.e != nil && (v.e.trivial() && (pure || v.e.stable()) || subset.IsInt(v.t)):
		return v
	case v.e != nil:
		return &value{t: v.t, e: e.p.hold(e.name(name), v.e)}
	case v.prim != nil || v.child != nil || v.unticked:
		return e.copyOf(n, name, v)
	case v.sub == nil:
		return v
	}
	out := &value{t: v.t, sub: make([]*value, len(v.sub))}
	for i, s := range v.sub {
		out.sub[i] = e.bind(n, name+"_"+subName(v.t, i), s, pure)
	}
	return out
}

// subName returns the name of field or element i of t.
func subName(t types.Type, i int) string {
	if s, ok := t.Underlying().(*types.Struct); ok {
		return s.Field(i).Name()
	}
	return fmt.Sprint(i)
}
