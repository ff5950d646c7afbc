package verilog

import (
	"maps"
	"slices"
)

// Design note: a register that a clock may leave unchanged is written as "if
// (w_x) x <= n_x", with a strobe and a value that is used only with the strobe.
// The alternative, a value that starts as x and is overwritten, means the same.
// But synthesis turns the first into a clock enable without logic that feeds x
// back, and the second only where no conditions are nested.

// strobed adds a strobe to each register that the process of m does not assign in
// every clock. Registers that are assigned in the same places share one.
func (m *module) strobed() {
	next := map[*variable]*register{}
	for _, r := range m.regs {
		next[r.next] = r
	}
	m.tick.body = early(m.tick.body, next, map[*variable]bool{})
	for _, s := range m.tick.body {
		if a, ok := s.(*assign); ok {
			delete(next, a.v)
		}
	}
	read := map[*variable]bool{}
	readsOf(m.tick.body, func(v *variable) { read[v] = true })
	places := map[*variable][]int{}
	placesOf(m.tick.body, new(int), places)
	var first []*register
	for _, r := range m.regs {
		if next[r.next] == nil {
			continue
		}
		i := slices.IndexFunc(first, func(s *register) bool { return slices.Equal(places[s.next], places[r.next]) })
		if i < 0 {
			i = len(first)
			first = append(first, r)
			r.strobe = m.tick.local("w_"+r.cur.name, 1)
		}
		r.strobe, r.data = first[i].strobe, r.next
		if read[r.next] {
			r.data = &variable{name: m.namer.fresh("d_" + r.cur.name), width: r.cur.width, kind: kindNext}
		}
	}
	m.tick.body = withStrobes(m.tick.body, next)
}

// placesOf lists the blocks in which each variable is assigned, numbered from n
// on.
func placesOf(body []stmt, n *int, places map[*variable][]int) {
	here := *n
	*n++
	for _, s := range body {
		switch s := s.(type) {
		case *assign:
			if p := places[s.v]; len(p) == 0 || p[len(p)-1] != here {
				places[s.v] = append(p, here)
			}
		case *ifStmt:
			placesOf(s.yes, n, places)
			placesOf(s.no, n, places)
		case *caseStmt:
			for _, a := range s.arms {
				placesOf(a.body, n, places)
			}
		}
	}
}

// early returns body with registers read before the clock where no path has
// assigned them yet. Registers in set have been assigned on some path. early adds
// those that body assigns.
func early(body []stmt, next map[*variable]*register, set map[*variable]bool) []stmt {
	swap := func(e *expr) *expr {
		return e.substitute(func(v *variable) *variable {
			if r := next[v]; r != nil && !set[v] {
				return r.cur
			}
			return v
		})
	}
	var out []stmt
	for _, s := range body {
		switch s := s.(type) {
		case *assign:
			out = append(out, &assign{s.v, swap(s.e), s.at})
			set[s.v] = true
		case *ifStmt:
			no := maps.Clone(set)
			out = append(out, &ifStmt{swap(s.cond), early(s.yes, next, set), early(s.no, next, no), s.at})
			maps.Copy(set, no)
		case *caseStmt:
			c, before := &caseStmt{sel: swap(s.sel), at: s.at}, maps.Clone(set)
			for _, a := range s.arms {
				in := maps.Clone(before)
				c.arms = append(c.arms, arm{a.vals, early(a.body, next, in)})
				maps.Copy(set, in)
			}
			out = append(out, c)
		}
	}
	return out
}

// withStrobes returns body with strobe and data set where a register is assigned.
func withStrobes(body []stmt, next map[*variable]*register) []stmt {
	var out []stmt
	set := map[*variable]bool{}
	for _, s := range body {
		switch s := s.(type) {
		case *assign:
			out = append(out, s)
			r := next[s.v]
			if r != nil && r.data != r.next {
				out = append(out, &assign{r.data, r.next.ref(), s.at})
			}
			if r != nil && !set[r.strobe] {
				out = append(out, &assign{r.strobe, konst(1, 1), s.at})
				set[r.strobe] = true
			}
		case *ifStmt:
			out = append(out, &ifStmt{s.cond, withStrobes(s.yes, next), withStrobes(s.no, next), s.at})
		case *caseStmt:
			c := &caseStmt{sel: s.sel, at: s.at}
			for _, a := range s.arms {
				c.arms = append(c.arms, arm{a.vals, withStrobes(a.body, next)})
			}
			out = append(out, c)
		}
	}
	return out
}
