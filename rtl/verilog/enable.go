package verilog

import (
	"go/ast"
	"go/types"
)

// sleeps reports whether m has its sleep condition as a clock enable, so that its fields
// of the type hdl.Nap are registers.
func (d *designer) sleeps(m *module) bool {
	_, decl := d.methodOf(m.named, "Sleeps")
	return d.enables && m.named != d.top && decl != nil
}

// clock translates Tick, whose arguments are ins. With clock enables it is skipped if
// Sleeps is true: no register changes, and no memory is read or written.
func (e *elab) clock(decl *ast.FuncDecl, tick *types.Func, ins []*value) {
	body := func() { e.call(decl, tick, e.m.next, ins, true) }
	if !e.d.sleeps(e.m) {
		body()
		return
	}
	sleeps, of := e.d.methodOf(e.m.named, "Sleeps")
	var args []*value
	for p := range sleeps.Signature().Params().Variables() {
		for i := range tick.Signature().Params().Len() {
			if tick.Signature().Params().At(i).Name() == p.Name() {
				args = append(args, ins[i])
			}
		}
	}
	for _, p := range e.m.prims {
		for _, pin := range p.pins {
			e.p.set(pin, konst(pin.width, 0))
		}
	}
	asleep := e.p.hold("asleep", e.call(of, sleeps, e.m.next, args, false)[0].e)
	e.p.branch(not(asleep), body, func() {})
}
