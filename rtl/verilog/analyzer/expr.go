package analyzer

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// expr checks an expression. effect reports whether it may be a call that changes
// registers.
func (b *body) expr(x ast.Expr, effect bool) {
	tv := b.info.Types[x]
	if tv.Value != nil {
		if subset.Missing(tv.Type) != nil {
			b.add(x, subset.CodeType, fmt.Sprintf("hardware has no %s", types.TypeString(tv.Type, short)), "use numbers")
		}
		return
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		b.expr(x.X, effect)
	case *ast.StarExpr:
		b.expr(x.X, false)
	case *ast.Ident:
		b.ident(x)
	case *ast.SelectorExpr:
		b.selector(x)
	case *ast.IndexExpr:
		b.index(x)
	case *ast.CallExpr:
		b.call(x, effect)
	case *ast.UnaryExpr:
		if x.Op == token.AND || x.Op == token.ARROW {
			b.add(x, subset.CodeAliasing, "a pointer or a channel operation", "pass values; methods with pointer receivers are called on fields")
			return
		}
		b.expr(x.X, false)
	case *ast.BinaryExpr:
		b.binary(x)
	case *ast.CompositeLit:
		b.literal(x)
	default:
		b.add(x, subset.CodeExpr, "an expression that hardware does not have", "use operators, fields, literals and calls")
	}
}

// ident checks an identifier.
func (b *body) ident(id *ast.Ident) {
	switch o := b.info.Uses[id].(type) {
	case *types.Var:
		if !o.IsField() && o.Pkg() != nil && o.Parent() == o.Pkg().Scope() {
			b.add(id, subset.CodeGlobal, fmt.Sprintf("%s is a package variable", id.Name), "make it a constant or a field")
		}
	case *types.Func, *types.Nil:
		b.add(id, subset.CodeType, fmt.Sprintf("%s is not a value in hardware", id.Name), "use constants, locals, parameters and fields")
	}
}

// selector checks a field or an identifier of another package.
func (b *body) selector(x *ast.SelectorExpr) {
	if b.field(x) == nil {
		if b.info.Selections[x] == nil {
			b.ident(x.Sel)
		} else {
			b.add(x, subset.CodeType, "a function value", "call the function")
		}
		return
	}
	t := b.info.TypeOf(x.X)
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if subset.IsInstance(t, b.pass.Pkg) {
		b.add(x, subset.CodeChild, "a field of an instance", "call a method of the instance")
	}
	b.expr(x.X, false)
}

// index checks an element of an array.
func (b *body) index(x *ast.IndexExpr) {
	t := b.info.TypeOf(x.X)
	switch {
	case t == nil:
		b.add(x, subset.CodeCall, "a generic function", "write it for the types that it is used with")
		return
	case !isArray(t):
		b.add(x, subset.CodeType, fmt.Sprintf("an index of %s", types.TypeString(t, short)), "use an array or hdl.RAM")
	case b.varies(x.Index) && b.selects(x.X):
		b.add(x, subset.CodeArray, "two variable indices", "copy the inner array to a local variable")
	}
	b.expr(x.X, false)
	b.expr(x.Index, false)
}

// selects reports whether a variable index selects the array x.
func (b *body) selects(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return b.selects(x.X)
	case *ast.SelectorExpr:
		return b.selects(x.X)
	case *ast.IndexExpr:
		return b.varies(x.Index) || b.selects(x.X)
	}
	return false
}

// binary checks a binary operation.
func (b *body) binary(x *ast.BinaryExpr) {
	switch x.Op {
	case token.QUO, token.REM:
		b.divisor(x, x.X, x.Y)
	case token.SHL, token.SHR:
		c, ok := ast.Unparen(x.Y).(*ast.CallExpr)
		if ok && b.info.Types[c].Value == nil && b.info.Types[c.Fun].IsType() && subset.IsInt(b.info.TypeOf(c)) {
			b.add(x.Y, subset.CodeShift, "a shift by a signed value", "convert the count to uint8")
			return
		}
	}
	b.expr(x.X, false)
	b.expr(x.Y, false)
}

// literal checks a struct or array literal.
func (b *body) literal(x *ast.CompositeLit) {
	n := len(b.found)
	if b.typ(x); len(b.found) > n {
		return
	}
	for _, el := range x.Elts {
		if kv, ok := el.(*ast.KeyValueExpr); ok {
			el = kv.Value
		}
		b.expr(el, false)
	}
}

