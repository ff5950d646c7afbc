// Package dma is the engine that moves memory: it executes descriptors.
package dma

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

const (
	chunk = 4 * port.MaxLen // bytes of the largest request; none crosses a multiple
	beats = chunk / 8       // of one tag in the reorder memory
	slots = 16              // tags at most
	host  = uint64(1) << 63 // the bit of an address that selects host memory
	ahead = 2               // write headers taken whose beats are not all issued
)

// In are the inputs from the memory side.
type In struct {
	ReadReady bool            // the header of Read is taken
	Cpl       port.Completion // of a read, with its local tag; never stalled
	ReqReady  bool            // the header of Header is taken
	BeatReady bool            // the beat of Beat is taken
}

// A Result is the outcome of a descriptor, for one clock; ResultNone means that
// there is none.
type Result uint8

// The outcomes.
const (
	ResultNone       Result = iota
	ResultDone              // its last write was accepted
	ResultReadError         // a read was answered with an error
	ResultWriteError        // a write was refused
)

// Module is the DMA engine. A read side asks for the source in requests of up
// to 128 bytes; their data comes back in any order into a reorder memory with a
// place for each tag. A write side takes the data in order, shifts it to the
// destination's alignment and writes bursts of up to 128 bytes. The header of a
// burst is offered when all of its data is there, so a write never waits for a
// read.
//
//	In      desc, owner  valid/ready stream of Desc, each with its node; in In;
//	        refused  a pulse in the clock in which the last beat of a write that
//	        was refused is taken; cancel  a level, bit i: node i wants its
//	        descriptors given up; rst, a reset in a clock in which no
//	        beat is owed, after which no read in flight is answered
//	Out     Ready; Read, valid/ready headers; Header and Beat, valid/ready each;
//	        Result and its node. The beats of a descriptor for one memory are all
//	        taken before a header for another is offered
//	Timing  a copy of 64 bytes from VRAM to VRAM ends 20 clocks after its
//	        descriptor; long ones move 8 bytes per clock; between descriptors the
//	        write side loses 1 clock, 2 if the alignments differ
//	Reset   nothing in flight
//	Order   descriptors are written and end in order; the reads of the ones behind
//	        may come before, so a descriptor may not depend on the one before it
//	Paths   none
//	Size    1024 bits of reorder memory per tag, 5 descriptors, 3 with up to 4 tags
//	Faults  a descriptor that failed writes no further burst, takes what is in
//	        flight and ends with one of the errors; one that is given up ends
//	        as if a write of it had been refused; a completion without a read
//	        in flight is ignored
type Module struct {
	tags     uint8
	addrMask uint64 // bits of an address: which memory, and where in it
	lenMask  uint32 // bits of a length

	order    hdl.RAM // word i of tag t's chunk at t*beats + i
	queue    hdl.FIFO[entry]
	r        reader
	head     uint8 `w:"5"` // oldest tag in flight, and a wrap bit
	tail     uint8 `w:"5"` // next tag to use
	complete uint16
	failed   uint16
	ends     uint16       // tags that hold the end of a descriptor's source
	fill     [slots]uint8 `w:"4"` // next word of each tag's chunk
	w        writer
	s        stage
	cancel   uint8  `w:"2"`
	result   Result `w:"2"`
	owner    uint8  `w:"1"`
}

// An entry is a descriptor on its way to the write side.
type entry struct {
	desc  Desc
	owner uint8 `w:"1"`
}

// A reader is what is left to read of the descriptor at the read side.
type reader struct {
	active bool
	src    uint64
	left   uint32 // bytes
}

// Params are the limits of an engine.
type Params struct {
	Tags       int // reads in flight, 2, 4, 8 or 16
	HostBits   int // width of a host address; an offset in VRAM has not more
	LengthBits int // width of a descriptor's length
}

// New returns an engine. Descriptors wait only to have their reads in flight, so
// with few tags the queue is short.
func New(p Params) Module {
	hdl.Assert(p.Tags >= 2 && p.Tags <= slots && p.Tags&(p.Tags-1) == 0, "dma: tags are not 2, 4, 8 or 16")
	return Module{
		tags: uint8(p.Tags), addrMask: host | (uint64(1)<<p.HostBits - 1), lenMask: uint32(uint64(1)<<p.LengthBits - 1),
		order: hdl.NewRAM(p.Tags * beats), queue: hdl.NewFIFO[entry](max(2, min(4, p.Tags/2))),
	}
}

// Ready returns whether a descriptor is taken.
func (m *Module) Ready() bool { return !m.r.active && !m.queue.Full() }

// Read returns the header of a read; its tag is local, below the number of tags.
func (m *Module) Read() port.Request {
	if !m.reading() {
		return port.Request{}
	}
	n := span(m.r.src, m.r.left)
	return port.Request{Kind: port.MemRead, Tag: m.slot(m.tail), Len: dwords(m.r.src, n), Addr: m.r.src &^ 3}
}

// Result returns the outcome of a descriptor and its node, in one clock.
func (m *Module) Result() (r Result, owner uint8) { return m.result, m.owner }

// Work returns the node whose descriptor is written, or was last, and whether
// there is nothing to write of it because its data has not come.
func (m *Module) Work() (owner uint8, starved bool) {
	ready, _ := m.source()
	return m.w.owner, m.w.active && m.w.fault == ResultNone && m.w.left != 0 && m.w.credit == 0 && !m.s.valid && !ready
}

