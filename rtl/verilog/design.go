package verilog

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// designer translates modules, once for each type and set of parameters.
type designer struct {
	l        *loader
	top      *types.Named
	enables  bool // blocks have their sleep conditions as clock enables
	known    map[string]*module
	modules  []*module                        // of the objects known to be ticked, in order
	roms     map[string]*rom                  // by width and words
	generic  map[*types.Named]map[string]bool // paths of the fields that are parameters in Verilog
	effects  map[*types.Func]bool
	assigned map[*ast.FuncDecl]map[types.Object]bool
}

// module returns the module of a live object of type t. ticked reports whether the object
// is known to be ticked.
func (d *designer) module(t *types.Named, live reflect.Value, ticked bool) (*module, *Error) {
	m, err := d.passes(t, live)
	if err != nil {
		return nil, err
	}
	if k := d.known[m.key]; k != nil {
		m = k
	}
	d.known[m.key] = m
	if ticked && !slices.Contains(d.modules, m) {
		m = d.shared(t, live, m)
		d.known[m.key] = m
		d.modules = append(d.modules, m)
	}
	return m, nil
}

// passes translates the module of a live object until a pass finds nothing new.
func (d *designer) passes(t *types.Named, live reflect.Value) (*module, *Error) {
	m, pl, err := d.elaborate(t, live, nil)
	for last := (*plan)(nil); err == nil && !pl.equal(last); {
		last = pl
		m, pl, err = d.elaborate(t, live, last)
	}
	if err != nil {
		return nil, err
	}
	var scalars []string
	for path, v := range m.scalars {
		scalars = append(scalars, fmt.Sprintf("%s=%d", path, v))
	}
	slices.Sort(scalars)
	m.key = fmt.Sprintf("%s{%s}", types.TypeString(t, nil), strings.Join(append(scalars, m.params...), ","))
	return m, nil
}

// methodOf returns a method of t and its declaration, or nil if there is none.
func (d *designer) methodOf(t *types.Named, name string) (*types.Func, *ast.FuncDecl) {
	obj, _, _ := types.LookupFieldOrMethod(t, true, t.Obj().Pkg(), name)
	fn, _ := obj.(*types.Func)
	if fn == nil {
		return nil, nil
	}
	return fn, d.l.decls[fn]
}

// elaborate translates Tick and Reset of a live object and finds its parameters.
// The first pass has no plan. The findings of each pass are the plan of the next:
// it decides the conditions on parameters, and more fields may turn out to be
// parameters. The passes end when one finds nothing new.
func (d *designer) elaborate(t *types.Named, live reflect.Value, use *plan) (*module, *plan, *Error) {
	m := &module{named: t, live: live, namer: newNamer(), symbols: map[*types.Const]*symbol{}, scalars: map[string]uint64{}}
	found := &plan{written: map[string]bool{}, ticked: map[string]bool{}}
	tick, decl := d.methodOf(t, "Tick")
	if decl == nil {
		return nil, nil, d.l.fail(t.Obj().Pos(), subset.CodePort, fmt.Sprintf("%s has no Tick", t.Obj().Name()), "give it a method Tick")
	}
	ins, err := d.ports(m, decl)
	if err != nil {
		return nil, nil, err
	}
	if err := d.state(m, use); err != nil {
		return nil, nil, err
	}
	m.out, m.tick = newProcess(m.namer), newProcess(m.namer)
	if err := d.reset(m, found, use == nil); err != nil {
		return nil, nil, err
	}
	e := &elab{d: d, l: d.l, m: m, p: m.tick, phase: phaseTick, found: found, first: use == nil}
	if err := protect(func() { e.clock(decl, tick, ins) }); err != nil {
		return nil, nil, err
	}
	found.generic = len(d.generic)
	return m, found, d.ticked(m, decl, found, use == nil)
}

// ports declares the inputs of m, the parameters of Tick.
func (d *designer) ports(m *module, tick *ast.FuncDecl) ([]*value, *Error) {
	if tick.Type.Results != nil {
		return nil, d.l.fail(tick.Pos(), subset.CodePort, "Tick has results", "return outputs from methods without parameters")
	}
	var ins []*value
	add := func(n ast.Node, name string, t types.Type) *Error {
		v, err := d.l.build(t, name, n.Pos(), 0, maker{leaf: func(f field) *expr {
			in := &variable{name: m.namer.fresh(f.path), width: d.portWidth(m, f), kind: kindInput, stable: true}
			m.inputs = append(m.inputs, in)
			m.inputGo = append(m.inputGo, f.path)
			return f.value(in)
		}})
		ins = append(ins, v)
		return err
	}
	for _, p := range tick.Type.Params.List {
		t := d.l.info.TypeOf(p.Type)
		if subset.IsInt(t) || len(p.Names) == 0 {
			return nil, d.l.fail(p.Pos(), subset.CodePort, "a parameter of Tick without a name or of type int", "name it and use bool, uint8 to uint64 or a struct of them")
		}
		if err := d.l.checkType(p.Type.Pos(), t); err != nil {
			return nil, err
		}
		for _, id := range p.Names {
			if err := add(p, id.Name, t); err != nil {
				return nil, err
			}
		}
	}
	return ins, nil
}

