package verilog

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// evalCall translates a conversion, a built-in or a call and returns its results.
// effect reports whether it may change registers.
func (e *elab) evalCall(c *ast.CallExpr, effect bool) []*value {
	fun := ast.Unparen(c.Fun)
	if tv := e.l.info.Types[fun]; tv.IsType() {
		defer func(was bool) { e.nap = was }(e.nap)
		e.nap = subset.IsNap(tv.Type) && e.d.sleeps(e.m)
		return []*value{e.convert(c, tv.Type, e.eval(c.Args[0]))}
	}
	if fn, x := subset.Method(e.l.info, c); fn != nil {
		return e.methodCall(c, fn, x, effect)
	}
	var id *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		e.fail(c, subset.CodeCall, "a call of a function value", "call a function by its name")
	}
	switch obj := e.l.info.Uses[id].(type) {
	case *types.Builtin:
		return []*value{e.builtin(c, obj.Name())}
	case *types.Func:
		if subset.IsAssert(obj) {
			return nil
		}
		if subset.IsAsleep(obj) && e.nap {
			e.nap = false
			return []*value{e.eval(c.Args[0])}
		}
		if subset.IsAsleep(obj) {
			return []*value{{t: types.Typ[types.Bool], e: konst(1, 0)}}
		}
		if obj.Pkg().Path() == "math/bits" && strings.HasPrefix(obj.Name(), "OnesCount") {
			return []*value{e.onesCount(c)}
		}
		return e.call(c, obj, nil, e.args(c), effect)
	}
	e.fail(c, subset.CodeCall, "a call of a function value", "call a function by its name")
	return nil
}

// args evaluates the arguments of a call.
func (e *elab) args(c *ast.CallExpr) []*value {
	if len(c.Args) == 1 {
		if in, ok := ast.Unparen(c.Args[0]).(*ast.CallExpr); ok {
			if _, tuple := e.l.info.TypeOf(in).(*types.Tuple); tuple {
				return e.evalCall(in, false)
			}
		}
	}
	var vs []*value
	for _, a := range c.Args {
		vs = append(vs, e.eval(a))
	}
	return vs
}

// convert translates T(v).
func (e *elab) convert(n ast.Node, t types.Type, v *value) *value {
	if v.e == nil {
		out := *v
		out.t = t
		return &out
	}
	w, ok := subset.Width(t)
	switch {
	case !ok:
		panic(bail{e.l.checkType(n.Pos(), t)})
	case subset.IsInt(t) && !subset.IsInt(v.t) && !v.e.isConst():
		e.intFail(n)
	case w < v.e.width:
		return &value{t: t, e: e.p.trunc(v.e, w)}
	}
	return &value{t: t, e: zext(v.e, w)}
}

// builtin translates min, max and len of an array.
func (e *elab) builtin(c *ast.CallExpr, name string) *value {
	if name != "min" && name != "max" {
		e.fail(c, subset.CodeCall, fmt.Sprintf("%s is not in hardware", name), "use min, max and constants")
	}
	out := e.eval(c.Args[0])
	e.number(c, out)
	for _, a := range c.Args[1:] {
		x, y := out.e, e.eval(a).e
		if subset.IsInt(out.t) && (!x.isConst() || !y.isConst() || int64(x.val|y.val) < 0) {
			e.intFail(c)
		}
		less := binary(opLt, x, y)
		if name == "max" {
			less = binary(opLt, y, x)
		}
		out = &value{t: e.l.info.TypeOf(c), e: mux(less, x, y)}
	}
	return out
}

// onesCount translates math/bits.OnesCount, whose int result must be converted at
// once.
func (e *elab) onesCount(c *ast.CallExpr) *value {
	x := e.eval(c.Args[0]).e
	if !x.trivial() {
		x = e.p.hold(e.name("bits"), x)
	}
	sum := konst(8, 0)
	for i := range x.width {
		bit := binary(opAnd, binary(opShr, x, konst(8, uint64(i))), konst(x.width, 1))
		sum = binary(opAdd, sum, e.p.trunc(zext(bit, max(x.width, 8)), 8))
	}
	return &value{t: types.Typ[types.Int], e: zext(sum, 64)}
}

// methodCall translates a call of a method, of an instance or inlined.
func (e *elab) methodCall(c *ast.CallExpr, fn *types.Func, x ast.Expr, effect bool) []*value {
	if types.IsInterface(fn.Signature().Recv().Type()) {
		e.fail(c, subset.CodeCall, "a call through an interface", "call a method of a concrete type")
	}
	r := e.refOf(x)
	recv := r.alts[0]
	s := e.l.info.Selections[ast.Unparen(c.Fun).(*ast.SelectorExpr)]
	for _, i := range s.Index()[:len(s.Index())-1] {
		recv = recv.sub[i] // of an embedded field
	}
	switch {
	case r.idx != nil && subset.ByPointer(fn):
		e.fail(c, subset.CodeArray, "a method of an element with a variable index", "copy the element to a local variable")
	case r.idx != nil:
		recv = e.read(x, r)
	case recv.child != nil:
		return e.childCall(c, recv.child, fn)
	case recv.prim != nil || recv.zero:
		return e.primCall(c, recv, fn)
	case recv.unticked && fn.Name() == "Reset":
		return nil // never ticked: its registers keep their values from New
	}
	return e.call(c, fn, recv, e.args(c), effect)
}

