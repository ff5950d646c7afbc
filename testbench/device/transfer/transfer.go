// Package transfer is a workload of copies or fills on several nodes of a board at
// once. It uses only their rings, compares every byte with a scoreboard and
// measures the clocks.
package transfer

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// Errors of Run. ErrInput means bad options, ErrWrong wrong behaviour of the
// device.
var (
	ErrInput = errors.New("transfer: bad input")
	ErrWrong = errors.New("transfer: wrong outcome")
)

// DefaultSize is the largest Options.Size that a run takes by itself.
const DefaultSize = 64 << 10

// Limits of Options.
const (
	MaxSize  = 4 << 20
	MaxAlign = 4095
	MaxCount = 10_000
)

// A Place is one of the two memories.
type Place uint8

// The places.
const (
	VRAM Place = iota
	Host
)

// String returns the name of the place on the command line.
func (p Place) String() string { return [...]string{"vram", "host"}[p] }

// Options are the settings of a run.
type Options struct {
	Board string      // selector
	Open  bare.Opener // opens the board
	Fill  bool        // FILL instead of COPY, without a source
	Size  int         // bytes per packet, at most MaxSize; 0 is the largest power of two that fits, up to DefaultSize
	From  Place       // place of the source
	To    Place       // place of the destination

	FromAlign, ToAlign int // bytes after a multiple of 4096, 0 to MaxAlign

	Count int    // packets per node, 1 to MaxCount
	Nodes int    // nodes that work concurrently; 0 means all
	Seed  uint64 // seed of the data

	// Progress, if not nil, is called with the steps done: memory loaded, moved,
	// checked.
	Progress func(done, total int)

	// Failed, if not nil, is called with the error of a run before the board is
	// closed.
	Failed func(error)
}

func (o Options) check() error {
	for _, x := range []struct {
		name   string
		n      int
		lo, hi int
	}{
		{"size", o.Size, 0, MaxSize}, {"align", o.FromAlign, 0, MaxAlign}, {"align", o.ToAlign, 0, MaxAlign},
		{"count", o.Count, 1, MaxCount}, {"nodes", o.Nodes, 0, cpreg.Nodes},
	} {
		if x.n < x.lo || x.n > x.hi {
			return fmt.Errorf("%w: --%s %d, want %d to %d", ErrInput, x.name, x.n, x.lo, x.hi)
		}
	}
	return nil
}

// page is the unit of the alignments, in bytes.
const page = 4096

// maxSlots is the largest number of sources and of destinations per node. Packets
// use them in turn.
const maxSlots = 4

// A layout assigns memory in slots of one size: first the sources of all nodes,
// then their destinations, from 0 in VRAM and from data in host memory.
type layout struct {
	Options
	slot  uint64 // bytes per slot, a multiple of page
	slots int    // sources, or destinations, per node
	ring  uint32 // log2 of the ring's bytes
	data  uint64 // offset in host memory, after rings and fences
}

func newLayout(o Options, nodes int) layout {
	packet := uint64(1 + max(pkt.CopyBody, pkt.FillBody))
	ringBytes := 4 * (uint64(o.Count)*packet + 1 + pkt.FenceBody + 1)
	l := layout{Options: o, ring: max(12, uint32(bits.Len64(ringBytes-1)))}
	l.Nodes = nodes
	l.slot = (uint64(o.Size) + uint64(max(o.FromAlign, o.ToAlign)) + guard + page - 1) &^ (page - 1)
	l.slots = min(maxSlots, o.Count)
	l.data = uint64(nodes)<<l.ring + page
	return l
}

// guard is the minimum number of bytes after a destination that must not change.
const guard = 8

// used returns the number of bytes of a place that hold data.
func (l layout) used(p Place) uint64 {
	n := uint64(0)
	if !l.Fill && l.From == p {
		n += uint64(l.Nodes*l.slots) * l.slot
	}
	if l.To == p {
		n += uint64(l.Nodes*l.slots) * l.slot
	}
	return n
}

// ringAt and fenceAt return the GPU addresses of a node's ring and fence.
func (l layout) ringAt(node int) uint64 {
	return pkt.Host | (bare.HostBase + uint64(node)<<l.ring)
}

func (l layout) fenceAt(node int) uint64 {
	return pkt.Host | (bare.HostBase + uint64(l.Nodes)<<l.ring + 8*uint64(node))
}

// at returns the GPU address of slot i, counted over all nodes.
func (l layout) at(p Place, i uint64) uint64 {
	if p == Host {
		return pkt.Host | (bare.HostBase + l.data + i*l.slot)
	}
	return i * l.slot
}

// source and dest return the addresses of packet i of a node. A destination is
// written several times, from another source each time.
func (l layout) source(node, i int) uint64 {
	slot := node*l.slots + (i+i/l.slots)%l.slots
	return l.at(l.From, uint64(slot)) + uint64(l.FromAlign)
}

func (l layout) dest(node, i int) uint64 {
	first := uint64(0)
	if !l.Fill && l.From == l.To {
		first = uint64(l.Nodes * l.slots)
	}
	return l.at(l.To, first+uint64(node*l.slots+i%l.slots)) + uint64(l.ToAlign)
}
