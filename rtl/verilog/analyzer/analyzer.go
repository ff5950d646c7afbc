// Package analyzer is a vet analyzer that reports Go code that cannot be
// translated to hardware. It reads source only. Everything it reports is refused
// by the translator for every configuration. Checks that need a live object, such
// as a condition on a parameter, are left to the translator.
package analyzer

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// Analyzer reports code that the Verilog translator refuses, in the methods Tick
// and Reset of each module of a package and in all functions that they call. A
// refused function of another package is reported at its call, with the position
// in that package.
var Analyzer = &analysis.Analyzer{
	Name:      "rtl",
	Doc:       "report Go outside the subset that is translated to Verilog; docs/rtl.md explains each code",
	URL:       "https://github.com/hilgpu/hilgpu/blob/main/docs/rtl.md",
	Run:       run,
	FactTypes: []analysis.Fact{new(Refused), new(Changes)},
}

// Refused is the fact that a function cannot be translated.
type Refused struct {
	Code  subset.Code
	Where string // file:line:column
	What  string // reason and rewrite
}

// AFact marks the type as a fact.
func (*Refused) AFact() {}

func (r *Refused) String() string { return string(r.Code) }

// Changes is the fact that a method changes what its receiver points to.
type Changes struct{}

// AFact marks the type as a fact.
func (*Changes) AFact() {}

func (*Changes) String() string { return "changes its receiver" }

// A finding is a refused construct.
type finding struct {
	pos  token.Pos
	code subset.Code
	what string
}

// checker checks one package.
type checker struct {
	pass    *analysis.Pass
	info    *types.Info
	decls   map[*types.Func]*ast.FuncDecl
	order   []*types.Func
	modules []*module

	inputs   map[types.Object]bool         // parameters of Tick
	defs     map[types.Object]ast.Expr     // initial value of a local variable
	mutated  map[types.Object]bool         // variables that are assigned after their declaration
	loopVars map[types.Object]bool         // loop indices
	assigned map[*types.Var]bool           // fields that Tick assigns
	changes  map[*types.Func]bool          // memo of impure
	own      map[*types.Func][]finding     // findings in a function's own body
	calls    map[*types.Func][]*types.Func // callees in the same package
}

// module is a type with Tick.
type module struct {
	name        *types.TypeName
	state       *types.Struct
	tick, reset *types.Func
	instances   []*types.Var // fields of primitives and other packages' modules
}

// run checks one package of the RTL. It skips package hdl, whose primitives have
// hand-written Verilog, the programs (translator, lockstep, synthesis, wave
// recorder, model of the host), and the standard library.
func run(pass *analysis.Pass) (any, error) {
	path := pass.Pkg.Path()
	host, _, _ := strings.Cut(path, "/")
	program := strings.HasSuffix(path, "/rtl/wave") || strings.HasSuffix(path, "/rtl/hostbfm")
	for _, tree := range []string{"/rtl/verilog/", "/rtl/lockstep/", "/rtl/synth/"} {
		program = program || strings.Contains(path+"/", tree) && !strings.Contains(path, "/testdata/")
	}
	if strings.Contains(host, ".") && !strings.HasSuffix(path, "/rtl/hdl") && !program {
		Check(pass)
	}
	return nil, nil
}

// Check checks the package of a pass, wherever it is.
func Check(pass *analysis.Pass) {
	c := &checker{
		pass: pass, info: pass.TypesInfo, decls: map[*types.Func]*ast.FuncDecl{},
		inputs: map[types.Object]bool{}, defs: map[types.Object]ast.Expr{}, mutated: map[types.Object]bool{},
		loopVars: map[types.Object]bool{}, assigned: map[*types.Var]bool{}, changes: map[*types.Func]bool{},
		own: map[*types.Func][]finding{}, calls: map[*types.Func][]*types.Func{},
	}
	c.declare()
	for _, fn := range c.order {
		c.flow(c.decls[fn])
	}
	for _, m := range c.modules {
		for fn := range c.closure(m.tick) {
			c.fields(c.decls[fn].Body)
		}
	}
	for _, fn := range c.order {
		c.function(fn)
	}
	c.export()
	c.report()
}

