package refmodel

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A Ring is the ring buffer of a node.
type Ring struct {
	Base       uint64 // GPU address
	Dwords     uint32 // size
	Rptr, Wptr uint32 // dwords
}

// A Stop is the reason why Run returned.
type Stop uint8

// The reasons to stop.
const (
	Idle       Stop = iota // the ring is empty
	Faulted                // Node.Fault is set
	Incomplete             // the host has not written all of a packet
	Waiting                // a WAIT_FENCE has not reached its value
	Declined               // allow declined a packet, or its effect is undefined
)

// A Step is a packet that Run is about to execute.
type Step struct {
	Addr  uint64 // GPU address of the header
	P     []uint32
	Place Place
	Verdict
}

// A fetcher returns the GPU address of the next dword, or false if there is none.
type fetcher func() (addr uint64, ok bool)

// Run fetches and executes packets until the node stops. allow, if not nil, is called
// before each packet and may decline it. The packets of an indirect buffer follow
// their INDIRECT.
func (n *Node) Run(allow func(Step) bool) Stop {
	for n.Ring.Rptr != n.Ring.Wptr {
		if n.Fault.Cause != cpreg.CauseNone {
			return Faulted
		}
		pos := n.Ring.Rptr
		stop := n.packet(Site{}, allow, func() (uint64, bool) {
			addr, ok := n.Ring.Base+4*uint64(pos), pos != n.Ring.Wptr
			pos = (pos + 1) % n.Ring.Dwords
			return addr, ok
		})
		if stop != Idle {
			return stop
		}
		n.Ring.Rptr = pos
		n.retire()
	}
	return Idle
}

func (n *Node) retire() {
	n.Packets++
	n.Retired++
}

// packet fetches and executes one packet.
func (n *Node) packet(at Site, allow func(Step) bool, next fetcher) Stop {
	s := Step{Place: at.Place}
	s.Addr, _ = next()
	header, ok := n.fetch(s.Addr)
	if !ok {
		n.Fault = Fault{Cause: cpreg.CauseReadError, Addr: s.Addr, Bad: s.Addr, Known: true}
		return Faulted
	}
	s.P = []uint32{header}
	if l, ok := pkt.Lookup(uint8(header >> 24)); ok && n.Has(l.Op) && judgeHeader(l, header, at).Cause == cpreg.CauseNone {
		body, stop := n.dwords(s.P, s.Addr, header&pkt.HeaderBody, next)
		if stop != Idle {
			return stop
		}
		s.P = append(s.P, body...)
	}
	s.Verdict = n.Judge(s.P, at)
	if s.Undefined != "" || allow != nil && !allow(s) {
		return Declined
	}
	stop := n.step(s, allow, next)
	if stop == Idle && header>>24 != pkt.OpIndirect {
		n.Record(header, s.Addr)
	}
	return stop
}

// step executes a packet, including the buffer it executes or the dwords it skips.
func (n *Node) step(s Step, allow func(Step) bool, next fetcher) Stop {
	if s.Waits {
		return Waiting
	}
	n.Do(s.P, s.Verdict)
	switch op := uint8(s.P[0] >> 24); {
	case s.Cause != cpreg.CauseNone:
		n.Fault = s.Latched(s.P, s.Addr)
		if op == pkt.OpIndirect && s.Cause == cpreg.CauseReadError { // of its buffer, which has begun
			n.Record(s.P[0], s.Addr)
			n.IBAddr, n.IBLeft = s.Bad, s.P[3]&pkt.MaxIndirect
		}
		return Faulted
	case op == pkt.OpIndirect:
		n.Record(s.P[0], s.Addr)
		return n.indirect(s.P, allow)
	case s.Skips:
		_, stop := n.dwords(s.P, s.Addr, s.P[3]&0xffff, next)
		return stop
	}
	return Idle
}

// indirect executes an indirect buffer.
func (n *Node) indirect(p []uint32, allow func(Step) bool) Stop {
	at := Site{Place: InIndirect}
	if n.Protect {
		at.Place = Guarded
	}
	if p[3]&resume != 0 {
		at.Done = n.Progress
	}
	n.IBAddr, n.IBLeft = long(p, 1), p[3]&pkt.MaxIndirect
	for n.IBLeft != 0 {
		pos := uint32(0)
		at.Left = n.IBLeft - 1
		stop := n.packet(at, allow, func() (uint64, bool) {
			pos++
			return n.IBAddr + 4*uint64(pos-1), true
		})
		if stop != Idle {
			return stop
		}
		n.retire()
		n.IBAddr, n.IBLeft, at.Done = n.IBAddr+4*uint64(pos), n.IBLeft-pos, 0
	}
	return Idle
}

// dwords fetches the body of a packet.
func (n *Node) dwords(p []uint32, addr uint64, count uint32, next fetcher) ([]uint32, Stop) {
	var all []uint32
	for range count {
		at, ok := next()
		if !ok {
			return nil, Incomplete
		}
		v, ok := n.fetch(at)
		if !ok {
			n.Fault = Fault{Cause: cpreg.CauseReadError, Addr: addr, Op: p[0], Bad: at, Known: true}
			return nil, Faulted
		}
		all = append(all, v)
	}
	return all, Idle
}

// fetch reads a dword of the ring or of an indirect buffer.
func (n *Node) fetch(addr uint64) (uint32, bool) {
	b, _ := n.readable(addr, 4)
	if b == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b), true
}
