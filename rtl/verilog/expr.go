package verilog

import "math/bits"

// opcode of an expression.
type opcode uint8

const (
	opConst opcode = iota
	opVar
	opSlice // bits lo and up of v
	opZext  // args[0] with zeros above
	opNot
	opAdd
	opSub
	opMul
	opAnd
	opOr
	opXor
	opShl // args[1] has any width
	opShr
	opEq
	opNe
	opLt
	opLe
	opLAnd
	opLOr
	opMux // args[0] ? args[1] : args[2]
	opX   // unused value
)

// An expr is a pure function of variables. Operands have the width of the result,
// except those of comparisons, which agree with each other, and shift counts. So
// Verilog's context never widens anything.
type expr struct {
	op    opcode
	width int     // bits
	val   uint64  // of opConst
	sym   *symbol // of opConst: the Go constant, nil for a number
	v     *variable
	lo    int // of opSlice
	args  []*expr
}

// kind of a variable.
type kind uint8

const (
	kindLocal  kind = iota // assigned in a process
	kindInput              // of the module
	kindOutput             // of the module
	kindParam              // parameter of the module
	kindReg                // value before the clock
	kindNext               // value after the clock, assigned in a process
	kindWire               // driven by an instance
	kindPin                // input of an instance, assigned in a process
)

// A variable is a named signal of a module.
type variable struct {
	name   string
	width  int
	kind   kind
	stable bool    // never changes once it is read
	unset  *symbol // of an enumeration: its value 0
	path   string  // of the register, for kindReg and kindNext
}

func lowMask(w int) uint64 {
	if w >= 64 {
		return ^uint64(0)
	}
	return 1<<w - 1
}

func konst(w int, v uint64) *expr { return &expr{op: opConst, width: w, val: v & lowMask(w)} }

// unknown returns an unused value of w bits.
func unknown(w int) *expr { return &expr{op: opX, width: w} }

func (v *variable) ref() *expr { return &expr{op: opVar, width: v.width, v: v} }

// zero returns the value 0 of v.
func (v *variable) zero() *expr { return named(konst(v.width, 0), v.unset) }

func (e *expr) isConst() bool { return e.op == opConst }

// boolean returns a 1-bit constant.
func boolean(b bool) *expr {
	if b {
		return konst(1, 1)
	}
	return konst(1, 0)
}

// root returns the variable that e reads in full, possibly zero-extended, or nil.
func (e *expr) root() *variable {
	for e.op == opZext {
		e = e.args[0]
	}
	if e.op == opVar {
		return e.v
	}
	return nil
}

// trivial reports whether e can be repeated at no cost.
func (e *expr) trivial() bool {
	switch e.op {
	case opConst, opVar, opSlice:
		return true
	case opZext:
		return e.args[0].trivial()
	}
	return false
}

// stable reports whether no assignment changes e.
func (e *expr) stable() bool {
	if e.v != nil && !e.v.stable {
		return false
	}
	for _, a := range e.args {
		if !a.stable() {
			return false
		}
	}
	return true
}

// reads calls f for each variable that e reads.
func (e *expr) reads(f func(*variable)) {
	if e.v != nil {
		f(e.v)
	}
	for _, a := range e.args {
		a.reads(f)
	}
}

// substitute returns e with its variables replaced by swap.
func (e *expr) substitute(swap func(*variable) *variable) *expr {
	out := *e
	if e.v != nil {
		out.v = swap(e.v)
	}
	out.args = make([]*expr, len(e.args))
	for i, a := range e.args {
		out.args[i] = a.substitute(swap)
	}
	return &out
}

func (e *expr) readsVar(v *variable) bool {
	found := false
	e.reads(func(r *variable) { found = found || r == v })
	return found
}

// same reports whether x and y have the same structure.
func same(x, y *expr) bool {
	if x.op != y.op || x.width != y.width || x.val != y.val || x.v != y.v || x.lo != y.lo || len(x.args) != len(y.args) {
		return false
	}
	for i := range x.args {
		if !same(x.args[i], y.args[i]) {
			return false
		}
	}
	return true
}

// zext returns e zero-extended to w bits.
func zext(e *expr, w int) *expr {
	switch {
	case e.width == w:
		return e
	case e.isConst():
		return e.resized(w)
	case e.op == opZext:
		return &expr{op: opZext, width: w, args: e.args}
	}
	return &expr{op: opZext, width: w, args: []*expr{e}}
}

// binary returns op of x and y, folded where it is a constant.
func binary(op opcode, x, y *expr) *expr {
	w := x.width
	if op >= opEq && op <= opLe {
		x, y = narrow(x, y)
	}
	if op >= opEq && op <= opLOr {
		w = 1
	}
	if x.isConst() && y.isConst() {
		return konst(w, evalBinary(op, x.width, x.val, y.val))
	}
	if e := simplify(op, x, y); e != nil {
		return e
	}
	return &expr{op: op, width: w, args: []*expr{x, y}}
}

