// Package cp is the command processor of a node: it fetches packets from the
// ring and from indirect buffers and executes them.
package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Params are the limits that addresses and lengths are checked against.
type Params struct {
	HostBits   int      // width of a host address
	VRAMBytes  uint64   // power of two
	LengthBits int      // width of a linear packet's byte count
	Nodes      int      // command processors, 1 or 2
	Caps       caps.Set // of the device
}

// Mem is what comes back from the memory side.
type Mem struct {
	Ready   bool            // the header of Fetch is taken
	Scratch bool            // the write of a scratch register is taken
	Cpl     port.Completion // of a fetch; never stalled
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
	stateRetire                // the packet has nothing left to do but to write a scratch register
	stateLeave                 // the indirect buffer has ended, and the INDIRECT with it
	stateCheck                 // the fields of the packet are looked at
	stateCorner                // the corner of a rectangle is taken
	stateClip                  // one edge of the rectangle is clipped
	statePlace                 // what is left of the rectangle is looked at
	stateLow                   // the first byte of a range is looked at
	stateScale                 // elements become bytes
	statePitch                 // the pitch is taken for a product
	stateMul                   // a row number is multiplied by the pitch
	stateRange                 // the end of a range is looked at
	stateReadable              // a window around the source is looked for
	stateWritable              // a writable window around the destination is looked for
	stateWindow                // a window is set
	stateStep                  // the source's pitch is taken for the rows
	stateValue                 // the operand that is no address is taken
	stateIssue                 // descriptors are sent
	stateRow                   // the next row is begun
	stateDrain                 // descriptors are in flight
	stateFence                 // the fence unit works
	stateRead                  // the read of a predicate or of a context is offered
	stateAnswer                // its answer is awaited
	stateWait                  // a timeline has not reached a value
	stateSave                  // a word of the context is sent
	stateRing                  // RING_BASE is looked at
	stateRingEnd               // the end of the ring is looked at
	stateBlame                 // the ring's registers are kept for the fault
	stateClear                 // behind a reset the registers in the file become 0
	stateFault                 // stopped
)

// Local tags of the reads.
const (
	tagRing = 0
	tagIB   = 1
	tagRead = 2
)

// Module is the command processor of one node. It executes one packet at a
// time: a packet starts when all descriptors of the one before are complete.
// The rows of a 2D packet are sent one after the other, top row first; what is
// longer than a descriptor can be is sent in pieces.
//
//	In      mem Mem; d DMA; f Fence; regs regbus.Req; rst, a reset
//	        from any state, after which nothing that was in flight arrives
//	Out     Fetch, a header stream, local tag 0 the ring, 1 an indirect buffer,
//	        2 the value of a predicate or a context; Desc, Scratch and Fence, valid/ready streams; Fault, a pulse; Rsp;
//	        Resetting, a level; all functions of registers
//	Timing  a NOP 2 clocks; a linear packet 4 to 7 clocks from its last dword to its
//	        descriptor; a 2D packet up to 112 more; with CTL.PROTECT in an
//	        indirect buffer 1 to 4 more for each range; then a descriptor a clock;
//	        8 from the end of an indirect buffer to the next header of the ring.
//	        An access to a register that is in the RAM is put off by data of a fetch
//	Reset   everything 0; the 16 clocks behind it clear the file, and put accesses off.
//	        CTL.RESET does the same when all reads, descriptors, fence requests and
//	        scratch writes in flight have ended, and ignores register writes until then
//	Order   packets retire in the order of the buffer; RPTR moves when a packet
//	        of the ring retires, for INDIRECT when its buffer has
//	Paths   none
//	Size    a RAM of 80 words and 700 bits; 1,000 more with everything
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
	maxLog2   uint8  // log2 of the bytes of the longest descriptor
	pieceMask uint32 // bits of a number of a piece
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
	ringLog2  uint8  `w:"5"`
	wptr      uint32 `w:"18"`
	beyond    bool   // WPTR has a bit above those
	rptr      uint32 `w:"18"`
	fresh     bool   // the ring is to be checked before it is read
	ringBad   uint8  `w:"2"`  // why it cannot be
	readMask  uint32 `w:"18"` // of RING_SIZE as it was when the ring was checked: dwords, less one
	packets   uint32
	rsp       regbus.Rsp
	filed     bool // the answer is what was read of the file

	stream   stream
	buffer   uint64  // where the buffer begins that it reads
	kept     uint8   `w:"7"` // dwords of the ring that wait for the end of the indirect buffer
	beats    hdl.RAM // of the ring, from depth on of the indirect buffer, from fileAt on the file
	ready    bool    // what was read last is what the decoder needs
	high     bool    // of the word that was read last the upper half is wanted
	ringSeek bool    // the stream goes to RPTR, where it has what was kept, and drops all else
	ibSeek   bool    // the stream goes to the beginning of the indirect buffer
	inIB     bool
	ibEnd    uint32 `w:"20"` // dwords of the indirect buffer
	ibDone   uint32 `w:"20"` // of them retired

	state  state   `w:"5"`
	cause  uint8   `w:"4"` // of the fault; before it, of the first word of the body to be refused
	bad    operand `w:"5"` // what is refused
	opcode uint8   // of the packet in work, the whole header is in the file
	left   uint16  // dwords of its body not yet taken, or to be skipped
	n      uint8   `w:"3"` // place in the body of the next one
	flag   bool    // the flag in it
	few    uint8   `w:"3"` // its number of few bits
	body   uint8   `w:"2"` // slots of the body and of the surfaces
	from   uint8   `w:"2"`
	onto   uint8   `w:"2"`
	src    surface
	dst    surface

	writes  bool   // the destination is in work
	again   bool   // its corner was clipped, its first row was found
	edge    uint8  `w:"2"`  // in work: x0, y0, x1, y1; then 0 the last row of a range, 1 the first one
	x0, x1  uint16 `w:"15"` // columns of the rectangle left after clipping
	y0, y1  uint16 `w:"15"` // rows not yet sent, of the clipped rectangle the first and the last one
	scale   uint8  `w:"3"`  // doublings to come
	mul     uint16 `w:"15"`
	add     uint64 `w:"35"` // corner, offset or pitch, shifted
	end     uint64 // of a range the last row, then the first one; of the destination in the end the row in work
	srcAddr uint64 // of the row in work, or the operand that is no address, whole
	bytes   uint32 // of a row
	piece   uint32 `w:"20"` // of it, in work
	zero    bool   // the value of a predicate is 0

	waiting bool  // WAIT_FENCE has seen that it must wait
	window  uint8 `w:"2"` // looked at
	window0 reach
	window1 reach
	window2 reach
	window3 reach
	bottom  uint64 // last row of a range that is looked for in the windows

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

	offered  bool  // a descriptor is offered
	inFlight uint8 `w:"6"` // descriptors taken and not complete
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

