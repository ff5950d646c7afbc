package verilog

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// elab translates the bodies of one process of a module. It inlines calls,
// unrolls loops and decides conditions on constants.
type elab struct {
	d     *designer
	l     *loader
	m     *module
	p     *process
	phase phase
	found *plan // the findings of this pass, nil in an output method
	first bool  // conditions on parameters are not decided yet
	frame *frame
	depth int  // number of enclosing conditions
	nap   bool // an hdl.Nap is being computed that is a register
}

// phase is the process being translated.
type phase uint8

const (
	phaseOut phase = iota
	phaseTick
	phaseReset
)

// frame is an inlined call.
type frame struct {
	fn      *types.Func
	name    string // of the call, for its locals and results
	decl    *ast.FuncDecl
	env     map[types.Object]*value
	results []*value
	direct  []*value // the result, if the body is one return statement
	flags   []*variable
	outer   *frame
}

// bail is the panic value that carries an Error out of the recursion.
type bail struct{ err *Error }

func (e *elab) fail(n ast.Node, code subset.Code, reason, rewrite string) {
	panic(bail{e.l.fail(n.Pos(), code, reason, rewrite)})
}

func (e *elab) must(v *value, err *Error) *value {
	if err != nil {
		panic(bail{err})
	}
	return v
}

// protect runs f and returns the Error it bails out with.
func protect(f func()) (err *Error) {
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bail)
			if !ok {
				panic(r)
			}
			err = b.err
		}
	}()
	f()
	return nil
}

// branch is process.branch and counts the depth.
func (e *elab) branch(cond *expr, yes, no func()) {
	e.depth++
	e.p.branch(cond, yes, no)
	e.depth--
}

// cases appends a case; the default comes last.
func (e *elab) cases(sel *expr, vals [][]*expr, bodies []func()) {
	sel, vals, bodies = reachable(sel, vals, bodies)
	e.depth++
	alts := make([]func(), len(bodies))
	for i, f := range bodies {
		alts[i] = f
		if i < len(vals) && len(vals[i]) == 1 {
			eq := &expr{op: opEq, width: 1, args: []*expr{sel, vals[i][0]}}
			alts[i] = func() { e.p.refine(eq, true); f() }
		}
	}
	c, n := &caseStmt{sel: sel, at: e.p.at}, 0
	for i, b := range e.p.branches(alts...) {
		a := arm{body: b}
		if i < len(vals) {
			a.vals = vals[i]
		}
		n += len(b)
		c.arms = append(c.arms, a)
	}
	if n > 0 {
		e.p.body = append(e.p.body, c)
	}
	e.depth--
}

// reachable returns a case without the zeros above its selector and without the labels
// that need them.
func reachable(sel *expr, vals [][]*expr, bodies []func()) (*expr, [][]*expr, []func()) {
	if sel.op != opZext {
		return sel, vals, bodies
	}
	sel = sel.args[0]
	var labels [][]*expr
	var arms []func()
	for i, vs := range vals {
		var fit []*expr
		for _, v := range vs {
			if v.val <= lowMask(sel.width) {
				fit = append(fit, v.resized(sel.width))
			}
		}
		if len(fit) > 0 {
			labels, arms = append(labels, fit), append(arms, bodies[i])
		}
	}
	return sel, labels, append(arms, bodies[len(vals):]...)
}

// name returns a name for a local of the inlined function.
func (e *elab) name(local string) string {
	if e.frame == nil {
		return local
	}
	if local == "" {
		return e.frame.name
	}
	return e.frame.name + "_" + local
}

// fresh returns a new tree of variables for t, assignable like a local.
func (e *elab) fresh(n ast.Node, name string, t types.Type) *value {
	return e.must(e.l.build(t, "", n.Pos(), 0, maker{leaf: func(f field) *expr {
		full := name
		if f.path != "" {
			full = strings.TrimPrefix(join(name, f.path), ".")
		}
		v := e.p.local(e.name(full), f.bits())
		v.unset = e.m.enumerator(f.t, 0)
		return v.ref()
	}}))
}

