package analyzer

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// body checks the body of one function.
type body struct {
	*checker
	fn    *types.Func
	found []finding
}

func (b *body) add(n ast.Node, code subset.Code, reason, rewrite string) {
	b.found = append(b.found, finding{n.Pos(), code, message(reason, rewrite)})
}

// function records the findings in fn's own body.
func (c *checker) function(fn *types.Func) {
	b := &body{checker: c, fn: fn}
	decl := c.decls[fn]
	if fn.Signature().TypeParams() == nil && fn.Signature().RecvTypeParams() == nil {
		b.signature(decl.Recv, decl.Type.Params, decl.Type.Results)
	}
	b.stmts(decl.Body.List)
	b.masks(decl.Body.List)
	c.own[fn] = b.found
}

// signature checks the types of a receiver, parameters and results.
func (b *body) signature(recv *ast.FieldList, lists ...*ast.FieldList) {
	for _, list := range append(lists, recv) {
		if list == nil {
			continue
		}
		for _, f := range list.List {
			if list != recv {
				b.typ(f.Type)
			}
			b.checkCopy(f, b.info.TypeOf(f.Type))
		}
	}
}

// typ checks a type expression.
func (b *body) typ(x ast.Expr) {
	t := b.info.TypeOf(x)
	if bad := subset.Missing(t); bad != nil {
		b.add(x, subset.CodeType, fmt.Sprintf("hardware has no %s", types.TypeString(bad, short)),
			"use bool, uint8 to uint64, structs and small arrays of them")
	} else if bits := subset.Size(t); isArray(t) && bits > subset.MaxArray {
		b.add(x, subset.CodeArray, fmt.Sprintf("an array of %d bits, want at most %d", bits, subset.MaxArray), "use hdl.RAM")
	}
}

func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}

func short(p *types.Package) string { return p.Name() }

func (b *body) stmts(list []ast.Stmt) {
	for _, s := range list {
		b.stmt(s)
	}
}

// stmt checks a statement.
func (b *body) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case nil, *ast.EmptyStmt:
	case *ast.BlockStmt:
		b.stmts(s.List)
	case *ast.AssignStmt:
		b.assign(s)
	case *ast.IncDecStmt:
		b.expr(s.X, false)
	case *ast.DeclStmt:
		b.decl(s)
	case *ast.ExprStmt:
		b.expr(s.X, true)
	case *ast.ReturnStmt:
		for _, x := range s.Results {
			b.expr(x, len(s.Results) == 1)
		}
	case *ast.IfStmt:
		b.stmt(s.Init)
		b.expr(s.Cond, false)
		b.stmt(s.Body)
		b.stmt(s.Else)
	case *ast.SwitchStmt:
		b.cases(s)
	case *ast.ForStmt:
		b.loop(s)
	case *ast.RangeStmt:
		b.ranges(s)
	default:
		b.add(s, subset.CodeStmt, "a statement that hardware does not have",
			"use assignments, if, switch, loops with constant bounds, calls and return")
	}
}

// assign checks an assignment.
func (b *body) assign(s *ast.AssignStmt) {
	for _, x := range s.Lhs {
		id, _ := x.(*ast.Ident)
		if id == nil {
			b.expr(x, false)
		} else if b.info.Defs[id] != nil {
			b.defined(id)
		} else if b.info.Uses[id] != nil {
			b.ident(id)
		}
	}
	for _, x := range s.Rhs {
		b.expr(x, len(s.Rhs) == 1)
	}
	if s.Tok == token.QUO_ASSIGN || s.Tok == token.REM_ASSIGN {
		b.divisor(s, s.Lhs[0], s.Rhs[0])
	}
}

// decl checks the declaration of local variables.
func (b *body) decl(s *ast.DeclStmt) {
	d := s.Decl.(*ast.GenDecl)
	if d.Tok != token.VAR {
		return
	}
	for _, spec := range d.Specs {
		vs := spec.(*ast.ValueSpec)
		if vs.Type != nil {
			b.typ(vs.Type)
		}
		for _, id := range vs.Names {
			if b.info.Defs[id] != nil {
				b.defined(id)
			}
		}
		for _, x := range vs.Values {
			b.expr(x, len(vs.Values) == 1)
		}
	}
}

