package kernelmutant

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// A finder collects the mutants of a file.
type finder struct {
	s        *Source
	file     string
	function string
	found    []*Mutant
}

// mutantsOf returns the mutants of a file, without those that only change text, capacity
// or diagnostics.
func (s *Source) mutantsOf(name string) []*Mutant {
	f := &finder{s: s, file: name}
	for _, d := range s.files[name].Decls {
		f.function = ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			if f.onlyText(fn) {
				continue
			}
			f.function = nameOf(fn)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if n == nil || f.unobservable(n) {
				return false
			}
			f.visit(n)
			return true
		})
	}
	return f.found
}

// nameOf returns the name of a function, with the type of its receiver.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	return fmt.Sprintf("%s.%s", t, fn.Name.Name)
}

// offset returns the offset of a position in its file, in bytes.
func (s *Source) offset(p token.Pos) int { return s.pkg.Fset.Position(p).Offset }

// text returns the source from one position to another.
func (f *finder) text(from, to token.Pos) string {
	return string(f.s.texts[f.file][f.s.offset(from):f.s.offset(to)])
}

// source returns the source of a node.
func (f *finder) source(n ast.Node) string { return f.text(n.Pos(), n.End()) }

// replace adds the mutant that has text instead of what is between two positions.
func (f *finder) replace(op Operator, from, to token.Pos, text string) {
	line := f.s.pkg.Fset.Position(from).Line
	f.found = append(f.found, &Mutant{
		File: f.file, Line: line, Function: f.function, Operator: op, Source: f.s.line(f.file, line),
		Old: f.text(from, to), New: text, start: f.s.offset(from), end: f.s.offset(to),
	})
}

// visit adds the mutants of a node, without those of the nodes in it.
func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.negate(n.Cond)
	case *ast.SwitchStmt:
		f.cases(n)
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			f.negateResult(r)
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			f.replace(Constant, n.Pos(), n.End(), "("+n.Value+" + 1)")
			f.replace(Constant, n.Pos(), n.End(), "("+n.Value+" - 1)")
		}
	case *ast.AssignStmt:
		f.assignment(n)
	case *ast.IncDecStmt:
		f.replace(Sign, n.Pos(), n.End(), f.source(n.X)+map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok])
		f.replace(Dropped, n.Pos(), n.End(), "")
	case *ast.ExprStmt, *ast.DeferStmt, *ast.SendStmt:
		f.replace(Dropped, n.Pos(), n.End(), "")
	case *ast.BlockStmt:
		f.exit(n.List)
	case *ast.CaseClause:
		f.exit(n.Body)
	case *ast.CallExpr:
		f.arguments(n)
	}
}

// negate adds the opposite of a condition, which may be missing.
func (f *finder) negate(c ast.Expr) {
	if c != nil {
		f.replace(Negated, c.Pos(), c.End(), "!("+f.source(c)+")")
	}
}

// negateResult adds the opposite of a result that is a condition.
func (f *finder) negateResult(r ast.Expr) {
	if t := f.s.pkg.TypesInfo.TypeOf(r); t != nil && types.Identical(t.Underlying(), types.Typ[types.Bool]) {
		f.negate(r)
	}
}

// cases adds a switch statement without each of its cases, and with each condition negated.
func (f *finder) cases(n *ast.SwitchStmt) {
	for _, c := range n.Body.List {
		clause := c.(*ast.CaseClause)
		f.replace(Case, c.Pos(), c.End(), "")
		for _, e := range clause.List {
			if n.Tag == nil {
				f.negate(e)
			}
		}
	}
}

// moved are the comparisons that differ by 1, and opposites the operators that add.
var (
	moved     = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
	junctions = map[token.Token]string{token.LAND: "||", token.LOR: "&&"}
	opposites = map[token.Token]string{token.ADD: "-", token.SUB: "+", token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}
)

// binary adds the mutants of an expression of two operands.
func (f *finder) binary(n *ast.BinaryExpr) {
	with := func(to string) string {
		return f.text(n.Pos(), n.OpPos) + to + f.text(n.OpPos+token.Pos(len(n.Op.String())), n.End())
	}
	if to, ok := moved[n.Op]; ok {
		f.replace(Moved, n.Pos(), n.End(), with(to))
	}
	if to, ok := junctions[n.Op]; ok {
		f.replace(Junction, n.Pos(), n.End(), "("+with(to)+")")
		f.negate(n.X)
		f.negate(n.Y)
	}
	if to, ok := opposites[n.Op]; ok {
		f.replace(Sign, n.Pos(), n.End(), with(to))
	}
}

// assignment adds the mutants of an assignment.
func (f *finder) assignment(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE {
		return
	}
	f.replace(Dropped, n.Pos(), n.End(), "")
	if to, ok := opposites[n.Tok]; ok {
		f.replace(Sign, n.Pos(), n.End(), f.text(n.Pos(), n.TokPos)+to+f.text(n.TokPos+2, n.End()))
	}
}

// exit adds a block without the statement that leaves it.
func (f *finder) exit(list []ast.Stmt) {
	if len(list) == 0 {
		return
	}
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		f.replace(Return, last.Pos(), last.End(), "")
	}
}

// arguments adds a call with two neighbors of one type swapped.
func (f *finder) arguments(n *ast.CallExpr) {
	for i := 1; i < len(n.Args); i++ {
		a, b := n.Args[i-1], n.Args[i]
		if f.textual(a) || f.textual(b) || f.formatArgument(b) || f.source(a) == f.source(b) || f.commutes(n) {
			continue
		}
		if ta, tb := f.s.pkg.TypesInfo.TypeOf(a), f.s.pkg.TypesInfo.TypeOf(b); types.Identical(types.Default(ta), types.Default(tb)) {
			f.replace(Swapped, a.Pos(), b.End(), f.source(b)+f.text(a.End(), b.Pos())+f.source(a))
		}
	}
}

// commutes reports whether a call is of min or max.
func (f *finder) commutes(n *ast.CallExpr) bool {
	id, ok := n.Fun.(*ast.Ident)
	return ok && strings.Contains(" min max ", " "+id.Name+" ")
}