// assign assigns src to the variables of dst.
func (e *elab) assign(n ast.Node, dst, src *value) {
	var vars []*variable
	var exprs []*expr
	e.pair(n, dst, src, &vars, &exprs)
	for i := range exprs {
		for j := range i {
			if exprs[i].readsVar(vars[j]) {
				exprs[i] = e.p.hold(e.name("t"), exprs[i])
				break
			}
		}
	}
	for i, v := range vars {
		e.store(n, v, exprs[i])
	}
}

// pair lists the variables of dst and the expressions assigned to them.
func (e *elab) pair(n ast.Node, dst, src *value, vars *[]*variable, exprs *[]*expr) {
	switch {
	case dst.child != nil || dst.unticked || src.child != nil || src.unticked:
		e.instance(n, dst, src)
	case dst.prim != nil || dst.zero:
		if dst.prim != src.prim {
			e.fail(n, subset.CodeMemory, "a memory is replaced", "keep the memory in its field, as Reset of package dma does")
		}
		if dst.prim != nil && dst.clear != src.clear {
			if dst.clear == dst.prim.clear && dst.prim.ticked && e.phase == phaseTick {
				e.fail(n, subset.CodeMemory, fmt.Sprintf("%s is restored after its tick", dst.prim.name), "call its Reset there")
			}
			for i, c := range dst.clear {
				*vars, *exprs = append(*vars, c), append(*exprs, src.clear[i].ref())
			}
		}
	case dst.e != nil:
		e.pairScalar(n, dst, src, vars, exprs)
	default:
		for i := range dst.sub {
			e.pair(n, dst.sub[i], src.sub[i], vars, exprs)
		}
	}
}

func (e *elab) instance(n ast.Node, dst, src *value) {
	if dst != src {
		e.fail(n, subset.CodeChild, "an instance of a module is replaced", "call its Reset")
	}
}

func (e *elab) pairScalar(n ast.Node, dst, src *value, vars *[]*variable, exprs *[]*expr) {
	v := dst.e.root()
	from := e.p.origin(src.e)
	switch {
	case v != nil && !v.stable:
		if src.e.root() != v {
			*vars, *exprs = append(*vars, v), append(*exprs, src.e)
		}
	case same(dst.e, from), dst.e.isConst() && from.isConst() && dst.e.val == from.val:
	case subset.IsInt(dst.t):
		e.fail(n, subset.CodeInt, "an int is assigned", "use uint8 to uint64; an int is for constants and loop indices")
	case e.phase == phaseOut:
		e.fail(n, subset.CodeEffect, "an output method changes a register", "change registers in Tick")
	default:
		e.fail(n, subset.CodeStmt, "a constant or an input is assigned", "declare a local variable")
	}
}

// store assigns one scalar, which must fit.
func (e *elab) store(n ast.Node, v *variable, x *expr) {
	if x = e.p.origin(x); x.root() == v {
		return
	}
	if need := e.p.bits(x); need > v.width && !e.first {
		e.fail(n, subset.CodeMask, fmt.Sprintf("a value of up to %d bits is written to %d bits", need, v.width),
			fmt.Sprintf("mask it: (...) & %#x", lowMask(v.width)))
	}
	if e.found != nil && v.kind == kindNext && !e.keeps(v, x) {
		e.found.written[v.path] = true
	}
	e.p.set(v, x)
}

// keeps reports whether x is the constant that register v has had since New.
func (e *elab) keeps(v *variable, x *expr) bool {
	for _, r := range e.m.regs {
		if r.next == v {
			return x.isConst() && x.val == r.initial
		}
	}
	return false
}

// call inlines a function on evaluated arguments and returns its results. effect
// reports whether the call is a complete statement.
func (e *elab) call(n ast.Node, fn *types.Func, recv *value, args []*value, effect bool) []*value {
	decl := e.l.decls[fn.Origin()]
	sig := fn.Signature()
	switch {
	case decl == nil:
		e.fail(n, subset.CodeCall, fmt.Sprintf("%s has no body that can be translated", fn.FullName()), "write it out, or call a function of this Go module")
	case sig.TypeParams() != nil || sig.RecvTypeParams() != nil || sig.Variadic():
		e.fail(n, subset.CodeCall, fmt.Sprintf("%s is generic or variadic", fn.Name()), "write it for the types that it is used with")
	case !effect && e.d.impure(fn):
		e.fail(n, subset.CodeEffect, fmt.Sprintf("%s changes registers inside an expression", fn.Name()), "call it in a separate statement and use its result")
	}
	for f := e.frame; f != nil; f = f.outer {
		if f.fn == fn {
			e.fail(n, subset.CodeRecurse, fmt.Sprintf("%s calls itself", fn.Name()), "use a loop with constant bounds, or a state machine")
		}
	}
	f := &frame{fn: fn, name: e.callName(n, fn), decl: decl, env: map[types.Object]*value{}, outer: e.frame}
	e.frame = f
	at := e.p.at
	defer func() { e.frame, e.p.at = f.outer, at }()
	e.signature(decl)
	e.arguments(f, recv, args)
	return e.body(f)
}

