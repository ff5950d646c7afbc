package verilog

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// A symbol is a declared Go constant as a module sees it.
type symbol struct {
	c     *types.Const
	name  string // of its localparam
	width int    // of its localparam, 0 without one
}

// symbol returns the symbol of a constant.
func (m *module) symbol(c *types.Const) *symbol {
	if m.symbols[c] == nil {
		m.symbols[c] = &symbol{c: c}
	}
	return m.symbols[c]
}

// symbolOf returns the symbol of the declared constant that x names or converts, or nil.
func (e *elab) symbolOf(x ast.Expr) *symbol {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		if c, ok := e.l.info.Uses[x].(*types.Const); ok && e.l.blocks[c] != token.NoPos {
			return e.m.symbol(c)
		}
	case *ast.SelectorExpr:
		return e.symbolOf(x.Sel)
	case *ast.CallExpr:
		if len(x.Args) == 1 && e.l.info.Types[x.Fun].IsType() {
			return e.symbolOf(x.Args[0])
		}
	}
	return nil
}

// enumerator returns the symbol of the constant of enumeration t with value v, or nil.
func (m *module) enumerator(t types.Type, v uint64) *symbol {
	for _, c := range subset.Enum(t) {
		if u, _ := constant.Uint64Val(c.Val()); u == v {
			return m.symbol(c)
		}
	}
	return nil
}

// zeroValue returns the zero value of t, which for an enumeration has a name.
func (e *elab) zeroValue(n ast.Node, t types.Type) *value {
	return e.must(e.l.build(t, "", n.Pos(), 0, maker{leaf: func(f field) *expr {
		return named(konst(f.w, 0), e.m.enumerator(f.t, 0))
	}}))
}

// named returns a constant with a symbol, which may be nil.
func named(e *expr, s *symbol) *expr {
	out := *e
	out.sym = s
	return &out
}

// resized returns the constant e with w bits. It has no name if it has another value then.
func (e *expr) resized(w int) *expr {
	out := konst(w, e.val)
	if out.val == e.val {
		out.sym = e.sym
	}
	return out
}

// constants calls f for each constant that e prints.
func (e *expr) constants(f func(*expr)) {
	if e.isConst() {
		f(e)
	}
	for i, a := range e.args {
		if amount := i == 1 && (e.op == opShl || e.op == opShr); !amount || !a.isConst() {
			a.constants(f)
		}
	}
}

// constantsOf calls f for each constant that the statements print.
func constantsOf(body []stmt, f func(*expr)) {
	walk(body, func(s stmt) {
		switch s := s.(type) {
		case *assign:
			s.e.constants(f)
		case *ifStmt:
			s.cond.constants(f)
		case *caseStmt:
			s.sel.constants(f)
			for _, a := range s.arms {
				for _, v := range a.vals {
					v.constants(f)
				}
			}
		}
	})
}

// A group is the localparams of one declaration: the constants of a Go declaration that
// have the same width, in the order of the source.
type group struct {
	block   token.Pos
	width   int
	symbols []*symbol
}

// title returns the name of the type of a group, if the type has one.
func (g group) title() string {
	if n, ok := g.symbols[0].c.Type().(*types.Named); ok {
		return n.Obj().Name()
	}
	return "Constants"
}

// localparams sizes and names the symbols that m prints and returns their groups: those of
// its own package first, then by package, in the order of the source. A localparam of an
// enumeration has the enumeration's width, another the least with which it is used.
func (d *designer) localparams(m *module) []group {
	use := func(x *expr) {
		if s := x.sym; s != nil {
			n := subset.EnumWidth(s.c.Type())
			switch {
			case n != 0 && x.width >= n:
				s.width = n
			case n == 0 && (s.width == 0 || x.width < s.width):
				s.width = x.width
			}
		}
	}
	constantsOf(m.out.body, use)
	constantsOf(m.tick.body, use)
	for _, v := range slices.Concat(m.out.defaults(), m.tick.defaults()) {
		use(v.zero())
	}
	for _, r := range m.regs {
		use(r.value())
	}
	var used []*symbol
	for _, s := range m.symbols {
		if s.width != 0 {
			used = append(used, s)
		}
	}
	slices.SortFunc(used, func(a, b *symbol) int { return d.compareSymbols(m, a, b) })
	var out []group
	for _, s := range used {
		s.name = s.c.Name()
		if s.c.Pkg() != m.named.Obj().Pkg() {
			s.name = s.c.Pkg().Name() + "_" + s.name
		}
		s.name = m.namer.fresh(s.name)
		if n := len(out); n == 0 || out[n-1].block != d.l.blocks[s.c] || out[n-1].width != s.width {
			out = append(out, group{block: d.l.blocks[s.c], width: s.width})
		}
		g := &out[len(out)-1]
		g.symbols = append(g.symbols, s)
	}
	return out
}

// compareSymbols orders the localparams of m.
func (d *designer) compareSymbols(m *module, a, b *symbol) int {
	own := func(s *symbol) int {
		if s.c.Pkg() == m.named.Obj().Pkg() {
			return 0
		}
		return 1
	}
	block := func(s *symbol) token.Position { return d.l.fset.Position(d.l.blocks[s.c]) }
	return cmp.Or(own(a)-own(b), strings.Compare(a.c.Pkg().Path(), b.c.Pkg().Path()),
		strings.Compare(block(a).Filename, block(b).Filename), block(a).Offset-block(b).Offset,
		a.width-b.width, int(a.c.Pos())-int(b.c.Pos()))
}

// localparams prints groups of constants.
func (w *writer) localparams(groups []group) {
	last := token.NoPos
	for _, g := range groups {
		if g.block != last {
			w.line("// %s at %s.", g.title(), w.where(g.block))
		}
		last = g.block
		w.line("localparam %s", strings.TrimSpace(dimension(g.width)))
		w.depth++
		for i, s := range g.symbols {
			end := ","
			if i == len(g.symbols)-1 {
				end = ";"
			}
			v, _ := constant.Uint64Val(constant.ToInt(s.c.Val()))
			w.line("%s = %s%s", s.name, literal(g.width, v), end)
		}
		w.depth--
	}
}
