package verilog

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// A ref is the location of an assignable expression: one of alts, which idx
// selects unless it is nil.
type ref struct {
	alts []*value
	idx  *expr
}

// eval translates an expression without side effects.
func (e *elab) eval(x ast.Expr) *value { return e.evalStmt(x, false) }

// evalStmt translates an expression. With effect set it may be a call that
// changes registers.
func (e *elab) evalStmt(x ast.Expr, effect bool) *value {
	tv := e.l.info.Types[x]
	if tv.Value != nil {
		v := e.constant(x, tv.Type, tv.Value)
		v.e = named(v.e, cmp.Or(e.symbolOf(x), e.m.enumerator(v.t, v.e.val)))
		return v
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return e.evalStmt(x.X, effect)
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
		return e.read(x, e.refOf(x))
	case *ast.CallExpr:
		v := e.evalCall(x, effect)
		if len(v) != 1 {
			e.fail(x, subset.CodeExpr, "a call without a result in an expression", "call a function with one result")
		}
		return v[0]
	case *ast.UnaryExpr:
		return e.unary(x)
	case *ast.BinaryExpr:
		return e.binaryExpr(x)
	case *ast.CompositeLit:
		return e.literal(x)
	}
	e.fail(x, subset.CodeExpr, "an expression that hardware does not have", "use operators, fields, literals and calls")
	return nil
}

// constant translates a Go constant.
func (e *elab) constant(n ast.Node, t types.Type, c constant.Value) *value {
	w, ok := subset.Width(t)
	switch {
	case !ok:
		panic(bail{e.l.checkType(n.Pos(), t)})
	case c.Kind() == constant.Bool:
		return &value{t: t, e: boolean(constant.BoolVal(c))}
	}
	i := constant.ToInt(c)
	u, exact := constant.Uint64Val(i)
	if !exact {
		s, _ := constant.Int64Val(i)
		u = uint64(s)
	}
	return &value{t: t, e: konst(w, u)}
}

// refOf translates an assignable expression.
func (e *elab) refOf(x ast.Expr) ref {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return e.refOf(x.X)
	case *ast.StarExpr:
		return e.refOf(x.X)
	case *ast.Ident:
		return e.identifier(x)
	case *ast.SelectorExpr:
		return e.selector(x)
	case *ast.IndexExpr:
		return e.index(x)
	}
	return ref{alts: []*value{e.eval(x)}}
}

func (e *elab) identifier(id *ast.Ident) ref {
	obj := e.objectOf(id)
	if v := e.frame.env[obj]; v != nil {
		return ref{alts: []*value{v}}
	}
	if v, ok := obj.(*types.Var); ok && v.Parent() == v.Pkg().Scope() {
		e.fail(id, subset.CodeGlobal, fmt.Sprintf("%s is a package variable", id.Name), "make it a constant or a field")
	}
	e.fail(id, subset.CodeType, fmt.Sprintf("%s is not a value in hardware", id.Name), "use constants, locals, parameters and fields")
	return ref{}
}

func (e *elab) selector(x *ast.SelectorExpr) ref {
	s := e.l.info.Selections[x]
	if s == nil || s.Kind() != types.FieldVal {
		if _, ok := e.l.info.Uses[x.Sel].(*types.Var); ok {
			e.fail(x, subset.CodeGlobal, fmt.Sprintf("%s is a package variable", x.Sel.Name), "make it a constant or a field")
		}
		e.fail(x, subset.CodeType, "a function value", "call the function")
	}
	r := e.refOf(x.X)
	out := ref{idx: r.idx}
	for _, v := range r.alts {
		for _, i := range s.Index() {
			if v.child != nil || v.prim != nil || v.sub == nil {
				e.fail(x, subset.CodeChild, "a field of an instance", "call a method of the instance")
			}
			v = v.sub[i]
		}
		out.alts = append(out.alts, v)
	}
	return out
}

