// Package cp is the command processor of a node: it fetches packets from the
// ring and from indirect buffers and executes them.
package cp

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/store"
)

// Params are the limits that addresses and lengths are checked against.
type Params struct {
	HostBits   int    // width of a host address
	VRAMBytes  uint64 // power of two
	LengthBits int    // width of a linear packet's byte count
	Protection bool   // there are windows
	Timeline   bool   // fences can be waited for
	Contexts   bool   // the state can be saved and restored
	Preemption bool   // the node stops inside packets when it is asked to
	Nodes      int    // command processors, 1 or 2
	Watched    bool   // somebody counts what it does
}

// Mem is what comes back from the memory side.
type Mem struct {
	Ready   bool            // the header of Fetch is taken
	Cpl     port.Completion // of a fetch; never stalled
	Scratch bool            // the write of a scratch register is taken
}

// DMA is what comes back from the DMA engine: for each descriptor exactly one
// pulse of Done, Err or WriteErr.
type DMA struct {
	Ready    bool // the descriptor is taken
	Done     bool // a descriptor of this node is complete
	Err      bool // one of its reads was answered with an error
	WriteErr bool // one of its writes was refused
}

// Fence is what comes back from the node's fence unit, and the timelines of all.
type Fence struct {
	Ready  bool
	Result fence.Result
	Node0  uint64 // levels
	Node1  uint64
}

// state of the decoder, as in STATUS.STATE.
type state uint8

const (
	stateNext     state = iota // a header is awaited
	stateBody                  // dwords of a body are awaited
	stateSkip                  // the body of a NOP is skipped
	stateRetire                // the packet has nothing left to do
	stateCheck                 // the fields of the packet are looked at
	stateClip                  // one edge of the rectangle is clipped
	statePlace                 // the first element is found
	stateMul                   // a row number is multiplied by the pitch
	stateSource                // the source range is checked
	stateDest                  // the destination range is checked
	stateIssue                 // descriptors are sent
	stateDrain                 // descriptors are in flight
	stateFence                 // the fence unit works
	stateRead                  // the read of a predicate is offered
	stateValue                 // the value of a predicate is awaited
	stateReadable              // a window around the source is looked for
	stateWritable              // a writable window around the destination is looked for
	stateWait                  // a timeline has not reached a value
	stateSave                  // words of the state are sent
	stateFault                 // stopped
)

// Local tags of the reads.
const (
	tagRing = 0
	tagIB   = 1
	tagRead = 2
)

// A surface is one half of the state that SET_STATE sets.
type surface struct {
	set    bool
	base   uint64
	pitch  uint32 `w:"20"`
	format uint8  `w:"3"`
	x0, y0 uint16 `w:"15"` // clip, inclusive
	x1, y1 uint16 `w:"15"` // clip, exclusive
}

