package verilog

import (
	"go/ast"
	"go/token"
	"go/types"
)

// target returns the variable that an assignable expression is part of, or nil.
func target(info *types.Info, x ast.Expr) types.Object {
	for {
		switch y := x.(type) {
		case *ast.ParenExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.Ident:
			return info.Uses[y]
		default:
			return nil
		}
	}
}

// method returns the method that a call calls and the receiver expression.
func method(info *types.Info, c *ast.CallExpr) (*types.Func, ast.Expr) {
	s, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || info.Selections[s] == nil {
		return nil, nil
	}
	fn, _ := info.Selections[s].Obj().(*types.Func)
	return fn, s.X
}

// byPointer reports whether a method has a pointer receiver.
func byPointer(fn *types.Func) bool {
	r := fn.Signature().Recv()
	if r == nil {
		return false
	}
	_, ok := r.Type().(*types.Pointer)
	return ok
}

// eachTarget calls f for each variable that n may change: by an assignment, or
// by a method with a pointer receiver that changes it.
func (d *designer) eachTarget(n ast.Node, f func(types.Object)) {
	info := d.l.info
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if o := target(info, x); o != nil {
					f(o)
				}
			}
		case *ast.IncDecStmt:
			f(target(info, n.X))
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				f(target(info, n.X))
			}
		case *ast.CallExpr:
			if fn, x := method(info, n); fn != nil && byPointer(fn) && d.impure(fn) {
				f(target(info, x))
			}
		}
		return true
	})
}

// assigns reports whether n assigns obj.
func assigns(info *types.Info, n ast.Node, obj types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				found = found || target(info, x) == obj
			}
		case *ast.IncDecStmt:
			found = found || target(info, n.X) == obj
		}
		return !found
	})
	return found
}

// mutated returns the variables that a function assigns after their declaration.
func (d *designer) mutated(decl *ast.FuncDecl) map[types.Object]bool {
	if m, ok := d.assigned[decl]; ok {
		return m
	}
	m := map[types.Object]bool{}
	d.assigned[decl] = m
	d.eachTarget(decl.Body, func(o types.Object) { m[o] = true })
	return m
}

// impure reports whether a call of fn changes what its receiver points to.
func (d *designer) impure(fn *types.Func) bool {
	fn = fn.Origin()
	if b, ok := d.effects[fn]; ok {
		return b
	}
	d.effects[fn] = false // while it is looked at, for recursion
	decl := d.l.decls[fn]
	if decl == nil || !byPointer(fn) || len(decl.Recv.List[0].Names) == 0 {
		return false
	}
	recv := d.l.info.Defs[decl.Recv.List[0].Names[0]]
	b := false
	d.eachTarget(decl.Body, func(o types.Object) { b = b || o == recv })
	d.effects[fn] = b
	return b
}
