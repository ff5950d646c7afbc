package bringup

import (
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// minRing is the log2 of the smallest ring, in bytes.
const minRing = cpreg.MinRingLog2

// node0 is the base of node 0's registers.
const node0 = cpreg.Base

// Offsets in host memory.
const (
	hostBytes = 1 << 20

	ringAt  = 0
	fenceAt = 64 << 10
	dataAt  = 128 << 10
	copyAt  = 512 << 10
)

// A node is node 0 with a ring in host memory.
type node struct {
	*bare.Node
}

// useNode saves the state of node 0 that restore needs.
func (s *session) useNode() {
	if !s.used {
		s.used = true
		s.quiesce()
		s.line = s.Node(0).Timeline()
	}
}

// resetNode resets node 0. It ignores a failure, which the stages that use the node
// report.
func (s *session) resetNode() { _ = s.Node(0).Reset() }

// newNode resets node 0 and makes it run an empty ring of 1<<log2 bytes. It returns
// the problem, or "".
func (s *session) newNode(log2 uint32) (node, string) {
	s.useNode()
	n := node{s.Node(0)}
	n.SetReg(cpreg.LineHi, 0)
	return n, problem(n.Start(pkt.Host|(bare.HostBase+ringAt), log2, 0))
}

// problem returns the text of an error, or "".
func problem(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "bare: ")
}

// do executes packets, which must fit in the ring. It returns the problem, or "".
func (n node) do(packets ...bare.Packet) string { return problem(n.Do(packets...)) }

// fill makes the DMA engine fill bytes of VRAM.
func (n node) fill(at uint64, bytes uint32, v uint64) string {
	return n.do(pkt.Fill{Dst: at, Bytes: bytes, Value: v})
}

// cpStart makes node 0 execute one NOP, and resets it.
func cpStart(s *session) outcome {
	const likely = "the doorbell, bus mastering, or reads of host memory"
	var f finding
	n, problem := s.newNode(minRing)
	before := s.Reg(node0 + cpreg.Packets)
	if problem == "" {
		problem = n.do(pkt.NOP{Skip: 3})
	}
	if problem != "" {
		f.add(likely, "%s", problem)
		return f.outcome("")
	}
	if got := s.Reg(node0 + cpreg.Packets); got != before+1 && s.Err == nil {
		f.add(likely, "CP0.PACKETS is %d after one packet, was %d", got, before)
	}
	if _, problem = s.newNode(minRing); problem != "" {
		f.add("the reset of the node", "%s", problem)
	}
	return f.outcome("one packet fetched from host memory and retired")
}