// defined checks a local variable at its declaration.
func (b *body) defined(id *ast.Ident) {
	o := b.info.Defs[id]
	if subset.IsInt(o.Type()) && b.mutated[o] {
		b.add(id, subset.CodeInt, "an int variable", "use uint8 to uint64; an int is for constants and loop indices")
	}
	if id.Name != "_" {
		b.checkCopy(id, o.Type())
	}
}

// checkCopy checks the type of a variable that is not a field.
func (b *body) checkCopy(n ast.Node, t types.Type) {
	switch x := subset.Single(t, b.pass.Pkg); {
	case x == nil:
	case subset.IsPrimitive(x):
		b.add(n, subset.CodeMemory, "a "+types.Unalias(x).(*types.Named).Obj().Name()+" is copied", "keep the memory in its field and call its methods")
	default:
		b.add(n, subset.CodeChild, "an instance of a module is copied", "keep the instance in its field and call its methods")
	}
}

// cases checks a switch.
func (b *body) cases(s *ast.SwitchStmt) {
	b.stmt(s.Init)
	if s.Tag != nil {
		b.expr(s.Tag, false)
	}
	def := false
	for _, st := range s.Body.List {
		cc := st.(*ast.CaseClause)
		def = def || cc.List == nil
		for _, x := range cc.List {
			b.expr(x, false)
			if s.Tag != nil && b.varies(x) {
				b.add(x, subset.CodeCase, "a case that is not a constant", "use switch without a tag, or if")
			}
		}
		b.stmts(cc.Body)
	}
	if !def {
		b.add(s, subset.CodeDefault, "a switch without default", "add default:, empty if nothing happens then")
	}
}

func (b *body) loopFail(n ast.Node) {
	b.add(n, subset.CodeLoop, "the bounds of the loop are not constants, or there are too many iterations",
		fmt.Sprintf("write for i := range N or for i := uint8(0); i < N; i++ with a constant N of at most %d, and do not assign i in it", subset.MaxIterations))
}

// loop checks a for loop with a condition.
func (b *body) loop(s *ast.ForStmt) {
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || s.Cond == nil || s.Post == nil {
		b.loopFail(s)
		return
	}
	obj := b.info.Defs[init.Lhs[0].(*ast.Ident)]
	cond, _ := s.Cond.(*ast.BinaryExpr)
	if b.varies(init.Rhs[0]) || cond != nil && (b.varies(cond.X) || b.varies(cond.Y)) || b.touches(s.Body, obj) {
		b.loopFail(s)
	}
	b.stmts(s.Body.List)
}

// ranges checks a loop over numbers or the indices of an array.
func (b *body) ranges(s *ast.RangeStmt) {
	t := b.info.TypeOf(s.X)
	_, scalar := subset.Width(t)
	id, _ := s.Key.(*ast.Ident)
	switch {
	case !scalar && (!isArray(t) || s.Value != nil), s.Key != nil && (id == nil || s.Tok != token.DEFINE), scalar && b.varies(s.X):
		b.loopFail(s)
	case b.info.Types[s.X].Value != nil && constant.Compare(b.info.Types[s.X].Value, token.GTR, constant.MakeInt64(subset.MaxIterations)):
		b.loopFail(s)
	case id != nil && b.touches(s.Body, b.info.Defs[id]):
		b.loopFail(s)
	}
	b.expr(s.X, false)
	b.stmts(s.Body.List)
}

// divisor checks the divisor y of x / y and x % y.
func (b *body) divisor(n ast.Node, x, y ast.Expr) {
	v := b.info.Types[y].Value
	if subset.IsInt(b.info.TypeOf(x)) || v == nil && !b.varies(y) {
		return
	}
	if v != nil {
		if u, ok := constant.Uint64Val(constant.ToInt(v)); ok && u != 0 && u&(u-1) == 0 {
			return
		}
	}
	b.add(n, subset.CodeDivide, "a division by something other than a constant power of two", "shift and mask, or divide over several clocks")
}
