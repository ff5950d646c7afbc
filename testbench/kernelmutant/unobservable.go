package kernelmutant

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// onlyText reports whether a function only makes text for a reader: its name says that it
// describes something, it writes to a strings.Builder, or its only result is a string. A
// string that may be empty, which the comment of the function then mentions, is a verdict.
func (f *finder) onlyText(fn *ast.FuncDecl) bool {
	if describes(fn.Name.Name) {
		return true
	}
	sig := f.s.pkg.TypesInfo.Defs[fn.Name].Type().(*types.Signature)
	for v := range sig.Params().Variables() {
		if v.Type().String() == "*strings.Builder" {
			return true
		}
	}
	return sig.Results().Len() == 1 && isString(sig.Results().At(0).Type()) && !strings.Contains(fn.Doc.Text(), `or ""`)
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// textual reports whether an expression is text.
func (f *finder) textual(e ast.Expr) bool {
	t := f.s.pkg.TypesInfo.TypeOf(e)
	return t != nil && isString(t)
}

// diagnostics are the functions that only tell an observer what happens. The observer
// cannot change what the kernel does.
var diagnostics = []string{"observe", "observeQueue", "observePlace", "noteWaits"}

// unobservable reports whether nothing that a node does can be observed, except by a
// reader of text or of events, or by the garbage collector:
//
//   - text, and the arguments of a format
//   - calls of diagnostics, and what is done only for an observer
//   - the capacity of make, and slices.Grow
//   - clear of a slice of pointers, which is about to get shorter
//   - comments, types and imports
func (f *finder) unobservable(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.CommentGroup, *ast.TypeSpec:
		return true
	case *ast.IfStmt:
		return f.asksForObserver(n.Cond) || f.onlyDiagnostics(n)
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		return ok && (f.isDiagnostic(call) || f.releases(call))
	case *ast.DeferStmt:
		return f.isDiagnostic(n.Call)
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Lhs, f.textual)
	case *ast.BasicLit:
		return n.Kind != token.INT
	case ast.Expr:
		return f.textual(n) || f.capacity(n) || f.formatArgument(n)
	}
	return false
}

// asksForObserver reports whether a condition is that there is an observer.
func (f *finder) asksForObserver(c ast.Expr) bool {
	return strings.HasPrefix(f.source(c), "k.observer != nil") || strings.HasPrefix(f.source(c), "k.observer == nil")
}

// isDiagnostic reports whether a call is one of diagnostics.
func (f *finder) isDiagnostic(call *ast.CallExpr) bool {
	name := calledName(call)
	return slices.Contains(diagnostics, name) || describes(name)
}

// onlyDiagnostics reports whether all that depends on a condition is a call of diagnostics.
func (f *finder) onlyDiagnostics(n *ast.IfStmt) bool {
	return n.Else == nil && !slices.ContainsFunc(n.Body.List, func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return true
		}
		call, ok := e.X.(*ast.CallExpr)
		return !ok || !f.isDiagnostic(call)
	})
}

// describes reports whether a function only describes something, by its name.
func describes(name string) bool { return strings.HasPrefix(name, "describe") }

// calledName returns the name of the function or the method that is called, or "".
func calledName(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// releases reports whether a call clears a slice of what has pointers.
func (f *finder) releases(call *ast.CallExpr) bool {
	if calledName(call) != "clear" {
		return false
	}
	s, ok := f.s.pkg.TypesInfo.TypeOf(call.Args[0]).Underlying().(*types.Slice)
	return ok && !isNumber(s.Elem())
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// capacity reports whether an expression is the capacity that a call of make or
// slices.Grow gets.
func (f *finder) capacity(e ast.Expr) bool {
	call := f.s.calls[e]
	if call == nil {
		return false
	}
	last := call.Args[len(call.Args)-1]
	_, isMap := f.s.pkg.TypesInfo.TypeOf(call.Args[0]).Underlying().(*types.Map)
	switch calledName(call) {
	case "make":
		return e == last && (len(call.Args) == 3 || isMap)
	case "Grow":
		return e == last
	}
	return false
}

// formatArgument reports whether an expression is an argument of a format: the last
// parameters are a string, and any number of values of any type.
func (f *finder) formatArgument(e ast.Expr) bool {
	call := f.s.calls[e]
	if call == nil {
		return false
	}
	sig, ok := f.s.pkg.TypesInfo.TypeOf(call.Fun).(*types.Signature)
	if !ok || !sig.Variadic() || sig.Params().Len() < 2 {
		return false
	}
	n := sig.Params().Len()
	format, args := sig.Params().At(n-2).Type(), sig.Params().At(n-1).Type().String()
	return isString(format) && (args == "[]any" || args == "[]interface{}") && slices.Index(call.Args, e) >= n-1
}
