package bare

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// Errors of nodes, wrapped with the registers of the node.
var (
	ErrStuck = errors.New("bare: the node does not respond")
	ErrFault = errors.New("bare: the node stopped on a fault")
	ErrLost  = errors.New("bare: the board stopped answering")
)

// A Packet can be encoded into a ring.
type Packet interface {
	Append(b []byte) ([]byte, error)
}

// A Node is a node of the board, with its ring.
type Node struct {
	Control uint32 // bits of CTL that Run sets in addition to RUN

	a  *Access
	id int

	base   uint64 // GPU address of the ring
	dwords uint32 // size of the ring
	wptr   uint32
}

// Node returns node i, without a ring.
func (a *Access) Node(i int) *Node { return &Node{a: a, id: i} }

// Wptr returns the ring index of the next dword to write.
func (n *Node) Wptr() uint32 { return n.wptr }

// Dwords returns the size of the ring, in dwords.
func (n *Node) Dwords() uint32 { return n.dwords }

func (n *Node) at(off uint32) uint32 { return cpreg.Base + uint32(n.id)*cpreg.Stride + off }

// Reg reads a register of the node; off is relative to its block.
func (n *Node) Reg(off uint32) uint32 { return n.a.Reg(n.at(off)) }

// SetReg writes a register of the node.
func (n *Node) SetReg(off, v uint32) { n.a.SetReg(n.at(off), v) }

// Timeline returns the last fence that the node has completed, 64 bits.
func (n *Node) Timeline() uint64 {
	lo := n.Reg(cpreg.LineLo) // latches the high half
	return uint64(n.Reg(cpreg.LineHi))<<32 | uint64(lo)
}

// SetTimeline sets the timeline of the node, which must be stopped.
func (n *Node) SetTimeline(v uint64) {
	n.SetReg(cpreg.Fence, uint32(v))
	n.SetReg(cpreg.LineHi, uint32(v>>32))
}

// Reset resets the node. It fails with ErrStuck if the reset does not end, or has not
// cleared RING_SIZE.
func (n *Node) Reset() error {
	if n.id == 0 {
		n.a.user = nil
	}
	n.SetReg(cpreg.Ctl, cpreg.CtlReset)
	if !n.a.Until(func() bool { return n.Reg(cpreg.Ctl) == 0 }) {
		return fmt.Errorf("%w: CP%d.CTL.RESET does not clear: %s", ErrStuck, n.id, n.State())
	}
	if size := n.Reg(cpreg.RingSize); size != 0 {
		return fmt.Errorf("%w: CP%d.RING_SIZE reads %#x after CTL.RESET was set: the reset is ignored", ErrStuck, n.id, size)
	}
	return nil
}

// Start resets the node and makes it run an empty ring of 1<<log2 bytes at base, a
// GPU address in host memory or VRAM. It sets the low half of the timeline to id
// and keeps the high half. It fails with ErrStuck.
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

// Run makes the node run its ring.
func (n *Node) Run() error {
	ctl := cpreg.CtlRun | n.Control
	n.SetReg(cpreg.Ctl, ctl)
	if got := n.Reg(cpreg.Ctl); got != ctl && n.a.Err == nil {
		return fmt.Errorf("%w: CP%d.CTL.RUN does not stay set: %s", ErrStuck, n.id, n.State())
	}
	return nil
}

// Push writes entire packets to the ring, wrapping at its end. The ring must have
// room for them. The node ignores them until Doorbell.
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

// Doorbell tells the node of the pushed packets.
func (n *Node) Doorbell() { n.SetReg(cpreg.Wptr, n.wptr) }

// Finish rings the doorbell and waits until all packets have retired. It fails with
// ErrStuck, ErrFault, ErrLost, or the first Refusal of the host memory.
func (n *Node) Finish() error {
	n.Doorbell()
	if got := n.Reg(cpreg.Wptr); got != n.wptr && n.a.Err == nil {
		return fmt.Errorf("%w: CP%d.WPTR reads %#x after the doorbell %#x was written: the doorbell is lost", ErrStuck, n.id, got, n.wptr)
	}
	return n.Settle()
}

// Settle waits until the node has retired all packets. It fails as Finish does.
func (n *Node) Settle() error {
	fault := false
	done := n.a.Until(func() bool {
		status := n.Reg(cpreg.Status)
		fault = status&cpreg.StatusFault != 0
		return fault || status&cpreg.StatusIdle != 0 && n.Reg(cpreg.Rptr) == n.wptr
	})
	switch {
	case n.a.Err != nil:
		return ErrLost
	case fault:
		return fmt.Errorf("%w: node %d: %s", ErrFault, n.id, n.State())
	case !done:
		return fmt.Errorf("%w: node %d is not done after %d s: %s", ErrStuck, n.id, n.a.Limit(), n.State())
	case len(n.a.Host.Refused()) > 0:
		return n.a.Host.Refused()[0]
	}
	return nil
}

// Do executes packets, which must fit in the ring.
func (n *Node) Do(packets ...Packet) error {
	b, err := Encode(packets...)
	if err != nil {
		return err
	}
	n.Push(b)
	return n.Finish()
}

// Encode returns the encoding of packets.
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

// State returns the registers that describe the state of the node.
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
