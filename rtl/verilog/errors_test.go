package verilog

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// head declares a module of a few registers; a body of Tick follows.
const head = "type Module struct { A, B uint8; C [4]uint8; F bool }\nfunc (m *Module) Tick(a, b uint8, f bool) {\n"

// memory declares a module with a memory; a body of Tick follows.
const memory = "type Module struct { A uint8; Ram hdl.RAM }\nfunc (m *Module) Reset() { m.A = 0 }\n" +
	"func (m *Module) Tick(a uint8, f bool) {\n"

const ramTick = "\tm.Ram.Tick(f, uint32(a)&7, 0, 0, 0)\n"

// table declares a module with a ROM; a body of Tick follows.
const table = "type Module struct { A uint8 `w:\"5\"`; Rom hdl.ROM }\nfunc (m *Module) Reset() { m.A = 0 }\n" +
	"func (m *Module) Tick(a uint8, f bool) {\n"

const romTick = "\tm.Rom.Tick(f, uint32(a)&7)\n"

// queue declares a module with a FIFO; a body of Tick follows.
const queue = "type Module struct { A uint8; Queue hdl.FIFO[uint64] }\nfunc (m *Module) Reset() { m.A = 0; m.Queue.Reset() }\n" +
	"func (m *Module) Tick(a uint8, f bool) {\n"

const queueTick = "\tm.Queue.Tick(f, uint64(a), !f)\n"

// instance declares a module with an instance; a body of Tick follows.
const instance = "type Module struct { A uint8; Arb noc.Reads }\nfunc (m *Module) Reset() { m.A = 0; m.Arb.Reset() }\n" +
	"func (m *Module) Tick(a uint8, f bool) {\n"

