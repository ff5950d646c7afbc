package gpu_test

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// A rigNode is the reference model of a node and the memory that the node may use.
type rigNode struct {
	*refmodel.Node
	own, hostOwn, stamps refmodel.Range
	readable             []refmodel.Range
}

// maxCost limits the bytes that a batch writes.
const maxCost = 1 << 15

// span returns the range of n bytes at an address.
func span(at, n uint64) refmodel.Range { return refmodel.Range{At: at, N: n} }

// run executes the ring in m, the node's model or a trial copy of it. It reports whether
// the outcome is defined and does not depend on the other node.
func (n *rigNode) run(m *refmodel.Node) bool {
	cost := uint64(0)
	stop := m.Run(func(s refmodel.Step) bool {
		cost += s.Bytes() + 64*uint64(len(s.Moves))
		return cost <= maxCost && n.fetches(s) && n.ownsAccesses(s)
	})
	return stop == refmodel.Idle || stop == refmodel.Faulted
}

// fetches reports whether no node writes the packet or the dwords that it skips.
func (n *rigNode) fetches(s refmodel.Step) bool {
	if s.Place == refmodel.InRing {
		return true
	}
	size := uint64(len(s.P))
	if s.Skips {
		size += uint64(s.P[3] & 0xffff)
	}
	return n.reads(span(s.Addr, 4*size)) && !n.own.Holds(s.Addr, 4) && !n.hostOwn.Holds(s.Addr, 4)
}

// ownsAccesses reports whether a packet accesses only memory of the node.
func (n *rigNode) ownsAccesses(s refmodel.Step) bool {
	if s.P[0]>>24 == pkt.OpWriteReg && s.Cause == cpreg.CauseNone && s.P[1]>>3&1 != uint32(n.ID) {
		return false
	}
	ok := true
	s.Accesses(func(r refmodel.Range, write bool) {
		switch {
		case s.P[0]>>24 == pkt.OpTimestamp:
			ok = n.stamps.Holds(r.At, r.N)
		case write:
			for _, r := range n.Physical(r) {
				ok = ok && n.writes(r)
			}
		default:
			for _, r := range n.Physical(r) {
				ok = ok && n.reads(r)
			}
		}
	})
	return ok
}

// reads reports whether no other node writes a range that is read.
func (n *rigNode) reads(r refmodel.Range) bool {
	if off := r.At&^host - memBase; r.At&host != 0 && off >= memSize {
		return true // nothing answers
	} else if r.At&host != 0 {
		r.N = min(r.N, memSize-off)
	}
	holds := func(s refmodel.Range) bool { return s.Holds(r.At, r.N) }
	return holds(n.own) || holds(n.hostOwn) || slices.ContainsFunc(n.readable, holds)
}

// writes reports whether the node owns a range that is written, or nothing answers there.
func (n *rigNode) writes(r refmodel.Range) bool {
	off := r.At&^host - memBase
	nowhere := r.At&host != 0 && off >= memSize && off+r.N > off
	return nowhere || n.own.Holds(r.At, r.N) || n.hostOwn.Holds(r.At, r.N)
}
