package verilog

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
)

// callName returns a name for the locals and the result of a call: the function, and
// the field or variable that it is called on or gets, if there is one.
func (e *elab) callName(n ast.Node, fn *types.Func) string {
	c, ok := n.(*ast.CallExpr)
	if !ok || e.frame == nil {
		return fn.Name()
	}
	of := ""
	if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && e.l.info.Selections[sel] != nil {
		of = lastName(sel.X, true)
	}
	for _, a := range c.Args {
		if of == "" {
			of = lastName(a, false)
		}
	}
	if of == "" || of == fn.Name() {
		return fn.Name()
	}
	return fn.Name() + "_" + of
}

// lastName returns the name of the variable or field that x is or selects from, or
// "". A receiver that is a variable has none, because it is nearly always the module.
func lastName(x ast.Expr, receiver bool) string {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		if !receiver && x.Name != "true" && x.Name != "false" {
			return x.Name
		}
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.CallExpr:
		if len(x.Args) == 1 {
			return lastName(x.Args[0], receiver)
		}
		return lastName(x.Fun, receiver)
	case *ast.IndexExpr:
		return lastName(x.X, receiver)
	case *ast.UnaryExpr:
		return lastName(x.X, receiver)
	case *ast.BinaryExpr:
		return cmp.Or(lastName(x.X, receiver), lastName(x.Y, receiver))
	}
	return ""
}

// resultName returns the name of result i that has none in Go: none for an only
// result, and otherwise a number.
func resultName(res *ast.FieldList, i int) string {
	if len(res.List) == 1 {
		return ""
	}
	return fmt.Sprintf("result%d", i)
}
