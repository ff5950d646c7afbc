package verilog

import (
	"go/token"
	"maps"
	"math/bits"
)

// A process is an always @* block under construction.
type process struct {
	body   []stmt
	locals []*variable
	namer  *namer
	at     token.Pos // the Go statement that new statements come from

	used   map[*variable]int   // significant bits of a variable at this point, where known
	copies map[*variable]*expr // the constant or variable that a variable equals at this point
	atMost map[pair]bool       // the first is at most the second at this point
}

// pair is a pair of compared variables.
type pair [2]*variable

func newProcess(n *namer) *process {
	return &process{namer: n, used: map[*variable]int{}, copies: map[*variable]*expr{}, atMost: map[pair]bool{}}
}

// local returns a fresh variable of w bits.
func (p *process) local(name string, w int) *variable {
	v := &variable{name: p.namer.fresh(name), width: w}
	p.locals = append(p.locals, v)
	return v
}

// hold returns a new variable with the value of e. It has no bits for zeros above.
func (p *process) hold(name string, e *expr) *expr {
	if e.op == opZext {
		return zext(p.hold(name, e.args[0]), e.width)
	}
	v := p.local(name, e.width)
	p.set(v, e)
	v.stable = true
	return v.ref()
}

// set assigns e, truncated to the width of v.
func (p *process) set(v *variable, e *expr) {
	if e.width > v.width {
		e = p.trunc(e, v.width)
	}
	if e.op == opVar && e.v == v {
		return
	}
	p.used[v] = p.bits(e)
	for c, x := range p.copies {
		if x.v == v {
			delete(p.copies, c)
		}
	}
	delete(p.copies, v)
	for c := range p.atMost {
		if c[0] == v || c[1] == v {
			delete(p.atMost, c)
		}
	}
	if e.op == opConst || e.op == opVar {
		p.copies[v] = e
	}
	p.body = append(p.body, &assign{v, e, p.at})
}

// origin returns the expression that e is a copy of, or e.
func (p *process) origin(e *expr) *expr {
	if e.op == opZext {
		return zext(p.origin(e.args[0]), e.width)
	}
	if e.op == opVar && p.copies[e.v] != nil {
		return p.copies[e.v]
	}
	return e
}

// inside runs f with an empty body and returns the statements that f appended.
func (p *process) inside(f func()) []stmt {
	outer := p.body
	p.body = nil
	f()
	body := p.body
	p.body = outer
	return body
}

// branches runs each alternative from the same state and keeps the knowledge that
// all of them share.
func (p *process) branches(alts ...func()) [][]stmt {
	start, copies, atMost := p.used, p.copies, p.atMost
	join := map[*variable]int{}
	var agreed map[*variable]*expr
	var ordered map[pair]bool
	var bodies [][]stmt
	for i, f := range alts {
		p.used, p.copies = maps.Clone(start), maps.Clone(copies)
		p.atMost = maps.Clone(atMost)
		bodies = append(bodies, p.inside(f))
		agreed = common(agreed, p.copies)
		ordered = intersect(ordered, p.atMost)
		for v, n := range p.used {
			if i == 0 {
				join[v] = n
			} else if m, ok := join[v]; ok {
				join[v] = max(m, n)
			}
		}
		for v := range join {
			if _, ok := p.used[v]; !ok {
				delete(join, v)
			}
		}
	}
	p.used, p.copies, p.atMost = join, agreed, ordered
	return bodies
}

// intersect returns the pairs that are in x and y. A nil x contains every pair.
func intersect(x, y map[pair]bool) map[pair]bool {
	if x == nil {
		return y
	}
	maps.DeleteFunc(x, func(p pair, _ bool) bool { return !y[p] })
	return x
}

// common returns the entries that are equal in x and y. A nil x contains every
// entry.
func common(x, y map[*variable]*expr) map[*variable]*expr {
	if x == nil {
		return y
	}
	for v, e := range x {
		if o := y[v]; o == nil || !same(o, e) {
			delete(x, v)
		}
	}
	return x
}

// branch appends an if.
func (p *process) branch(cond *expr, yes, no func()) {
	at := p.at
	b := p.branches(
		func() { p.refine(cond, true); yes() },
		func() { p.refine(cond, false); no() })
	switch {
	case len(b[0]) == 0 && len(b[1]) == 0:
	case len(b[0]) == 0:
		p.body = append(p.body, &ifStmt{not(cond), b[1], nil, at})
	default:
		p.body = append(p.body, &ifStmt{cond, b[0], b[1], at})
	}
}

