package verilog

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"math/bits"
	"reflect"
	"strconv"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// A module is one Verilog module: a Go type and its parameters.
type module struct {
	name  string
	key   string
	named *types.Named
	live  reflect.Value
	namer *namer

	regs     []*register
	params   []string          // what else distinguishes the module from others of its type, in order
	scalars  map[string]uint64 // values of the fields that nothing changes, by path
	generics []*generic
	prims    []*primitive
	children []*child
	symbols  map[*types.Const]*symbol
	inputs   []*variable
	inputGo  []string // Go path of each input
	outputs  []*output

	cur  *value // registers before the clock
	next *value // registers after the clock
	out  *process
	tick *process
}

// A register is a scalar of the module's state.
type register struct {
	field
	cur, next *variable
	strobe    *variable // set in a clock that assigns it, nil if every clock does
	data      *variable // the assigned value: next, or a copy of it if next is read
	reset     uint64
	sym       *symbol // of the value after Reset, or of the initial value if Reset keeps it
	keeps     bool    // not changed by Reset
	initial   uint64
}

// value returns the value of r after Reset, or its initial value if Reset keeps it.
func (r *register) value() *expr {
	if r.keeps {
		return named(konst(r.cur.width, r.initial), r.sym)
	}
	return named(konst(r.cur.width, r.reset), r.sym)
}

// A primitive is an instance of a type of package hdl.
type primitive struct {
	named  *types.Named
	name   string
	path   string
	pos    token.Pos // of the field
	fifo   bool
	single bool // of a RAM: one port
	rom    *rom // nil if it can be written
	words  int
	elem   *value // of a FIFO: the head, fields of the wire head
	width  int    // of an element, bits

	pins   []*variable  // inputs: of a FIFO push, pop; of a RAM read, raddr, enable, waddr, data; of a ROM read, addr
	data   []*variable  // inputs: the fields of a FIFO's pushed value
	clear  [2]*variable // of a FIFO: reset before and after its tick
	head   *variable    // of a FIFO: the head; of a RAM or ROM: the word read last
	count  *variable    // of a FIFO
	ticked bool
	reset  bool // of a FIFO: may have been reset before its tick
}

// addrBits is the width of an address.
func (p *primitive) addrBits() int { return max(bits.Len(uint(p.words-1)), 1) }

// registers returns the names of the registers that are not storage.
func (p *primitive) registers() []string {
	if p.fifo {
		return []string{"first", "count"}
	}
	return []string{"q"}
}

// A child is an instance of another module.
type child struct {
	path   string
	name   string
	mod    *module
	pins   []*variable          // its inputs, in order
	wires  map[string]*variable // its outputs, by name
	values []uint64             // of its generics
	method map[string][]*value
	ticked bool
	reset  bool
}

// An output is a method of a module and the ports of its results.
type output struct {
	name    string
	results []*value
	ports   []*variable
	paths   []string // of the ports, Go
}

// plan is the result of a pass, for the next pass.
type plan struct {
	written map[string]bool // registers that change, by path
	ticked  map[string]bool // instances that are ticked, by field
	generic int             // types whose modules have been compared
}

// equal reports whether a pass found nothing beyond its plan, which is nil in the
// first pass.
func (p *plan) equal(last *plan) bool {
	return last != nil && p.generic == last.generic && maps.Equal(p.written, last.written) && maps.Equal(p.ticked, last.ticked)
}

// state builds the registers and instances of m. Without a plan it builds every
// instance, and makes every scalar except an int a register.
func (d *designer) state(m *module, pl *plan) *Error {
	var err *Error
	wires := map[string]*expr{}
	mk := maker{}
	mk.leaf = func(f field) *expr {
		if pl != nil && subset.IsNap(f.t) && !d.sleeps(m) {
			if pl.written[f.path] {
				err = d.l.fail(f.pos, subset.CodeType, "an hdl.Nap that is not always false in hardware", "assign hdl.Nap(hdl.Asleep(...)) to it and nothing else")
			}
			return konst(f.w, 0)
		}
		f.w = f.bits()
		live := liveBits(livePath(m.live, f.path))
		if subset.IsInt(f.t) || pl != nil && !pl.written[f.path] {
			if pl != nil && d.generic[m.named][f.path] {
				g := &generic{field: f, value: live}
				g.v = &variable{name: m.namer.fresh(f.path), width: f.w, kind: kindParam, stable: true}
				m.generics = append(m.generics, g)
				return g.v.ref()
			}
			m.scalars[f.path] = live
			return konst(f.w, live)
		}
		name := m.namer.fresh(f.path)
		r := &register{field: f, initial: live}
		r.cur = &variable{name: name, width: f.w, kind: kindReg, stable: true, path: f.path}
		r.next = &variable{name: m.namer.fresh("n_" + name), width: f.w, kind: kindNext, path: f.path}
		m.regs = append(m.regs, r)
		wires[f.path] = r.next.ref()
		return r.cur.ref()
	}
	mk.inst = func(t types.Type, path string, pos token.Pos) (*value, *Error) {
		t = types.Unalias(t)
		switch {
		case subset.IsPrimitive(t):
			return d.primitive(m, t, path, pos)
		case path != "" && subset.IsInstance(t, m.named.Obj().Pkg()):
			return d.child(m, t.(*types.Named), path, pos, pl)
		}
		return nil, nil
	}
	cur, bad := d.l.build(m.named, "", m.named.Obj().Pos(), 0, mk)
	if bad != nil {
		return bad
	}
	m.cur, m.next = cur, afterClock(cur, wires)
	return err
}

