package analyzer

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	mathbits "math/bits"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// resets checks Reset of m: each register is set to a constant or left alone, and
// each queue and instance is reset.
func (c *checker) resets(m *module) []finding {
	if m.reset == nil {
		return nil
	}
	decl := c.decls[m.reset]
	var out []finding
	fail := func(name string) {
		out = append(out, finding{decl.Pos(), subset.CodeReset, message(fmt.Sprintf("Reset does not give %s a constant", name),
			"set it to a constant without a condition, and reset every queue and instance")})
	}
	set := map[*types.Var]bool{}
	for _, s := range decl.Body.List {
		switch s := s.(type) {
		case *ast.IfStmt:
			if c.varies(s.Cond) {
				fail("registers set under a condition")
			}
		case *ast.AssignStmt:
			for i, x := range s.Lhs {
				if len(s.Lhs) == len(s.Rhs) && c.keepsOther(x, s.Rhs[i], set) {
					fail(types.ExprString(x))
				}
			}
			for _, x := range s.Lhs {
				if sel, ok := x.(*ast.SelectorExpr); ok {
					set[c.field(sel)] = true
				}
			}
		}
	}
	for _, f := range m.instances {
		if !c.resetsOne(m, f.Type()) {
			fail(f.Name())
		}
	}
	return out
}

// keepsOther reports whether x gets the value of another register that has not
// been set before.
func (c *checker) keepsOther(x, y ast.Expr, set map[*types.Var]bool) bool {
	to, ok := x.(*ast.SelectorExpr)
	from, ok2 := ast.Unparen(y).(*ast.SelectorExpr)
	if !ok || !ok2 || types.ExprString(to) == types.ExprString(from) {
		return false
	}
	f := c.field(from)
	return f != nil && c.assigned[f] && !set[f]
}

// resetsOne reports whether Reset resets an instance of type t, or t has no
// Reset.
func (c *checker) resetsOne(m *module, t types.Type) bool {
	if obj, _, _ := types.LookupFieldOrMethod(t, true, c.pass.Pkg, "Reset"); obj == nil {
		return true
	}
	found := false
	for fn := range c.closure(m.reset) {
		ast.Inspect(c.decls[fn].Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if fn, recv := subset.Method(c.info, call); fn != nil && fn.Name() == "Reset" {
					found = found || types.Identical(c.info.TypeOf(recv), t)
				}
			}
			return !found
		})
	}
	return found
}

// masks checks writes to fields with a width tag: constants that do not fit, and
// full-width values that nothing before can have bounded.
func (b *body) masks(list []ast.Stmt) {
	ast.Inspect(&ast.BlockStmt{List: list}, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN && len(a.Lhs) == len(a.Rhs) {
			for i, x := range a.Lhs {
				b.constantFits(a, x, a.Rhs[i])
			}
		}
		return true
	})
	for _, s := range list {
		switch s := s.(type) {
		case *ast.IncDecStmt:
			b.unmasked(s, s.X)
		case *ast.AssignStmt:
			if s.Tok == token.ASSIGN && len(s.Lhs) == 1 && len(s.Rhs) == 1 {
				if id, ok := s.Rhs[0].(*ast.Ident); ok && b.inputs[b.info.Uses[id]] && !b.mutated[b.info.Uses[id]] {
					b.unmasked(s, s.Lhs[0])
				}
			}
		}
		if _, ok := s.(*ast.DeclStmt); !ok {
			return // the first statement may bound what follows it
		}
	}
}

// tagged returns the width tag of the field that x selects and the width of its
// type, 0 without a tag.
func (b *body) tagged(x ast.Expr) (n, full int) {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok || b.field(sel) == nil {
		return 0, 0
	}
	s := b.info.Selections[sel]
	t := s.Recv()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok || len(s.Index()) != 1 || isArray(b.info.TypeOf(x)) {
		return 0, 0
	}
	n, full, ok = subset.TagWidth(st, s.Index()[0])
	if !ok {
		return 0, 0
	}
	return n, full
}

// constantFits checks a constant that is written to x.
func (b *body) constantFits(at ast.Node, x, y ast.Expr) {
	v := b.info.Types[y].Value
	n, _ := b.tagged(x)
	if v == nil || n == 0 {
		return
	}
	if u, ok := constant.Uint64Val(constant.ToInt(v)); ok && mathbits.Len64(u) > n {
		b.maskFail(at, mathbits.Len64(u), n)
	}
}

// unmasked checks a full-width value that is written to x.
func (b *body) unmasked(at ast.Node, x ast.Expr) {
	if n, full := b.tagged(x); n > 0 && n < full {
		b.maskFail(at, full, n)
	}
}

func (b *body) maskFail(at ast.Node, need, n int) {
	b.add(at, subset.CodeMask, fmt.Sprintf("a value of up to %d bits is written to %d bits", need, n),
		fmt.Sprintf("mask it: (...) & %#x", uint64(1)<<n-1))
}
