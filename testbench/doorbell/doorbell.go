// Package doorbell tracks the rings of the nodes of a GPU, from the host's writes of their registers.
package doorbell

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// MaxPacket is the largest number of bytes of a packet that Write returns. Only a NOP may be longer.
const MaxPacket = 64

// Rings are the rings of the nodes. Its methods must not be called at the same time.
type Rings struct {
	peek func(addr uint64, p []byte) error
	node [cpreg.Nodes]ring
}

// A ring is that of a node.
type ring struct {
	base   uint64 // GPU address
	dwords uint32
	wptr   uint32
	stops  bool // a preemption is requested, and the node is not started again
}

// A Packet is one that the host has put into a ring.
type Packet struct {
	Node    int
	Address uint64 // GPU address
	Data    []byte // at most MaxPacket bytes
}

// New returns rings that nobody has set. peek reads host memory at a physical address.
func New(peek func(addr uint64, p []byte) error) *Rings { return &Rings{peek: peek} }

// Write follows a write of a register of BAR 0. It returns the packets for which it is the doorbell, in
// order. They are in a ring in host memory: nothing is returned of another one.
func (r *Rings) Write(off uint64, value uint32) []Packet {
	if off == idreg.Base+idreg.Reset && value&idreg.ResetWhole != 0 {
		r.node = [cpreg.Nodes]ring{}
	}
	if off < cpreg.Base || off >= cpreg.Base+cpreg.Nodes*cpreg.Stride {
		return nil
	}
	node := int(off-cpreg.Base) / cpreg.Stride
	n := &r.node[node]
	switch (off - cpreg.Base) % cpreg.Stride {
	case cpreg.RingLo:
		n.base = n.base>>32<<32 | uint64(value)
	case cpreg.RingHi:
		n.base = n.base&(1<<32-1) | uint64(value)<<32
	case cpreg.RingSize:
		n.dwords = uint32(1) << (value & cpreg.RingSizeLog2) / 4
	case cpreg.Ctl:
		if value&cpreg.CtlReset != 0 {
			*n = ring{}
		}
		n.stops = n.stops && value&cpreg.CtlRun == 0
	case cpreg.Preempt:
		n.stops = true
	case cpreg.Wptr:
		before := n.wptr
		n.wptr = value
		if !n.stops || !n.nearer(value, before) {
			return r.packets(n, node, before)
		}
	}
	return nil
}

// Ring returns the range of GPU addresses of the ring of a node. It is empty without a ring.
func (r *Rings) Ring(node int) (from, to uint64) {
	n := r.node[node]
	return n.base, n.base + 4*uint64(n.dwords)
}

// nearer reports whether a write pointer is nearer before another one than after it: the host takes
// back what a node that is preempted has not executed.
func (n *ring) nearer(wptr, other uint32) bool {
	return (other-wptr)&(n.dwords-1) < (wptr-other)&(n.dwords-1)
}

// packets returns the packets from a write pointer to that of the ring.
func (r *Rings) packets(n *ring, node int, at uint32) (all []Packet) {
	if n.base&pkt.Host == 0 || n.wptr >= n.dwords {
		return nil
	}
	for at != n.wptr {
		left := (n.wptr - at) & (n.dwords - 1)
		var data []byte
		var word [4]byte
		length := uint32(1)
		for i := uint32(0); i < min(length, left, MaxPacket/4); i++ {
			if r.peek((n.base&^pkt.Host)+4*uint64((at+i)&(n.dwords-1)), word[:]) != nil {
				return all
			}
			if i == 0 {
				length = 1 + binary.LittleEndian.Uint32(word[:])&pkt.HeaderBody
			}
			data = append(data, word[:]...)
		}
		all = append(all, Packet{Node: node, Address: n.base + 4*uint64(at), Data: data})
		at = (at + min(length, left)) & (n.dwords - 1)
	}
	return all
}
