// Package watchdog detects nodes that have work and make no progress.
package watchdog

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// A Node is the state of a node that the watchdog observes.
//
//	Busy   the node is not idle; while the device sleeps this stays
//	Moved  the node has made progress in this clock; then the device does not
//	       sleep
type Node struct {
	Busy  bool
	Moved bool
}

// Module counts the clocks in which a node is busy and makes no progress.
//
//	In      n0, n1 Node; regs regbus.Req; rst, a reset
//	Out     Hang, a pulse for each node; Rsp regbus.Rsp
//	Timing  1 clock from the last clock of LIMIT to the pulse
//	Reset   LIMIT 0, which is off; STATUS 0
//	Order   a hang in the clock of its acknowledge wins; one in the clock of a
//	        write of LIMIT is not reported
//	Paths   none
//	Size    134 bits
//	Source  wdogreg.Block
type Module struct {
	limit  uint32
	age0   uint32 // clocks since node 0 made progress, up to limit
	age1   uint32
	status uint8 `w:"2"`
	hang0  bool
	hang1  bool
	rsp    regbus.Rsp
}

// Hang reports which nodes have reached the limit, for one clock.
func (m *Module) Hang() (node0, node1 bool) { return m.hang0, m.hang1 }

// Rsp returns the answer to the register access of the previous clock.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Quiet reports whether there is no limit and no answer is given.
func (m *Module) Quiet() bool { return m.limit == 0 && !m.rsp.Hit }

// Reset clears the registers.
func (m *Module) Reset() { *m = Module{} }

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the
// other inputs are.
func (m *Module) Sleeps(regs regbus.Req, rst bool) bool {
	return m.Quiet() && regs.Op == regbus.None && !rst
}

// Tick is one rising clock edge.
func (m *Module) Tick(n0, n1 Node, regs regbus.Req, rst bool) {
	was0, was1 := m.age0, m.age1
	m.age0, m.age1 = nextAge(was0, m.limit, n0), nextAge(was1, m.limit, n1)
	m.hang0 = m.age0 == m.limit && was0 != m.limit
	m.hang1 = m.age1 == m.limit && was1 != m.limit
	m.access(regs)
	if m.hang0 {
		m.status |= wdogreg.Hang0
	}
	if m.hang1 {
		m.status |= wdogreg.Hang1
	}
	if rst {
		m.Reset()
	}
}

// nextAge returns the next value of age, the clocks since a node made progress.
func nextAge(age, limit uint32, n Node) uint32 {
	switch {
	case !n.Busy || n.Moved:
		age = 0
	case age != limit:
		age++
	default:
	}
	return age
}

// access serves a register access.
func (m *Module) access(r regbus.Req) {
	m.rsp = regbus.Rsp{}
	write := r.Op == regbus.Write
	switch {
	case r.Op == regbus.None:
	case r.Off == wdogreg.Base+wdogreg.Limit:
		m.rsp.Hit = true
		if write {
			m.limit = r.Data
			m.age0, m.age1 = 0, 0
			m.hang0, m.hang1 = false, false
		} else {
			m.rsp.Data = m.limit
		}
	case r.Off == wdogreg.Base+wdogreg.Status:
		m.rsp.Hit = true
		if write {
			m.status &^= uint8(r.Data) & (wdogreg.Hang0 | wdogreg.Hang1)
		} else {
			m.rsp.Data = uint32(m.status)
		}
	default:
	}
}

// IdleFor returns the clocks until the first busy node reaches the limit, 0 while
// an output is given, and math.MaxUint64 if none will.
func (m *Module) IdleFor(busy0, busy1 bool) uint64 {
	if m.hang0 || m.hang1 || m.rsp.Hit {
		return 0
	}
	n := uint64(math.MaxUint64)
	if busy0 && m.age0 != m.limit {
		n = uint64(m.limit-m.age0) - 1
	}
	if busy1 && m.age1 != m.limit {
		n = min(n, uint64(m.limit-m.age1)-1)
	}
	if !busy0 && m.age0 != 0 || !busy1 && m.age1 != 0 {
		n = 0
	}
	return n
}

// Skip skips n clocks in which no node makes progress.
func (m *Module) Skip(n uint64, busy0, busy1 bool) {
	if busy0 && m.age0 != m.limit {
		m.age0 += uint32(n)
	}
	if busy1 && m.age1 != m.limit {
		m.age1 += uint32(n)
	}
}
