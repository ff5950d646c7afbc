package verilog

// A stmt is an assignment, an if or a case.
type stmt interface{ stmtNode() }

type assign struct {
	v *variable
	e *expr
}

type ifStmt struct {
	cond    *expr
	yes, no []stmt
}

type caseStmt struct {
	sel  *expr
	arms []arm // the last arm has no values and is the default
}

type arm struct {
	vals []uint64
	body []stmt
}

func (*assign) stmtNode()   {}
func (*ifStmt) stmtNode()   {}
func (*caseStmt) stmtNode() {}

func pruned(body []stmt, dead func(*variable) bool) []stmt {
	var out []stmt
	for _, s := range body {
		switch s := s.(type) {
		case *assign:
			if !dead(s.v) {
				out = append(out, s)
			}
		case *ifStmt:
			yes, no := pruned(s.yes, dead), pruned(s.no, dead)
			switch {
			case len(yes) > 0:
				out = append(out, &ifStmt{s.cond, yes, no})
			case len(no) > 0:
				out = append(out, &ifStmt{not(s.cond), no, nil})
			}
		case *caseStmt:
			c, n := &caseStmt{sel: s.sel}, 0
			for _, a := range s.arms {
				body := pruned(a.body, dead)
				n += len(body)
				c.arms = append(c.arms, arm{a.vals, body})
			}
			if n > 0 {
				out = append(out, c)
			}
		}
	}
	return out
}

// walk calls f for each statement, outer ones first.
func walk(body []stmt, f func(stmt)) {
	for _, s := range body {
		f(s)
		switch s := s.(type) {
		case *ifStmt:
			walk(s.yes, f)
			walk(s.no, f)
		case *caseStmt:
			for _, a := range s.arms {
				walk(a.body, f)
			}
		}
	}
}

func count(body []stmt) int {
	n := 0
	walk(body, func(stmt) { n++ })
	return n
}

func readsOf(body []stmt, f func(*variable)) {
	walk(body, func(s stmt) {
		switch s := s.(type) {
		case *assign:
			s.e.reads(f)
		case *ifStmt:
			s.cond.reads(f)
		case *caseStmt:
			s.sel.reads(f)
		}
	})
}

func writesOf(body []stmt, f func(*variable)) {
	walk(body, func(s stmt) {
		if a, ok := s.(*assign); ok {
			f(a.v)
		}
	})
}