// Tick is one rising clock edge.
func (m *Module) Tick(desc Desc, owner uint8, in In, refused bool, cancel uint8, rst bool) {
	m.result = ResultNone
	next, queued, _ := m.queue.Out()
	push := desc.Op != None && m.Ready()
	writing, stop := m.writing(), m.stopping()

	waddr, enable := m.arrive(in.Cpl) // of a read taken in an earlier clock
	m.tickRead(in.ReadReady, stop)
	read, raddr := m.tickWrite(writing, in.ReqReady, in.BeatReady, refused || m.cancelled())
	m.order.Tick(read, raddr, enable, waddr, in.Cpl.Data)

	pop := queued && !m.w.active
	if pop {
		m.load(next)
	}
	if push {
		hdl.Assert(desc.Len != 0 && desc.Len&^m.lenMask == 0, "dma: a bad length")
		m.r = reader{active: desc.Op == Copy, src: desc.Src & m.addrMask, left: desc.Len & m.lenMask}
	}
	desc.Dst &= m.addrMask
	desc.Len &= m.lenMask
	desc.Op &= 3
	m.queue.Tick(push, entry{desc: desc, owner: owner & 1}, pop)
	m.cancel = cancel & 3
	if rst {
		m.Reset()
	}
}

// Cancel returns the level of cancel that the last clock saw, for IdleFor of the
// parent: while the nodes have another one, the engine is not asleep.
func (m *Module) Cancel() uint8 { return m.cancel }

// cancelled returns whether the write side's descriptor is to be given up and
// has not been.
func (m *Module) cancelled() bool {
	return m.w.active && m.w.fault == ResultNone && m.cancel>>m.w.owner&1 != 0
}

// reading returns whether a read is offered.
func (m *Module) reading() bool { return m.r.active && (m.tail-m.head)&0x1f < m.tags }

// stopping returns whether the read side reads for a descriptor that the write
// side has given up. They have the same one if none is queued between them.
func (m *Module) stopping() bool {
	return m.w.active && m.w.fault != ResultNone && m.r.active && m.queue.Empty()
}

// slot returns the local tag of head or tail.
func (m *Module) slot(p uint8) uint8 { return p & (m.tags - 1) }

// tickRead moves the read side on if its header is taken. With stop set the
// write side has given the descriptor up, and this read is the last one.
func (m *Module) tickRead(ready, stop bool) {
	if ready && m.reading() {
		t := m.slot(m.tail)
		n := span(m.r.src, m.r.left)
		m.fill[t] = uint8(m.r.src>>3) & (beats - 1)
		m.r.src = m.r.src&host | (m.r.src+uint64(n))&(m.addrMask&^host)
		m.r.left = (m.r.left - n) & m.lenMask
		if m.r.left == 0 || stop {
			m.ends |= 1 << t
			m.r.active = false
		}
		m.tail = (m.tail + 1) & 0x1f
	}
}

// arrive takes a completion and returns what it writes to the reorder memory.
func (m *Module) arrive(cpl port.Completion) (addr uint32, enable uint8) {
	t := cpl.Tag & (slots - 1)
	if cpl.Status != port.CplNone && t < m.tags && m.asked(t) && m.complete>>t&1 == 0 {
		addr = uint32(t)*beats | uint32(m.fill[t])
		m.fill[t] = (m.fill[t] + 1) & (beats - 1)
		if cpl.Last {
			m.complete |= 1 << t
		}
		if cpl.Status == port.CplSuccess {
			enable = 0xff
		} else {
			m.failed |= 1 << t
		}
	}
	return addr, enable
}

// asked returns whether slot t, below the number of tags, is in use.
func (m *Module) asked(t uint8) bool { return m.slot(t-m.head) < (m.tail-m.head)&0x1f }

// release frees the oldest tag.
func (m *Module) release() {
	bit := uint16(1) << m.slot(m.head)
	m.complete &^= bit
	m.failed &^= bit
	m.ends &^= bit
	m.head = (m.head + 1) & 0x1f
}

// span returns the bytes of the next request at addr with left bytes to go.
func span(addr uint64, left uint32) uint32 {
	n := chunk - uint32(addr)&(chunk-1)
	if left < n {
		n = left
	}
	return n
}

// dwords returns the length of a request of n bytes at addr.
func dwords(addr uint64, n uint32) uint8 { return uint8((uint32(addr)&3 + n + 3) >> 2) }

// IdleFor returns 0 if the engine has something to do, and otherwise that only
// an input can wake it: a descriptor, or a completion that it waits for.
func (m *Module) IdleFor() uint64 {
	if m.result != ResultNone || m.reading() || m.cancelled() || m.writeBusy() || !m.w.active && !m.queue.Empty() {
		return 0
	}
	return math.MaxUint64
}

// Skip is n clocks without input.
func (m *Module) Skip(uint64) {}

// Reset sets the registers.
func (m *Module) Reset() {
	m.order.Reset()
	m.queue.Reset()
	m.r, m.w, m.s = reader{}, writer{}, stage{}
	m.head, m.tail = 0, 0
	m.complete, m.failed, m.ends = 0, 0, 0
	for t := range slots {
		m.fill[t] = 0
	}
	m.cancel, m.result, m.owner = 0, ResultNone, 0
}
