// Package cp is the command processor of a node: it fetches packets from the
// ring and from indirect buffers and executes them.
//
// The processor is made of units. Each is a struct with its own state machine, and
// none knows another: [Module] passes values between them and acts on their results.
//
//	regs    host registers, preemption
//	ring    ring and indirect buffer: checks, position, prefetch (stream)
//	file    RAM: prefetched dwords, current packet, surfaces, windows
//	decode  header, body, checks, retire, fault
//	walk    rectangle and address range arithmetic, the search for a window
//	issue   descriptors for the DMA engine: rows and pieces
//	sync    fences, predicates, waits, context save and restore
//	trail   the packet before the current one, whose data still moves
//	trace   the last packets
package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Params are the limits for addresses and lengths.
type Params struct {
	HostBits   int      // width of a host address
	VRAMBytes  uint64   // power of two
	LengthBits int      // width of a linear packet's byte count
	Nodes      int      // number of command processors, 1 or 2
	Withdraws  bool     // a descriptor that is offered may be withdrawn
	Caps       caps.Set // capabilities of the device
}

// Mem is the input from the memory side.
type Mem struct {
	Ready   bool            // the header of Fetch is accepted
	Scratch bool            // the scratch write is accepted
	Cpl     port.Completion // completion of a fetch; never stalled
}

// DMA is the input from the DMA engine: exactly one pulse of Done, Err or WriteErr for
// each descriptor. With CAPS.GART, Done together with Err or WriteErr tells that a page
// of the source or of the destination could not be accessed.
type DMA struct {
	Ready    bool // the descriptor is accepted
	Done     bool // a descriptor of this node is complete
	Err      bool // one of its reads was answered with an error
	WriteErr bool // one of its writes was refused
}

// page reports whether a descriptor ended at a page that could not be accessed.
func (d DMA) page() bool { return d.Done && (d.Err || d.WriteErr) }

// Fence is the input from the node's fence unit, and the timelines of both nodes.
type Fence struct {
	Ready  bool
	Result fence.Result
	Node0  uint64 // levels
	Node1  uint64
}

// Local tags of reads.
const (
	tagRing = 0
	tagIB   = 1
	tagRead = 2
)

// Module is the command processor of one node. It executes one packet at a time: a packet
// starts when all descriptors of the one before are complete. There is one exception: after
// a COPY or FILL of less than 4 KiB the next COPY or FILL may start while that descriptor is
// in flight, if the result is the same. It retires later. This needs an engine with a queue,
// and Protection. The rows of a 2D packet are sent one after the other, top row first; a
// long row or linear packet is sent in pieces.
//
//	In      mem Mem; d DMA; f Fence; now, the low half of the time; bus regbus.Req;
//	        rst, a reset from any state, after which nothing that was in flight arrives
//	Out     Fetch, a header stream, local tag 0 the ring, 1 an indirect buffer,
//	        2 the value of a predicate or a context; Desc, Scratch and Fence,
//	        valid/ready streams; Fault, a pulse; Rsp; Resetting, a level;
//	        all functions of registers
//	Timing  a NOP 2 clocks; skipped dwords a clock each, in an indirect buffer with
//	        CAPS.PREEMPTION at most 64 of them and the rest in one clock; a linear packet 4 to 7 clocks from its last dword to its
//	        descriptor; a 2D packet up to 112 more; with CTL.PROTECT in an
//	        indirect buffer 2 to 8 more for each range; then a descriptor a clock;
//	        8 from the end of an indirect buffer to the next header of the ring;
//	        in a sequence of copies of 64 bytes at most 20 for each.
//	        An access to a register in the file is retried while fetched data arrives
//	Reset   everything 0; for 16 clocks after it, or 32 with windows, the file is cleared and
//	        accesses are retried. CTL.RESET does the same when all reads, descriptors, fence requests
//	        and scratch writes in flight have ended, and ignores register writes until then
//	Order   packets retire in the order of the buffer; RPTR moves when a packet
//	        of the ring retires, for INDIRECT when its buffer has
//	Paths   none
//	Size    a RAM of 80 words and 700 bits; 16 words, 2 RAMs of 64 words and 400 bits more
//	        with every capability
//	Faults  FAULT_INFO.CAUSE; a packet is checked in the order opcode, reserved
//	        bits of the header, length, privilege, reserved bits of the body,
//	        alignment, field ranges, state, then address and window of the source
//	        and of the destination, and touches no memory if a check fails. A fault waits
//	        for what is in flight, clears RUN and keeps RPTR at the packet of the ring;
//	        CTL.RUN is ignored until the fault is cleared, which also leaves the
//	        indirect buffer
//	Source  package pkt, cpreg.Block, tracereg.Block
type Module struct {
	regs   regs
	ring   ring
	file   file
	decode decode
	walk   walk
	issue  issue
	sync   sync
	trail  trail
	trace  trace
	nap    hdl.Nap
}