// declare records the functions and the modules of the package, except those in
// test files.
func (c *checker) declare() {
	for _, f := range c.pass.Files {
		if strings.HasSuffix(c.pass.Fset.File(f.Pos()).Name(), "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok || fd.Body == nil {
				continue
			}
			fn := c.info.Defs[fd.Name].(*types.Func)
			c.decls[fn] = fd
			c.order = append(c.order, fn)
		}
	}
	for _, fn := range c.order {
		if m := c.module(fn); m != nil {
			c.modules = append(c.modules, m)
		}
	}
}

// module returns the module whose Tick is fn, or nil.
func (c *checker) module(fn *types.Func) *module {
	if fn.Name() != "Tick" || !subset.ByPointer(fn) {
		return nil
	}
	n, ok := fn.Signature().Recv().Type().(*types.Pointer).Elem().(*types.Named)
	if !ok || !n.Obj().Exported() {
		return nil
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	m := &module{name: n.Obj(), state: s, tick: fn}
	for _, other := range c.order {
		if other.Name() == "Reset" && subset.ByPointer(other) && types.Identical(other.Signature().Recv().Type(), fn.Signature().Recv().Type()) {
			m.reset = other
		}
	}
	for v := range fn.Signature().Params().Variables() {
		c.inputs[v] = true
	}
	return m
}

// closure returns fn and the functions of the package that it calls, directly or
// indirectly.
func (c *checker) closure(fn *types.Func) map[*types.Func]bool {
	seen := map[*types.Func]bool{}
	var visit func(*types.Func)
	visit = func(fn *types.Func) {
		if fn == nil || seen[fn] || c.decls[fn] == nil {
			return
		}
		seen[fn] = true
		for _, callee := range c.callees(fn) {
			visit(callee)
		}
	}
	visit(fn)
	return seen
}

// callees returns the functions of the package that the body of fn calls.
func (c *checker) callees(fn *types.Func) []*types.Func {
	if out, ok := c.calls[fn]; ok {
		return out
	}
	var out []*types.Func
	ast.Inspect(c.decls[fn].Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if callee := c.callee(call); callee != nil && c.decls[callee] != nil {
				out = append(out, callee)
			}
		}
		return true
	})
	c.calls[fn] = out
	return out
}

// callee returns the function that a call names, or nil for any other call.
func (c *checker) callee(call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, _ := c.info.Uses[id].(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// export exports facts about the package's functions, for packages that call
// them.
func (c *checker) export() {
	for _, fn := range c.order {
		if c.impure(fn) {
			c.pass.ExportObjectFact(fn, new(Changes))
		}
		var all []finding
		for callee := range c.closure(fn) {
			all = append(all, c.own[callee]...)
		}
		if len(all) == 0 {
			continue
		}
		slices.SortFunc(all, byPosition)
		f := all[0]
		c.pass.ExportObjectFact(fn, &Refused{Code: f.code, Where: c.pass.Fset.Position(f.pos).String(), What: f.what})
	}
}

func byPosition(a, b finding) int { return int(a.pos - b.pos) }

// report reports the findings in modules and in the functions they call, at most
// one per line.
func (c *checker) report() {
	var all []finding
	seen := map[*types.Func]bool{}
	for _, m := range c.modules {
		all = append(all, c.stateOf(m)...)
		all = append(all, c.ticks(m)...)
		all = append(all, c.resets(m)...)
		for _, root := range []*types.Func{m.tick, m.reset} {
			for fn := range c.closure(root) {
				if !seen[fn] {
					seen[fn] = true
					all = append(all, c.own[fn]...)
				}
			}
		}
	}
	slices.SortStableFunc(all, byPosition)
	last := token.Position{}
	for _, f := range all {
		p := c.pass.Fset.Position(f.pos)
		if p.Line != last.Line || p.Filename != last.Filename {
			c.pass.Report(analysis.Diagnostic{Pos: f.pos, Category: string(f.code), Message: fmt.Sprintf("%s: %s", f.code, f.what)})
		}
		last = p
	}
}

// message joins a reason and a rewrite to a message.
func message(reason, rewrite string) string { return reason + "; rewrite: " + rewrite }
