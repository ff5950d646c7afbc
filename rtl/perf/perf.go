// Package perf has the performance counters: the work and the stalls of the
// nodes.
package perf

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Levels are the states of a node in a clock. They do not change while the device
// sleeps.
type Levels struct {
	Busy  bool // the node is not idle
	Read  bool // the node waits for data
	Write bool // the node offers a write of which nothing is taken
	Ring  bool // the node waits for a dword of a buffer
}

// Moves are the progress of a node in a clock. A device with any progress does
// not sleep.
type Moves struct {
	Retired bool  // a packet retired
	Took    bool  // a dword of a buffer was taken
	Bytes   uint8 `w:"4"` // bytes written by the DMA engine
}

// counts are the counters of a node.
type counts struct {
	busy    uint64
	read    uint64
	write   uint64
	ring    uint64
	bytes   uint64
	packets uint64
}

// Module has the counters and the last snapshot.
//
//	In      l0, l1 Levels; m0, m1 Moves; regs regbus.Req; rst, a reset
//	Out     Rsp regbus.Rsp
//	Timing  a counter changes 1 clock after its level or pulse; an answer 1
//	        clock after its request
//	Reset   all 0, frozen
//	Order   a write of CTL acts before the clock is counted: snapshot, clear, run
//	Paths   none
//	Size    833 bits for each node, and 257
//	Source  perfreg.Block
type Module struct {
	twoNodes bool // node 1 exists

	run    bool
	cycles uint64
	node0  counts
	node1  counts

	cyclesSnapshot uint64
	node0Snapshot  counts
	node1Snapshot  counts
	rsp            regbus.Rsp
}

// New returns the counters of a GPU with the given number of nodes.
func New(nodes int) Module { return Module{twoNodes: nodes == 2} }

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Quiet reports whether the counters are frozen and no answer is given.
func (m *Module) Quiet() bool { return !m.run && !m.rsp.Hit }

// Reset clears the registers.
func (m *Module) Reset() { *m = Module{twoNodes: m.twoNodes} }

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the
// other inputs are.
func (m *Module) Sleeps(regs regbus.Req, rst bool) bool {
	return m.Quiet() && regs.Op == regbus.None && !rst
}

// Tick is one rising clock edge.
func (m *Module) Tick(l0, l1 Levels, m0, m1 Moves, regs regbus.Req, rst bool) {
	m.access(regs)
	if m.run {
		m.cycles++
		m.node0 = m.node0.count(l0, m0)
		if m.twoNodes {
			m.node1 = m.node1.count(l1, m1)
		}
	}
	if rst {
		m.Reset()
	}
}

// count returns the counters after a clock.
func (c counts) count(l Levels, m Moves) counts {
	c = c.skip(l, 1)
	c.bytes += uint64(m.Bytes)
	if m.Retired {
		c.packets++
	}
	return c
}

// skip returns the counters after n clocks with the same levels.
func (c counts) skip(l Levels, n uint64) counts {
	if l.Busy {
		c.busy += n
	}
	if l.Read {
		c.read += n
	}
	if l.Write {
		c.write += n
	}
	if l.Ring {
		c.ring += n
	}
	return c
}

// access serves a register access.
func (m *Module) access(r regbus.Req) {
	m.rsp = regbus.Rsp{}
	off := r.Off - perfreg.Base
	switch {
	case r.Op == regbus.None || off >= perfreg.Size:
	case off == perfreg.Ctl:
		m.rsp.Hit = true
		if r.Op == regbus.Write {
			m.control(r.Data)
		} else if m.run {
			m.rsp.Data = perfreg.CtlRun
		}
	default:
		v, hit := m.counter(off &^ 4)
		m.rsp.Hit = hit
		if r.Op == regbus.Read {
			m.rsp.Data = uint32(v)
			if off&4 != 0 {
				m.rsp.Data = uint32(v >> 32)
			}
		}
	}
}

// control performs a write of CTL.
func (m *Module) control(v uint32) {
	if v&perfreg.CtlSnapshot != 0 {
		m.cyclesSnapshot, m.node0Snapshot, m.node1Snapshot = m.cycles, m.node0, m.node1
	}
	if v&perfreg.CtlClear != 0 {
		m.cycles, m.node0, m.node1 = 0, counts{}, counts{}
	}
	m.run = v&perfreg.CtlRun != 0
}

// counter returns a value of the last snapshot, and whether the counter exists.
func (m *Module) counter(off uint16) (v uint64, hit bool) {
	switch {
	case off == perfreg.Cycles:
		v, hit = m.cyclesSnapshot, true
	case off-perfreg.Node < perfreg.Stride:
		v, hit = m.node0Snapshot.at(off - perfreg.Node)
	case m.twoNodes && off-perfreg.Node < 2*perfreg.Stride:
		v, hit = m.node1Snapshot.at(off - perfreg.Node - perfreg.Stride)
	default:
	}
	return v, hit
}

// at returns a counter of a node.
func (c counts) at(off uint16) (v uint64, hit bool) {
	hit = true
	switch off {
	case perfreg.Busy:
		v = c.busy
	case perfreg.StallRead:
		v = c.read
	case perfreg.StallWrite:
		v = c.write
	case perfreg.StallRing:
		v = c.ring
	case perfreg.Bytes:
		v = c.bytes
	case perfreg.Packets:
		v = c.packets
	default:
		hit = false
	}
	return v, hit
}

// IdleFor returns 0 while an answer is given, and otherwise math.MaxUint64: the
// module only counts.
func (m *Module) IdleFor() uint64 {
	if m.rsp.Hit {
		return 0
	}
	return math.MaxUint64
}

// Skip skips n clocks with the same levels and no moves.
func (m *Module) Skip(n uint64, l0, l1 Levels) {
	if m.run {
		m.cycles += n
		m.node0 = m.node0.skip(l0, n)
		if m.twoNodes {
			m.node1 = m.node1.skip(l1, n)
		}
	}
}
