// Package refmodel is the reference model of packets. It implements the effects of a
// packet and the reasons to refuse it as docs/packets.md specifies them, without
// timing and without the RTL.
//
// Judge decides the effects of one packet and changes nothing. Do applies them; Part
// applies the part that a preempted packet has done. Run fetches packets from the
// ring and from indirect buffers and executes them until the node stops.
// Verdict.Undefined and Fault.Known mark results that the documents leave open; the
// model does not guess them.
package refmodel

import (
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
)

// A Config has the properties of a device that packets depend on.
type Config struct {
	Nodes      int
	HostBits   int      // width of a host address
	LengthBits int      // width of a linear packet's byte count
	VRAM       uint64   // bytes
	Caps       caps.Set // capabilities
}

// Has reports whether the device executes an opcode: docs/packets.md defines it, and
// the device has the required capabilities.
func (c Config) Has(op uint8) bool {
	l, ok := pkt.Lookup(op)
	return ok && c.Caps.Has(l.Needs)
}

// A Device is the nodes and the state they share.
type Device struct {
	Config
	Mem      *Memory
	Scratch  [4]uint32 // ID.SCRATCH0 to 3
	NoMaster bool      // bus mastering is off: host memory cannot be accessed
	Aperture Aperture
	Nodes    []*Node
}

// New returns a device whose nodes are in the state after a reset. mem must hold at
// least the memory that packets will read.
func New(c Config, mem *Memory) *Device {
	d := &Device{Config: c, Mem: mem}
	for i := range c.Nodes {
		d.Nodes = append(d.Nodes, &Node{Device: d, ID: i, Unclear: map[uint64]byte{}})
	}
	return d
}

// Clone returns a copy of the device, including the memory.
func (d *Device) Clone() *Device {
	c := *d
	c.Mem, c.Nodes = d.Mem.Clone(), nil
	for _, n := range d.Nodes {
		m := *n
		m.Device, m.Unclear, m.Stamps, m.Trace = &c, maps.Clone(n.Unclear), slices.Clone(n.Stamps), slices.Clone(n.Trace)
		c.Nodes = append(c.Nodes, &m)
	}
	return &c
}

// A Node is a command processor: the registers that packets change, and counts of
// their effects.
type Node struct {
	*Device
	ID int

	Surfaces [2]Surface // by pkt.Surface
	Windows  [pkt.Windows]Window
	Protect  bool   // CTL.PROTECT
	Fence    uint64 // the timeline; without caps.Timeline only the low 32 bits
	Progress uint32 // PROGRESS
	Packets  uint32 // PACKETS: packets retired since the reset

	Ring   Ring
	Fault  Fault  // the latched fault
	IBAddr uint64 // IB_ADDR: the next, or the faulting, packet of the indirect buffer
	IBLeft uint32 // IB_LEFT: dwords from there to its end

	Trace   []Traced        // the trace, the newest last, across resets of the node
	Retired uint64          // packets retired, across resets
	Moved   uint64          // bytes written by COPY, FILL, COPY_2D, FILL_2D and SAVE_STATE
	Done    int             // DONE events
	Stamps  []uint64        // addresses of time stamps, whose values the model cannot know
	Unclear map[uint64]byte // bytes that a failed copy may or may not have written
}

// Reset does what CTL.RESET does. The fence keeps its value.
func (n *Node) Reset() {
	*n = Node{
		Device: n.Device, ID: n.ID, Fence: n.Fence,
		Trace: n.Trace, Retired: n.Retired, Moved: n.Moved, Done: n.Done, Stamps: n.Stamps, Unclear: n.Unclear,
	}
}

// A Traced is a packet in the trace.
type Traced struct {
	Header uint32
	Addr   uint64 // GPU address of the header
}

// Record adds a packet to the trace: one that has retired, or an INDIRECT whose buffer
// begins.
func (n *Node) Record(header uint32, addr uint64) {
	n.Trace = append(n.Trace, Traced{header, addr})
	n.Trace = n.Trace[max(0, len(n.Trace)-tracereg.Entries):]
}

// A Surface is one half of the state that SET_STATE sets.
type Surface struct {
	Set            bool
	Base, Pitch    uint64
	Format         uint32 // log2 of the bytes of an element
	X0, Y0, X1, Y1 int64  // the clip
}

// A Range is N bytes from GPU address At.
type Range struct{ At, N uint64 }

// Holds reports whether all n bytes from at are in the range.
func (r Range) Holds(at, n uint64) bool { return n <= r.N && at >= r.At && at-r.At <= r.N-n }

// A Window is a range that guarded packets may read, and write if it is Writable.
type Window struct {
	Range
	Writable bool
}

// opens reports whether a window allows n bytes to be read. A window that passes the end of
// the address space, which only RESTORE_STATE can set, ends there.
func (w Window) opens(at, n uint64) bool { return w.N != 0 && w.Holds(at, n) }

// timeline returns the node whose timeline a WAIT_FENCE names, or nil.
func (n *Node) timeline(id uint32) *Node {
	if uint64(id) >= uint64(len(n.Nodes)) {
		return nil
	}
	return n.Nodes[id]
}

// next returns the value of the timeline after a fence with this ID.
func (n *Node) next(id uint32) uint64 {
	v := n.Fence + uint64(id-uint32(n.Fence))
	if !n.Caps.Has(caps.Timeline) {
		v &= 1<<32 - 1
	}
	return v
}