// narrow returns two compared values without the zeros that both have above.
func narrow(x, y *expr) (*expr, *expr) {
	n := max(significant(x), significant(y), 1)
	cut := func(e *expr) *expr {
		if e.op == opZext {
			return zext(e.args[0], n)
		}
		return e.resized(n)
	}
	if n == x.width {
		return x, y
	}
	return cut(x), cut(y)
}

// significant returns the bits of e below the zeros that it always has above.
func significant(e *expr) int {
	switch e.op {
	case opConst:
		return bits.Len64(e.val)
	case opZext:
		return e.args[0].width
	}
	return e.width
}

// evalBinary returns op of two values of w bits, before it is truncated.
func evalBinary(op opcode, w int, x, y uint64) uint64 {
	truth := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	switch op {
	case opAdd:
		return x + y
	case opSub:
		return x - y
	case opMul:
		return x * y
	case opAnd, opLAnd:
		return x & y
	case opOr, opLOr:
		return x | y
	case opXor:
		return x ^ y
	case opShl:
		return x << y
	case opShr:
		return x & lowMask(w) >> y
	case opEq:
		return truth(x == y)
	case opNe:
		return truth(x != y)
	case opLt:
		return truth(x < y)
	case opLe:
		return truth(x <= y)
	}
	panic("verilog: not a binary operation")
}

// simplify returns the result of op if one operand decides it, or nil.
func simplify(op opcode, x, y *expr) *expr {
	switch op {
	case opLAnd, opAnd:
		return absorb(x, y, 0, lowMask(x.width))
	case opLOr:
		return absorb(x, y, 1, 0)
	case opOr:
		return absorb(x, y, lowMask(x.width), 0)
	case opAdd, opXor:
		return absorb(x, y, ^uint64(0), 0)
	case opSub, opShl, opShr:
		if y.isConst() && y.val == 0 {
			return x
		}
		if op != opSub && y.isConst() && y.val >= uint64(x.width) {
			return konst(x.width, 0)
		}
	case opLt:
		if x.isConst() && x.val == lowMask(x.width) || y.isConst() && y.val == 0 {
			return boolean(false)
		}
	case opLe:
		if x.isConst() && x.val == 0 || y.isConst() && y.val == lowMask(y.width) {
			return boolean(true)
		}
	case opEq:
		if x.width == 1 && y.isConst() {
			return pick(y.val == 1, x, not(x))
		}
	case opNe:
		if x.width == 1 && y.isConst() {
			return pick(y.val == 0, x, not(x))
		}
	}
	return nil
}

func pick(b bool, x, y *expr) *expr {
	if b {
		return x
	}
	return y
}

// absorb folds a commutative operation. The constant zero gives zero, and the
// constant one gives the other operand.
func absorb(x, y *expr, zero, one uint64) *expr {
	if x.isConst() {
		x, y = y, x
	}
	if !y.isConst() {
		return nil
	}
	if y.val == one {
		return x
	}
	if y.val == zero&lowMask(x.width) && zero != ^uint64(0) {
		return konst(x.width, zero)
	}
	return nil
}

// not returns the complement of x. That of a comparison is the opposite comparison.
func not(x *expr) *expr {
	switch {
	case x.isConst():
		return konst(x.width, ^x.val)
	case x.op == opNot:
		return x.args[0]
	case x.op == opEq:
		return binary(opNe, x.args[0], x.args[1])
	case x.op == opNe:
		return binary(opEq, x.args[0], x.args[1])
	case x.op == opLt:
		return binary(opLe, x.args[1], x.args[0])
	case x.op == opLe:
		return binary(opLt, x.args[1], x.args[0])
	}
	return &expr{op: opNot, width: x.width, args: []*expr{x}}
}

func mux(c, x, y *expr) *expr {
	switch {
	case c.isConst() && c.val != 0:
		return x
	case c.isConst():
		return y
	}
	return &expr{op: opMux, width: x.width, args: []*expr{c, x, y}}
}

// value returns the value of e, given the values of some variables, and false if
// it needs others.
func (e *expr) value(env map[*variable]uint64) (uint64, bool) {
	switch e.op {
	case opConst:
		return e.val, true
	case opVar, opSlice:
		v, ok := env[e.v]
		return v >> e.lo & lowMask(e.width), ok
	}
	var a [3]uint64
	for i, x := range e.args {
		v, ok := x.value(env)
		if !ok {
			return 0, false
		}
		a[i] = v
	}
	switch e.op {
	case opZext:
		return a[0], true
	case opNot:
		return ^a[0] & lowMask(e.width), true
	case opMux:
		if a[0] != 0 {
			return a[1], true
		}
		return a[2], true
	}
	return evalBinary(e.op, e.args[0].width, a[0], a[1]) & lowMask(e.width), true
}

// log2 returns the exponent of a power of two, and false for any other number.
func log2(v uint64) (int, bool) { return bits.TrailingZeros64(v), bits.OnesCount64(v) == 1 }
