package mutant

import (
	"fmt"
	"strconv"
	"strings"
)

// swapped returns what an infix operator becomes, or nothing if it stays.
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
	case "<<":
		return ">>"
	case ">>":
		return "<<"
	}
	return ""
}

// expression finds the sites in the expression of tokens [i, j): in each part
// between the operators of conditionals and lists.
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

// condition notes that the condition of tokens [i, j) may be inverted.
func (p *parser) condition(i, j int) {
	if i >= j {
		return
	}
	if text := p.text(i, j); text != "rst" {
		p.add(Condition, i, j, "!("+text+")")
	}
}

// part finds the sites in tokens [i, j), which have no conditional outside of
// parentheses.
func (p *parser) part(i, j int) {
	if i >= j {
		return
	}
	op, infix := 0, 0
	for at := i; at < j; at++ {
		switch t := p.peek(at); {
		case t.text == "[":
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
		case t.text[0] >= '0' && t.text[0] <= '9':
			p.number(at)
		case at > i && swapped(t.text) != "":
			op, infix = at, infix+1
		}
	}
	if infix == 1 {
		p.add(Operator, i, j, p.text(i, op)+" "+swapped(p.peek(op).text)+" "+p.text(op+1, j))
	}
}

// list finds the sites within the braces around tokens [i, j). Of a repetition,
// the count stays.
func (p *parser) list(i, j int) {
	if at := p.match(i) + 1; at < j && p.peek(at).text == "{" {
		p.expression(at+1, p.match(at))
		return
	}
	p.expression(i, j)
}

// number notes that a constant with a width, or an amount of a shift, may be
// another.
func (p *parser) number(at int) {
	text := p.peek(at).text
	if strings.Contains(text, "'") {
		p.add(Constant, at, at+1, append(flips(text), near(text)...)...)
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

// literal splits a constant with a width of at most 64 bits.
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

// flips returns a constant with one bit flipped, for each bit.
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

// near returns a constant one more and one less, as often as flips returns it
// with a bit flipped.
func near(text string) []string {
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

// name notes that a register may be another one of equal width: its value now,
// or the next one, as the name has it. Bits of it may be those of the other one.
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