// New returns the command processor of a node after reset.
func New(node int, p Params) Module {
	reach := max(p.HostBits, maxReach)
	if p.Caps.Has(caps.GART) {
		reach = max(reach, gartreg.StartLog2)
	}
	s := space{
		hostLimit: uint64(1) << p.HostBits,
		vramLimit: p.VRAMBytes,
		sumMask:   uint64(1)<<(reach+1) - 1,
		aperture:  p.Caps.Has(caps.GART),
	}
	maxLog2 := min(p.LengthBits, 19) - 1
	pieceBits := max(p.LengthBits, maxBuffer) - maxLog2
	if p.Caps.Has(caps.Preemption) {
		pieceBits = max(pieceBits, p.LengthBits-pieceLog2, rowLog2-pieceLog2)
	}
	byteMask := uint32(uint64(1)<<max(p.LengthBits, maxBuffer) - 1)
	m := Module{
		regs:   regs{base: uint16(cpreg.Base + node*cpreg.Stride), caps: p.Caps, watched: p.Caps&(caps.Counters|caps.Watchdog) != 0},
		ring:   ring{space: s, caps: p.Caps},
		file:   newFile(p.Caps),
		decode: decode{caps: p.Caps, nodes: uint32(p.Nodes), maxBytes: uint32(uint64(1)<<p.LengthBits - 1), byteMask: byteMask},
		walk:   walk{space: s, caps: p.Caps, byteMask: byteMask},
		issue:  issue{space: s, caps: p.Caps, maxLog2: uint8(maxLog2), pieceMask: 1<<min(pieceBits, 20) - 1, withdraws: p.Withdraws},
		sync:   sync{caps: p.Caps},
		trail:  trail{overlaps: p.Withdraws && p.Caps.Has(caps.Protection), aperture: p.Caps.Has(caps.GART)},
		trace:  newTrace(p.Caps),
	}
	m.Reset()
	return m
}

// Reset sets the registers to their power-on values.
func (m *Module) Reset() {
	m.resetNode()
	m.trace.Reset()
}

// resetNode resets all but the trace.
func (m *Module) resetNode() {
	m.regs.Reset()
	m.ring.Reset()
	m.file.Reset()
	m.decode.Reset()
	m.walk.Reset()
	m.issue.Reset()
	m.sync.Reset()
	m.trail.Reset()
	m.nap = false
}

