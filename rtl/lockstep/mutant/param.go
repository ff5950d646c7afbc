package mutant

// A param is a named constant.
type param struct {
	value string   // literal
	group []string // the names of its declaration, which has those of an enumeration
}

// declare records the names of the localparam declaration at token i whose values are
// literals.
func (p *parser) declare(i int) {
	i++
	if p.peek(i).text == "[" {
		i = p.match(i) + 1
	}
	var names []string
	values := map[string]string{}
	for p.peek(i).word() && p.peek(i+1).text == "=" {
		name, value := p.peek(i).text, p.peek(i+2).text
		if _, _, ok := literal(value); !ok {
			return
		}
		names, values[name] = append(names, name), value
		if p.peek(i+3).text != "," {
			break
		}
		i += 4
	}
	for _, name := range names {
		p.params[name] = param{values[name], names}
	}
}

// others returns the constants to replace the one at a token: those that differ from a
// literal in one bit, and the other names of a name's enumeration. A name that has no
// others is treated as its value. There are none if the token is no constant.
func (p *parser) others(at int) []string {
	text := p.peek(at).text
	c, named := p.params[text]
	switch {
	case !named:
		return flips(text)
	case len(c.group) == 1:
		return append(flips(c.value), offByOne(c.value)...)
	}
	var out []string
	for _, name := range c.group {
		if name != text {
			out = append(out, name)
		}
	}
	return out
}
