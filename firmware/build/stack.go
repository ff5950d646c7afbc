package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// errStack is wrapped by the error of a program whose stack has no bound.
var errStack = errors.New("firmware: no bound of the stack")

// assembler has the functions in assembler that C calls, and the bytes of stack of each.
var assembler = map[string]int{"probe_read": 0, "probe_write": 0, "stop": 0}

// A graph is which function calls which, and how many bytes of stack each has.
type graph struct {
	bytes map[string]int
	calls map[string][]string
}

var (
	nodeLine = regexp.MustCompile(`^node: \{ title: "([^"]*)" label: "([^"]*)"`)
	edgeLine = regexp.MustCompile(`^edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"`)
	sizeText = regexp.MustCompile(`(\d+) bytes \((\w+(?:,\w+)?)\)`)
)

// newGraph returns a graph with the functions in assembler.
func newGraph() *graph {
	g := &graph{bytes: map[string]int{}, calls: map[string][]string{}}
	for name, n := range assembler {
		g.bytes[name] = n
	}
	return g
}

// add adds the functions of a file that gcc writes with -fcallgraph-info=su. A stack that is not
// static has no bound.
func (g *graph) add(text string) error {
	for line := range strings.Lines(text) {
		if m := edgeLine.FindStringSubmatch(line); m != nil {
			g.calls[m[1]] = append(g.calls[m[1]], m[2])
		}
		m := nodeLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		size := sizeText.FindStringSubmatch(m[2])
		if size == nil {
			continue // a function of another file
		}
		n, err := strconv.Atoi(size[1])
		if err != nil || size[2] != "static" {
			return fmt.Errorf("%w: %s has %s", errStack, m[1], size[0])
		}
		g.bytes[m[1]] = n
	}
	return nil
}

// deepest returns the bytes of stack of the deepest chain of calls from a function. A function
// that calls itself, also through others, a call through a pointer, and a function without a
// known size are errors.
func (g *graph) deepest(name string) (int, error) { return g.walk(name, nil) }

func (g *graph) walk(name string, chain []string) (int, error) {
	own, known := g.bytes[name]
	if !known {
		return 0, fmt.Errorf("%w: %s -> %s, whose stack is not known", errStack, strings.Join(chain, " -> "), name)
	}
	for _, caller := range chain {
		if caller == name {
			return 0, fmt.Errorf("%w: recursion %s -> %s", errStack, strings.Join(chain, " -> "), name)
		}
	}
	most := 0
	for _, callee := range g.calls[name] {
		n, err := g.walk(callee, append(chain[:len(chain):len(chain)], name))
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
	return own + most, nil
}

// bound returns the bytes that the stack needs: the deepest chain from boot, with an interrupt on
// top. Interrupts do not nest. Each part is rounded up to the alignment of the stack.
func (g *graph) bound() (int, error) {
	program, err := g.deepest("boot")
	if err != nil {
		return 0, err
	}
	handler, err := g.deepest("interrupt")
	if err != nil {
		return 0, err
	}
	return aligned(program) + interruptBytes + aligned(handler), nil
}

// aligned rounds up to 16, the alignment of the stack.
func aligned(n int) int { return (n + 15) &^ 15 }
