package sweep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

// nodes returns the sweeps of the nodes' registers and packets.
func nodes() []Sweep {
	return []Sweep{
		{
			Name: "doorbell", Why: "WPTR moves as the node fetches or executes its last packet",
			Cases: programs, Distances: 56, before: (*host).rest, meet: rung,
		},
		{
			Name: "partial packet", Why: "RUN is cleared while the ring ends inside a packet or in what it skips, and busy nodes are counted",
			Cases: 3, Distances: 8, before: (*host).count, meet: partial,
		},
		{
			Name: "ring size", Why: "WPTR is just inside or outside a ring, and has one bit that no WPTR of it has",
			Cases: cpreg.MaxRingLog2 - cpreg.MinRingLog2 + 3, Distances: 24, before: (*host).rest, meet: sized,
		},
		{
			Name: "stop", Why: "RUN is cleared, or bus mastering ends, in each clock of a few packets",
			Cases: 2 * programs, Distances: 56, before: (*host).listen, meet: stopped,
		},
		{
			Name: "reset at work", Why: "a node, the device or the function is reset in each clock of a few packets",
			Cases: 3 * programs, Distances: 56, before: (*host).listen, meet: restarted,
		},
		{
			Name: "preemption", Why: "a preemption is requested as a packet retires, and the node continues",
			Needs: caps.Preemption, Cases: programs, Distances: 72, before: (*host).listen, meet: preempted,
		},
		{
			Name: "resumed", Why: "PROGRESS of a resumed packet is its start, a piece or a row of it, its end, or past it",
			Needs: caps.Preemption, Cases: 4, Distances: 16, before: (*host).rest, meet: resumed,
		},
		{
			Name: "two nodes", Why: "both nodes write registers, fences or the same memory in one clock",
			Nodes: 2, Cases: 3, Distances: 24, before: (*host).listen, meet: together,
		},
		{
			Name: "fence", Why: "the host writes FENCE as a fence or a wait executes",
			Needs: caps.Timeline, Cases: 2, Distances: 40, before: (*host).listen, meet: fenced,
		},
	}
}

// programs is the number of programs.
const programs = 4

// program returns some packets for node 0.
func (h *host) program(kind int) []packet {
	switch kind {
	case 0:
		return []packet{pkt.WriteReg{Off: idreg.Scratch0, Value: 7}, pkt.NOP{Skip: 2}, fence(0, 1, true)}
	case 1:
		return []packet{h.indirect(0, false, pkt.Fill{Dst: data(dataFrom), Bytes: 40, Value: 3}, pkt.NOP{Skip: 1}), fence(0, 1, true)}
	case 2: // without a fence, so that a packet may follow while the copy moves
		return []packet{pkt.Copy{Src: data(dataFrom), Dst: data(dataFrom + 0x1000), Bytes: 24}}
	default:
		return []packet{
			pkt.Copy{Src: data(dataFrom), Dst: data(dataFrom + 0x1000), Bytes: 40},
			pkt.Predicate{Addr: data(dataFrom), Dwords: 2}, pkt.NOP{}, pkt.NOP{}, fence(0, 1, true),
		}
	}
}

// rung rings the doorbell again while a program executes.
func rung(h *host, which, at int) {
	h.submit(0, h.program(which)...)
	h.drain()
	for i := range uint64(2) {
		h.load(0, pkt.Copy{Src: data(dataFrom + 0x2000), Dst: data(dataFrom + 0x3000 + 64*i), Bytes: 24})
	}
	h.load(0, pkt.WriteReg{Off: idreg.Scratch1, Value: 9}, fence(0, 2, false))
	h.step(at)
	h.ring(0)
	h.look(cp(0, cpreg.Rptr), cp(0, cpreg.Status))
	h.settle()
}

// count starts the counters, if there are any, and the watchdog.
func (h *host) count(int) {
	h.SetReg(perfreg.Base+perfreg.Ctl, perfreg.CtlRun)
	h.SetReg(wdogreg.Base+wdogreg.Limit, 50)
	h.drain()
}

// partial stops a node that waits for the rest of a packet, and then gives it the rest.
func partial(h *host, which, at int) {
	h.start(0)
	switch which {
	case 0:
		h.load(0, pkt.NOP{Skip: 8})
	case 1:
		h.load(0, pkt.Predicate{Addr: data(0), Dwords: 8, NonZero: true}, pkt.NOP{Skip: 7})
	default:
		h.load(0, pkt.Copy{Src: data(0), Dst: data(dataFrom), Bytes: 8}, pkt.NOP{Skip: 3})
	}
	h.SetReg(cp(0, cpreg.Wptr), h.wptr[0]-uint32(at))
	h.drain()
	h.step(40)
	h.SetReg(cp(0, cpreg.Ctl), 0)
	h.drain()
	h.step(30)
	h.look(cp(0, cpreg.Status), wdogreg.Base+wdogreg.Status)
	h.SetReg(perfreg.Base+perfreg.Ctl, perfreg.CtlRun|perfreg.CtlSnapshot)
	h.look(perfreg.Base+perfreg.Node+perfreg.Busy, perfreg.Base+perfreg.Node+perfreg.StallRing)
	h.ring(0)
	h.SetReg(cp(0, cpreg.Ctl), cpreg.CtlRun)
	h.settle()
}

// sized gives a node a ring of a size, also one too small or too large, and a WPTR of one bit.
func sized(h *host, which, at int) {
	h.start(0)
	h.SetReg(cp(0, cpreg.Ctl), 0)
	h.SetReg(cp(0, cpreg.RingSize), uint32(cpreg.MinRingLog2-1+which))
	h.SetReg(cp(0, cpreg.Wptr), 1<<at)
	h.SetReg(cp(0, cpreg.Ctl), cpreg.CtlRun)
	h.drain()
	h.step(30)
	h.look(cp(0, cpreg.Status), cp(0, cpreg.FaultInfo), cp(0, cpreg.FaultBad), cp(0, cpreg.Wptr))
	h.drain()
	h.reset(0)
	h.settle()
}