// Module is the command processor of one node. It executes one packet at a
// time: a packet starts when all descriptors of the one before are complete.
// The rows of a 2D packet are sent one after the other, top row first; a row
// longer than a descriptor can be is sent in pieces.
//
//	In      mem Mem; d DMA; f Fence; regs regbus.Req; rst, a reset
//	        from any state, after which nothing that was in flight arrives
//	Out     Fetch, a header stream, local tag 0 the ring, 1 an indirect buffer,
//	        2 the value of a predicate; Desc, Fence and Scratch, valid/ready streams; Fault, a pulse; Rsp;
//	        Resetting, a level; all registered
//	Timing  a NOP 2 clocks; a linear packet 5 clocks from its last dword to its
//	        descriptor; a 2D packet up to 33 more; with CTL.PROTECT in an
//	        indirect buffer 1 to 4 more for each range; then a descriptor a clock
//	Reset   everything 0. CTL.RESET does the same when all reads, descriptors,
//	        fence requests and scratch writes in flight have ended, and ignores register writes
//	        until then
//	Order   packets retire in the order of the buffer; RPTR moves when a packet
//	        of the ring retires, for INDIRECT when its buffer has
//	Paths   none
//	Size    two streams and 1400 bits; 520 more with protection
//	Faults  FAULT_INFO.CAUSE; a packet is checked in the order opcode, reserved
//	        bits of the header, length, privilege, reserved bits of the body,
//	        alignment, field ranges, state, then address and window of the source
//	        and of the destination, and touches no memory if a check fails. A fault waits for what is in flight, clears RUN and
//	        keeps RPTR at the packet of the ring; CTL.RUN is ignored until the
//	        fault is cleared, which also leaves the indirect buffer
//	Source  package pkt, cpreg.Block
type Module struct {
	base      uint16 // of the registers in BAR0
	hostLimit uint64 // bytes of host memory in reach
	vramLimit uint64 // bytes of VRAM
	maxBytes  uint32 // longest linear packet
	maxRow    uint32 // longest descriptor of a row, a power of two
	addrMask  uint64 // bits of an address in a memory that a sum can have
	byteMask  uint32 // bits of the bytes of a row or of a linear packet

	protection bool // there are windows
	watched    bool // Retired and Took are there
	timeline   bool // fences can be waited for
	contexts   bool // the state can be saved and restored
	preemption bool // the node stops inside packets when it is asked to
	nodes      uint32

	run       bool
	protect   bool
	resetting bool
	ringLo    uint32
	ringHi    uint32
	ringLog2  uint8 `w:"5"`
	wptr      uint32
	rptr      uint32  `w:"18"`
	ringBad   operand `w:"5"` // the register that is out of range, none if the ring can be read
	readBase  uint64  // RING_BASE as it was checked when RUN was set
	readMask  uint32  `w:"18"` // of RING_SIZE then: dwords, less one
	cause     uint8   `w:"4"`
	bad       operand `w:"5"` // what FAULT_BAD is
	packets   uint32
	rsp       regbus.Rsp

	ring     stream
	ib       stream
	beats    hdl.RAM // of the ring, and from depth on of the indirect buffer
	ready    bool    // what was read last is the beat of the next dword
	readIB   bool    // of the indirect buffer
	ringSeek seek
	ibSeek   seek
	inIB     bool
	ibBase   uint64
	ibEnd    uint32 `w:"20"` // dwords of the indirect buffer
	ibDone   uint32 `w:"20"` // of them retired

	state state  `w:"5"`
	hdr   uint32 // header of the packet in work
	hdrAt uint32 `w:"20"` // its position in its buffer
	left  uint16 // dwords of its body not yet taken
	n     uint8  `w:"3"` // dwords of its body taken
	b0    uint32
	b1    uint32
	b2    uint32
	b3    uint32
	b4    uint32
	b5    uint32
	b6    uint32

	src     surface
	dst     surface
	clip    uint8  `w:"2"`  // edge in work: source x, y, destination x, y
	x0, x1  uint16 `w:"15"` // columns of the rectangle left after clipping
	y0, y1  uint16 `w:"15"` // rows
	second  bool   // the second product is computed
	mulS    uint16 `w:"15"`
	mulD    uint16 `w:"15"`
	addS    uint64 `w:"35"` // pitch, shifted
	addD    uint64 `w:"35"`
	srcAddr uint64 // of the row in work; this one and the next three within addrMask and pkt.Host
	dstAddr uint64
	srcEnd  uint64 // of the last row
	dstEnd  uint64
	bytes   uint32 // of a row
	done    uint32 // of them sent
	rows    uint16 `w:"15"` // not yet sent
	zero    bool   // the value of a predicate is 0

	waiting bool  // WAIT_FENCE has seen that it must wait
	window  uint8 `w:"2"` // looked at
	window0 reach
	window1 reach
	window2 reach
	window3 reach

	word  uint8  `w:"4"` // of the state, next to save or restore
	wrong bool   // one that was restored is out of range
	value uint64 // it

	asked     bool // to stop for a preemption
	halted    bool // to stop when what is in flight has ended
	preemptID uint32
	preempted uint32
	progress  uint32 `w:"20"`
	issued    uint32 `w:"20"` // pieces or rows of the packet, those of before counted
	yielded   bool

	desc     dma.Desc
	inFlight uint32 `w:"18"` // descriptors taken and not complete
	readErr  bool
	writeErr bool
	fence    fence.Op     `w:"2"` // offered to the fence unit
	fencing  bool         // the fence unit works
	req      port.Request // the read that is offered
	reading  bool         // the one of a predicate was taken and is not answered
	scratch  bool
	retired  bool
	took     bool
	pulse    bool
	nap      hdl.Nap
}

// New returns the command processor of a node after reset.
func New(node int, p Params) Module {
	return Module{
		base:      uint16(cpreg.Base + node*cpreg.Stride),
		hostLimit: uint64(1) << p.HostBits,
		vramLimit: p.VRAMBytes,
		maxBytes:  uint32(uint64(1)<<p.LengthBits - 1),
		maxRow:    1 << (min(p.LengthBits, 19) - 1),
		addrMask:  uint64(1)<<(max(p.HostBits, maxReach)+1) - 1,
		byteMask:  uint32(uint64(1)<<max(p.LengthBits, maxBuffer) - 1),

		protection: p.Protection,
		timeline:   p.Timeline,
		contexts:   p.Contexts,
		preemption: p.Preemption,
		watched:    p.Watched,
		nodes:      uint32(p.Nodes),

		beats: hdl.NewRAM(2 * depth),
	}
}

