package mutant

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// terms adds, for tokens [i, j) with the infix operators ops, the texts without one of the
// terms, if all operators are the same and have no order.
func (p *parser) terms(i, j int, ops []int) {
	if len(ops) == 0 {
		return
	}
	op := p.peek(ops[0]).text
	switch op {
	case "&&", "||", "&", "|", "+":
	default:
		return
	}
	var terms []string
	from := i
	for _, at := range append(ops, j) {
		if at < j && p.peek(at).text != op {
			return
		}
		terms = append(terms, p.text(from, at))
		from = at + 1
	}
	var options []string
	for drop := range terms {
		var rest []string
		for k, t := range terms {
			if k != drop {
				rest = append(rest, t)
			}
		}
		options = append(options, strings.Join(rest, " "+op+" "))
	}
	p.add(Term, i, j, options...)
}

// binary adds what a mistake in the width or in the sign makes of tokens [i, j) with the
// operator at token op. It needs a register of a known width on the left.
func (p *parser) binary(i, op, j int) {
	left, right := p.text(i, op), p.text(op+1, j)
	if o := p.peek(op).text; o == "<<" || o == ">>" {
		p.add(Shift, op+1, j, "("+right+") + 1'b1", "("+right+") ^ 1'b1")
		return
	}
	width := p.width(p.peek(i).text)
	if op != i+1 || width < 2 {
		return
	}
	mask := func(bits int) string { return fmt.Sprintf("%d'h%x", width, ^uint64(0)>>(64-bits)) }
	low := func(text string, bits int) string { return "((" + text + ") & " + mask(bits) + ")" }
	switch o := p.peek(op).text; o {
	case "<", "<=", ">", ">=":
		p.add(Compare, i, j, "$signed("+left+") "+o+" $signed("+right+")", low(left, width-1)+" "+o+" "+low(right, width-1))
	case "==", "!=":
		p.add(Compare, i, j, low(left, width-1)+" "+o+" "+low(right, width-1), low(left, (width+1)/2)+" "+o+" "+low(right, (width+1)/2))
	case "+":
		var options []string
		cuts := []int{width / 2, width - 1}
		switch counts := p.counts(left); { // a campaign has some 2^16 clocks, and fewer packets
		case counts && width > 32:
			cuts = []int{8, 16}
		case counts && width == 32:
			cuts = []int{8}
		default:
		}
		for _, bits := range cuts {
			high := fmt.Sprintf("(((%s) ^ (%s)) & ~%s)", left, right, mask(bits))
			sum := fmt.Sprintf("((%s + %s) & %s)", low(left, bits), low(right, bits), mask(bits))
			options = append(options, high+" | "+sum)
		}
		p.add(Carry, i, j, options...)
	default:
	}
}

// counts reports whether a register only counts from 0: no traffic makes it large.
func (p *parser) counts(name string) bool {
	counts := false
	for _, set := range regexp.MustCompile(`\bn_`+name+` = ([^;]+);`).FindAllStringSubmatch(p.m.src, -1) {
		value := strings.Join(strings.Fields(set[1]), " ")
		switch {
		case regexp.MustCompile(`^` + name + ` \+ ([0-9]+'d1|\{[0-9]+'d0, \w+\})$`).MatchString(value):
			counts = true
		case value != name && !strings.HasSuffix(value, "'bx") && !strings.HasSuffix(value, "'d0"):
			return false
		}
	}
	return counts
}

// width returns the number of bits of a register, or 0 if name is none.
func (p *parser) width(name string) int {
	dim, ok := p.dims[name]
	if !ok || dim == "" {
		return map[bool]int{true: 1}[ok]
	}
	top, rest, ok := strings.Cut(strings.TrimPrefix(dim, "["), ":")
	n, err := strconv.Atoi(strings.TrimSpace(top))
	if !ok || err != nil || strings.TrimSpace(rest) != "0]" || n > 63 {
		return 0
	}
	return n + 1
}

// value adds what a mistake makes of the register at a token, which is read completely.
func (p *parser) value(at int) {
	name := p.peek(at).text
	width := p.width(name)
	switch {
	case p.peek(at+1).text == "[" || width == 0:
		return
	case width == 1:
		p.add(Strobe, at, at+1, "1'b0", "1'b1")
	default:
		var stuck []string
		for bit := range width {
			stuck = append(stuck, fmt.Sprintf("%s | %d'h%x", name, width, uint64(1)<<bit), fmt.Sprintf("%s & ~%d'h%x", name, width, uint64(1)<<bit))
		}
		p.add(Stuck, at, at+1, stuck...)
		p.add(Rotate, at, at+1, fmt.Sprintf("{%s[%d:0], %s[%d]}", name, width-2, name, width-1), fmt.Sprintf("{%s[0], %s[%d:1]}", name, name, width-1))
	}
	p.time(at)
	p.node(at)
}

// time adds the current value of a register for its next one, or the next for the current
// one where it is already known.
func (p *parser) time(at int) {
	name := p.peek(at).text
	if now, next := strings.CutPrefix(name, "n_"); next && p.clocked[now] && !p.edge {
		p.add(Stale, at, at+1, now)
	}
	if p.clocked[name] && p.known("n_"+name) && !p.edge {
		p.add(Early, at, at+1, "n_"+name)
	}
}

// node adds the signal of the other node or port for one whose name has a number.
func (p *parser) node(at int) {
	name := p.peek(at).text
	for _, swap := range [][2]string{{"0", "1"}, {"1", "0"}} {
		for k := range name {
			if name[k:k+1] != swap[0] {
				continue
			}
			other := name[:k] + swap[1] + name[k+1:]
			if dim, ok := p.dims[other]; ok && dim == p.dims[name] && p.known(other) {
				p.add(Swap, at, at+1, other)
			}
		}
	}
}

// known reports whether a signal has a value at this place of the process, so that to read
// it is no combinational loop.
func (p *parser) known(name string) bool {
	now, next := strings.CutPrefix(name, "n_")
	return p.clocked[name] || next && p.clocked[now] && p.assigned[name]
}

// extension adds the sign in place of the zeros before a register, in the list of tokens
// [i, j): {{n{1'b0}}, name}.
func (p *parser) extension(i, j int) {
	end := p.match(i)
	if p.peek(i).text != "{" || end+3 != j || p.peek(end+1).text != "," || !strings.HasSuffix(p.text(i, end+1), "{1'b0}}") {
		return
	}
	name := p.peek(end + 2).text
	if n := p.width(name); n > 1 {
		zeros := strings.TrimSuffix(p.text(i, end+1), "{1'b0}}")
		p.add(Sign, i, end+1, fmt.Sprintf("%s{%s[%d]}}", zeros, name, n-1))
	}
}

// memory adds a wrong word for the one of a RAM whose index is in the brackets that open at
// a token.
func (p *parser) memory(open int) {
	end := p.match(open)
	if p.memories[p.peek(open-1).text] && end > open+1 {
		index := p.text(open+1, end)
		p.add(Memory, open+1, end, "("+index+") ^ 1'b1", "("+index+") + 1'b1", "("+index+") >> 1")
	}
}

// label adds other values for the constants of a case label, tokens [i, j).
func (p *parser) label(i, j int) {
	for at := i; at < j; at++ {
		if others := p.others(at); len(others) > 0 {
			p.add(Label, at, at+1, append(others, offByOne(p.peek(at).text)...)...)
		}
	}
}