// A surface is what is not in the file of the state that SET_STATE sets.
type surface struct {
	set    bool
	format uint8 `w:"3"`
}

// New returns the command processor of a node after reset.
func New(node int, p Params) Module {
	maxLog2 := min(p.LengthBits, 19) - 1
	pieceBits := max(p.LengthBits, maxBuffer) - maxLog2
	if p.Caps.Has(caps.Preemption) {
		pieceBits = max(pieceBits, p.LengthBits-pieceLog2)
	}
	m := Module{
		base:      uint16(cpreg.Base + node*cpreg.Stride),
		hostLimit: uint64(1) << p.HostBits,
		vramLimit: p.VRAMBytes,
		maxBytes:  uint32(uint64(1)<<p.LengthBits - 1),
		maxLog2:   uint8(maxLog2),
		pieceMask: 1<<min(pieceBits, 20) - 1,
		addrMask:  uint64(1)<<(max(p.HostBits, maxReach)+1) - 1,
		byteMask:  uint32(uint64(1)<<max(p.LengthBits, maxBuffer) - 1),

		protection: p.Caps.Has(caps.Protection),
		timeline:   p.Caps.Has(caps.Timeline),
		contexts:   p.Caps.Has(caps.Contexts),
		preemption: p.Caps.Has(caps.Preemption),
		watched:    p.Caps&(caps.Counters|caps.Watchdog) != 0,
		nodes:      uint32(p.Nodes),

		beats: hdl.NewRAM(fileAt + fileWords),
	}
	m.Reset()
	return m
}

// Reset sets the registers to their values after power on.
func (m *Module) Reset() {
	*m = Module{
		base: m.base, hostLimit: m.hostLimit, vramLimit: m.vramLimit, maxBytes: m.maxBytes,
		maxLog2: m.maxLog2, pieceMask: m.pieceMask, addrMask: m.addrMask, byteMask: m.byteMask,
		protection: m.protection, timeline: m.timeline, nodes: m.nodes, watched: m.watched,
		contexts: m.contexts, preemption: m.preemption,
		beats: m.beats, state: stateClear, from: 1, onto: 2,
	}
}