// Reset sets the registers to their values after power on.
func (m *Module) Reset() {
	m.beats.Reset()
	*m = Module{
		base: m.base, hostLimit: m.hostLimit, vramLimit: m.vramLimit,
		maxBytes: m.maxBytes, maxRow: m.maxRow, addrMask: m.addrMask, byteMask: m.byteMask, protection: m.protection,
		timeline: m.timeline, nodes: m.nodes, watched: m.watched,
		contexts: m.contexts, preemption: m.preemption,
		beats: m.beats,
	}
}

// Fetch returns the read of the ring, of an indirect buffer or of a predicate.
func (m *Module) Fetch() port.Request { return m.req }

// Desc returns the descriptor for the DMA engine.
func (m *Module) Desc() dma.Desc { return m.desc }

// Fence returns the request for the node's fence unit. It stays the same until the
// unit has a result.
func (m *Module) Fence() fence.Req {
	return fence.Req{Op: m.fence, IRQ: m.b3&1 != 0, ID: m.b2, Addr: m.dstAddr}
}

// Resetting reports that the node waits for what is in flight to end, which the
// DMA engine gives up.
func (m *Module) Resetting() bool { return m.resetting }

// Scratch returns the write of a scratch register.
func (m *Module) Scratch() store.Scratch {
	return store.Scratch{Valid: m.scratch, Index: uint8(m.b0>>2) & 3, Data: m.b1}
}

// Fault reports that the node has stopped on a fault, in one clock.
func (m *Module) Fault() bool { return m.pulse }

// Preempted reports that the node has stopped for a preemption, in one clock.
func (m *Module) Preempted() bool { return m.yielded }

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Busy reports that the node is not idle.
func (m *Module) Busy() bool { return !m.idle() }

// Starved reports that the node waits for a dword of a buffer.
func (m *Module) Starved() bool {
	_, valid := m.head()
	ended := m.state == stateNext && m.inIB && m.ib.at == m.ibEnd
	return m.Busy() && m.takes() && !valid && !ended && !m.failed()
}

// Looking reports that the node waits for the value of a predicate.
func (m *Module) Looking() bool { return m.state == stateValue }

// Retired reports that a packet has retired, in one clock, and Took that a dword
// of a buffer was taken, if the node is watched.
func (m *Module) Retired() bool { return m.retired }

// Took is described at Retired.
func (m *Module) Took() bool { return m.took }

// Packets returns the packets retired since reset, modulo 2^32.
func (m *Module) Packets() uint32 { return m.packets }

// Tick is one rising clock edge.
func (m *Module) Tick(mem Mem, d DMA, f Fence, regs regbus.Req, rst bool) {
	answers := mem.Cpl.Status != port.CplNone || d.Done || d.Err || d.WriteErr || f.Result != fence.ResultNone
	asked := rst || regs.Op != regbus.None || d.Ready && m.desc.Op != dma.None || m.state == stateWait
	if hdl.Asleep(bool(m.nap) && !answers && !asked) {
		return
	}
	if rst {
		mem = Mem{}
	}
	busy, inIB := m.resetting, m.inIB
	ringWin, ibWin := m.ringWindow(), m.ibWindow()
	toRing, toIB := m.ringSeek, m.ibSeek
	if busy || rst {
		toRing, toIB = seek{}, seek{}
		ringWin.Enable, ibWin.Enable = false, false
	}
	ringAsks, ibAsks := m.ring.issues(ringWin) && !toRing.Valid, m.ib.issues(ibWin) && !toIB.Valid
	moving := m.ringSeek.Valid || m.ibSeek.Valid
	dword, valid := m.head()
	take := valid && !moving && m.takes() && !rst
	takeRing, takeIB := take && !m.inIB, take && m.inIB
	var offer port.Request
	if !hdl.Asleep(!ringAsks && !ibAsks) {
		offer = m.request(ibAsks, ibWin, ringWin)
	}
	var named uint64
	var answer uint32
	checks := m.state == stateSource || m.state == stateDest
	if !hdl.Asleep(regs.Op == regbus.None && !checks) {
		named = m.operand(m.names())
	}
	if !hdl.Asleep(regs.Op != regbus.Read) {
		answer = m.read(regs.Off-m.base, named)
	}

	m.ringSeek, m.ibSeek = seek{}, seek{}
	m.scratch = m.scratch && !mem.Scratch
	m.pulse, m.yielded = false, false
	m.retired, m.took = false, take && m.watched
	m.handshake(d, f)
	m.receive(mem)
	ends := rst || busy && m.quiet()
	if !busy && !rst {
		if m.preemption && m.yields(moving) {
			m.yield()
		} else {
			m.step(dword, take, moving, named, f)
		}
	}
	m.access(regs, answer, busy)
	if ringAsks || ibAsks {
		m.req = offer
	}
	held, keep, place := m.ring.Tick(ringWin, toRing, takeRing, ringAsks, offer.Len, only(mem.Cpl, tagRing))
	ibHeld, ibKeep, ibPlace := m.ib.Tick(ibWin, toIB, takeIB, ibAsks, offer.Len, only(mem.Cpl, tagIB))
	first, enable := m.ring.first, uint8(0)
	if inIB {
		held, first = ibHeld, m.ib.first|depth
	}
	if ibKeep {
		place = ibPlace | depth
	}
	if keep || ibKeep {
		enable = 0xff
	}
	m.ready, m.readIB = held, inIB
	m.beats.Tick(held, uint32(first), enable, uint32(place), mem.Cpl.Data)
	if ends {
		rsp := m.rsp
		m.Reset()
		m.rsp = rsp
	}
	m.nap = hdl.Nap(hdl.Asleep(m.IdleFor() != 0))
}

