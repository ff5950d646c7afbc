package verilog

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// stmts translates a list of statements and its continuation k, which a return
// skips.
func (e *elab) stmts(list []ast.Stmt, k func()) {
	if len(list) == 0 {
		k()
		return
	}
	e.stmt(list[0], func() { e.stmts(list[1:], k) })
}

// stmt translates one statement and its continuation k.
func (e *elab) stmt(s ast.Stmt, k func()) {
	e.p.at = s.Pos()
	switch s := s.(type) {
	case *ast.ReturnStmt:
		e.returnStmt(s)
		return
	case *ast.BlockStmt:
		e.stmts(s.List, k)
		return
	case *ast.IfStmt:
		e.ifStmt(s, k)
		return
	case *ast.SwitchStmt:
		e.switchStmt(s, k)
		return
	case *ast.ForStmt:
		e.forStmt(s, k)
		return
	case *ast.RangeStmt:
		e.rangeStmt(s, k)
		return
	}
	e.simple(s)
	k()
}

// simple translates a statement that contains no statements.
func (e *elab) simple(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.EmptyStmt:
	case *ast.AssignStmt:
		e.assignStmt(s)
	case *ast.IncDecStmt:
		op := token.ADD
		if s.Tok == token.DEC {
			op = token.SUB
		}
		e.update(s, s.X, op, func(t types.Type, w int) *value { return &value{t: t, e: konst(w, 1)} })
	case *ast.DeclStmt:
		e.declStmt(s)
	case *ast.ExprStmt:
		c, ok := ast.Unparen(s.X).(*ast.CallExpr)
		if !ok {
			e.fail(s, subset.CodeStmt, "an expression is not a statement", "assign it")
		}
		e.evalCall(c, true)
	default:
		e.fail(s, subset.CodeStmt, "a statement that hardware does not have", "use assignments, if, switch, loops with constant bounds, calls and return")
	}
}

func (e *elab) returnStmt(s *ast.ReturnStmt) {
	f := e.frame
	if len(s.Results) == 0 {
		for _, flag := range f.flags {
			e.p.set(flag, konst(1, 1))
		}
		return
	}
	e.returns(f, s)
}

// declStmt translates the declaration of local variables.
func (e *elab) declStmt(s *ast.DeclStmt) {
	d := s.Decl.(*ast.GenDecl)
	if d.Tok != token.VAR {
		return
	}
	for _, spec := range d.Specs {
		vs := spec.(*ast.ValueSpec)
		var vals []*value
		switch {
		case len(vs.Values) == 0:
			t := e.l.info.TypeOf(vs.Type)
			if err := e.l.checkType(vs.Type.Pos(), t); err != nil {
				panic(bail{err})
			}
			for range vs.Names {
				vals = append(vals, e.zeroValue(vs, t))
			}
		default:
			vals = e.evalList(vs.Values, len(vs.Names))
		}
		for i, id := range vs.Names {
			e.declare(id, vals[i])
		}
	}
}

// declare gives a local variable its first value.
func (e *elab) declare(id *ast.Ident, v *value) {
	if id.Name == "_" {
		return
	}
	obj := e.l.info.Defs[id]
	if subset.IsInt(obj.Type()) && e.d.mutated(e.frame.decl)[obj] {
		e.fail(id, subset.CodeInt, "an int variable", "use uint8 to uint64; an int is for constants and loop indices")
	}
	e.checkCopy(id, obj.Type())
	named := *v
	named.t = obj.Type()
	e.local(id, &named, false)
}

// evalList evaluates the right side of an assignment to n variables.
func (e *elab) evalList(rhs []ast.Expr, n int) []*value {
	if c, ok := ast.Unparen(rhs[0]).(*ast.CallExpr); ok && len(rhs) == 1 && n > 1 {
		return e.evalCall(c, true)
	}
	var vals []*value
	for _, x := range rhs {
		vals = append(vals, e.evalStmt(x, len(rhs) == 1))
	}
	return vals
}