// call checks a conversion or a call.
func (b *body) call(x *ast.CallExpr, effect bool) {
	if tv := b.info.Types[x.Fun]; tv.IsType() {
		b.typ(x.Fun)
		if subset.IsInt(tv.Type) && !subset.IsInt(b.info.TypeOf(x.Args[0])) && b.varies(x.Args[0]) {
			b.add(x, subset.CodeInt, "an int that is not a constant", "convert to uint8 to uint64; an int is for constants and loop indices")
		}
		b.expr(x.Args[0], false)
		return
	}
	if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok {
		if blt, ok := b.info.Uses[id].(*types.Builtin); ok {
			if blt.Name() != "min" && blt.Name() != "max" {
				b.add(x, subset.CodeCall, fmt.Sprintf("%s is not in hardware", blt.Name()), "use min, max and constants")
				return
			}
			b.args(x)
			return
		}
	}
	fn := b.callee(x)
	switch {
	case fn == nil:
		b.add(x, subset.CodeCall, "a call of a function value", "call a function by its name")
	case subset.IsAssert(fn), subset.IsAsleep(fn):
	default:
		if m, recv := subset.Method(b.info, x); m != nil {
			b.expr(recv, false)
		}
		b.named(x, fn, effect)
		b.args(x)
	}
}

func (b *body) args(x *ast.CallExpr) {
	for _, a := range x.Args {
		b.expr(a, false)
	}
}

// named checks a call of a function by its name.
func (b *body) named(x *ast.CallExpr, fn *types.Func, effect bool) {
	sig, recv := fn.Signature(), types.Type(nil)
	if m, on := subset.Method(b.info, x); m != nil {
		recv = b.info.TypeOf(on)
		if p, ok := recv.(*types.Pointer); ok {
			recv = p.Elem()
		}
	}
	switch {
	case recv != nil && types.IsInterface(recv):
		b.add(x, subset.CodeCall, "a call through an interface", "call a method of a concrete type")
	case recv != nil && subset.IsPrimitive(recv):
		b.memory(x, fn)
	case sig.TypeParams() != nil || sig.RecvTypeParams() != nil || sig.Variadic():
		b.add(x, subset.CodeCall, fmt.Sprintf("%s is generic or variadic", fn.Name()), "write it for the types that it is used with")
	case fn.Pkg() != nil && !strings.Contains(fn.Pkg().Path(), "."):
		if fn.Pkg().Path() != "math/bits" || !strings.HasPrefix(fn.Name(), "OnesCount") {
			b.add(x, subset.CodeCall, fmt.Sprintf("%s has no body that can be translated", fn.FullName()), "write it out, or call a function of this Go module")
		}
	case recv != nil && subset.IsInstance(recv, b.pass.Pkg):
		b.instance(x, fn)
	case !effect && b.impure(fn):
		b.add(x, subset.CodeEffect, fmt.Sprintf("%s changes registers inside an expression", fn.Name()), "call it in a separate statement and use its result")
	default:
		b.foreign(x, fn)
	}
}

// memory checks a call of a method of a primitive.
func (b *body) memory(x *ast.CallExpr, fn *types.Func) {
	switch fn.Name() {
	case "Tick", "Reset", "Out", "Empty", "Full":
	default:
		b.add(x, subset.CodeMemory, fmt.Sprintf("%s is for tests", fn.Name()), "read a memory through its port")
	}
}

// instance checks a call of a method of another package's module.
func (b *body) instance(x *ast.CallExpr, fn *types.Func) {
	switch {
	case fn.Name() == "Tick" || fn.Name() == "Reset":
	case fn.Signature().Params().Len() > 0 || b.impure(fn):
		b.add(x, subset.CodeChild, fmt.Sprintf("%s of an instance of a module", fn.Name()),
			"call only Tick and methods without parameters, and Reset in Reset")
	default:
		b.foreign(x, fn)
	}
}

// foreign checks a call of a function of another package, and recursion in this
// one.
func (b *body) foreign(x *ast.CallExpr, fn *types.Func) {
	var r Refused
	switch {
	case b.decls[fn] == nil && b.pass.ImportObjectFact(fn, &r):
		b.add(x, r.Code, fmt.Sprintf("%s cannot be translated: %s: %s", fn.Name(), r.Where, r.What), "change it there")
	case b.decls[fn] != nil && b.closure(fn)[b.fn] && b.closesCycle(fn):
		b.add(x, subset.CodeRecurse, fmt.Sprintf("%s calls itself", fn.Name()), "use a loop with constant bounds, or a state machine")
	}
}

// closesCycle reports whether a call of fn by the current function closes a cycle: the
// cycle is reported at the function that is declared first.
func (b *body) closesCycle(fn *types.Func) bool { return fn.Pos() <= b.fn.Pos() }