// handshake counts what the DMA engine and the fence unit take and complete.
func (m *Module) handshake(d DMA, f Fence) {
	inFlight := m.inFlight
	if d.Ready && m.desc.Op != dma.None {
		m.desc.Op = dma.None
		inFlight++
	}
	if d.Done || d.Err || d.WriteErr {
		inFlight--
	}
	m.inFlight = inFlight & 0x3ffff
	m.readErr = m.readErr || d.Err && !m.writeErr
	m.writeErr = m.writeErr || d.WriteErr && !m.readErr
	if f.Result != fence.ResultNone {
		m.fencing = false
	}
	if f.Ready && m.fence != fence.None {
		m.fence = fence.None
		m.fencing = true
	}
}

// receive gives the read that is offered away and takes the answer to that of a
// predicate.
func (m *Module) receive(mem Mem) {
	cpl := only(mem.Cpl, tagRead)
	if cpl.Status != port.CplNone {
		m.reading = !cpl.Last
		m.readErr = m.readErr || cpl.Status != port.CplSuccess
		m.zero = cpl.Data == 0
		if m.contexts && op(m.hdr) == pkt.OpRestoreState && cpl.Status == port.CplSuccess {
			m.restore(cpl.Data)
		}
	}
	if mem.Ready && m.req.Kind != port.None {
		m.req.Kind = port.None
		m.reading = m.reading || m.req.Tag == tagRead
	}
}

// looks reports whether the read of a predicate is offered.
func (m *Module) looks() bool { return m.req.Kind != port.None && m.req.Tag == tagRead }

// quiet reports whether nothing is in flight.
func (m *Module) quiet() bool {
	moves := m.desc.Op != dma.None || m.inFlight != 0
	fences := m.fence != fence.None || m.fencing
	return !moves && !fences && !m.scratch && !m.looks() && !m.reading && m.ring.quiet() && m.ib.quiet()
}

// IdleFor returns math.MaxUint64 if only an input can wake the node, also another
// level of a timeline, and 0 otherwise. A descriptor that is offered and not taken wakes nobody: whoever
// takes it does.
func (m *Module) IdleFor() uint64 {
	offers := m.fence != fence.None || m.req.Kind != port.None
	pulses := m.rsp.Hit || m.pulse || m.yielded || m.retired || m.took || m.scratch || m.ringSeek.Valid || m.ibSeek.Valid
	issues := m.ring.issues(m.ringWindow()) || m.ib.issues(m.ibWindow())
	ends := m.resetting && m.quiet()
	if offers || pulses || issues || ends || m.reads() || !m.resetting && m.moves() {
		return 0
	}
	return math.MaxUint64
}

// moves reports whether the decoder does something in the next clock.
func (m *Module) moves() bool {
	moves := m.yields(false)
	switch m.state {
	case stateNext, stateBody, stateSkip:
		_, valid := m.head()
		started := m.run || m.interrupts() || m.state != stateNext
		moves = moves || started && (valid || m.failed() || m.ringBad != operandNone || m.inIB && m.ib.at == m.ibEnd)
	case stateIssue:
		moves = m.desc.Op == dma.None || m.readErr || m.writeErr
	case stateDrain:
		moves = m.desc.Op == dma.None && m.inFlight == 0
	case stateValue:
		moves = !m.looks() && !m.reading
	case stateWait:
		moves = moves || !m.waiting
	case stateFence, stateFault:
	default:
		moves = true
	}
	return moves
}

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}
