package verilog

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// unroll calls body for each value of a loop's index, and then k.
func (e *elab) unroll(obj types.Object, vals []uint64, body []ast.Stmt, k func()) {
	if len(vals) == 0 {
		k()
		return
	}
	if obj != nil {
		w, _ := subset.Width(obj.Type())
		e.frame.env[obj] = &value{t: obj.Type(), e: konst(w, vals[0])}
	}
	e.stmts(body, func() { e.unroll(obj, vals[1:], body, k) })
}

func (e *elab) loopFail(n ast.Node) {
	e.fail(n, subset.CodeLoop, "the bounds of the loop are not constants, or there are too many iterations",
		"write for i := range N or for i := uint8(0); i < N; i++ with a constant N of at most 256, and do not assign i in it")
}

// rangeStmt unrolls for i := range n, n a constant, and for i := range a, a an
// array.
func (e *elab) rangeStmt(s *ast.RangeStmt, k func()) {
	t := e.l.info.TypeOf(s.X)
	var n uint64
	if a, ok := t.Underlying().(*types.Array); ok && s.Value == nil {
		n = uint64(a.Len())
	} else if isScalar(t) {
		x := e.eval(s.X).e
		if !x.isConst() {
			e.loopFail(s)
		}
		n = x.val
	} else {
		e.loopFail(s)
	}
	var obj types.Object
	if s.Key != nil && !isBlank(s.Key) {
		id, ok := s.Key.(*ast.Ident)
		if !ok || s.Tok != token.DEFINE {
			e.loopFail(s)
		}
		obj = e.l.info.Defs[id]
	}
	if n > subset.MaxIterations || obj != nil && e.d.mutated(e.frame.decl)[obj] {
		e.loopFail(s)
	}
	vals := make([]uint64, n)
	for i := range vals {
		vals[i] = uint64(i)
	}
	e.unroll(obj, vals, s.Body.List, k)
}

// forStmt unrolls for i := a; i < b; i++ and similar loops.
func (e *elab) forStmt(s *ast.ForStmt, k func()) {
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || s.Cond == nil || s.Post == nil {
		e.loopFail(s)
	}
	id := init.Lhs[0].(*ast.Ident)
	obj := e.l.info.Defs[id]
	start := e.eval(init.Rhs[0]).e
	w, ok := subset.Width(obj.Type())
	if !ok || !start.isConst() || assigns(e.l.info, s.Body, obj) {
		e.loopFail(s)
	}
	var vals []uint64
	for i := start.val; ; {
		e.frame.env[obj] = &value{t: obj.Type(), e: konst(w, i)}
		c := e.eval(s.Cond).e
		if !c.isConst() || len(vals) > subset.MaxIterations {
			e.loopFail(s)
		}
		if c.val == 0 {
			break
		}
		vals = append(vals, i)
		i = e.step(s, obj, konst(w, i)).val
	}
	e.unroll(obj, vals, s.Body.List, k)
}

// step returns the index after the loop's post statement.
func (e *elab) step(s *ast.ForStmt, obj types.Object, i *expr) *expr {
	t := obj.Type()
	var x ast.Expr
	op, by := token.ADD, &value{t: t, e: konst(i.width, 1)}
	switch p := s.Post.(type) {
	case *ast.IncDecStmt:
		x = p.X
		if p.Tok == token.DEC {
			op = token.SUB
		}
	case *ast.AssignStmt:
		if p.Tok < token.ADD_ASSIGN || p.Tok > token.AND_NOT_ASSIGN {
			e.loopFail(s)
		}
		x, op = p.Lhs[0], p.Tok-token.ADD_ASSIGN+token.ADD
		by = e.eval(p.Rhs[0])
	default:
		e.loopFail(s)
	}
	if id, ok := x.(*ast.Ident); !ok || e.l.info.Uses[id] != obj {
		e.loopFail(s)
	}
	v := e.arith(s, op, t, &value{t: t, e: i}, by).e
	if !v.isConst() {
		e.loopFail(s)
	}
	return v
}
