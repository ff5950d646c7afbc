package export_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A component is one of SystemRDL with its instances.
//
//	kind      addrmap, regfile, reg, field or enum
//	name      of its definition or of its instance
//	at        what follows the name of the instance: [7:0], @0x10, = 32'h5
//	values    properties
//	parts     components in it
type component struct {
	kind, name, at string
	values         map[string]string
	parts          []*component
}

// rdlReader reads the tokens of SystemRDL (Accellera SystemRDL 2.0, 4 and annex B).
type rdlReader struct {
	t      *testing.T
	tokens []string
}

func newRDL(t *testing.T, text string) *rdlReader {
	text = regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAllString(text, "")
	token := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+'h[0-9a-f]+|0x[0-9a-f]+|\w+|[{}\[\]:;=@]|\S`)
	return &rdlReader{t, token.FindAllString(text, -1)}
}

func (r *rdlReader) next() string {
	require.NotEmpty(r.t, r.tokens, "the file ends inside a component")
	first := r.tokens[0]
	r.tokens = r.tokens[1:]
	return first
}

// want takes a token that must be there.
func (r *rdlReader) want(token string) { require.Equal(r.t, token, r.next()) }

// until joins the tokens before the next semicolon.
func (r *rdlReader) until() string {
	var all []string
	for {
		token := r.next()
		if token == ";" {
			return strings.Join(all, " ")
		}
		all = append(all, token)
	}
}

// component reads a component whose kind was taken.
func (r *rdlReader) component(kind string) *component {
	c := &component{kind: kind, values: map[string]string{}}
	named := r.next()
	if named != "{" {
		c.name = named
		r.want("{")
	}
	for {
		switch token := r.next(); token {
		case "}":
			if after := r.until(); named == "{" {
				c.name, c.at, _ = strings.Cut(after, " ")
			}
			return c
		case "regfile", "reg", "field", "enum":
			c.parts = append(c.parts, r.component(token))
		case "default":
			c.values["default "+r.next()] = strings.TrimPrefix(r.until(), "= ")
		default:
			c.values[token] = strings.TrimPrefix(r.until(), "= ")
		}
	}
}

// legal has the properties of a component and the values that they may have, as far as the
// export uses them (SystemRDL 2.0: 5, 9.4, 9.6, 10, 12, 13).
var legal = map[string]map[string]string{
	"addrmap": {"name": `"hilgpu BAR0"`, "default regwidth": "32", "default accesswidth": "32", "littleendian": ""},
	"regfile": {"name": `".*"`, "desc": `".*"`},
	"reg":     {"name": `".*"`, "desc": `".*"`},
	"field":   {"desc": `".*"`, "sw": "r|rw|w", "hw": "r|w|rw|na", "onwrite": "woclr", "encode": `\w+`},
}

func (c *component) conforms(t *testing.T) {
	t.Helper()
	require.Regexp(t, `^[A-Za-z_]\w*$`, c.name)
	for name, value := range c.values {
		form, ok := legal[c.kind][name]
		if c.kind == "enum" {
			form, ok = `\d+`, true
		}
		require.True(t, ok, "%s of %s", name, c.kind)
		require.Regexp(t, "^(?s:"+form+")$", value)
	}
	for _, p := range c.parts {
		p.conforms(t)
	}
}

// TestRDL: a reader that was written from the specification finds each register and field where
// the tables have it.
func TestRDL(t *testing.T) {
	r := newRDL(t, text(t, "rdl"))
	r.want("addrmap")
	top := r.component("addrmap")
	require.Empty(t, r.tokens)
	top.conforms(t)
	got := map[string]string{}
	for _, block := range top.parts {
		for _, x := range block.parts {
			line := block.at + " " + x.at
			enums := map[string]string{}
			for _, part := range x.parts {
				if part.kind == "enum" {
					for name, v := range part.values {
						enums[part.name+v] = name
					}
					continue
				}
				line += fmt.Sprintf("; %s %s sw=%s %s", part.name, part.at, part.values["sw"], part.values["onwrite"])
				for v := 0; part.values["encode"] != "" && enums[part.values["encode"]+strconv.Itoa(v)] != ""; v++ {
					line += " " + enums[part.values["encode"]+strconv.Itoa(v)]
				}
			}
			got[block.name+"."+x.name] = line
		}
	}
	assert.Equal(t, rdlLines(), got)
}

// rdlLines returns the lines of TestRDL, from the tables.
func rdlLines() map[string]string {
	all := map[string]string{}
	for _, e := range regmap.New().Entries() {
		sw := [...]string{reg.RO: "sw=r ", reg.RW: "sw=rw ", reg.W1C: "sw=rw woclr", reg.WO: "sw=w "}[e.Reg.Access]
		line := fmt.Sprintf("@ 0x%04x @ 0x%02x", e.Block.Base, e.Reg.Off)
		field := func(name string, high, low, value uint32, enum []string) {
			line += fmt.Sprintf("; %s [ %d : %d ]", name, high, low)
			if !e.Reg.Config {
				line += fmt.Sprintf(" = %d'h%x", high-low+1, value)
			}
			line += " " + sw
			for _, name := range enum {
				line += " " + name
			}
		}
		if len(e.Reg.Fields) == 0 {
			field("VALUE", 31, 0, e.Reg.Reset, nil)
		}
		for _, f := range e.Reg.Fields {
			low := uint32(0)
			for f.Mask>>low&1 == 0 {
				low++
			}
			high := low
			for high < 31 && f.Mask>>(high+1)&1 == 1 {
				high++
			}
			field(f.Name, high, low, e.Reg.Reset&f.Mask>>low, f.Enum)
		}
		all[e.Name()] = line
	}
	return all
}