// stopped stops a program for a while.
func stopped(h *host, which, at int) {
	h.submit(0, h.program(which/2)...)
	h.drain()
	h.step(at)
	if which&1 != 0 {
		h.SetConfig(pcicfg.Command, pcicfg.CommandMemory)
	} else {
		h.SetReg(cp(0, cpreg.Ctl), 0)
	}
	h.look(cp(0, cpreg.Rptr), cp(0, cpreg.Status), cp(0, cpreg.FaultInfo), status, pending)
	h.drain()
	h.SetConfig(pcicfg.Command, commandOn)
	h.SetReg(cp(0, cpreg.FaultInfo), 0)
	h.SetReg(cp(0, cpreg.Ctl), cpreg.CtlRun)
	h.settle()
}

// restarted resets the node, the device or the function in the middle of a program, and makes the
// node execute the next one.
func restarted(h *host, which, at int) {
	h.submit(0, h.program(which/3)...)
	h.drain()
	h.step(at)
	h.restart(which % 3)
	h.look(cp(0, cpreg.Ctl), cp(0, cpreg.Status), cp(0, cpreg.Wptr))
	h.settle()
	h.boot()
	h.submit(0, fence(0, 2, true))
	h.settle()
}

// preempted requests a preemption and executes what is left of the program.
func preempted(h *host, which, at int) {
	h.submit(0, h.program(which)...)
	h.drain()
	h.step(at)
	h.SetReg(cp(0, cpreg.Preempt), 0x77)
	h.look(cp(0, cpreg.Preempted), cp(0, cpreg.Progress), cp(0, cpreg.IBLeft), cp(0, cpreg.IBLo), cp(0, cpreg.Rptr))
	h.settle()
	h.SetReg(cp(0, cpreg.Ctl), cpreg.CtlRun)
	h.settle()
}

// resumed executes a packet of some pieces or rows from shortly before its end, or from after it.
func resumed(h *host, which, at int) {
	const piece = 4096
	size := [][]uint32{{1, 3, 1 << 10, 1 << 20}, {1, 3, 1 << 10, 1 << 20}, {0, 1, 2, 5}, {2, 257, 1025, pkt.MaxCoord}}[which][at/4]
	if size == pkt.MaxCoord {
		size -= uint32(at) & 1 // the number of the last row has all bits, or that of the row after it a new one
	}
	first := max(size, 2) - 2 + uint32(at%4)
	bytes := uint32(min(uint64(size)*piece, 1<<32-1))
	var p packet
	switch which {
	case 0:
		p = pkt.Copy{Src: data(0), Dst: data(dataFrom), Bytes: bytes}
	case 1:
		p = pkt.Fill{Dst: data(dataFrom), Bytes: bytes - 1}
	case 2: // rows of pieces, one row if they are many
		p = pkt.Fill2D{W: uint16(size * piece / 8), H: uint16(2 - size/4)}
		first = first<<pkt.RowBits | uint32(at)&1
	default:
		p = pkt.Fill2D{W: 1, H: uint16(size)}
	}
	h.start(0)
	h.load(0, pkt.SetState{Surface: pkt.Dest, Base: data(dataFrom), Pitch: 16, Format: pkt.Format64, X1: pkt.MaxCoord, Y1: pkt.MaxCoord})
	h.SetReg(cp(0, cpreg.Progress), first)
	h.load(0, h.indirect(0, true, p), pkt.SaveState{Addr: data(statesAt)})
	h.ring(0)
	h.look(cp(0, cpreg.Progress))
	h.settle()
}

// together starts node 1 a little later than node 0, which has more to do before it.
func together(h *host, which, at int) {
	for n := range 2 {
		h.start(n)
		if n == 1 {
			h.load(n, pkt.NOP{Skip: uint16(at)})
		} else {
			h.load(n, pkt.NOP{Skip: 12})
		}
		switch which {
		case 0:
			h.load(n, pkt.WriteReg{Off: idreg.Scratch0, Value: uint32(5 + n)}, pkt.WriteReg{Off: idreg.Scratch0 + 4*uint32(n), Value: uint32(n)})
		case 1:
			h.load(n, fence(n, 1, true), fence(n, 2, true))
		default:
			h.load(n, pkt.Fill{Dst: 0x100, Bytes: 24, Value: uint64(n)}, pkt.Timestamp{Addr: data(dataFrom + 8*uint64(n))})
		}
	}
	h.ring(0)
	h.ring(1)
	h.look(idreg.Scratch0, cp(0, cpreg.Fence), cp(1, cpreg.Fence), status)
	h.calm()
	h.look(idreg.Scratch0, idreg.Scratch1)
	h.drain()
}

// fenced writes FENCE of a node that has a fence to write, or waits for one.
func fenced(h *host, which, at int) {
	h.start(0)
	h.SetReg(cp(0, cpreg.Fence), 0)
	if which == 0 {
		h.load(0, fence(0, 3, true), fence(0, 5, true))
	} else {
		h.load(0, pkt.WaitFence{Node: 0, Value: 4}, fence(0, 5, false))
	}
	h.ring(0)
	h.drain()
	h.step(at)
	h.SetReg(cp(0, cpreg.Fence), 4)
	h.look(cp(0, cpreg.Fence), cp(0, cpreg.LineLo), cp(0, cpreg.LineHi))
	h.calm()
}
