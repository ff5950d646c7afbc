package mutant

import (
	"fmt"
	"strings"
)

// A parser walks the tokens of one module.
type parser struct {
	m      *module
	tokens []token // tokens before endmodule
	at     int

	dims     map[string]string // ranges of the declared signals, as written
	clocked  map[string]bool   // signals assigned in a clocked process
	order    []string          // signals in order of declaration
	memories map[string]bool   // RAMs
	params   map[string]param  // localparams
	assigned map[string]bool   // signals assigned in the current process
	edge     bool              // the current process is clocked
}

// run finds the sites of the module.
func (p *parser) run() error {
	p.dims, p.clocked, p.memories = map[string]string{}, map[string]bool{}, map[string]bool{}
	p.params = map[string]param{}
	p.declarations()
	p.skipTo(";")
	for p.at < len(p.tokens) {
		if err := p.item(); err != nil {
			return err
		}
	}
	return nil
}

// declarations records the signals, and which of them are registers, before the walk.
func (p *parser) declarations() {
	edge := false
	for i := 0; i < len(p.tokens); i++ {
		switch p.peek(i).text {
		case "reg":
			dim := ""
			for i++; p.peek(i).text == "["; i++ {
				end := p.match(i)
				dim, i = p.text(i, end+1), end
			}
			if name := p.peek(i).text; i+1 < len(p.tokens) && p.peek(i+1).text != "[" {
				p.dims[name] = dim
				p.order = append(p.order, name)
			} else if i+1 < len(p.tokens) {
				p.memories[name] = true
			}
		case "localparam":
			p.declare(i)
		case "always":
			edge = p.peek(i+2).text == "("
		case "<=":
			if edge && (i < 2 || p.peek(i-1).word()) && p.starts(i-1) {
				p.clocked[p.peek(i-1).text] = true
			}
		}
	}
}

// starts reports whether token i begins a statement.
func (p *parser) starts(i int) bool {
	switch p.peek(i - 1).text {
	case ";", ")", "begin", "end", "else", ":":
		return true
	}
	return false
}

// item parses one item of a module.
func (p *parser) item() error {
	t := p.peek(p.at)
	switch t.text {
	case "reg", "input", "output", "localparam", "parameter", "integer":
		p.skipTo(";")
	case "initial":
		p.at++
		if p.peek(p.at).text == "for" {
			p.at = p.match(p.at+1) + 1
		}
		if p.peek(p.at).text == "begin" {
			p.skipTo("end")
			return nil
		}
		p.skipTo(";")
	case "wire", "assign":
		from := p.at
		p.skipTo(";")
		for i := from; i < p.at-1; i++ {
			if p.peek(i).text == "=" {
				p.m.statements++
				p.expression(i+1, p.at-1)
				break
			}
		}
	case "always":
		p.assigned, p.edge = map[string]bool{}, p.peek(p.at+1).text == "@"
		p.at += 2
		if p.edge {
			p.at = p.match(p.at) + 1
		}
		return p.statement()
	default:
		if !t.word() {
			return p.unexpected()
		}
		p.skipTo(";")
	}
	return nil
}

// statement parses one statement of a process.
func (p *parser) statement() error {
	if p.at >= len(p.tokens) {
		return fmt.Errorf("%w: %s: unexpected end of file in a process", ErrText, p.m.file)
	}
	switch t := p.peek(p.at); t.text {
	case "begin":
		p.at++
		return p.until("end", p.statement)
	case "if":
		return p.branch()
	case "for":
		p.at = p.match(p.at+1) + 1
		return p.statement()
	case "case":
		p.m.statements++
		end := p.match(p.at + 1)
		p.expression(p.at+2, end)
		p.at = end + 1
		return p.until("endcase", func() error {
			from := p.at
			p.skipTo(":")
			p.label(from, p.at-1)
			return p.statement()
		})
	default:
		if !t.word() {
			return p.unexpected()
		}
		return p.assignment()
	}
}

// until calls f repeatedly until the given word.
func (p *parser) until(word string, f func() error) error {
	for p.at < len(p.tokens) && p.peek(p.at).text != word {
		if err := f(); err != nil {
			return err
		}
	}
	p.at++
	return nil
}

// branch parses an if statement.
func (p *parser) branch() error {
	p.m.statements++
	end := p.match(p.at + 1)
	p.condition(p.at+2, end)
	p.expression(p.at+2, end)
	p.at = end + 1
	if err := p.statement(); err != nil {
		return err
	}
	if p.at < len(p.tokens) && p.peek(p.at).text == "else" {
		p.at++
		return p.statement()
	}
	return nil
}

// assignment parses an assignment of a process.
func (p *parser) assignment() error {
	p.m.statements++
	from, op := p.at, p.at+1
	for op < len(p.tokens) && p.peek(op).text == "[" {
		p.memory(op)
		op = p.match(op) + 1
	}
	p.skipTo(";")
	end := p.at - 1
	if op+1 >= end || p.peek(op).text != "=" && p.peek(op).text != "<=" {
		p.at = from
		return p.unexpected()
	}
	name, rhs := p.peek(from).text, op+1
	reset := p.edge && p.peek(rhs).text == "rst" && p.peek(rhs+1).text == "?"
	switch next := strings.TrimPrefix(name, "n_"); {
	case reset:
		if p.peek(rhs+3).text == ":" {
			p.add(NoReset, rhs, end, p.text(rhs+4, end))
		}
		rhs += 2
		if others := p.others(rhs); len(others) > 0 && p.peek(rhs+1).text == ":" {
			p.add(Reset, rhs, rhs+1, others...)
			rhs += 2
		}
	case p.edge, next != name && p.clocked[next] && p.assigned[name]:
		p.add(Drop, rhs, end, p.text(from, op))
	}
	p.expression(rhs, end)
	p.assigned[name] = true
	return nil
}

// skipTo skips to the token after the next text that is not in parentheses.
func (p *parser) skipTo(text string) {
	for p.at < len(p.tokens) && p.peek(p.at).text != text {
		p.at = p.match(p.at) + 1
	}
	p.at++
}

// match returns the index of the token that closes token i, or i if it opens nothing.
func (p *parser) match(i int) int {
	depth := 0
	for j := i; j < len(p.tokens); j++ {
		switch p.peek(j).text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
		if depth == 0 {
			return j
		}
	}
	return len(p.tokens) - 1
}

// peek returns token i, or the end of the module after the last token.
func (p *parser) peek(i int) token {
	if i >= len(p.tokens) {
		return token{text: "endmodule"}
	}
	return p.tokens[i]
}

// text returns the source of tokens [i, j).
func (p *parser) text(i, j int) string { return p.m.src[p.peek(i).at:p.peek(j-1).end()] }

func (p *parser) unexpected() error {
	t := p.peek(p.at)
	return fmt.Errorf("%w: %s:%d: unexpected %q", ErrText, p.m.file, t.line, t.text)
}

// add records a site at tokens [i, j) unless all options equal the original.
func (p *parser) add(k Kind, i, j int, options ...string) {
	var others []string
	for _, o := range options {
		if o != p.text(i, j) {
			others = append(others, o)
		}
	}
	if len(others) == 0 {
		return
	}
	first, last := p.peek(i), p.peek(j-1)
	p.m.sites = append(p.m.sites, site{k, first.at, last.end(), first.line, first.source, others})
}
