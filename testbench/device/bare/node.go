package bare

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// The ways in which a node can be wrong, wrapped with its registers.
var (
	ErrStuck = errors.New("bare: the node does not do what it is told")
	ErrFault = errors.New("bare: the node stopped on a fault")
	ErrGone  = errors.New("bare: the board did not answer any more")
)

// A Packet is anything that can be put into a ring.
type Packet interface {
	Append(b []byte) ([]byte, error)
}

// A Node is one of the board's nodes with a ring.
type Node struct {
	Control uint32 // bits of CTL that Run sets with RUN

	a  *Access
	id int

	base   uint64 // GPU address of the ring
	dwords uint32 // of the ring
	wptr   uint32
}

// Node returns node i, without a ring.
func (a *Access) Node(i int) *Node { return &Node{a: a, id: i} }

// Wptr returns the next dword of the ring to write.
func (n *Node) Wptr() uint32 { return n.wptr }

// Dwords returns the size of the ring.
func (n *Node) Dwords() uint32 { return n.dwords }

func (n *Node) at(off uint32) uint32 { return cpreg.Base + uint32(n.id)*cpreg.Stride + off }

// Reg reads a register of the node; off is in its block.
func (n *Node) Reg(off uint32) uint32 { return n.a.Reg(n.at(off)) }

// SetReg writes a register of the node.
func (n *Node) SetReg(off, v uint32) { n.a.SetReg(n.at(off), v) }

// Timeline returns the last fence that the node has completed, with the high
// half that the registers have beside it.
func (n *Node) Timeline() uint64 {
	lo := n.Reg(cpreg.LineLo) // latches the high half
	return uint64(n.Reg(cpreg.LineHi))<<32 | uint64(lo)
}

// SetTimeline presets the timeline of the node, which does not run.
func (n *Node) SetTimeline(v uint64) {
	n.SetReg(cpreg.Fence, uint32(v))
	n.SetReg(cpreg.LineHi, uint32(v>>32))
}

// Reset resets the node. It fails with ErrStuck if that does not end.
func (n *Node) Reset() error {
	if n.id == 0 {
		n.a.user = nil
	}
	n.SetReg(cpreg.Ctl, cpreg.CtlReset)
	if !n.a.Until(func() bool { return n.Reg(cpreg.Ctl) == 0 }) {
		return fmt.Errorf("%w: CP%d.CTL.RESET does not end: %s", ErrStuck, n.id, n.State())
	}
	return nil
}

// Start resets the node and has it run an empty ring of 1<<log2 bytes at base,
// a GPU address in host memory or VRAM. The last fence that it has completed
// becomes id; the high half of its timeline stays. It fails with ErrStuck.
func (n *Node) Start(base uint64, log2, id uint32) error {
	n.base, n.dwords, n.wptr = base, 1<<log2/4, 0
	if err := n.Reset(); err != nil {
		return err
	}
	n.SetReg(cpreg.RingLo, uint32(base))
	n.SetReg(cpreg.RingHi, uint32(base>>32))
	n.SetReg(cpreg.RingSize, log2)
	n.SetReg(cpreg.Fence, id)
	if n.id == 0 {
		n.a.user = n
	}
	return n.Run()
}

// Run has the node run the ring that it has.
func (n *Node) Run() error {
	ctl := cpreg.CtlRun | n.Control
	n.SetReg(cpreg.Ctl, ctl)
	if got := n.Reg(cpreg.Ctl); got != ctl && n.a.Err == nil {
		return fmt.Errorf("%w: CP%d.CTL.RUN does not stay set: %s", ErrStuck, n.id, n.State())
	}
	return nil
}

// Push puts whole packets into the ring, which has room for them, around its
// end if need be. The node does not look at them before Doorbell.
func (n *Node) Push(b []byte) {
	for len(b) > 0 {
		off := 4 * uint64(n.wptr)
		k := min(len(b), int(4*n.dwords)-int(off))
		if n.base&pkt.Host != 0 {
			mem, _ := n.a.Host.at(n.base&^pkt.Host+off, k, true)
			copy(mem, b)
		} else {
			n.a.WriteVRAM(n.base+off, b[:k])
		}
		n.wptr = (n.wptr + uint32(k/4)) % n.dwords
		b = b[k:]
	}
}

// Doorbell tells the node of what was pushed.
func (n *Node) Doorbell() { n.SetReg(cpreg.Wptr, n.wptr) }

// Finish rings the doorbell and waits until everything is retired. It fails
// with ErrStuck, ErrFault, ErrGone, or the first access of memory that the
// device was not given.
func (n *Node) Finish() error {
	n.Doorbell()
	if got := n.Reg(cpreg.Wptr); got != n.wptr && n.a.Err == nil {
		return fmt.Errorf("%w: CP%d.WPTR reads %#x after the doorbell %#x was written: the doorbell is lost", ErrStuck, n.id, got, n.wptr)
	}
	return n.Settle()
}

// Settle waits until the node has retired everything, as Finish does.
func (n *Node) Settle() error {
	fault := false
	done := n.a.Until(func() bool {
		status := n.Reg(cpreg.Status)
		fault = status&cpreg.StatusFault != 0
		return fault || status&cpreg.StatusIdle != 0 && n.Reg(cpreg.Rptr) == n.wptr
	})
	switch {
	case n.a.Err != nil:
		return ErrGone
	case fault:
		return fmt.Errorf("%w: node %d: %s", ErrFault, n.id, n.State())
	case !done:
		return fmt.Errorf("%w: node %d is not done after %d s: %s", ErrStuck, n.id, Patience, n.State())
	case len(n.a.Host.Refused) > 0:
		return n.a.Host.Refused[0]
	}
	return nil
}

// Do runs packets, which fit into the ring.
func (n *Node) Do(packets ...Packet) error {
	b, err := Encode(packets...)
	if err != nil {
		return err
	}
	n.Push(b)
	return n.Finish()
}

// Encode returns packets as they stand in memory.
func Encode(packets ...Packet) ([]byte, error) {
	var b []byte
	for _, p := range packets {
		var err error
		if b, err = p.Append(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// State returns the registers that tell what the node does.
func (n *Node) State() string {
	m := regmap.New()
	var all []string
	offs := []uint32{cpreg.Ctl, cpreg.Status, cpreg.Rptr, cpreg.Wptr, cpreg.FaultInfo}
	if n.Reg(cpreg.FaultInfo) != 0 {
		offs = append(offs, cpreg.FaultLo, cpreg.FaultHi, cpreg.FaultOp, cpreg.FaultBad, cpreg.FaultBadH)
	}
	for _, off := range offs {
		if e, ok := m.Lookup(n.at(off)); ok {
			all = append(all, e.Format(n.Reg(off)))
		}
	}
	return strings.Join(all, " ")
}
