package mutant

import (
	"fmt"
	"strconv"
	"strings"
)

// swapped returns the operator that replaces an infix operator, or "" for none.
func swapped(op string) string {
	switch op {
	case "+":
		return "-"
	case "-", "*":
		return "+"
	case "&":
		return "|"
	case "|", "^":
		return "&"
	case "&&":
		return "||"
	case "||":
		return "&&"
	case "==":
		return "!="
	case "!=":
		return "=="
	case "<":
		return "<="
	case "<=":
		return "<"
	case ">":
		return ">="
	case ">=":
		return ">"
	case "<<":
		return ">>"
	case ">>":
		return "<<"
	}
	return ""
}

// expression finds the sites in tokens [i, j), in each part between conditional
// operators and commas.
func (p *parser) expression(i, j int) {
	from := i
	for at := i; at < j; at = p.match(at) + 1 {
		switch p.peek(at).text {
		case "?":
			p.condition(from, at)
			p.part(from, at)
			from = at + 1
		case ":", ",":
			p.part(from, at)
			from = at + 1
		}
	}
	p.part(from, j)
}

// condition adds the inversion of the condition in tokens [i, j).
func (p *parser) condition(i, j int) {
	if i >= j {
		return
	}
	if text := p.text(i, j); text != "rst" {
		p.add(Condition, i, j, "!("+text+")")
	}
}

// part finds the sites in tokens [i, j), which have no conditional operator outside
// parentheses.
func (p *parser) part(i, j int) {
	if i >= j {
		return
	}
	var ops []int
	for at := i; at < j; at++ {
		switch t := p.peek(at); {
		case t.text == "[":
			p.memory(at)
			at = p.match(at)
		case t.text == "(":
			end := p.match(at)
			p.expression(at+1, end)
			at = end
		case t.text == "{":
			end := p.match(at)
			p.list(at+1, end)
			at = end
		case t.word():
			p.name(at)
			p.value(at)
			p.add(Constant, at, at+1, p.others(at)...)
		case t.text[0] >= '0' && t.text[0] <= '9':
			p.number(at)
		case at > i && swapped(t.text) != "":
			ops = append(ops, at)
		}
	}
	p.terms(i, j, ops)
	if len(ops) == 1 {
		p.binary(i, ops[0], j)
	}
	var options []string
	for _, op := range ops {
		if p.peek(op).text != p.peek(ops[0]).text {
			return
		}
		options = append(options, p.text(i, op)+" "+swapped(p.peek(op).text)+" "+p.text(op+1, j))
	}
	p.add(Operator, i, j, options...)
}

// list finds the sites inside the braces around tokens [i, j). The count of a
// repetition is not changed.
func (p *parser) list(i, j int) {
	if at := p.match(i) + 1; at < j && p.peek(at).text == "{" {
		p.expression(at+1, p.match(at))
		return
	}
	p.extension(i, j)
	p.expression(i, j)
}

// number adds other values for a sized constant or for the amount of a shift.
func (p *parser) number(at int) {
	text := p.peek(at).text
	if strings.Contains(text, "'") {
		p.add(Constant, at, at+1, append(p.others(at), offByOne(text)...)...)
		return
	}
	if prev := p.peek(at - 1).text; prev != "<<" && prev != ">>" {
		return
	}
	v, err := strconv.Atoi(text)
	if err == nil {
		p.add(Constant, at, at+1, strconv.Itoa(v+1), strconv.Itoa(max(0, v-1)))
	}
}

// literal splits a sized constant of at most 64 bits.
func literal(text string) (width int, v uint64, ok bool) {
	w, digits, ok := strings.Cut(text, "'")
	width, err := strconv.Atoi(w)
	if !ok || err != nil || width < 1 || width > 64 {
		return 0, 0, false
	}
	base := map[byte]int{'b': 2, 'd': 10, 'h': 16}[digits[0]]
	v, err = strconv.ParseUint(digits[1:], base, 64)
	return width, v, err == nil
}

// flips returns the constants that differ in one bit.
func flips(text string) []string {
	width, v, ok := literal(text)
	if !ok {
		return nil
	}
	var out []string
	for i := range width {
		out = append(out, fmt.Sprintf("%d'h%x", width, v^1<<i))
	}
	return out
}

// offByOne returns a constant plus one and minus one, each as often as flips returns
// constants.
func offByOne(text string) []string {
	width, v, ok := literal(text)
	if !ok {
		return nil
	}
	mask := ^uint64(0) >> (64 - width)
	var out []string
	for i := range width {
		out = append(out, fmt.Sprintf("%d'h%x", width, (v+1-2*uint64(i&1))&mask))
	}
	return out
}

// name adds other registers of equal width in place of a register. A current value
// (last) is replaced with a current value and a next value (n_last) with a next
// value. Bit selects are kept.
func (p *parser) name(at int) {
	name := p.peek(at).text
	dim, ok := p.dims[name]
	if !ok {
		return
	}
	prefix := ""
	if !p.clocked[name] {
		prefix = "n_"
	}
	if !p.clocked[strings.TrimPrefix(name, prefix)] || !strings.HasPrefix(name, prefix) {
		return
	}
	end, bits := at+1, ""
	if end < len(p.tokens) && p.peek(end).text == "[" {
		end = p.match(end) + 1
		bits = p.text(at+1, end)
	}
	var others []string
	for _, o := range p.order {
		if p.clocked[o] && p.dims[o] == dim {
			if _, declared := p.dims[prefix+o]; declared {
				others = append(others, prefix+o+bits)
			}
		}
	}
	p.add(Source, at, end, others...)
}
