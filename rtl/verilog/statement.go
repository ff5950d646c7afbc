package verilog

import "go/token"

// A stmt is an assignment, an if or a case.
type stmt interface {
	// source returns the Go statement that this one comes from, or token.NoPos.
	source() token.Pos
}

type assign struct {
	v  *variable
	e  *expr
	at token.Pos
}

type ifStmt struct {
	cond    *expr
	yes, no []stmt
	at      token.Pos
}

type caseStmt struct {
	sel  *expr
	arms []arm // the last arm has no values and is the default
	at   token.Pos
}

type arm struct {
	vals []*expr // constants
	body []stmt
}

func (s *assign) source() token.Pos   { return s.at }
func (s *ifStmt) source() token.Pos   { return s.at }
func (s *caseStmt) source() token.Pos { return s.at }

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
				out = append(out, &ifStmt{s.cond, yes, no, s.at})
			case len(no) > 0:
				out = append(out, &ifStmt{not(s.cond), no, nil, s.at})
			}
		case *caseStmt:
			c, n := &caseStmt{sel: s.sel, at: s.at}, 0
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
