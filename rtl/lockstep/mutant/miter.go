package mutant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A side is a copy of a netlist's logic in a graph, with or without a mutant.
type side struct {
	g    *graph
	n    *netlist
	in   map[lit]func() lit // the signals that drive the inputs
	done map[lit]lit
}

// out returns the signal of an output.
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

// Parts of pin names; see proof_cut.v and Prover.script.
const (
	heldPrefix      = "proof_held_"
	heldIn, heldOut = ".d", ".q"
	readData        = ".port.data["
	readAddr        = ".port.addr["
)

// miter combines two copies of the netlist, with and without the mutant. bad is true
// if they differ in a way that lockstep would detect in this clock or after it. Both
// copies share the state of the original, so only states that the original reaches
// count. The first clock is a reset. A difference after the inputs broke a rule does not count.
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
		case strings.HasPrefix(name, heldPrefix) && strings.HasSuffix(name, heldOut):
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
		if strings.Contains(name, "."+Selector+"[") || name == assumed { // the first is of an instance that is left out
			continue
		}
		register, held := strings.CutSuffix(name, heldIn)
		at, ok := registers[register]
		switch {
		case held && ok:
			g.next[at] = gold.out(name)
			bad = g.or(bad, g.xor(g.next[at], gate.out(name)))
		case !strings.Contains(name, readAddr) || !strings.Contains(name, ".r["):
			bad = g.or(bad, g.and(started, g.xor(gold.out(name), gate.out(name))))
		}
	}
	if _, ok := n.outputs[assumed]; ok {
		broken := g.latch()
		now := g.or(broken, gold.out(assumed)^1)
		g.next[len(g.next)-1] = now
		bad = g.and(bad, now^1)
	}
	return g, bad
}

// reads makes a memory read return the other side's word if the addresses are equal,
// and any word otherwise.
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
					equal = s.g.and(equal, s.g.xor(s.lit(addr), other.lit(addr))^1)
				}
				same[port] = equal
			}
			return s.g.mux(same[port], other.lit(at), anything)
		}
	}
}