// childCall translates a call of a method of an instance of a module.
func (e *elab) childCall(c *ast.CallExpr, ch *child, fn *types.Func) []*value {
	switch {
	case fn.Name() == "Tick":
		if e.phase != phaseTick || e.depth > 0 || ch.ticked {
			e.tickFail(c, ch.name)
		}
		args := &value{sub: e.args(c)}
		vals := args.scalars()
		for i, pin := range ch.pins {
			e.store(c, pin, vals[i])
		}
		ch.ticked = true
		return nil
	case fn.Name() == "Reset" && e.phase == phaseReset:
		ch.reset = true
		return nil
	case fn.Name() == "Reset" || fn.Signature().Params().Len() > 0 || subset.ByPointer(fn) && e.d.impure(fn):
		e.fail(c, subset.CodeChild, fmt.Sprintf("%s of an instance of a module", fn.Name()),
			"call only Tick and methods without parameters, and Reset in Reset")
	case ch.ticked && e.phase == phaseTick:
		e.orderFail(c, ch.name)
	}
	return e.m.wiresOf(ch, e.d.output(ch.mod, c, fn))
}

func (e *elab) tickFail(n ast.Node, name string) {
	if e.first && e.phase == phaseTick {
		return
	}
	e.fail(n, subset.CodeTick, fmt.Sprintf("%s is ticked under a condition or twice", name),
		"call its Tick once in each clock, with idle inputs when there is nothing to do")
}

func (e *elab) orderFail(n ast.Node, name string) {
	e.fail(n, subset.CodeChild, fmt.Sprintf("%s is read after its tick", name), "read its outputs before any Tick")
}

// primCall translates a call of a method of a memory or FIFO.
func (e *elab) primCall(c *ast.CallExpr, v *value, fn *types.Func) []*value {
	p, name := v.prim, fn.Name()
	if p == nil {
		e.fail(c, subset.CodeMemory, "a memory that was not made by New", "make it in New and keep it in its field")
	}
	switch name {
	case "Tick":
		e.primTick(c, v)
		return nil
	case "Reset":
		e.primReset(c, v)
		return nil
	case "Out", "Empty", "Full":
	default:
		e.fail(c, subset.CodeMemory, fmt.Sprintf("%s is for tests", name), "read a memory through its port")
	}
	if p.ticked && e.phase == phaseTick {
		e.orderFail(c, p.name)
	}
	if p.fifo && name == "Out" && p.reset && e.phase != phaseOut {
		e.fail(c, subset.CodeChild, fmt.Sprintf("%s is read when it may have been reset in this clock", p.name), "read it first")
	}
	if !p.fifo {
		return []*value{{t: types.Typ[types.Uint64], e: zext(p.head.ref(), wordBits)}}
	}
	return e.fifoRead(p, v, fn)
}

// fifoRead translates the output methods of a FIFO.
func (e *elab) fifoRead(p *primitive, v *value, fn *types.Func) []*value {
	flag := func(x *expr) *value { return &value{t: types.Typ[types.Bool], e: x} }
	cleared := boolean(false)
	if p.reset && e.phase != phaseOut {
		cleared = v.clear[0].ref()
	}
	empty := binary(opLOr, cleared, binary(opEq, p.count.ref(), konst(p.count.width, 0)))
	full := binary(opLAnd, not(cleared), binary(opEq, p.count.ref(), konst(p.count.width, uint64(p.words))))
	switch fn.Name() {
	case "Empty":
		return []*value{flag(empty)}
	case "Full":
		return []*value{flag(full)}
	}
	return []*value{p.elem, flag(not(empty)), flag(not(full))}
}

// primTick translates the tick of a memory or FIFO.
func (e *elab) primTick(c *ast.CallExpr, v *value) {
	p := v.prim
	if e.phase != phaseTick || e.depth > 0 || p.ticked || v.clear != p.clear {
		e.tickFail(c, p.name)
	}
	args := e.args(c)
	p.ticked = true
	if !p.fifo {
		for i, pin := range p.pins {
			e.p.set(pin, e.p.trunc(args[i].e, pin.width))
		}
		return
	}
	e.store(c, p.pins[0], args[0].e)
	e.store(c, p.pins[1], args[2].e)
	for i, x := range args[1].scalars() {
		e.store(c, p.data[i], x)
	}
}

// primReset translates the reset of a FIFO. Before its tick it takes effect
// first, after it last.
func (e *elab) primReset(c *ast.CallExpr, v *value) {
	switch {
	case e.phase == phaseOut:
		e.fail(c, subset.CodeEffect, "an output method resets a queue", "reset it in Tick or Reset")
	case v.prim.ticked && e.phase == phaseTick:
		e.p.set(v.clear[1], konst(1, 1))
	default:
		e.p.set(v.clear[0], konst(1, 1))
		v.prim.reset = true
	}
}

// wiresOf returns the results of an output of a child as the parent sees them.
func (m *module) wiresOf(c *child, o *output) []*value {
	if vs, ok := c.method[o.name]; ok {
		return vs
	}
	swap := map[*variable]*variable{}
	for _, port := range o.ports {
		w := m.wire(c, port)
		swap[port] = w
	}
	var vs []*value
	for _, r := range o.results {
		vs = append(vs, swapped(r, swap))
	}
	c.method[o.name] = vs
	return vs
}

// wire returns the wire on an output of a child.
func (m *module) wire(c *child, port *variable) *variable {
	w := c.wires[port.name]
	if w == nil {
		w = &variable{name: m.namer.fresh(c.name + "_" + port.name), width: port.width, kind: kindWire, stable: true}
		c.wires[port.name] = w
	}
	return w
}

func swapped(v *value, swap map[*variable]*variable) *value {
	out := *v
	out.sub = slices.Clone(v.sub)
	for i, s := range out.sub {
		out.sub[i] = swapped(s, swap)
	}
	if v.e != nil {
		out.e = zext(swap[v.e.root()].ref(), v.e.width)
	}
	return &out
}