var rules = []struct {
	code subset.Code
	name string
	bad  string // with a comment "here" in the line of the error
	good string
}{
	{subset.CodeType, "a pointer in the state", "type Module struct {\n\tP *uint8 // here\n}\nfunc (m *Module) Tick(a uint8) { m.P = nil }", head + "\tm.A = a\n}"},
	{subset.CodeType, "a tree in the state", "type tree struct {\n\tUnder []tree // here\n}\ntype Module struct { T tree; A uint8 }\nfunc (m *Module) Tick(a uint8) { m.A = a }", "type tree struct { Left, Right struct{ A uint8 } }\ntype Module struct { T tree }\nfunc (m *Module) Tick(a uint8) { m.T.Left.A = a }"},
	{subset.CodeType, "a signed number", head + "\tvar x int8 // here\n\t_ = x\n}", head + "\tvar x uint8\n\tm.A = x\n}"},
	{subset.CodeType, "a string", head + "\tx := \"a\" // here\n\t_ = x\n}", head + "\tconst x = \"a\"\n\tm.A = uint8(len(x))\n}"},
	{subset.CodeType, "a slice", head + "\tx := []uint8{a} // here\n\tm.A = x[0]\n}", head + "\tx := [2]uint8{a, b}\n\tm.A = x[1]\n}"},
	{subset.CodeType, "a nap that is a register", "type Module struct {\n\tA uint8\n\tN hdl.Nap // here\n}\nfunc (m *Module) Tick(a uint8, f bool) {\n\tm.A = a\n\tm.N = hdl.Nap(f)\n}", "type Module struct {\n\tA uint8\n\tN hdl.Nap\n}\nfunc (m *Module) Tick(a uint8, f bool) {\n\tif hdl.Asleep(bool(m.N) && !f) {\n\t\treturn\n\t}\n\tm.A = a\n\tm.N = hdl.Nap(hdl.Asleep(!f))\n}"},
	{subset.CodeInt, "an int variable", head + "\tx := 3 // here\n\tif f {\n\t\tx = 4\n\t}\n\tm.A = a << x\n}", head + "\tx := 3\n\tm.A = a << x\n}"},
	{subset.CodeInt, "a conversion to int", head + "\tm.F = int(a) > 3 // here\n}", head + "\tm.F = a > 3\n}"},
	{subset.CodeStmt, "a goroutine", head + "\tgo m.set(a) // here\n}\nfunc (m *Module) set(a uint8) { m.A = a }", head + "\tm.set(a)\n}\nfunc (m *Module) set(a uint8) { m.A = a }"},
	{subset.CodeStmt, "defer", head + "\tdefer m.set(a) // here\n}\nfunc (m *Module) set(a uint8) { m.A = a }", head + "\tif f {\n\t\treturn\n\t}\n\tm.A = a\n}"},
	{subset.CodeStmt, "break", head + "\tfor i := range 4 {\n\t\tif f {\n\t\t\tbreak // here\n\t\t}\n\t\tm.C[i] = a\n\t}\n}", head + "\tfor i := range 4 {\n\t\tm.C[i] = a\n\t}\n}"},
	{subset.CodeStmt, "fallthrough", head + "\tswitch a {\n\tcase 1:\n\t\tfallthrough // here\n\tdefault:\n\t\tm.A = 1\n\t}\n}", head + "\tswitch a {\n\tcase 1, 2:\n\tdefault:\n\t\tm.A = 1\n\t}\n}"},
	{subset.CodeStmt, "an assigned parameter of the module", "type Module struct { A uint8 }\nfunc (m *Module) Tick(a struct{ X [2]uint8 }) {\n\tgoto end // here\nend:\n}", head + "\ta++\n\tm.A = a\n}"},
	{subset.CodeLoop, "a variable bound", head + "\tfor i := uint8(0); i < a; i++ { // here\n\t\tm.A++\n\t}\n}", head + "\tfor i := uint8(0); i < 9; i++ {\n\t\tm.A += i\n\t}\n}"},
	{subset.CodeLoop, "too many iterations", head + "\tfor range 257 { // here\n\t\tm.A++\n\t}\n}", head + "\tfor range 256 {\n\t\tm.A++\n\t}\n}"},
	{subset.CodeLoop, "an endless loop", head + "\tfor { // here\n\t}\n}", head + "\tfor i := 6; i > 0; i -= 2 {\n\t\tm.A += a >> i\n\t}\n}"},
	{subset.CodeRecurse, "recursion", head + "\tm.A = f1(a)\n}\nfunc f1(a uint8) uint8 { return f2(a) }\nfunc f2(a uint8) uint8 {\n\treturn f1(a) // here\n}", head + "\tm.A = f1(f1(a))\n}\nfunc f1(a uint8) uint8 { return a + 1 }"},
	{subset.CodeDefault, "no default", head + "\tswitch a { // here\n\tcase 1:\n\t\tm.A = b\n\t}\n}", head + "\tswitch a {\n\tcase 1:\n\t\tm.A = b\n\tdefault:\n\t}\n}"},
	{subset.CodeCase, "a case of a variable", head + "\tswitch a {\n\tcase b: // here\n\t\tm.A = b\n\tdefault:\n\t}\n}", head + "\tswitch {\n\tcase a == b:\n\t\tm.A = b\n\tdefault:\n\t}\n}"},
	{subset.CodeEffect, "an effect in an expression", head + "\tm.A = m.inc() + 1 // here\n}\nfunc (m *Module) inc() uint8 {\n\tm.B++\n\treturn m.B\n}", head + "\tx := m.inc()\n\tm.A = x + 1\n}\nfunc (m *Module) inc() uint8 {\n\tm.B++\n\treturn m.B\n}"},
	{subset.CodeEffect, "an effect in a condition", head + "\tif m.inc() { // here\n\t\tm.A = 1\n\t}\n}\nfunc (m *Module) inc() bool {\n\tm.B++\n\treturn f1(m.B)\n}\nfunc f1(x uint8) bool { return x == 3 }", head + "\tif x := m.inc(); x {\n\t\tm.A = 1\n\t}\n}\nfunc (m *Module) inc() bool {\n\tm.B++\n\treturn m.B == 3\n}"},
	{subset.CodeGlobal, "a package variable", "var x uint8\n" + head + "\tm.A = x // here\n}", "const x uint8 = 3\n" + head + "\tm.A = x\n}"},
	{subset.CodeDivide, "a division by 3", head + "\tm.A = a / 3 // here\n}", head + "\tm.A = a/8 + b%4\n}"},
	{subset.CodeDivide, "a division by a variable", head + "\tm.A = a % b // here\n}", head + "\tm.A = a % 1\n}"},
	{subset.CodeShift, "a signed count", head + "\tm.A = a << int(b) // here\n}", head + "\tm.A = a << b\n}"},
	{subset.CodeShift, "a negative count", head + "\tfor i := range 2 {\n\t\tm.A = a << (i - 1) // here\n\t}\n}", head + "\tfor i := range 2 {\n\t\tm.A = a << (1 - i)\n\t}\n}"},
	{subset.CodeCall, "a function without a body", head + "\tm.A = bits.Reverse8(a) // here\n}", head + "\tm.A = uint8(bits.OnesCount8(a))\n}"},
	{subset.CodeCall, "a generic function", head + "\tm.A = f1(a) // here\n}\nfunc f1[T any](x T) T { return x }", head + "\tm.A = f1(a)\n}\nfunc f1(x uint8) uint8 { return x }"},
	{subset.CodeCall, "a built-in function", head + "\tclear(m.C[:]) // here\n}", head + "\tm.A = min(a, b)\n}"},
	{subset.CodeTick, "a memory ticked under a condition", memory + "\tif f {\n\t\tm.Ram.Tick(f, uint32(a)&7, 0, 0, 0) // here\n\t}\n}", memory + ramTick + "}"},
	{subset.CodeTick, "a memory ticked twice", memory + ramTick + "\tm.Ram.Tick(f, uint32(a)&7, 0, 0, 0) // here\n}", memory + ramTick + "}"},
	{subset.CodeTick, "a memory not ticked", "type Module struct { A uint8; Ram hdl.RAM }\nfunc (m *Module) Reset() { m.A = 0 }\nfunc (m *Module) Tick(a uint8) { // here\n\tm.A = a\n}", memory + ramTick + "}"},
	{subset.CodeTick, "a ROM ticked under a condition", table + "\tif f {\n\t\tm.Rom.Tick(f, uint32(a)&7) // here\n\t}\n}", table + romTick + "}"},
	{subset.CodeTick, "a ROM ticked twice", table + romTick + "\tm.Rom.Tick(f, uint32(a)&7) // here\n}", table + romTick + "}"},
	{subset.CodeTick, "a ROM not ticked", "type Module struct { A uint8; Rom hdl.ROM }\nfunc (m *Module) Reset() { m.A = 0 }\nfunc (m *Module) Tick(a uint8) { // here\n\tm.A = a\n}", table + romTick + "}"},
	{subset.CodeTick, "an instance ticked under a condition", instance + "\tif f {\n\t\tm.Arb.Tick(a, 0, f, f) // here\n\t}\n}", instance + "\tm.Arb.Tick(a, 0, f, f)\n}"},
	{subset.CodeChild, "a memory read after its tick", memory + ramTick + "\tm.A = uint8(m.Ram.Out()) // here\n}", memory + "\tm.A = uint8(m.Ram.Out())\n" + ramTick + "}"},
	{subset.CodeChild, "a ROM read after its tick", table + romTick + "\tm.A = uint8(m.Rom.Out()) // here\n}", table + "\tm.A = uint8(m.Rom.Out())\n" + romTick + "}"},
	{subset.CodeChild, "an instance read after its tick", instance + "\tm.Arb.Tick(a, 0, f, f)\n\tm.A = m.Arb.Turn().At // here\n}", instance + "\tm.A = m.Arb.Turn().At\n\tm.Arb.Tick(a, 0, f, f)\n}"},
	{subset.CodeChild, "an instance reset in Tick", instance + "\tm.Arb.Tick(a, 0, f, f)\n\tm.Arb.Reset() // here\n}", instance + "\tm.Arb.Tick(a, 0, f, f)\n}"},
	{subset.CodeChild, "a module with an instance restored after its tick", instance + "\told := *m // here\n\tm.Arb.Tick(a, 0, f, f)\n\tif f {\n\t\t*m = old\n\t}\n}", instance + "\tm.Arb.Tick(a, 0, f, f)\n\tif f {\n\t\t*m = Module{Arb: m.Arb}\n\t}\n}"},
	{subset.CodeChild, "a copy of an instance that changes", instance + "\told := *m // here\n\told.A = a\n\tm.A = old.A\n\tm.Arb.Tick(a, 0, f, f)\n}", instance + "\told := m.A\n\told += a\n\tm.A = old\n\tm.Arb.Tick(a, 0, f, f)\n}"},
	{subset.CodeChild, "an instance in a parameter", instance + "\tm.put(m.Arb, a, f)\n}\nfunc (m *Module) put(old noc.Reads, a uint8, f bool) { // here\n\tm.Arb.Tick(a, 0, f, f)\n\tm.Arb = old\n}", instance + "\tm.put(m.A, a, f)\n}\nfunc (m *Module) put(old, a uint8, f bool) {\n\tm.Arb.Tick(a, 0, f, f)\n\tm.A = old\n}"},
	{subset.CodeChild, "an instance of another type", "type arb noc.Reads\n" + instance + "\told := arb(m.Arb) // here\n\tm.Arb.Tick(a, 0, f, f)\n\t_ = old\n}", instance + "\tm.Arb.Tick(a, 0, f, f)\n}"},
	{subset.CodeMask, "a write without a mask", "type Module struct { A uint8 `w:\"3\"` }\nfunc (m *Module) Tick(a uint8) {\n\tm.A = a // here\n}", "type Module struct { A uint8 `w:\"3\"` }\nfunc (m *Module) Tick(a uint8) { m.A = a & 7 }"},
	{subset.CodeMask, "a word of a ROM without a mask", strings.Replace(table, "5", "4", 1) + "\tm.A = uint8(m.Rom.Out()) // here\n" + romTick + "}", table + "\tm.A = uint8(m.Rom.Out())\n" + romTick + "}"},
	{subset.CodeMask, "a count without a mask", "type Module struct { A uint8 `w:\"3\"` }\nfunc (m *Module) Tick(a uint8) {\n\tm.A++ // here\n}", "type Module struct { A uint8 `w:\"3\"` }\nfunc (m *Module) Tick(a uint8) {\n\tif a < 8 {\n\t\tm.A = a\n\t}\n\tm.A = (m.A + 1) & 7\n}"},
	{subset.CodeTag, "a width above the type's", "type Module struct {\n\tA uint8 `w:\"9\"` // here\n}\nfunc (m *Module) Tick(a uint8) { m.A = a }", "type Module struct { A uint8 `w:\"8\"` }\nfunc (m *Module) Tick(a uint8) { m.A = a }"},
	{subset.CodeTag, "a width that is no number", "type Module struct {\n\tA uint8 `w:\"x\"` // here\n}\nfunc (m *Module) Tick(a uint8) { m.A = a }", "type Module struct { A uint8 `w:\"1\"` }\nfunc (m *Module) Tick(a uint8) { m.A = a & 1 }"},
	{subset.CodeReset, "a reset to a register", head + "\tm.A, m.B = a, b\n}\nfunc (m *Module) Reset() { // here\n\tm.A = m.B\n}", head + "\tm.A, m.B = a, b\n}\nfunc (m *Module) Reset() { m.A, m.B = 1<<3, 2 }"},
	{subset.CodeReset, "a reset under a condition", head + "\tm.A, m.B = a, b\n}\nfunc (m *Module) Reset() { // here\n\tif m.A == 3 {\n\t\tm.B = 0\n\t}\n}", head + "\tm.A, m.B = a, b\n}\nfunc (m *Module) Reset() { m.A = 0 }"},
	{subset.CodeReset, "a queue that is not reset", "type Module struct { A uint8; Queue hdl.FIFO[uint64] }\nfunc (m *Module) Reset() { // here\n\tm.A = 0\n}\nfunc (m *Module) Tick(a uint8, f bool) {\n" + queueTick + "}", queue + queueTick + "}"},
	{subset.CodeReset, "a queue that Reset restores", "type Module struct { A uint8; Queue hdl.FIFO[uint64] }\nfunc (m *Module) Reset() { // here\n\told := m.Queue\n\tm.Queue.Reset()\n\tm.Queue = old\n}\nfunc (m *Module) Tick(a uint8, f bool) {\n" + queueTick + "}", "type Module struct { A uint8; Queue hdl.FIFO[uint64] }\nfunc (m *Module) Reset() {\n\told := m.Queue\n\told.Reset()\n\tm.Queue = old\n}\nfunc (m *Module) Tick(a uint8, f bool) {\n" + queueTick + "}"},
	{subset.CodeMemory, "a lost memory", memory + ramTick + "\t*m = Module{} // here\n}", memory + ramTick + "\t*m = Module{A: a, Ram: m.Ram}\n}"},
	{subset.CodeMemory, "a queue restored after its tick", queue + "\told := m.Queue\n\told.Reset()\n" + queueTick + "\tm.Queue = old // here\n}", queue + "\told := m.Queue\n\told.Reset()\n\tm.Queue = old\n" + queueTick + "}"},
	{subset.CodeMemory, "a copy of a memory", memory + "\told := m.Ram // here\n\told.Tick(f, 0, 0, 0, 0)\n" + ramTick + "}", memory + "\tm.Ram.Tick(f, 0, 0, 0, 0)\n}"},
	{subset.CodeMemory, "a copy of a module with a memory", memory + "\tvar old Module = *m // here\n\told.A = a\n\tm.A = old.A\n" + ramTick + "}", memory + "\told := m.A\n\tm.A = old + a\n" + ramTick + "}"},
	{subset.CodeMemory, "a RAM restored after its tick", memory + "\told := m.Ram // here\n" + ramTick + "\tif f {\n\t\tm.Ram = old\n\t}\n}", memory + ramTick + "\t_ = m.Ram\n}"},
	{subset.CodeMemory, "a RAM in a declaration", memory + "\tvar old hdl.RAM = m.Ram // here\n" + ramTick + "\tm.Ram = old\n}", memory + ramTick + "\tm.Ram = m.Ram\n}"},
	{subset.CodeMemory, "a RAM from a copied module", memory + "\told := *m // here\n" + ramTick + "\t*m = Module{Ram: old.Ram}\n}", memory + ramTick + "\t*m = Module{Ram: m.Ram}\n}"},
	{subset.CodeMemory, "a struct of a RAM and more", "type pair struct { R hdl.RAM; A uint8 }\n" + memory + "\told := pair{m.Ram, a} // here\n" + ramTick + "\tm.Ram, m.A = old.R, old.A\n}", memory + "\told := struct{ A, B uint8 }{m.A, a}\n" + ramTick + "\tm.A = old.A + old.B\n}"},
	{subset.CodeMemory, "a RAM as a result", memory + ramTick + "\t_ = m.ram()\n}\nfunc (m *Module) ram() hdl.RAM { return m.Ram } // here", memory + "\tm.A = m.low()\n" + ramTick + "}\nfunc (m *Module) low() uint8 { return uint8(m.Ram.Out()) }"},
	{subset.CodeMemory, "a RAM as a named result", memory + ramTick + "\t_ = m.ram()\n}\nfunc (m *Module) ram() (r hdl.RAM) { // here\n\tr = m.Ram\n\treturn r\n}", memory + ramTick + "}"},
	{subset.CodeMemory, "a RAM in a parameter", memory + "\tm.put(*m, a, f)\n}\nfunc (m *Module) put(old Module, a uint8, f bool) { // here\n" + ramTick + "\tif f {\n\t\t*m = old\n\t}\n}", memory + "\tm.put(m.A, a, f)\n}\nfunc (m *Module) put(old, a uint8, f bool) {\n" + ramTick + "\tif f {\n\t\tm.A = old\n\t}\n}"},
	{subset.CodeMemory, "a RAM in a parameter without a name", memory + ramTick + "\tm.A = f1(m.Ram, a)\n}\nfunc f1(_ hdl.RAM, a uint8) uint8 { return a } // here", memory + ramTick + "\tm.A = f1(a, a)\n}\nfunc f1(_, a uint8) uint8 { return a }"},
	{subset.CodeMemory, "a RAM in a value receiver", memory + "\tm.A = m.out()\n" + ramTick + "}\nfunc (m Module) out() uint8 { return uint8(m.Ram.Out()) } // here", memory + "\tm.A = m.out()\n" + ramTick + "}\nfunc (m *Module) out() uint8 { return uint8(m.Ram.Out()) }"},
	{subset.CodeMemory, "a lost ROM", table + romTick + "\t*m = Module{} // here\n}", table + romTick + "\t*m = Module{A: a & 31, Rom: m.Rom}\n}"},
	{subset.CodeMemory, "a copy of a ROM", table + "\told := m.Rom // here\n\told.Tick(f, 0)\n" + romTick + "}", table + romTick + "\tm.Rom = m.Rom\n}"},
	{subset.CodeMemory, "a ROM in a value receiver", table + "\tm.A = m.out()\n" + romTick + "}\nfunc (m Module) out() uint8 { return uint8(m.Rom.Out()) } // here", table + "\tm.A = m.out()\n" + romTick + "}\nfunc (m *Module) out() uint8 { return uint8(m.Rom.Out()) }"},
	{subset.CodeMemory, "the length of a ROM", table + "\tm.A = uint8(m.Rom.Len()) & 31 // here\n" + romTick + "}", table + "\tm.A = uint8(m.Rom.Out())\n" + romTick + "}"},
	{subset.CodeMemory, "a module with a queue restored after its tick", queue + "\told := *m\n" + queueTick + "\t*m = old // here\n}", queue + "\told := *m\n\tm.Queue.Reset()\n\tif f {\n\t\t*m = old\n\t}\n\tm.Queue.Tick(f && !m.Queue.Full(), uint64(a), false)\n\tlate := *m\n\tm.A = late.A\n}"},
	{subset.CodeMemory, "a word read past the port", memory + "\tm.A = uint8(m.Ram.Word(0)) // here\n" + ramTick + "}", memory + "\tm.A = uint8(m.Ram.Out())\n" + ramTick + "}"},
	{subset.CodeArray, "an array of 72 bits", "type Module struct {\n\tA [9]uint8 // here\n}\nfunc (m *Module) Tick(a uint8) { m.A[0] = a }", "type Module struct { A [8]uint8 }\nfunc (m *Module) Tick(a uint8) { m.A[a&7] = a }"},
	{subset.CodeArray, "two variable indices", "type Module struct { A [2][2]uint8 }\nfunc (m *Module) Tick(a, b uint8) {\n\tm.A[a][b] = 1 // here\n}", "type Module struct { A [2][2]uint8 }\nfunc (m *Module) Tick(a, b uint8) { m.A[a][1] = b }"},
	{subset.CodeExpr, "a closure", head + "\tx := func() uint8 { return a } // here\n\tm.A = x()\n}", head + "\tm.A = f1(a)\n}\nfunc f1(a uint8) uint8 { return a }"},
	{subset.CodePort, "a Tick with results", "type Module struct { A uint8 }\nfunc (m *Module) Tick(a uint8) bool { // here\n\tm.A = a\n\treturn true\n}", head + "\tm.A = a\n}"},
	{subset.CodePort, "an input of type int", "type Module struct { A uint8 }\nfunc (m *Module) Tick(a int) { // here\n\tm.A = 1\n}", head + "\tm.A = a\n}"},
	{subset.CodeAliasing, "a pointer to a register", head + "\tp := &m.A // here\n\t*p = a\n}", head + "\tm.A = a\n}"},
}

