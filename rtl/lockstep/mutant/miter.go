package mutant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A side is the logic of a netlist in a graph, with or without a mutant.
type side struct {
	g    *graph
	n    *netlist
	in   map[lit]func() lit // what the inputs are
	done map[lit]lit
}

// out returns an output.
func (s *side) out(name string) lit { return s.lit(s.n.outputs[name]) }

func (s *side) lit(l lit) lit {
	if l <= high {
		return l
	}
	node := l &^ 1
	v, ok := s.done[node]
	if !ok {
		if in := s.in[node]; in != nil {
			v = in()
		} else {
			pair := s.n.gates[node]
			a := s.lit(pair[0])
			v = s.g.and(a, s.lit(pair[1]))
		}
		s.done[node] = v
	}
	return v ^ l&1
}

// Names of pins, see proof_cut.v.
const (
	heldIn, heldOut = ".d", ".q"
	readData        = ".port.data["
	readAddr        = ".port.addr["
)

// miter puts the netlist with a mutant beside the one without. bad is whether
// there is a difference that lockstep would see in this clock or behind it. Both
// sides have the state of the one without a mutant, so that a state is one which
// that reaches; the first clock is a reset.
func (n *netlist) miter(mutant int) (g *graph, bad lit) {
	g = newGraph()
	started := g.latch()
	g.next[0] = high
	gold := &side{g: g, n: n, in: map[lit]func() lit{}, done: map[lit]lit{}}
	names := slices.Sorted(maps.Keys(n.inputs))
	registers := map[string]int{}
	for _, name := range names {
		var v lit
		switch {
		case strings.HasPrefix(name, "held_") && strings.HasSuffix(name, heldOut):
			registers[strings.TrimSuffix(name, heldOut)] = len(g.state)
			v = g.latch()
		case strings.HasPrefix(name, Selector+"["):
			v = low
		case name == "rst":
			v = g.or(g.input(), started^1)
		default:
			v = g.input()
		}
		gold.in[n.inputs[name]] = func() lit { return v }
	}
	gate := &side{g: g, n: n, in: maps.Clone(gold.in), done: map[lit]lit{}}
	for i := range 16 {
		v := lit(mutant >> i & 1)
		gate.in[n.inputs[fmt.Sprintf("%s[%d]", Selector, i)]] = func() lit { return v }
	}
	gate.reads(gold, names)
	for _, name := range slices.Sorted(maps.Keys(n.outputs)) {
		register, held := strings.CutSuffix(name, heldIn)
		at, ok := registers[register]
		switch {
		case held && ok:
			g.next[at] = gold.out(name)
			bad = g.or(bad, g.differ(g.next[at], gate.out(name)))
		case !strings.Contains(name, readAddr) || !strings.Contains(name, ".r["):
			bad = g.or(bad, g.and(started, g.differ(gold.out(name), gate.out(name))))
		}
	}
	return g, bad
}

// reads lets a read of the same address have the same word as on the other side,
// and one of another address any word.
func (s *side) reads(other *side, names []string) {
	same := map[string]lit{}
	for _, name := range names {
		port, _, ok := strings.Cut(name, readData)
		if !ok {
			continue
		}
		at := s.n.inputs[name]
		anything := s.g.input()
		s.in[at] = func() lit {
			if _, ok := same[port]; !ok {
				equal := high
				for i := 0; ; i++ {
					addr, ok := s.n.outputs[fmt.Sprintf("%s%s%d]", port, readAddr, i)]
					if !ok {
						break
					}
					equal = s.g.and(equal, s.g.differ(s.lit(addr), other.lit(addr))^1)
				}
				same[port] = equal
			}
			return s.g.choose(same[port], other.lit(at), anything)
		}
	}
}