func (e *elab) index(x *ast.IndexExpr) ref {
	t := e.l.info.TypeOf(x.X)
	if t == nil {
		e.fail(x, subset.CodeCall, "a generic function", "write it for the types that it is used with")
	}
	if _, ok := t.Underlying().(*types.Array); !ok {
		e.fail(x, subset.CodeType, fmt.Sprintf("an index of %s", types.TypeString(t, short)), "use an array or hdl.RAM")
	}
	r := e.refOf(x.X)
	idx := e.eval(x.Index).e
	if r.idx != nil && !idx.isConst() {
		e.fail(x, subset.CodeArray, "two variable indices", "copy the inner array to a local variable")
	}
	if idx.isConst() {
		out := ref{idx: r.idx}
		for _, a := range r.alts {
			if idx.val >= uint64(len(a.sub)) {
				e.fail(x, subset.CodeArray, "an index outside the array", "keep it within the array")
			}
			out.alts = append(out.alts, a.sub[idx.val])
		}
		return out
	}
	if subset.IsInt(e.l.info.TypeOf(x.Index)) {
		e.fail(x.Index, subset.CodeInt, "an index of type int", "use uint8")
	}
	if !idx.trivial() {
		idx = e.p.hold(e.name("index"), idx)
	}
	return ref{alts: r.alts[0].sub, idx: idx}
}

// read returns the value at r.
func (e *elab) read(n ast.Node, r ref) *value {
	if r.idx == nil {
		return r.alts[0]
	}
	out := e.fresh(n, "elem", r.alts[0].t)
	dst := out.scalars()
	var vals [][]*expr
	var bodies []func()
	for i, a := range r.alts {
		src := a.scalars()
		bodies = append(bodies, func() {
			for j, d := range dst {
				e.p.set(d.root(), src[j])
			}
		})
		if i < len(r.alts)-1 || lowMask(e.p.bits(r.idx)) >= uint64(len(r.alts)) {
			vals = append(vals, []*expr{konst(r.idx.width, uint64(i))})
		}
	}
	if len(vals) == len(bodies) {
		bodies = append(bodies, func() {
			for _, d := range dst {
				e.p.set(d.root(), konst(d.root().width, 0))
			}
		})
	}
	e.cases(r.idx, vals, bodies)
	for _, d := range dst {
		d.root().stable = true
	}
	return out
}

// literal translates a struct or array literal.
func (e *elab) literal(x *ast.CompositeLit) *value {
	t := e.l.info.TypeOf(x)
	if err := e.l.checkType(x.Pos(), t); err != nil {
		panic(bail{err})
	}
	v := e.zeroValue(x, t)
	for i, el := range x.Elts {
		kv, keyed := el.(*ast.KeyValueExpr)
		if !keyed {
			v.sub[i] = e.eval(el)
			continue
		}
		if s, ok := t.Underlying().(*types.Struct); ok {
			v.sub[fieldIndex(s, kv.Key.(*ast.Ident).Name)] = e.eval(kv.Value)
			continue
		}
		v.sub[e.eval(kv.Key).e.val] = e.eval(kv.Value)
	}
	return v
}

func fieldIndex(s *types.Struct, name string) int {
	for i := range s.NumFields() {
		if s.Field(i).Name() == name {
			return i
		}
	}
	panic("verilog: no field " + name)
}

func (e *elab) unary(x *ast.UnaryExpr) *value {
	t := e.l.info.TypeOf(x)
	if x.Op == token.AND || x.Op == token.ARROW {
		e.fail(x, subset.CodeAliasing, "a pointer or a channel operation", "pass values; methods with pointer receivers are called on fields")
	}
	v := e.eval(x.X)
	e.number(x, v)
	switch x.Op {
	case token.NOT, token.XOR:
		if subset.IsInt(t) && !v.e.isConst() {
			e.intFail(x)
		}
		return &value{t: t, e: not(v.e)}
	case token.SUB:
		return e.arith(x, token.SUB, t, &value{t: t, e: konst(v.e.width, 0)}, v)
	}
	return v
}

func (e *elab) intFail(n ast.Node) {
	e.fail(n, subset.CodeInt, "an int that is not a constant", "convert to uint8 to uint64; an int is for constants and loop indices")
}

// number fails if v is not a scalar.
func (e *elab) number(n ast.Node, v *value) {
	if v.e == nil {
		e.fail(n, subset.CodeType, "an operation on a value that is not a number", "use the fields")
	}
}