func translateSnippet(t *testing.T, text string) error {
	t.Helper()
	l, named := snippet(t, text)
	_, err := l.translate(named, moduleOf(named), nil)
	return err
}

func TestRules(t *testing.T) {
	for _, tt := range rules {
		t.Run(string(tt.code)+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			var e *Error
			require.ErrorAs(t, translateSnippet(t, tt.bad), &e)
			assert.Equal(t, tt.code, e.Code, "%v", e)
			assert.Contains(t, e.Line, "here", "%v", e)
			require.ErrorIs(t, e, ErrSubset)
			assert.NotEmpty(t, e.Reason)
			assert.NotEmpty(t, e.Rewrite)
			require.NoError(t, translateSnippet(t, tt.good))
		})
	}
}

// TestManual checks that docs/rtl.md has every code, and that each code has a
// rule.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/rtl.md")
	require.NoError(t, err)
	source, err := os.ReadFile("subset/code.go")
	require.NoError(t, err)
	tested := map[string]bool{}
	for _, r := range rules {
		tested[string(r.code)] = true
	}
	codes := regexp.MustCompile(`RTL\d{3}`).FindAllString(string(source), -1)
	require.NotEmpty(t, codes)
	for _, c := range codes {
		assert.Contains(t, string(manual), "| "+c+" |")
		assert.True(t, tested[c], "%s has no test", c)
	}
}

