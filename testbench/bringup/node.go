package bringup

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// minRing is the log2 of the smallest ring, in bytes.
const minRing = cpreg.MinRingLog2

// gone is what is wrong if the board ceases to answer.
const gone = "the board did not answer any more"

// node0 is the base of node 0's registers.
const node0 = cpreg.Base

// A node is node 0 with a ring in host memory.
type node struct {
	s      *session
	dwords uint32 // of the ring
	wptr   uint32
}

// useNode remembers what is to be restored of node 0.
func (s *session) useNode() {
	if !s.used {
		s.used = true
		s.fence = s.reg(node0 + cpreg.Fence)
	}
}

// resetNode resets node 0, and returns whether that ended.
func (s *session) resetNode() bool {
	s.setReg(node0+cpreg.Ctl, cpreg.CtlReset)
	return s.until(func() bool { return s.reg(node0+cpreg.Ctl) == 0 })
}

// newNode resets node 0 and has it run an empty ring of 1<<log2 bytes. It
// returns what went wrong, or "".
func (s *session) newNode(log2 uint32) (*node, string) {
	s.useNode()
	n := &node{s: s, dwords: 1 << log2 / 4}
	if !s.resetNode() {
		return n, "CP0.CTL.RESET does not end: " + n.state()
	}
	ring := pkt.Host | (hostBase + ringAt)
	s.setReg(node0+cpreg.RingLo, uint32(ring&0xffffffff))
	s.setReg(node0+cpreg.RingHi, uint32(ring>>32))
	s.setReg(node0+cpreg.RingSize, log2)
	s.setReg(node0+cpreg.Fence, 0)
	s.setReg(node0+cpreg.Ctl, cpreg.CtlRun)
	if got := s.reg(node0 + cpreg.Ctl); got != cpreg.CtlRun && s.err == nil {
		return n, "CP0.CTL.RUN does not stay set: " + n.state()
	}
	return n, ""
}

// push puts packets into the ring, which has room for them, around its end if
// need be.
func (n *node) push(b []byte) {
	for i := 0; i < len(b); i += 4 {
		copy(n.s.host.mem[ringAt+4*n.wptr:], b[i:i+4])
		n.wptr = (n.wptr + 1) % n.dwords
	}
}

// run rings the doorbell and waits until everything is retired. It returns
// what went wrong, or "".
func (n *node) run() string {
	s := n.s
	s.setReg(node0+cpreg.Wptr, n.wptr)
	if got := s.reg(node0 + cpreg.Wptr); got != n.wptr && s.err == nil {
		return fmt.Sprintf("CP0.WPTR reads %#x after the doorbell %#x was written: the doorbell is lost", got, n.wptr)
	}
	fault := false
	done := s.until(func() bool {
		status := s.reg(node0 + cpreg.Status)
		fault = status&cpreg.StatusFault != 0
		return fault || status&cpreg.StatusIdle != 0 && s.reg(node0+cpreg.Rptr) == n.wptr
	})
	switch {
	case s.err != nil:
		return gone
	case fault:
		return "node 0 stopped on a fault: " + n.state()
	case !done:
		return fmt.Sprintf("node 0 is not done after %d s: %s", patience, n.state())
	case len(s.host.refused) > 0:
		return s.host.refused[0]
	}
	return ""
}

// state returns the registers that tell what node 0 does.
func (n *node) state() string {
	m := regmap.New()
	var all []string
	offs := []uint32{cpreg.Ctl, cpreg.Status, cpreg.Rptr, cpreg.Wptr, cpreg.FaultInfo}
	if n.s.reg(node0+cpreg.FaultInfo) != 0 {
		offs = append(offs, cpreg.FaultLo, cpreg.FaultHi, cpreg.FaultOp, cpreg.FaultBad, cpreg.FaultBadH)
	}
	for _, off := range offs {
		if e, ok := m.Lookup(node0 + off); ok {
			all = append(all, e.Format(n.s.reg(node0+off)))
		}
	}
	return strings.Join(all, " ")
}

// appender is a packet.
type appender interface {
	Append(b []byte) ([]byte, error)
}

// do runs packets, which fit into the ring.
func (n *node) do(packets ...appender) string {
	var b []byte
	for _, p := range packets {
		var err error
		if b, err = p.Append(b); err != nil {
			return err.Error()
		}
	}
	n.push(b)
	return n.run()
}

// fill has the DMA engine write bytes of VRAM.
func (n *node) fill(at uint64, bytes uint32, v uint64) string {
	return n.do(pkt.Fill{Dst: at, Bytes: bytes, Value: v})
}

// cpStart has node 0 execute one NOP.
func cpStart(s *session) outcome {
	const likely = "the doorbell, bus mastering, or reads of host memory"
	var f finding
	n, problem := s.newNode(minRing)
	before := s.reg(node0 + cpreg.Packets)
	if problem == "" {
		problem = n.do(pkt.NOP{Skip: 3})
	}
	if problem != "" {
		f.add(likely, "%s", problem)
		return f.outcome("")
	}
	if got := s.reg(node0 + cpreg.Packets); got != before+1 && s.err == nil {
		f.add(likely, "CP0.PACKETS is %d after one packet, was %d", got, before)
	}
	return f.outcome("one packet fetched from host memory and retired")
}