// assignStmt translates =, := and the assignment operations.
func (e *elab) assignStmt(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		op := s.Tok - token.ADD_ASSIGN + token.ADD
		e.update(s, s.Lhs[0], op, func(types.Type, int) *value { return e.eval(s.Rhs[0]) })
		return
	}
	vals := e.evalList(s.Rhs, len(s.Lhs))
	var dst, src []*value
	for i, x := range s.Lhs {
		id, _ := x.(*ast.Ident)
		switch {
		case isBlank(x):
		case id != nil && s.Tok == token.DEFINE && e.l.info.Defs[id] != nil:
			e.declare(id, vals[i])
		default:
			r := e.refOf(x)
			if r.idx == nil {
				dst, src = append(dst, r.alts[0]), append(src, vals[i])
				continue
			}
			if len(s.Lhs) > 1 {
				e.fail(x, subset.CodeArray, "an element with a variable index in a parallel assignment", "assign it in a separate statement")
			}
			e.assignElem(s, r, vals[i])
		}
	}
	e.assignAll(s, dst, src)
}

// assignElem assigns the element that an index selects.
func (e *elab) assignElem(n ast.Node, r ref, v *value) {
	v = e.bind(n, "elem", v, false)
	var vals [][]*expr
	var bodies []func()
	for i, a := range r.alts {
		vals = append(vals, []*expr{konst(r.idx.width, uint64(i))})
		bodies = append(bodies, func() { e.assign(n, a, v) })
	}
	e.cases(r.idx, vals, append(bodies, func() {}))
}

// update translates x op= y.
func (e *elab) update(n ast.Node, x ast.Expr, op token.Token, y func(types.Type, int) *value) {
	r := e.refOf(x)
	t := e.l.info.TypeOf(x)
	w, ok := subset.Width(t)
	if !ok {
		e.fail(x, subset.CodeType, "an operation on a value that is not a number", "assign the fields")
	}
	v := e.arith(n, op, t, e.read(x, r), y(t, w))
	if r.idx == nil {
		e.assign(n, r.alts[0], v)
	} else {
		e.assignElem(n, r, v)
	}
}

// hasReturn reports whether a statement can return from the function.
func hasReturn(s ast.Stmt) bool {
	found := false
	if s != nil {
		ast.Inspect(s, func(n ast.Node) bool {
			_, ret := n.(*ast.ReturnStmt)
			found = found || ret
			return !found
		})
	}
	return found
}

// ends reports whether a list always returns.
func ends(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BlockStmt:
		return ends(s.List)
	case *ast.IfStmt:
		return s.Else != nil && ends(s.Body.List) && ends([]ast.Stmt{s.Else})
	case *ast.SwitchStmt:
		for _, c := range s.Body.List {
			if !ends(c.(*ast.CaseClause).Body) {
				return false
			}
		}
		return len(s.Body.List) > 0
	}
	return false
}

// join decides where the continuation k of a branching statement goes: into the
// only alternative that does not always return, or after the statement. It
// returns the continuation of each alternative and the one after the statement.
func (e *elab) join(alts [][]ast.Stmt, k func()) (inner []func(), after func()) {
	open, last, returns := 0, 0, false
	inner = make([]func(), len(alts))
	for i, a := range alts {
		inner[i] = func() {}
		if !ends(a) {
			open, last = open+1, i
		}
		for _, s := range a {
			returns = returns || hasReturn(s)
		}
	}
	switch {
	case !returns:
		return inner, k
	case open == 0:
		return inner, func() {}
	case open == 1:
		inner[last] = k
		return inner, func() {}
	}
	f := e.frame
	done := e.p.local(e.name("done"), 1)
	e.p.set(done, konst(1, 0))
	f.flags = append(f.flags, done)
	at := e.p.at
	return inner, func() {
		e.p.at = at
		f.flags = f.flags[:len(f.flags)-1]
		e.branch(not(done.ref()), k, func() {})
	}
}