// Tick is one rising clock edge.
func (m *Module) Tick(mem Mem, d DMA, f Fence, now uint32, bus regbus.Req, rst bool) {
	if rst {
		mem = Mem{}
	}
	traced := m.trace.owns(bus, m.regs.base)
	reads, at := traced && bus.Op == regbus.Read, bus.Off
	if bus.Off>>8 != m.regs.base>>8 {
		bus.Op = regbus.None
	}
	off := bus.Off & 0xfc
	resetting, inIB, accessed := m.regs.resetting, m.ring.inIB, bus.Op != regbus.None
	late := m.trail.active
	seeks, to, kept := m.ring.seeks()
	weighs := m.weighs()
	want := m.wanted(accessed, weighs, off)
	asks := want.issues && !seeks && !accessed && !weighs && !resetting && !rst
	arrives := mem.Cpl.Status != port.CplNone
	free := !arrives && bus.Op != regbus.Write
	dword, taken := m.file.half(), d.Ready && m.issue.offered
	keeps := m.decode.state == decodeBody || m.decode.state == decodeNext && dword != emptyNOP
	beyond := inIB && dword&0xffff >= want.left
	waits := m.decode.state == decodeNext && !m.trail.follows(dword)
	if seeks {
		m.trail.holds = false
	} else if m.file.ready && m.started() && !resetting {
		m.trail.holds = waits
	}
	take := m.file.ready && !seeks && m.takes() && !waits && !rst && (free || !keeps) && !(accessed && weighs)
	jumps := !rst && m.jumps()
	var offer port.Request
	heads := take && m.decode.state == decodeNext && m.trace.caps.Has(caps.Trace)
	if !hdl.Asleep(!asks && !accessed && !heads) {
		offer = m.ring.request(want)
	}
	var data uint32
	var from look
	if !hdl.Asleep(!accessed) {
		data, from = m.read(off, offer.Addr, want.left), m.looks(off, bus.Op)
	}
	write := m.writes(take, free, arrives, off, bus.Data)
	later := m.decode.state == decodeClear || arrives && bus.Op == regbus.Write && m.files(off)

	over := m.decode.left

	m.regs.endPulses(take)
	m.ring.endSeek(m.regs.run)
	m.issue.handshake(d)
	fails := m.trail.handshake(d)
	m.sync.handshake(f)
	restores, slot := m.receive(mem)
	ends := rst || resetting && m.empty()
	last := m.trail.retires() && !fails && !resetting && !(take && m.decode.state == decodeNext)
	var retires bool
	if !resetting && !rst {
		if m.yields(seeks) {
			m.yield()
		} else {
			retires = m.step(clock{dword, beyond, take, jumps, taken, seeks, free, late, fails, last}, f)
		}
	}
	m.access(bus, off, data, from, later, resetting)
	m.regs.rsp.Hit = m.regs.rsp.Hit || traced
	m.trace.tick(heads, late, dword, offer.Addr, retires, now, reads, at)
	if asks {
		m.ring.req = offer
	}
	held, keep, place := m.ring.stream.Tick(want.win, seeks, to, kept, take, jumps, over, asks, offer.Len, fetched(mem.Cpl))
	if !m.trail.active || !late || last {
		m.trail.at = m.ring.stream.at & pkt.MaxIndirect
	}
	if arrives {
		write = arrival(keep, place, inIB, restores, slot, mem.Cpl.Data)
	}
	m.tickFile(held, from, write)
	if ends {
		rsp := m.regs.rsp
		m.resetNode()
		m.regs.rsp = rsp
	}
	if rst {
		m.trace.Reset()
	}
	m.nap = hdl.Nap(hdl.Asleep(m.IdleFor() != 0))
}

// Sleeps reports whether a Tick with these inputs changes nothing. The node works out
// whether it is idle at the end of each Tick, so that this check is cheap.
func (m *Module) Sleeps(mem Mem, d DMA, f Fence, bus regbus.Req, rst bool) bool {
	answers := mem.Cpl.Status != port.CplNone || d.Done || d.Err || d.WriteErr || f.Result != fence.ResultNone
	takes := d.Ready && m.issue.offered || mem.Scratch && m.sync.scratch
	wakes := answers || takes || rst || bus.Op != regbus.None || m.sync.state == syncWait
	return bool(m.nap) && !wakes
}

// receive records which offers the memory side accepts, and handles the answer to a read of
// the sync unit. If the answer is a word for the file, it returns the word's place.
func (m *Module) receive(mem Mem) (restores bool, place uint8) {
	cpl := mem.Cpl
	if cpl.Status != port.CplNone && cpl.Tag&3 == tagRead {
		m.sync.answer(cpl)
		if m.sync.caps.Has(caps.Contexts) && m.decode.op() == pkt.OpRestoreState && cpl.Status == port.CplSuccess {
			restores, place = m.restore(cpl.Data)
		}
	}
	if mem.Ready && m.ring.req.Kind != port.None {
		m.ring.req.Kind = port.None
		m.sync.reading = m.sync.reading || m.ring.req.Tag == tagRead
	}
	m.sync.scratch = m.sync.scratch && !mem.Scratch
	return restores, place
}

// empty reports whether nothing is in flight.
func (m *Module) empty() bool {
	return m.issue.empty() && m.sync.quiet() && !m.ring.offersRead() && m.ring.stream.quiet()
}
