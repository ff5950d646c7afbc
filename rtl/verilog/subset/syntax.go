package subset

import (
	"go/ast"
	"go/types"
	"strings"
)

// Target returns the variable that an assignable expression is part of, or nil.
func Target(info *types.Info, x ast.Expr) types.Object {
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

// Method returns the method of a call and the receiver expression.
func Method(info *types.Info, c *ast.CallExpr) (*types.Func, ast.Expr) {
	s, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || info.Selections[s] == nil {
		return nil, nil
	}
	fn, _ := info.Selections[s].Obj().(*types.Func)
	return fn, s.X
}

// ByPointer reports whether a method has a pointer receiver.
func ByPointer(fn *types.Func) bool {
	r := fn.Signature().Recv()
	if r == nil {
		return false
	}
	_, ok := r.Type().(*types.Pointer)
	return ok
}

// IsAssert reports whether fn is hdl.Assert, which is checked only in Go.
func IsAssert(fn *types.Func) bool { return isHDL(fn, "Assert") }

// IsAsleep reports whether fn is hdl.Asleep, which is false in hardware.
func IsAsleep(fn *types.Func) bool { return isHDL(fn, "Asleep") }

func isHDL(fn *types.Func, name string) bool {
	return fn.Name() == name && strings.HasSuffix(fn.Pkg().Path(), "/rtl/hdl")
}