func TestErrorText(t *testing.T) {
	var e *Error
	require.ErrorAs(t, translateSnippet(t, head+"\tm.A = a / 3\n}"), &e)
	assert.Equal(t, strings.Join([]string{
		"snippet.go:5:8: RTL010: a division by something other than a constant power of two",
		"\t m.A = a / 3", "\t       ^",
		"\trewrite: shift and mask, or divide over several clocks",
	}, "\n"), e.Error())
}

func TestLoadErrors(t *testing.T) {
	_, err := newLoader(t.TempDir())
	assert.True(t, errors.Is(err, ErrSource), "%v", err)
}

// TestImportErrors checks that an error in an imported package is reported at its
// place in that package.
func TestImportErrors(t *testing.T) {
	for _, tt := range []struct {
		name, low, want string
	}{
		{"syntax", "package low\n\nfunc f(\n", "low.go:3:9: expected"},
		{"a type", "package low\n\nvar x uint8 = true\n", "low.go:3:15: cannot use true"},
		{"an import that is not there", "package low\n\nimport _ \"not/there\"\n", "low.go:3:10: could not import not/there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":        "module m.org/m\n",
				"top/top.go":    "package top\n\nimport _ \"m.org/m/middle\"\n",
				"middle/mid.go": "package middle\n\nimport _ \"m.org/m/low\"\n",
				"low/low.go":    tt.low,
			} {
				path := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			}
			l, err := newLoader(root)
			require.NoError(t, err)
			_, err = l.Import("m.org/m/top")
			require.ErrorIs(t, err, ErrSource)
			assert.True(t, strings.HasPrefix(err.Error(), ErrSource.Error()+": "+filepath.Join(root, "low", tt.want)), "%v", err)
			assert.NotContains(t, err.Error(), "m.org")
		})
	}
}

// TestOutputChangesNothing checks that an output method may not reset a queue,
// not even a copy.
func TestOutputChangesNothing(t *testing.T) {
	l, named := snippet(t, queue+queueTick+"}\nfunc (m *Module) Out() bool {\n\told := m.Queue\n\told.Reset() // here\n\treturn old.Empty()\n}")
	_, err := l.translate(named, moduleOf(named), []string{"Out"})
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, subset.CodeEffect, e.Code)
	assert.Contains(t, e.Line, "here")
}
