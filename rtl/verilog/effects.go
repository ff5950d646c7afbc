package verilog

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// eachTarget calls f for each variable that n may change, by an assignment or by
// a method that changes its pointer receiver.
func (d *designer) eachTarget(n ast.Node, f func(types.Object)) {
	info := d.l.info
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if o := subset.Target(info, x); o != nil {
					f(o)
				}
			}
		case *ast.IncDecStmt:
			f(subset.Target(info, n.X))
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				f(subset.Target(info, n.X))
			}
		case *ast.CallExpr:
			if fn, x := subset.Method(info, n); fn != nil && subset.ByPointer(fn) && d.impure(fn) {
				f(subset.Target(info, x))
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
				found = found || subset.Target(info, x) == obj
			}
		case *ast.IncDecStmt:
			found = found || subset.Target(info, n.X) == obj
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
	d.effects[fn] = false // the value during recursion
	decl := d.l.decls[fn]
	if decl == nil || !subset.ByPointer(fn) || len(decl.Recv.List[0].Names) == 0 {
		return false
	}
	recv := d.l.info.Defs[decl.Recv.List[0].Names[0]]
	var b bool
	d.eachTarget(decl.Body, func(o types.Object) { b = b || o == recv })
	d.effects[fn] = b
	return b
}
