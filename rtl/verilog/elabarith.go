package verilog

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// comparison returns the opcode of a comparison. The operands of > and >= are
// exchanged.
func comparison(op token.Token) (opcode, bool) {
	switch op {
	case token.EQL:
		return opEq, true
	case token.NEQ:
		return opNe, true
	case token.LSS, token.GTR:
		return opLt, true
	case token.LEQ, token.GEQ:
		return opLe, true
	}
	return 0, false
}

func (e *elab) binaryExpr(x *ast.BinaryExpr) *value {
	t := e.l.info.TypeOf(x)
	a := e.eval(x.X)
	if x.Op == token.LAND || x.Op == token.LOR {
		if a.e.isConst() && (a.e.val == 0) == (x.Op == token.LAND) {
			return &value{t: t, e: a.e}
		}
		op := opLAnd
		if x.Op == token.LOR {
			op = opLOr
		}
		return &value{t: t, e: binary(op, a.e, e.eval(x.Y).e)}
	}
	if x.Op == token.SHL || x.Op == token.SHR {
		e.shiftCount(x.Y)
	}
	b := e.eval(x.Y)
	if op, ok := comparison(x.Op); ok {
		return &value{t: t, e: e.compare(x, op, a, b)}
	}
	return e.arith(x, x.Op, t, a, b)
}

// shiftCount fails if a shift count is a conversion to a signed type.
func (e *elab) shiftCount(x ast.Expr) {
	c, ok := ast.Unparen(x).(*ast.CallExpr)
	if ok && e.l.info.Types[c].Value == nil && e.l.info.Types[c.Fun].IsType() && subset.IsInt(e.l.info.TypeOf(c)) {
		e.fail(x, subset.CodeShift, "a shift by a signed value", "convert the count to uint8")
	}
}

// compare translates a comparison; structs and arrays are equal if all of their
// scalars are.
func (e *elab) compare(x *ast.BinaryExpr, op opcode, a, b *value) *expr {
	if a.e == nil {
		if a.sub == nil || a.child != nil || a.prim != nil || a.unticked {
			e.fail(x, subset.CodeMemory, "a comparison of instances", "compare their outputs")
		}
		eq := boolean(true)
		bs := b.scalars()
		for i, s := range a.scalars() {
			eq = binary(opLAnd, eq, binary(opEq, s, bs[i]))
		}
		if op == opNe {
			eq = not(eq)
		}
		return eq
	}
	if subset.IsInt(a.t) || subset.IsInt(b.t) {
		if !a.e.isConst() || !b.e.isConst() {
			e.intFail(x)
		}
		return boolean(constant.Compare(constant.MakeInt64(int64(a.e.val)), x.Op, constant.MakeInt64(int64(b.e.val))))
	}
	if x.Op == token.GTR || x.Op == token.GEQ {
		a, b = b, a
	}
	return binary(op, a.e, b.e)
}

// operator returns the opcode of an arithmetic operation.
func operator(op token.Token) (opcode, bool) {
	switch op {
	case token.ADD:
		return opAdd, true
	case token.SUB:
		return opSub, true
	case token.MUL:
		return opMul, true
	case token.AND:
		return opAnd, true
	case token.OR:
		return opOr, true
	case token.XOR:
		return opXor, true
	case token.SHL:
		return opShl, true
	case token.SHR:
		return opShr, true
	}
	return 0, false
}

// arith translates an arithmetic operation of type t.
func (e *elab) arith(n ast.Node, op token.Token, t types.Type, a, b *value) *value {
	e.number(n, a)
	e.number(n, b)
	out := func(x *expr) *value { return &value{t: t, e: x} }
	shift := op == token.SHL || op == token.SHR
	switch {
	case shift && subset.IsInt(b.t) && !b.e.isConst():
		e.fail(n, subset.CodeShift, "a shift by a signed value", "convert the count to uint8")
	case shift && subset.IsInt(b.t) && int64(b.e.val) < 0:
		e.fail(n, subset.CodeShift, "a shift by a negative value", "shift the other way")
	case subset.IsInt(t):
		if !a.e.isConst() || !b.e.isConst() {
			e.intFail(n)
		}
		return out(konst(64, e.intArith(n, op, int64(a.e.val), int64(b.e.val))))
	case op == token.QUO || op == token.REM:
		return out(e.divide(n, op, a.e, b.e))
	case op == token.AND_NOT:
		return out(binary(opAnd, a.e, not(b.e)))
	}
	o, ok := operator(op)
	if !ok {
		e.fail(n, subset.CodeExpr, "an operator that hardware does not have", "use + - * & | ^ &^ << >>")
	}
	return out(binary(o, a.e, b.e))
}

// divide translates a division or remainder by a constant power of two.
func (e *elab) divide(n ast.Node, op token.Token, a, b *expr) *expr {
	k, ok := log2(b.val)
	if !b.isConst() || !ok {
		e.fail(n, subset.CodeDivide, "a division by something other than a constant power of two", "shift and mask, or divide over several clocks")
	}
	if op == token.REM {
		return binary(opAnd, a, konst(a.width, b.val-1))
	}
	return binary(opShr, a, konst(8, uint64(k)))
}

// intArith computes with constants of type int.
func (e *elab) intArith(n ast.Node, op token.Token, a, b int64) uint64 {
	if (op == token.QUO || op == token.REM) && b == 0 {
		e.fail(n, subset.CodeDivide, "a division by zero", "divide by something else")
	}
	switch op {
	case token.SHL:
		return uint64(a << uint64(b))
	case token.SHR:
		return uint64(a >> uint64(b))
	case token.QUO:
		return uint64(a / b)
	case token.REM:
		return uint64(a % b)
	case token.AND_NOT:
		return uint64(a &^ b)
	}
	o, ok := operator(op)
	if !ok {
		e.fail(n, subset.CodeExpr, "an operator that hardware does not have", "use + - * & | ^ &^ << >>")
	}
	return evalBinary(o, 64, uint64(a), uint64(b))
}