// afterClock returns the tree of v with the values of the registers after the clock.
func afterClock(v *value, next map[string]*expr) *value {
	if v.prim != nil || v.child != nil || v.unticked {
		return v
	}
	out := *v
	if v.sub != nil {
		out.sub = make([]*value, len(v.sub))
		for i, s := range v.sub {
			out.sub[i] = afterClock(s, next)
		}
	}
	if v.e != nil && v.e.root() != nil && v.e.root().kind == kindReg {
		out.e = zext(next[v.e.root().path], v.e.width)
	}
	return &out
}

// child makes the instance of a field, or constants if the instance is never
// ticked.
func (d *designer) child(m *module, t *types.Named, path string, pos token.Pos, pl *plan) (*value, *Error) {
	live := livePath(m.live, path)
	if pl != nil && !pl.ticked[path] {
		v, err := d.l.build(t, "", pos, 0, maker{leaf: func(f field) *expr {
			bits := liveBits(livePath(live, f.path))
			m.params = append(m.params, fmt.Sprintf("%s.%s=%d", path, f.path, bits))
			return konst(f.w, bits)
		}})
		if err == nil {
			v.unticked = true
			m.params = append(m.params, path+" is not ticked")
		}
		return v, err
	}
	mod, err := d.module(t, live, pl != nil)
	if err != nil {
		return nil, err
	}
	c := &child{path: path, name: m.namer.fresh(path), mod: mod, wires: map[string]*variable{}, method: map[string][]*value{}}
	for _, g := range mod.generics {
		v := liveBits(livePath(live, g.path))
		c.values = append(c.values, v)
		m.params = append(m.params, fmt.Sprintf("%s.%s=%d", path, g.path, v))
	}
	for _, in := range mod.inputs {
		c.pins = append(c.pins, &variable{name: m.namer.fresh(c.name + "_" + in.name), width: in.width, kind: kindPin})
	}
	m.children = append(m.children, c)
	m.params = append(m.params, path+" is "+mod.key)
	return &value{t: t, child: c}, nil
}

// primitive makes the instance of a memory.
func (d *designer) primitive(m *module, t types.Type, path string, pos token.Pos) (*value, *Error) {
	n := t.(*types.Named)
	p := &primitive{named: n, name: m.namer.fresh(path), path: path, pos: pos}
	pin := func(name string, w int) *variable {
		v := &variable{name: m.namer.fresh(p.name + "_" + name), width: w, kind: kindPin}
		p.pins = append(p.pins, v)
		return v
	}
	wire := func(name string, w int) *variable {
		return &variable{name: m.namer.fresh(p.name + "_" + name), width: w, kind: kindWire, stable: true}
	}
	switch n.Obj().Name() {
	case "RAM":
		p.words, p.width = livePath(m.live, path+".words").Len(), int(livePath(m.live, path+".width").Int())
		p.single = livePath(m.live, path+".single").Bool()
		a := p.addrBits()
		pin("read", 1)
		pin("raddr", a)
		pin("enable", p.width/8)
		pin("waddr", a)
		pin("data", p.width)
		p.head = wire("q", p.width)
	case "ROM":
		p.words, p.width = livePath(m.live, path+".words").Len(), int(livePath(m.live, path+".width").Int())
		p.rom = d.romOf(p.width, livePath(m.live, path+".words"))
		pin("read", 1)
		pin("addr", p.addrBits())
		p.head = wire("q", p.width)
	case "FIFO":
		p.fifo, p.words = true, livePath(m.live, path+".slots").Len()
		for i := range p.clear {
			p.clear[i] = &variable{name: m.namer.fresh(p.name + "_clear" + strconv.Itoa(i)), width: 1, kind: kindPin}
		}
		pin("push", 1)
		pin("pop", 1)
		if err := d.queue(m, p, n.TypeArgs().At(0), pos, wire); err != nil {
			return nil, err
		}
	default:
		return nil, d.l.fail(pos, subset.CodeMemory, "no primitive "+n.Obj().Name(), "use hdl.RAM, hdl.ROM or hdl.FIFO")
	}
	m.prims = append(m.prims, p)
	m.params = append(m.params, fmt.Sprintf("%s is a %s of %d words of %d bits", path, p.kind(), p.words, p.width))
	return &value{t: t, prim: p, clear: p.clear}, nil
}

// queue makes the data pins and the head of a FIFO of elements of type t.
func (d *designer) queue(m *module, p *primitive, t types.Type, pos token.Pos, wire func(string, int) *variable) *Error {
	p.head = &variable{kind: kindWire, stable: true}
	v, err := d.l.build(t, "data", pos, 0, maker{leaf: func(f field) *expr {
		p.data = append(p.data, &variable{name: m.namer.fresh(p.name + "_" + f.path), width: f.w, kind: kindPin})
		e := &expr{op: opSlice, width: f.bits(), v: p.head, lo: p.width}
		p.width += f.w
		return e
	}})
	if err != nil {
		return err
	}
	p.elem = v
	h := wire("head", p.width)
	p.head.name, p.head.width = h.name, h.width
	p.count = wire("count", p.addrBits()+1)
	return nil
}