// signature fails if a call of a function copies a value that may not leave its
// field.
func (e *elab) signature(decl *ast.FuncDecl) {
	for _, list := range []*ast.FieldList{decl.Recv, decl.Type.Params, decl.Type.Results} {
		if list != nil {
			for _, p := range list.List {
				e.checkCopy(p, e.l.info.TypeOf(p.Type))
			}
		}
	}
}

// arguments binds the receiver and the parameters.
func (e *elab) arguments(f *frame, recv *value, args []*value) {
	pure := !e.d.impure(f.fn)
	if r := f.decl.Recv; r != nil && len(r.List[0].Names) == 1 {
		id := r.List[0].Names[0]
		if _, ptr := r.List[0].Type.(*ast.StarExpr); ptr {
			f.env[e.l.info.Defs[id]] = recv
		} else {
			e.local(id, recv, pure)
		}
	}
	i := 0
	for _, p := range f.decl.Type.Params.List {
		if err := e.l.checkType(p.Type.Pos(), e.l.info.TypeOf(p.Type)); err != nil {
			panic(bail{err})
		}
		for _, id := range p.Names {
			e.local(id, args[i], pure)
			i++
		}
		if len(p.Names) == 0 {
			i++
		}
	}
}

// body translates the body of f and returns its results.
func (e *elab) body(f *frame) []*value {
	res := f.decl.Type.Results
	if res == nil {
		e.stmts(f.decl.Body.List, func() {})
		return nil
	}
	list := f.decl.Body.List
	named := len(res.List[0].Names) > 0
	if r, ok := list[0].(*ast.ReturnStmt); ok && !named {
		e.p.at = r.Pos()
		e.returns(f, r)
		return f.direct
	}
	for i, p := range res.List {
		t := e.l.info.TypeOf(p.Type)
		if err := e.l.checkType(p.Type.Pos(), t); err != nil {
			panic(bail{err})
		}
		if !named {
			f.results = append(f.results, e.fresh(p, resultName(res, i), t))
			continue
		}
		for _, id := range p.Names {
			v := e.fresh(id, id.Name, t)
			e.assign(id, v, e.zeroValue(id, t))
			f.results = append(f.results, v)
			f.env[e.l.info.Defs[id]] = v
		}
	}
	e.stmts(list, func() {})
	for _, r := range f.results {
		for _, x := range r.scalars() {
			x.root().stable = true
		}
	}
	return f.results
}

// returns translates a return statement of f.
func (e *elab) returns(f *frame, r *ast.ReturnStmt) {
	var vals []*value
	switch {
	case len(r.Results) == 1 && f.fn.Signature().Results().Len() > 1:
		vals = e.evalCall(ast.Unparen(r.Results[0]).(*ast.CallExpr), true)
	default:
		for _, x := range r.Results {
			vals = append(vals, e.evalStmt(x, len(r.Results) == 1))
		}
	}
	if f.results == nil {
		f.direct = vals
		return
	}
	e.assignAll(r, f.results, vals)
	for _, flag := range f.flags {
		e.p.set(flag, konst(1, 1))
	}
}

// assignAll is a parallel assignment.
func (e *elab) assignAll(n ast.Node, dst, src []*value) {
	e.assign(n, &value{sub: dst}, &value{sub: src[:len(dst):len(dst)]})
}

// objectOf returns the object that an identifier denotes.
func (e *elab) objectOf(id *ast.Ident) types.Object {
	if o := e.l.info.Defs[id]; o != nil {
		return o
	}
	return e.l.info.Uses[id]
}

// isBlank reports whether x is _.
func isBlank(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "_"
}