// bits returns an upper bound of the number of significant bits of e.
func (p *process) bits(e *expr) int {
	arg := func(i int) int { return p.bits(e.args[i]) }
	n := e.width
	switch e.op {
	case opConst:
		n = bits.Len64(e.val)
	case opVar:
		if u, ok := p.used[e.v]; ok {
			n = u
		}
	case opSlice:
		if u, ok := p.used[e.v]; ok {
			n = max(u-e.lo, 0)
		}
	case opZext:
		n = arg(0)
	case opAdd:
		n = max(arg(0), arg(1)) + 1
	case opSub:
		n = p.bitsSub(e)
	case opMul:
		n = arg(0) + arg(1)
	case opAnd:
		n = min(arg(0), arg(1))
	case opOr, opXor:
		n = max(arg(0), arg(1))
	case opShl:
		if e.args[1].isConst() {
			n = arg(0) + int(min(e.args[1].val, 64))
		}
	case opShr:
		n = arg(0)
		if e.args[1].isConst() {
			n = max(n-int(min(e.args[1].val, 64)), 0)
		}
	case opMux:
		n = max(arg(1), arg(2))
	}
	return min(n, e.width)
}

// bitsSub bounds a difference whose subtrahend cannot exceed the minuend.
func (p *process) bitsSub(e *expr) int {
	x, y := e.args[0], e.args[1]
	v, w := p.origin(x).root(), p.origin(y).root()
	switch {
	case x.isConst() && lowMask(p.bits(y)) <= x.val:
		return bits.Len64(x.val)
	case v != nil && w != nil && p.atMost[pair{w, v}]:
		return p.bits(x)
	}
	return e.width
}

// refine records the bounds that a condition implies for its variables.
func (p *process) refine(c *expr, truth bool) {
	switch c.op {
	case opNot:
		p.refine(c.args[0], !truth)
	case opLAnd, opLOr:
		if truth == (c.op == opLAnd) {
			p.refine(c.args[0], truth)
			p.refine(c.args[1], truth)
		}
	case opLt, opLe:
		small, large := p.origin(c.args[0]), p.origin(c.args[1])
		if !truth {
			small, large = large, small
		}
		if v := small.root(); v != nil {
			n := p.bits(large)
			if strict := (c.op == opLt) == truth; strict && large.isConst() && large.val > 0 {
				n = bits.Len64(large.val - 1)
			}
			p.used[v] = min(p.bits(small), n)
			if w := large.root(); w != nil {
				p.atMost[pair{v, w}] = true
			}
		}
	case opEq, opNe:
		if v := c.args[0].root(); truth == (c.op == opEq) && v != nil {
			p.used[v] = min(p.bits(c.args[0]), p.bits(c.args[1]))
		}
	}
}

// trunc returns the low w bits of e.
func (p *process) trunc(e *expr, w int) *expr {
	if w >= e.width {
		return zext(e, w)
	}
	args := func(n int) *expr {
		out := &expr{op: e.op, width: w, args: make([]*expr, len(e.args))}
		copy(out.args, e.args)
		for i := range e.args {
			if i < n || e.op == opMux && i > 0 {
				out.args[i] = p.trunc(e.args[i], w)
			}
		}
		return out
	}
	switch e.op {
	case opConst:
		return e.resized(w)
	case opVar, opSlice:
		return &expr{op: opSlice, width: w, v: e.v, lo: e.lo}
	case opZext:
		if w <= e.args[0].width {
			return p.trunc(e.args[0], w)
		}
		return zext(e.args[0], w)
	case opAdd, opSub, opMul, opAnd, opOr, opXor:
		x := args(2)
		return binary(e.op, x.args[0], x.args[1])
	case opNot:
		return not(args(1).args[0])
	case opShl:
		x := args(1)
		return binary(opShl, x.args[0], x.args[1])
	case opMux:
		return args(0)
	case opShr:
		if s := p.field(e, w); s != nil {
			return s
		}
	}
	return p.trunc(p.hold("t", e), w)
}

// field returns the low w bits of a constant shift of a variable as a bit
// selection, or nil.
func (p *process) field(e *expr, w int) *expr {
	x, by := e.args[0], e.args[1]
	if x.op != opVar && x.op != opSlice || !by.isConst() {
		return nil
	}
	n := min(w, x.width-int(by.val))
	return zext(&expr{op: opSlice, width: n, v: x.v, lo: x.lo + int(by.val)}, w)
}

// prune drops assignments to locals that are never read, and statements that
// become empty.
func (p *process) prune() {
	for {
		read := map[*variable]bool{}
		readsOf(p.body, func(v *variable) { read[v] = true })
		before := count(p.body)
		p.body = pruned(p.body, func(v *variable) bool { return v.kind == kindLocal && !read[v] })
		if count(p.body) == before {
			break
		}
	}
	kept := map[*variable]bool{}
	writesOf(p.body, func(v *variable) { kept[v] = true })
	var locals []*variable
	for _, v := range p.locals {
		if kept[v] {
			locals = append(locals, v)
		}
	}
	p.locals = locals
}

// defaults returns the locals that are not always assigned before the first
// branch, in order. They need a default value to avoid latches.
func (p *process) defaults() []*variable {
	first := map[*variable]bool{} // first assigned at the outer level
	seen := map[*variable]bool{}
	for _, s := range p.body {
		if a, ok := s.(*assign); ok && !seen[a.v] {
			first[a.v] = true
		}
		writesOf([]stmt{s}, func(v *variable) { seen[v] = true })
	}
	var out []*variable
	for _, v := range p.locals {
		if !first[v] {
			out = append(out, v)
		}
	}
	return out
}
