package events

import (
	"encoding/binary"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// rings follow the rings that the host gives the nodes, by its writes of their registers. The mutex is not that of the
// Recorder, since the host's memory may call the Recorder.
type rings struct {
	mu   sync.Mutex
	peek func(addr uint64, p []byte) error // reads host memory; nil: it is not known
	node [cpreg.Nodes]ringOf
}

// A ringOf is the ring of a node.
type ringOf struct {
	base   uint64 // GPU address
	dwords uint32
	wptr   uint32
	stops  bool // a preemption is requested, and the node is not started again
}

// Memory makes the log have the packets that the host puts in rings in its memory. peek reads that memory.
func (r *Recorder) Memory(peek func(addr uint64, p []byte) error) { r.rings.peek = peek }

// register follows a write of a register of BAR0. It returns the events of the packets for which it is the doorbell.
func (r *rings) register(off uint64, value uint32) (all []eventlog.Event) {
	if r.peek == nil || off < cpreg.Base || off >= cpreg.Base+cpreg.Nodes*cpreg.Stride {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	node := (off - cpreg.Base) / cpreg.Stride
	n := &r.node[node]
	switch (off - cpreg.Base) % cpreg.Stride {
	case cpreg.RingLo:
		n.base = n.base>>32<<32 | uint64(value)
	case cpreg.RingHi:
		n.base = n.base&(1<<32-1) | uint64(value)<<32
	case cpreg.RingSize:
		n.dwords = uint32(1) << (value & 31) / 4
	case cpreg.Ctl:
		if value&cpreg.CtlReset != 0 {
			*n = ringOf{}
		}
		n.stops = n.stops && value&cpreg.CtlRun == 0
	case cpreg.Preempt:
		n.stops = true
	case cpreg.Wptr:
		if !n.stops || !n.before(value) {
			all = r.packets(n, node, value)
		}
		n.wptr = value
	}
	return all
}

// before reports whether a write pointer is nearer before the last one than after it: the host takes back what a node
// that is preempted has not executed.
func (n *ringOf) before(wptr uint32) bool {
	return (n.wptr-wptr)&(n.dwords-1) < (wptr-n.wptr)&(n.dwords-1)
}

// packets returns the events of the packets from the write pointer of a node to a new one.
func (r *rings) packets(n *ringOf, node uint64, wptr uint32) (all []eventlog.Event) {
	if n.base&pkt.Host == 0 || wptr >= n.dwords {
		return nil
	}
	for at := n.wptr; at != wptr; {
		left := (wptr - at) & (n.dwords - 1)
		var data []byte
		var word [4]byte
		length := uint32(1)
		for i := uint32(0); i < min(length, left, maxPacket/4); i++ {
			if r.peek((n.base&^pkt.Host)+4*uint64((at+i)&(n.dwords-1)), word[:]) != nil {
				return all
			}
			if i == 0 {
				length = 1 + binary.LittleEndian.Uint32(word[:])&pkt.HeaderBody
			}
			data = append(data, word[:]...)
		}
		e := eventlog.New(eventlog.RingPacket, node, n.base+4*uint64(at))
		e.Data = data
		all = append(all, e)
		at = (at + min(length, left)) & (n.dwords - 1)
	}
	return all
}
