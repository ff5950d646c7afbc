package perf_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/perf"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// A plain model of the counters: 13 numbers, and their copies at the snapshot. It
// follows docs/registers.md.
type plain struct {
	nodes     int
	run       bool
	now, then [13]uint64 // CYCLES, then the six of each node
}

// tick counts a clock and returns the answer to its access.
func (p *plain) tick(l [2]perf.Levels, v [2]perf.Moves, r regbus.Req, rst bool) regbus.Rsp {
	rsp := p.access(r)
	if p.run {
		p.now[0]++
		for n := range p.nodes {
			for i, up := range [6]uint64{b(l[n].Busy), b(l[n].Read), b(l[n].Write), b(l[n].Ring), uint64(v[n].Bytes), b(v[n].Retired)} {
				p.now[1+6*n+i] += up
			}
		}
	}
	if rst {
		*p, rsp = plain{nodes: p.nodes}, regbus.Rsp{}
	}
	return rsp
}

func b(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// access performs an access of the register map.
func (p *plain) access(r regbus.Req) regbus.Rsp {
	off := int(r.Off) - perfreg.Base
	switch {
	case r.Op == regbus.None:
		return regbus.Rsp{}
	case off == 0 && r.Op == regbus.Read:
		return regbus.Rsp{Hit: true, Data: uint32(b(p.run))}
	case off == 0:
		if r.Data&snapshot != 0 {
			p.then = p.now
		}
		if r.Data&clearAll != 0 {
			p.now = [13]uint64{}
		}
		p.run = r.Data&run != 0
		return regbus.Rsp{Hit: true}
	}
	for i := range 1 + 6*p.nodes {
		at := 0x08
		if i > 0 {
			at = 0x20 + (i-1)/6*0x40 + (i-1)%6*8
		}
		if off&^4 == at {
			if r.Op == regbus.Write {
				return regbus.Rsp{Hit: true}
			}
			return regbus.Rsp{Hit: true, Data: uint32(p.then[i] >> (8 * (off & 4)))}
		}
	}
	return regbus.Rsp{}
}

// A load is a kind of random input.
type load struct {
	rng    *rand.Rand
	every  int  // one access in this number of clocks that allow one
	writes int  // of 16 accesses, those that write CTL
	stop   int  // of 16 writes of CTL, those that stop the counters
	resets int  // one reset in this number of clocks, or none with 0
	full   bool // everything counts in every clock
}

func (k *load) chance(n, of int) bool { return k.rng.IntN(of) < n }

// request returns an access.
func (k *load) request() regbus.Req {
	if k.chance(k.writes, 16) {
		v := k.rng.Uint32N(4)<<1 | run
		if k.chance(k.stop, 16) {
			v &^= run
		}
		if k.chance(3, 4) {
			v &^= clearAll
		}
		return regbus.Req{Op: regbus.Write, Off: perfreg.Base, Data: v}
	}
	r := regbus.Req{Op: regbus.Read, Off: perfreg.Base + 4*uint16(k.rng.IntN(0x98/4)), Data: k.rng.Uint32()}
	if k.chance(1, 16) {
		r.Op = regbus.Write
		r.Data &^= clearAll
	}
	return r
}

// node returns the inputs of a node.
func (k *load) node() (perf.Levels, perf.Moves) {
	if k.full {
		return perf.Levels{Busy: true, Read: true, Write: true, Ring: true}, perf.Moves{Retired: true, Took: true, Bytes: 8}
	}
	n := k.rng.Uint32()
	return perf.Levels{Busy: n&1 != 0, Read: n&2 != 0, Write: n&4 != 0, Ring: n&8 != 0},
		perf.Moves{Retired: n&16 != 0, Took: n&32 != 0, Bytes: uint8(n >> 8 % 9)}
}

// loads returns the kinds of input: an access at every second clock or at fewer,
// mostly reads or mostly snapshots, counters that count in every clock.
func loads(seed uint64) map[string]*load {
	out := map[string]*load{}
	for _, every := range []int{1, 2, 5, 40} {
		for _, writes := range []int{1, 8, 15} {
			for _, stop := range []int{0, 8} {
				for _, full := range []bool{false, true} {
					name := "every " + strconv.Itoa(every) + ", writes " + strconv.Itoa(writes) + ", stops " + strconv.Itoa(stop) + ", full " + strconv.FormatBool(full)
					k := &load{rng: rand.New(rand.NewPCG(seed, uint64(len(out)))), every: every, writes: writes, stop: stop, full: full}
					if len(out)%2 != 0 {
						k.resets = 400
					}
					out[name] = k
				}
			}
		}
	}
	return out
}

// A pair is a module and its model, with the same inputs.
type pair struct {
	perf.Module
	plain
	clock int
}

func newPair(nodes int) *pair { return &pair{Module: perf.New(nodes), plain: plain{nodes: nodes}} }

// step is a clock of both, with an equal answer.
func (p *pair) step(t *testing.T, k *load, r regbus.Req, rst bool) {
	var l [2]perf.Levels
	var v [2]perf.Moves
	for n := range 2 {
		l[n], v[n] = k.node()
	}
	p.Module.Tick(l[0], l[1], v[0], v[1], r, rst)
	if want, got := p.tick(l, v, r, rst), p.Module.Rsp(); want != got {
		require.Equal(t, want, got, "clock %d, %+v", p.clock, r)
	}
	p.clock++
}

// TestExact compares every answer with the plain model, under random accesses.
func TestExact(t *testing.T) {
	for nodes := 1; nodes <= 2; nodes++ {
		for name, k := range loads(uint64(nodes)) {
			t.Run(strconv.Itoa(nodes)+" nodes, "+name, func(t *testing.T) {
				p, after := newPair(nodes), false
				for range 8000 {
					var r regbus.Req
					if !after && k.chance(1, k.every) {
						r = k.request()
					}
					after = r.Op != regbus.None
					p.step(t, k, r, k.resets > 0 && k.chance(1, k.resets))
				}
			})
		}
	}
}

// TestNeverLate repeats every sequence of up to four accesses, one in every second
// clock, while everything counts. No sequence keeps a counter from its turn for so
// long that its low bits are ambiguous.
func TestNeverLate(t *testing.T) {
	const read, cycles = regbus.Read, perfreg.Base + perfreg.Cycles
	ctl := func(v uint32) regbus.Req { return regbus.Req{Op: regbus.Write, Off: perfreg.Base, Data: v} }
	kinds := []regbus.Req{{}, {Op: read, Off: cycles}, ctl(run), ctl(0), ctl(run | snapshot), ctl(snapshot), ctl(run | snapshot | clearAll)}
	k := &load{full: true}
	for length, sequences := 1, len(kinds); length <= 4; length, sequences = length+1, sequences*len(kinds) {
		for i := range sequences {
			p := newPair(2)
			p.step(t, k, ctl(run), false)
			p.step(t, k, regbus.Req{}, false)
			for at, left := 0, i; at < 50*length; at, left = at+1, left/len(kinds) {
				if at%length == 0 {
					left = i
				}
				p.step(t, k, kinds[left%len(kinds)], false)
				p.step(t, k, regbus.Req{}, false)
			}
			p.step(t, k, ctl(snapshot), false)
			for off := uint16(perfreg.Cycles); off < 0x90; off += 8 {
				p.step(t, k, regbus.Req{}, false)
				p.step(t, k, regbus.Req{Op: read, Off: perfreg.Base + off}, false)
			}
		}
	}
}
