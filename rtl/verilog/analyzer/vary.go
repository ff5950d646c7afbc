package analyzer

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// flow records the initial values of a function's variables, and which are
// assigned later.
func (c *checker) flow(decl *ast.FuncDecl) {
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && c.info.Defs[id] != nil {
					c.defs[c.info.Defs[id]] = n.Rhs[i]
				} else if o := subset.Target(c.info, x); o != nil {
					c.mutated[o] = true
				}
			}
		case *ast.IncDecStmt:
			c.mutated[subset.Target(c.info, n.X)] = true
		case *ast.ForStmt:
			if a, ok := n.Init.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
				c.loopVar(a.Lhs[0])
			}
		case *ast.RangeStmt:
			c.loopVar(n.Key)
		}
		return true
	})
}

// loopVar records the index of a loop.
func (c *checker) loopVar(x ast.Expr) {
	if id, ok := x.(*ast.Ident); ok && c.info.Defs[id] != nil {
		c.loopVars[c.info.Defs[id]] = true
	}
}

// fields records the fields that a body assigns. If a struct is assigned as a
// whole, its parameters may keep their values.
func (c *checker) fields(body ast.Node) {
	mark := func(x ast.Expr) {
		for {
			switch y := x.(type) {
			case *ast.ParenExpr:
				x = y.X
			case *ast.IndexExpr:
				x = y.X
			case *ast.StarExpr:
				x = y.X
			case *ast.SelectorExpr:
				if v := c.field(y); v != nil && subset.Missing(v.Type()) == nil && !subset.IsInt(v.Type()) {
					if _, whole := v.Type().Underlying().(*types.Struct); !whole {
						c.assigned[v] = true
					}
				}
				x = y.X
			default:
				return
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				mark(x)
			}
		case *ast.IncDecStmt:
			mark(n.X)
		}
		return true
	})
}

// field returns the field that a selector selects, or nil if it selects something
// else.
func (c *checker) field(x *ast.SelectorExpr) *types.Var {
	s := c.info.Selections[x]
	if s == nil || s.Kind() != types.FieldVal {
		return nil
	}
	return s.Obj().(*types.Var).Origin()
}

// varies reports whether x cannot be a constant for the translator, whatever the
// parameters: it depends on an input of Tick, a register or a variable.
func (c *checker) varies(x ast.Expr) bool {
	if c.info.Types[x].Value != nil {
		return false
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return c.varies(x.X)
	case *ast.StarExpr:
		return c.varies(x.X)
	case *ast.UnaryExpr:
		return x.Op != token.AND && c.varies(x.X)
	case *ast.Ident:
		return c.variable(c.info.Uses[x])
	case *ast.SelectorExpr:
		v := c.field(x)
		return v != nil && (c.assigned[v] || c.varies(x.X))
	case *ast.IndexExpr:
		return c.varies(x.X) || c.varies(x.Index)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND, token.LOR, token.AND, token.MUL, token.AND_NOT:
			return c.varies(x.X) && c.varies(x.Y) // a constant may decide it
		}
		return c.varies(x.X) || c.varies(x.Y)
	case *ast.CallExpr:
		return len(x.Args) == 1 && c.info.Types[x.Fun].IsType() && c.varies(x.Args[0])
	}
	return false
}

// variable reports whether a name cannot stand for a constant.
func (c *checker) variable(o types.Object) bool {
	switch {
	case o == nil || c.loopVars[o]:
		return false
	case c.inputs[o]:
		return true
	}
	def, local := c.defs[o]
	return local && !subset.IsInt(o.Type()) && (c.mutated[o] || c.varies(def))
}

// impure reports whether a call of fn changes what its receiver points to.
func (c *checker) impure(fn *types.Func) bool {
	fn = fn.Origin()
	if b, ok := c.changes[fn]; ok {
		return b
	}
	c.changes[fn] = false // the value during recursion
	decl := c.decls[fn]
	if decl == nil {
		b := fn.Pkg() != nil && fn.Pkg() != c.pass.Pkg && c.pass.ImportObjectFact(fn, new(Changes))
		c.changes[fn] = b || subset.ByPointer(fn) && fromHDL(fn) && (fn.Name() == "Tick" || fn.Name() == "Reset")
		return c.changes[fn]
	}
	if !subset.ByPointer(fn) || len(decl.Recv.List[0].Names) == 0 {
		return false
	}
	c.changes[fn] = c.touches(decl.Body, c.info.Defs[decl.Recv.List[0].Names[0]])
	return c.changes[fn]
}

// fromHDL reports whether fn is declared in package hdl.
func fromHDL(fn *types.Func) bool {
	r := fn.Signature().Recv()
	if r == nil {
		return false
	}
	t := r.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return subset.IsPrimitive(t)
}

// touches reports whether n may change obj or what it points to.
func (c *checker) touches(n ast.Node, obj types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				found = found || subset.Target(c.info, x) == obj
			}
		case *ast.IncDecStmt:
			found = found || subset.Target(c.info, n.X) == obj
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && subset.Target(c.info, n.X) == obj
		case *ast.CallExpr:
			if fn, x := subset.Method(c.info, n); fn != nil && subset.ByPointer(fn) && subset.Target(c.info, x) == obj {
				found = found || c.impure(fn)
			}
		}
		return !found
	})
	return found
}
