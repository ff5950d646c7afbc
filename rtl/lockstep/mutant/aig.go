package mutant

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// errAiger is wrapped by the error of a netlist that is not in the format of yosys.
var errAiger = errors.New("mutant: bad netlist")

// A lit is a signal of a graph: twice the number of its node, plus one if the signal
// is inverted. Node 0 is the constant.
type lit uint32

const (
	low  lit = 0
	high lit = 1
)

// A netlist is combinational logic of two-input gates, as written by yosys.
type netlist struct {
	inputs  map[string]lit
	outputs map[string]lit
	gates   map[lit][2]lit // by output, which is even
}

// readNetlist reads an ASCII AIGER file without latches and with all names.
func readNetlist(text []byte) (*netlist, error) {
	n := &netlist{inputs: map[string]lit{}, outputs: map[string]lit{}, gates: map[lit][2]lit{}}
	s := bufio.NewScanner(bytes.NewReader(text))
	var size [5]int // highest variable, inputs, latches, outputs, gates
	if !s.Scan() {
		return nil, fmt.Errorf("%w: empty", errAiger)
	}
	if _, err := fmt.Sscanf(s.Text(), "aag %d %d %d %d %d", &size[0], &size[1], &size[2], &size[3], &size[4]); err != nil {
		return nil, fmt.Errorf("%w: %q", errAiger, s.Text())
	}
	var ins, outs []lit
	for line := 0; s.Scan() && s.Text() != "c"; line++ {
		words := strings.Fields(s.Text())
		switch {
		case line < size[1]+size[3]+size[4]:
			v, err := numbers(words)
			if err != nil {
				return nil, err
			}
			switch {
			case line < size[1] && len(v) == 1:
				ins = append(ins, v[0])
			case len(v) == 1:
				outs = append(outs, v[0])
			case len(v) == 3:
				n.gates[v[0]] = [2]lit{v[1], v[2]}
			}
		default:
			if err := n.name(words, ins, outs); err != nil {
				return nil, err
			}
		}
	}
	got := [5]int{size[0], len(n.inputs), 0, len(n.outputs), len(n.gates)}
	if got != size {
		return nil, fmt.Errorf("%w: header %v, found %v", errAiger, size, got)
	}
	return n, s.Err()
}

func numbers(words []string) ([]lit, error) {
	var out []lit
	for _, w := range words {
		v, err := strconv.ParseUint(w, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errAiger, err)
		}
		out = append(out, lit(v))
	}
	return out, nil
}

// name parses a line of the symbol table.
func (n *netlist) name(words []string, ins, outs []lit) error {
	if len(words) == 2 && len(words[0]) > 1 {
		i, err := strconv.Atoi(words[0][1:])
		switch {
		case err == nil && words[0][0] == 'i' && i < len(ins):
			n.inputs[words[1]] = ins[i]
			return nil
		case err == nil && words[0][0] == 'o' && i < len(outs):
			n.outputs[words[1]] = outs[i]
			return nil
		}
	}
	return fmt.Errorf("%w: %q", errAiger, words)
}

// A graph is logic of gates and latches. Gates with the same inputs are one gate, so that the
// difference of two copies has only the gates that differ.
type graph struct {
	gates [][2]lit       // inputs by node; source: the node is an input or a latch
	known map[[2]lit]lit // gates by their inputs
	state []lit          // outputs of the latches, which start at 0
	next  []lit          // inputs of the latches
}

// source returns the inputs that mark a node as not a gate.
func source() [2]lit { return [2]lit{^low, ^low} }

func newGraph() *graph { return &graph{gates: [][2]lit{source()}, known: map[[2]lit]lit{}} }

func (g *graph) node(inputs [2]lit) lit {
	g.gates = append(g.gates, inputs)
	return lit(2 * (len(g.gates) - 1))
}

func (g *graph) input() lit { return g.node(source()) }

func (g *graph) latch() lit {
	l := g.input()
	g.state, g.next = append(g.state, l), append(g.next, low)
	return l
}

// and returns a gate, or an existing signal that is equal to it.
func (g *graph) and(a, b lit) lit {
	a, b = min(a, b), max(a, b)
	switch {
	case a == low || a == b^1:
		return low
	case a == high || a == b:
		return b
	}
	l, ok := g.known[[2]lit{a, b}]
	if !ok {
		l = g.node([2]lit{a, b})
		g.known[[2]lit{a, b}] = l
	}
	return l
}

func (g *graph) or(a, b lit) lit     { return g.and(a^1, b^1) ^ 1 }
func (g *graph) xor(a, b lit) lit    { return g.or(g.and(a, b^1), g.and(a^1, b)) }
func (g *graph) mux(c, a, b lit) lit { return g.or(g.and(c, a), g.and(c^1, b)) }

// everyState and everyDepth are depths for write: all registers are free, or none is.
const (
	everyState = 0
	everyDepth = math.MaxInt
)

// cone returns the nodes that bad depends on in a clock and the depth clocks before it, in
// order, and the latches whose inputs are among them.
func (g *graph) cone(bad lit, depth int) (seen []bool, latches []int) {
	seen = make([]bool, len(g.gates))
	at := map[lit]int{}
	for i, l := range g.state {
		at[l] = i
	}
	for now := []lit{bad}; len(now) > 0; depth-- {
		var before []lit
		for len(now) > 0 {
			l := now[len(now)-1] &^ 1
			now = now[:len(now)-1]
			if seen[l/2] {
				continue
			}
			seen[l/2] = true
			if pair := g.gates[l/2]; pair != source() {
				now = append(now, pair[0], pair[1])
			}
			if i, ok := at[l]; ok && depth > 0 {
				latches = append(latches, i)
				before = append(before, g.next[i])
			}
		}
		now = before
	}
	return seen, latches
}

// write returns the logic of bad as a binary AIGER file with bad as the only output. A latch
// on which bad does not depend within depth clocks becomes an input, which may have any
// value in each clock: what holds for any values holds for those that the latch has.
func (g *graph) write(bad lit, depth int) []byte {
	seen, latches := g.cone(bad, depth)
	number := make([]lit, len(g.gates))
	held := map[lit]bool{}
	for _, i := range latches {
		held[g.state[i]] = true
	}
	var count lit
	give := func(node lit) { count++; number[node/2] = 2 * count }
	for i := 1; i < len(g.gates); i++ {
		if seen[i] && g.gates[i] == source() && !held[lit(2*i)] {
			give(lit(2 * i))
		}
	}
	inputs := count
	for _, i := range latches {
		give(g.state[i])
	}
	var order []lit
	for i := 1; i < len(g.gates); i++ {
		if seen[i] && g.gates[i] != source() {
			give(lit(2 * i))
			order = append(order, lit(2*i))
		}
	}
	as := func(l lit) lit { return number[l/2] | l&1 }
	var b bytes.Buffer
	fmt.Fprintf(&b, "aig %d %d %d 1 %d\n", count, inputs, len(latches), len(order))
	for _, i := range latches {
		fmt.Fprintln(&b, as(g.next[i]))
	}
	fmt.Fprintln(&b, as(bad))
	for _, l := range order {
		out, p, q := as(l), as(g.gates[l/2][0]), as(g.gates[l/2][1])
		b.Write(binary.AppendUvarint(nil, uint64(out-max(p, q))))
		b.Write(binary.AppendUvarint(nil, uint64(max(p, q)-min(p, q))))
	}
	return b.Bytes()
}
