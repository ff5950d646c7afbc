package analyzer

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// ticks checks how Tick and the functions it calls tick, read and reset
// instances.
func (c *checker) ticks(m *module) []finding {
	o := &orders{checker: c, module: m, ticked: map[*types.Var]bool{}}
	fns := c.closure(m.tick)
	for _, fn := range c.order {
		if fns[fn] {
			o.done = map[string]bool{}
			o.list(c.decls[fn].Body.List, false)
		}
	}
	for _, f := range m.instances {
		if subset.IsPrimitive(f.Type()) && !o.ticked[f] {
			o.found = append(o.found, finding{c.decls[m.tick].Pos(), subset.CodeTick,
				message(fmt.Sprintf("Tick does not tick %s", f.Name()), "tick it in every clock")})
		}
	}
	return o.found
}

// orders checks function bodies statement by statement.
type orders struct {
	*checker
	module *module
	ticked map[*types.Var]bool
	done   map[string]bool // instances ticked unconditionally so far
	found  []finding
}

// list checks statements; conditional reports whether they are under a condition that
// varies.
func (o *orders) list(list []ast.Stmt, conditional bool) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.BlockStmt:
			o.list(s.List, conditional)
		case *ast.IfStmt:
			o.branches(conditional || o.varies(s.Cond), s.Body, s.Else)
		case *ast.SwitchStmt:
			for _, cc := range s.Body.List {
				o.branches(conditional || s.Tag != nil && o.varies(s.Tag), &ast.BlockStmt{List: cc.(*ast.CaseClause).Body}, nil)
			}
		case *ast.ForStmt, *ast.RangeStmt:
		default:
			o.simple(s, conditional)
		}
	}
}

// branches checks alternatives. An instance ticked in one is not ticked in
// another.
func (o *orders) branches(conditional bool, alts ...ast.Stmt) {
	before := o.done
	for _, s := range alts {
		if s != nil {
			o.done = map[string]bool{}
			for name := range before {
				o.done[name] = true
			}
			o.list([]ast.Stmt{s}, conditional)
		}
	}
	o.done = before
}

// simple checks a statement that contains no statements.
func (o *orders) simple(s ast.Stmt, conditional bool) {
	o.calls(s, conditional)
	if a, ok := s.(*ast.AssignStmt); ok {
		o.checkRestore(a)
	}
}

// calls checks the calls in n, arguments before the call that takes them.
func (o *orders) calls(n ast.Node, conditional bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		o.calls(call.Fun, conditional)
		for _, x := range call.Args {
			o.calls(x, conditional)
		}
		if fn, recv := subset.Method(o.info, call); fn != nil {
			if f, name := o.instanceOf(recv); f != nil {
				o.use(call, fn, f, name, conditional)
			}
		}
		return false
	})
}

// instanceOf returns the field of an instance and its source text, or nil if x is
// not an instance of the module.
func (o *orders) instanceOf(x ast.Expr) (*types.Var, string) {
	s, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok {
		return nil, ""
	}
	f := o.field(s)
	for _, i := range o.module.instances {
		if i.Origin() == f {
			return f, types.ExprString(s)
		}
	}
	return nil, ""
}

// use checks a call of a method of an instance.
func (o *orders) use(call *ast.CallExpr, fn *types.Func, f *types.Var, name string, conditional bool) {
	add := func(code subset.Code, reason, rewrite string) {
		o.found = append(o.found, finding{call.Pos(), code, message(reason, rewrite)})
	}
	switch {
	case fn.Name() == "Tick" && (conditional || o.done[name]):
		o.ticked[f] = true
		add(subset.CodeTick, fmt.Sprintf("%s is ticked under a condition or twice", name),
			"call its Tick once in each clock, with idle inputs when there is nothing to do")
	case fn.Name() == "Tick":
		o.ticked[f], o.done[name] = true, true
	case fn.Name() == "Reset" && subset.IsPrimitive(f.Type()):
	case fn.Name() == "Reset":
		add(subset.CodeChild, "Reset of an instance of a module", "call only Tick and methods without parameters, and Reset in Reset")
	case o.done[name]:
		add(subset.CodeChild, fmt.Sprintf("%s is read after its tick", name), "read its outputs before any Tick")
	}
}

// checkRestore checks an assignment that loses a memory, or restores one too late.
func (o *orders) checkRestore(a *ast.AssignStmt) {
	for i, x := range a.Lhs {
		var y ast.Expr // the value of x, nil for one of several results
		if len(a.Lhs) == len(a.Rhs) {
			y = ast.Unparen(a.Rhs[i])
		}
		if f, name := o.instanceOf(x); f != nil && o.done[name] && (y == nil || types.ExprString(y) != name) {
			o.found = append(o.found, finding{a.Pos(), subset.CodeMemory, message(name+" is restored after its tick", "call its Reset there")})
		}
		if lit, ok := y.(*ast.CompositeLit); ok && !o.isLocal(x) {
			o.found = append(o.found, o.lostMemories(a, lit)...)
		}
	}
}

// isLocal reports whether x is a plain identifier.
func (o *orders) isLocal(x ast.Expr) bool {
	_, ok := x.(*ast.Ident)
	return ok
}

// lostMemories finds the memories that a literal leaves out.
func (c *checker) lostMemories(a *ast.AssignStmt, lit *ast.CompositeLit) []finding {
	s, ok := c.info.TypeOf(lit).Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	given := map[string]bool{}
	for _, el := range lit.Elts {
		kv, keyed := el.(*ast.KeyValueExpr)
		if !keyed {
			return nil
		}
		given[kv.Key.(*ast.Ident).Name] = true
	}
	for f := range s.Fields() {
		if subset.IsPrimitive(f.Type()) && !given[f.Name()] {
			return []finding{{a.Pos(), subset.CodeMemory, message(f.Name()+" is replaced", "keep the memory in its field, as Reset of package dma does")}}
		}
	}
	return nil
}