// portWidth returns the width of the port of a field. A port of the top has that of the Go
// type, because it connects to what is not generated.
func (d *designer) portWidth(m *module, f field) int {
	if m.named == d.top {
		return f.w
	}
	return f.bits()
}

// ticked checks that every instance is ticked, and records which ones are.
func (d *designer) ticked(m *module, tick *ast.FuncDecl, found *plan, first bool) *Error {
	for _, c := range m.children {
		if c.ticked {
			found.ticked[c.path] = true
		}
	}
	if first {
		return nil
	}
	for _, p := range m.prims {
		if !p.ticked {
			return d.l.fail(tick.Pos(), subset.CodeTick, fmt.Sprintf("Tick does not tick %s", p.path), "tick it in every clock")
		}
	}
	return nil
}

// reset finds the values of the registers after Reset.
func (d *designer) reset(m *module, found *plan, first bool) *Error {
	fn, decl := d.methodOf(m.named, "Reset")
	if decl == nil {
		for _, r := range m.regs {
			r.reset, r.sym = r.initial, m.enumerator(r.t, r.initial)
		}
		return nil
	}
	e := &elab{d: d, l: d.l, m: m, p: newProcess(newNamer()), phase: phaseReset, found: found, first: first}
	if err := protect(func() { e.call(decl, fn, m.next, nil, true) }); err != nil {
		return err
	}
	fail := func(what string) *Error {
		return d.l.fail(decl.Pos(), subset.CodeReset, fmt.Sprintf("Reset does not give %s a constant", what),
			"set it to a constant without a condition, and reset every queue and instance")
	}
	env, writes, err := map[*variable]uint64{}, map[*variable]bool{}, (*Error)(nil)
	syms := map[*variable]*symbol{}
	walk(e.p.body, func(s stmt) {
		a, ok := s.(*assign)
		if !ok {
			err = fail("registers set under a condition")
			return
		}
		writes[a.v], syms[a.v] = true, a.e.sym
		if v, known := a.e.value(env); known {
			env[a.v] = v & lowMask(a.v.width)
		} else {
			delete(env, a.v)
		}
	})
	if err != nil {
		return err
	}
	for _, r := range m.regs {
		v, known := env[r.next]
		r.reset, r.sym, r.keeps = v, syms[r.next], !writes[r.next]
		if r.keeps {
			r.sym = m.enumerator(r.t, r.initial)
		}
		if writes[r.next] && !known {
			return fail(r.path)
		}
	}
	for _, p := range m.prims {
		if p.fifo && env[p.clear[0]] != 1 {
			return fail(p.path)
		}
		p.reset, p.ticked = false, false
	}
	for _, c := range m.children {
		if resets, _ := d.methodOf(c.mod.named, "Reset"); resets != nil && !c.reset {
			return fail(c.name)
		}
	}
	return nil
}

// output returns the ports of a method of m, translating it on first use.
func (d *designer) output(m *module, n ast.Node, fn *types.Func) *output {
	for _, o := range m.outputs {
		if o.name == fn.Name() {
			return o
		}
	}
	o := &output{name: fn.Name()}
	e := &elab{d: d, l: d.l, m: m, p: m.out, phase: phaseOut}
	vals := e.call(n, fn, m.cur, nil, false)
	res := fn.Signature().Results()
	for i := range res.Len() {
		path := fn.Name()
		if name := res.At(i).Name(); name != "" {
			path = join(path, name)
		} else if res.Len() > 1 {
			path = join(path, fmt.Sprint(i))
		}
		v := e.must(d.l.build(res.At(i).Type(), path, n.Pos(), 0, maker{leaf: func(f field) *expr {
			port := &variable{name: m.namer.fresh(f.path), width: d.portWidth(m, f), kind: kindOutput}
			o.ports, o.paths = append(o.ports, port), append(o.paths, f.path)
			return port.ref()
		}}))
		o.results = append(o.results, v)
	}
	e.p.at = fn.Pos()
	e.assignPorts(n, o.results, vals)
	m.outputs = append(m.outputs, o)
	return o
}

// assignPorts drives output ports.
func (e *elab) assignPorts(n ast.Node, ports, vals []*value) {
	for i, p := range ports {
		xs := vals[i].scalars()
		for j, port := range p.scalars() {
			e.store(n, port.root(), xs[j])
		}
	}
}