func (e *elab) ifStmt(s *ast.IfStmt, k func()) {
	if s.Init != nil {
		e.simple(s.Init)
	}
	cond := e.eval(s.Cond).e
	yes, no := s.Body.List, []ast.Stmt(nil)
	if s.Else != nil {
		no = []ast.Stmt{s.Else}
	}
	if cond.isConst() {
		if cond.val != 0 {
			e.stmts(yes, k)
		} else {
			e.stmts(no, k)
		}
		return
	}
	inner, after := e.join([][]ast.Stmt{yes, no}, k)
	e.branch(cond, func() { e.stmts(yes, inner[0]) }, func() { e.stmts(no, inner[1]) })
	after()
}

// switchStmt translates a switch: to a case if it has a tag, otherwise to a chain
// of ifs.
func (e *elab) switchStmt(s *ast.SwitchStmt, k func()) {
	if s.Init != nil {
		e.simple(s.Init)
	}
	var clauses []*ast.CaseClause
	var def *ast.CaseClause
	for _, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		if cc.List == nil {
			def = cc
		} else {
			clauses = append(clauses, cc)
		}
	}
	if def == nil {
		e.fail(s, subset.CodeDefault, "a switch without default", "add default:, empty if nothing happens then")
	}
	alts := make([][]ast.Stmt, 0, len(clauses)+1)
	for _, c := range append(clauses, def) {
		alts = append(alts, c.Body)
	}
	if s.Tag == nil {
		inner, after := e.join(alts, k)
		e.chain(clauses, alts, inner)
		after()
		return
	}
	e.tagSwitch(s, clauses, alts, k)
}

// chain translates the clauses of a switch without a tag.
func (e *elab) chain(clauses []*ast.CaseClause, alts [][]ast.Stmt, inner []func()) {
	if len(clauses) == 0 {
		e.stmts(alts[0], inner[0])
		return
	}
	e.p.at = clauses[0].Pos()
	cond := boolean(false)
	for _, x := range clauses[0].List {
		cond = binary(opLOr, cond, e.eval(x).e)
	}
	rest := func() { e.chain(clauses[1:], alts[1:], inner[1:]) }
	yes := func() { e.stmts(alts[0], inner[0]) }
	switch {
	case cond.isConst() && cond.val != 0:
		yes()
	case cond.isConst():
		rest()
	default:
		e.branch(cond, yes, rest)
	}
}

// tagSwitch translates a switch with a tag.
func (e *elab) tagSwitch(s *ast.SwitchStmt, clauses []*ast.CaseClause, alts [][]ast.Stmt, k func()) {
	tag := e.eval(s.Tag)
	if tag.e == nil {
		e.fail(s.Tag, subset.CodeType, "a switch on a value that is not a number", "switch on a field")
	}
	var vals [][]*expr
	for _, c := range clauses {
		var vs []*expr
		for _, x := range c.List {
			v := e.eval(x)
			if !v.e.isConst() {
				e.fail(x, subset.CodeCase, "a case that is not a constant", "use switch without a tag, or if")
			}
			vs = append(vs, v.e)
		}
		vals = append(vals, vs)
	}
	if tag.e.isConst() {
		e.stmts(alts[chosen(tag.e.val, vals)], k)
		return
	}
	sel := tag.e
	if !sel.trivial() {
		sel = e.p.hold(e.name("switch"), sel)
	}
	inner, after := e.join(alts, k)
	var bodies []func()
	for i, a := range alts {
		bodies = append(bodies, func() { e.stmts(a, inner[i]) })
	}
	e.cases(sel, vals, bodies)
	after()
}

// chosen returns the index of the alternative for v. The last one is the default.
func chosen(v uint64, vals [][]*expr) int {
	for i, vs := range vals {
		for _, x := range vs {
			if x.val == v {
				return i
			}
		}
	}
	return len(vals)
}
