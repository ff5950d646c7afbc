// Package refmodel is the reference model of packets: what docs/packets.md says
// that a packet does, and why it is refused, without time and without the RTL.
//
// Judge says of one packet what it would do and changes nothing; Do does it, Part
// does what a preemption leaves of it. Run fetches packets from the ring and from
// indirect buffers and does them until the node rests. Verdict.Undefined and
// Fault.Known tell what the documents leave open; nothing is guessed.
package refmodel

import (
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A Config has the properties of a device that packets depend on.
type Config struct {
	Nodes      int
	HostBits   int      // width of a host address
	LengthBits int      // width of a linear packet's byte count
	VRAM       uint64   // bytes
	Caps       caps.Set // capabilities
}

// Has reports whether the device executes an opcode: docs/packets.md has it, and
// the device has the capabilities that it needs.
func (c Config) Has(op uint8) bool {
	l, ok := pkt.Lookup(op)
	return ok && c.Caps.Has(l.Needs)
}

// A Device is what the nodes share, and the nodes.
type Device struct {
	Config
	Mem      *Memory
	Scratch  [4]uint32 // ID.SCRATCH0 to 3
	NoMaster bool      // bus mastering is off: host memory is out of reach
	Nodes    []*Node
}

// New returns a device whose nodes are as after a reset. mem holds at least the
// memory that packets will read.
func New(c Config, mem *Memory) *Device {
	d := &Device{Config: c, Mem: mem}
	for i := range c.Nodes {
		d.Nodes = append(d.Nodes, &Node{Device: d, ID: i, Unclear: map[uint64]byte{}})
	}
	return d
}

// Clone returns a copy, with a copy of the memory.
func (d *Device) Clone() *Device {
	c := *d
	c.Mem, c.Nodes = d.Mem.Clone(), nil
	for _, n := range d.Nodes {
		m := *n
		m.Device, m.Unclear, m.Stamps = &c, maps.Clone(n.Unclear), slices.Clone(n.Stamps)
		c.Nodes = append(c.Nodes, &m)
	}
	return &c
}

// A Node is a command processor: the registers that packets change, and what came
// of them for others.
type Node struct {
	*Device
	ID int

	Surfaces [2]Surface // by pkt.Surface
	Windows  [pkt.Windows]Window
	Protect  bool   // CTL.PROTECT
	Fence    uint64 // the timeline; without Config.Timeline its low half only
	Progress uint32 // PROGRESS
	Packets  uint32 // PACKETS: retired since the reset

	Ring   Ring
	Fault  Fault  // what the node has latched
	IBAddr uint64 // IB_ADDR: next packet of the indirect buffer, that which faulted included
	IBLeft uint32 // IB_LEFT: dwords from there to its end

	Retired uint64          // packets, resets or not
	Moved   uint64          // bytes that COPY, FILL, COPY_2D, FILL_2D and SAVE_STATE have written
	Done    int             // DONE events
	Stamps  []uint64        // addresses of time stamps, whose values no model knows
	Unclear map[uint64]byte // bytes that a copy which failed may have written, or not
}

// Reset is CTL.RESET. The fence stays.
func (n *Node) Reset() {
	*n = Node{
		Device: n.Device, ID: n.ID, Fence: n.Fence,
		Retired: n.Retired, Moved: n.Moved, Done: n.Done, Stamps: n.Stamps, Unclear: n.Unclear,
	}
}

// A Surface is one half of the state that SET_STATE sets.
type Surface struct {
	Set            bool
	Base, Pitch    uint64
	Format         uint32 // log2 of the bytes of an element
	X0, Y0, X1, Y1 int64  // the clip
}

// A Range is so many bytes from a GPU address on.
type Range struct{ At, N uint64 }

// Holds reports whether all of n bytes at an address are in the range.
func (r Range) Holds(at, n uint64) bool { return n <= r.N && at >= r.At && at-r.At <= r.N-n }

// A Window is a range that guarded packets may read, and write if it is Writable.
type Window struct {
	Range
	Writable bool
}

// opens reports whether a window lets n bytes be read. One that goes around the
// end of all addresses opens nothing.
func (w Window) opens(at, n uint64) bool {
	return w.N != 0 && w.At+w.N >= w.At && w.Holds(at, n)
}

// timeline returns the node whose timeline a WAIT_FENCE names, nil if there is none.
func (n *Node) timeline(id uint32) *Node {
	if uint64(id) >= uint64(len(n.Nodes)) {
		return nil
	}
	return n.Nodes[id]
}

// next returns the timeline after a fence with this id.
func (n *Node) next(id uint32) uint64 {
	v := n.Fence + uint64(id-uint32(n.Fence))
	if !n.Caps.Has(caps.Timeline) {
		v &= 1<<32 - 1
	}
	return v
}