// Tick is one rising clock edge.
func (m *Module) Tick(mem Mem, d DMA, f Fence, regs regbus.Req, rst bool) {
	answers := mem.Cpl.Status != port.CplNone || d.Done || d.Err || d.WriteErr || f.Result != fence.ResultNone
	asked := rst || regs.Op != regbus.None || d.Ready && m.offered || m.state == stateWait || mem.Scratch && m.scratch
	if hdl.Asleep(bool(m.nap) && !answers && !asked) {
		return
	}
	if rst {
		mem = Mem{}
	}
	if regs.Off>>8 != m.base>>8 {
		regs.Op = regbus.None
	}
	off := regs.Off & 0xfc
	busy, inIB, accessed := m.resetting, m.inIB, regs.Op != regbus.None
	win, moving, to, kept := m.readWindow(), m.ringSeek || m.ibSeek, m.rptr, m.kept
	if m.ibSeek {
		to, kept = 0, 0
	}
	weighs := m.weighs()
	next := m.next(win, accessed, weighs, off)
	left := m.behind(win, next, accessed && off == cpreg.IBLeft)
	asks := m.stream.issues(win, next, left) && !moving && !accessed && !weighs && !busy && !rst
	arrives := mem.Cpl.Status != port.CplNone
	free := !arrives && regs.Op != regbus.Write
	dword, taken := m.half(), d.Ready && m.offered
	keeps := m.state == stateBody || m.state == stateNext && dword != emptyNOP
	take := m.ready && !moving && m.takes() && !rst && (free || !keeps) && !(accessed && weighs)
	var offer port.Request
	if !hdl.Asleep(!asks && !accessed) {
		offer = m.request(win, next, left)
	}
	var data uint32
	var looks look
	if !hdl.Asleep(!accessed) {
		data, looks = m.read(off, offer.Addr, left), m.looks(off, regs.Op)
	}
	write := m.stores(take, free, arrives, off, regs.Data)
	later := m.state == stateClear || arrives && regs.Op == regbus.Write && m.keeps(off)

	m.ringSeek, m.ibSeek = false, false
	m.pulse, m.yielded = false, false
	if m.ringBad == ringGood && m.run && !m.fresh && m.strays() {
		m.ringBad = ringWptr
	}
	m.retired, m.took = false, take && m.watched
	m.handshake(d, f)
	restores, slot := m.receive(mem)
	ends := rst || busy && m.quiet()
	if !busy && !rst {
		if m.preemption && m.yields(moving) {
			m.yield()
		} else {
			m.step(dword, m.inIB && dword&0xffff >= left, take, taken, moving, free, f)
		}
	}
	m.access(regs, off, data, looks, later, busy)
	if asks {
		m.req = offer
	}
	held, keep, place := m.stream.Tick(win, moving && !busy && !rst, to, kept, take, asks, offer.Len, fetched(mem.Cpl))
	if arrives {
		write = arrival(keep, place, inIB, restores, slot, mem.Cpl.Data)
	}
	m.tickRAM(held, looks, write)
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
	if d.Ready && m.offered {
		m.offered = false
		inFlight++
	}
	if d.Done || d.Err || d.WriteErr {
		inFlight--
	}
	hdl.Assert(inFlight <= 0x3f, "cp: the DMA engine has more descriptors than can be counted")
	m.inFlight = inFlight & 0x3f
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

// receive gives away what is offered and takes the answer to the read of a
// predicate. If that is a word of the file, it returns where it belongs.
func (m *Module) receive(mem Mem) (restores bool, place uint8) {
	cpl := mem.Cpl
	if cpl.Status != port.CplNone && cpl.Tag&3 == tagRead {
		m.reading = !cpl.Last
		m.readErr = m.readErr || cpl.Status != port.CplSuccess
		m.zero = cpl.Data == 0
		if m.contexts && m.op() == pkt.OpRestoreState && cpl.Status == port.CplSuccess {
			restores, place = m.restore(cpl.Data)
		}
	}
	if mem.Ready && m.req.Kind != port.None {
		m.req.Kind = port.None
		m.reading = m.reading || m.req.Tag == tagRead
	}
	m.scratch = m.scratch && !mem.Scratch
	return restores, place
}

// offers reports whether the read of a predicate is offered.
func (m *Module) offers() bool { return m.req.Kind != port.None && m.req.Tag == tagRead }

// quiet reports whether nothing is in flight.
func (m *Module) quiet() bool {
	moves := m.offered || m.inFlight != 0 || m.scratch
	fences := m.fence != fence.None || m.fencing
	return !moves && !fences && !m.offers() && !m.reading && m.stream.quiet()
}
