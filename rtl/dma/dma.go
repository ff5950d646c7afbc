// Package dma is the DMA engine. It moves memory by executing descriptors.
package dma

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

const (
	slots = 16              // most tags
	host  = uint64(1) << 63 // the bit of an address that selects host memory
	ahead = 2               // most write headers taken whose beats are not all issued

	longBytes = 1024 // length in bytes from which a waiting descriptor is long: no other one is then taken
)

// In are the inputs from the memory side.
type In struct {
	ReadReady bool            // the header of Read is taken
	Cpl       port.Completion // completion of a read, with its local tag; never stalled
	ReqReady  bool            // the header of Header is taken
	BeatReady bool            // the beat of Beat is taken
}

// A Result is the outcome of a descriptor, valid for one clock. ResultNone means
// that there is none.
type Result uint8

// The outcomes.
const (
	ResultNone       Result = iota
	ResultDone              // its last write was accepted
	ResultReadError         // a read was answered with an error
	ResultWriteError        // a write was refused
)

// Module is the DMA engine. Its read side requests the source in reads of up to
// 128 bytes. Their data arrives in any order in a reorder memory with a place for
// each tag. Its write side takes the data in order, shifts it to the
// destination's alignment and writes bursts of up to 128 bytes. It offers the
// header of a burst when all data of the burst has arrived, so a write never
// waits for a read.
//
//	In      desc, owner  valid/ready stream of Desc, each with its node; if the
//	        engine has no queue, offered until it is taken; in In; refused  a
//	        pulse in the clock in which the last beat of a refused write is taken;
//	        cancel  a level, bit i: node i cancels its descriptors; rst, a reset
//	        in a clock in which no beat is owed, after which no read in flight is
//	        answered
//	Out     Ready; Read, valid/ready headers; Header and Beat, valid/ready each;
//	        Result and its node. The beats of a descriptor for one memory are
//	        all taken before a header for the other memory is offered
//	Timing  a copy of 64 bytes from VRAM to VRAM ends 20 clocks after its
//	        descriptor; long ones move 8 bytes per clock; between descriptors the
//	        write side loses 1 to 3 clocks
//	Reset   nothing in flight
//	Order   descriptors are written and end in order. The reads of later
//	        descriptors, with up to 4 tags of one that is only offered, may be
//	        sent earlier, so a descriptor must not depend on the one before it
//	Paths   none
//	Size    1024 bits of reorder memory per tag; with more than 4 tags, 4
//	        descriptors between the read side and the write side. Nothing is
//	        taken while one of 1024 bytes or more waits there, so that a node
//	        that must stop does not wait for many
//	Faults  a descriptor that failed writes no further burst, discards its data
//	        in flight and ends with one of the errors; a cancelled one ends as
//	        if a write of it had been refused, and so does one with After whose
//	        predecessor of the same node has failed; a completion without a read in
//	        flight is ignored
type Module struct {
	tags     uint8
	wrap     uint8  // bits of a tag with its wrap bit, as in head
	nodes    uint8  // bits of a node
	queues   bool   // descriptors wait in the queue; if not set, at their source
	addrMask uint64 // bits of an address: the memory, and the offset in it
	lenMask  uint32 // bits of a length
	leftMask uint32 // bits of a number of requests

	order   hdl.RAM // word i of tag t's chunk at t*beats + i
	queue   hdl.FIFO[entry]
	long    bool // the last descriptor in the queue is long
	from    span // of the reads
	to      span // of the write headers
	r       reader
	head    uint8        `w:"5"` // oldest tag in flight, and a wrap bit
	tail    uint8        `w:"5"` // next tag to use
	waiting uint16       // tags with data outstanding
	failed  uint16       // tags that were answered with an error
	ends    uint16       // tags with the end of a descriptor's source
	fill    [slots]uint8 `w:"4"` // next word of each tag's chunk
	w       writer
	s       stage
	cancel  uint8  `w:"2"`
	broken  uint8  `w:"2"` // nodes whose last descriptor has failed
	result  Result `w:"2"`
	owner   uint8  `w:"1"`
}

// An entry is a descriptor on its way to the write side.
type entry struct {
	desc  Desc
	owner uint8 `w:"1"`
}

// A reader is the part of a descriptor that is still to be read.
type reader struct {
	active bool
	begun  bool // the offered descriptor has begun, if none is queued
}

// Params are the limits of an engine.
type Params struct {
	Nodes      int // number of nodes that send descriptors, 1 or 2
	Tags       int // reads in flight, 2, 4, 8 or 16
	HostBits   int // width of a host address; an offset in VRAM is not wider
	LengthBits int // width of a descriptor's length
}

// Queues reports whether an engine with a number of tags takes descriptors into a queue. If
// not, it may have begun to read for an offered descriptor, which must stay offered then.
func Queues(tags int) bool { return tags > 4 }

// New returns an engine. Descriptors queue only so that their reads can be in
// flight. With few tags, the current descriptor and the next one use all tags, so
// there is no queue.
func New(p Params) Module {
	hdl.Assert(p.Tags >= 2 && p.Tags <= slots && p.Tags&(p.Tags-1) == 0, "dma: the number of tags is not 2, 4, 8 or 16")
	return Module{
		tags: uint8(p.Tags), wrap: uint8(2*p.Tags - 1), nodes: uint8(p.Nodes - 1), queues: Queues(p.Tags),
		addrMask: host | (uint64(1)<<p.HostBits - 1), lenMask: uint32(uint64(1)<<p.LengthBits - 1),
		leftMask: uint32(uint64(1)<<(p.LengthBits-6) - 1),
		order:    hdl.NewRAM(p.Tags * beats), queue: hdl.NewFIFO[entry](4),
	}
}

// Ready reports whether a descriptor is taken.
func (m *Module) Ready() bool {
	if m.queues {
		return !m.r.active && (m.queue.Empty() || !m.long && !m.queue.Full())
	}
	return m.r.begun && !m.w.active
}

// begins reports whether the read side begins an offered descriptor.
func (m *Module) begins() bool {
	if m.queues {
		return m.Ready()
	}
	return !m.r.active && !m.r.begun
}

// Wakes reports whether an offered descriptor changes anything, for IdleFor of
// the parent.
func (m *Module) Wakes() bool { return m.begins() || !m.queues && m.Ready() }

// Read returns the header of a read. Its tag is local, below the number of tags.
func (m *Module) Read() port.Request {
	if hdl.Asleep(!m.reading()) { // the GPU calls this in each clock, and often needs only Kind
		return port.Request{}
	}
	req := m.from.request(m.slot(m.tail))
	if m.reading() {
		req.Kind = port.MemRead
	}
	return req
}

// Result returns the outcome of a descriptor and its node, for one clock.
func (m *Module) Result() (r Result, owner uint8) { return m.result, m.owner }

// Work returns the node of the current or last descriptor of the write side, and
// whether the write side waits for data.
func (m *Module) Work() (owner uint8, starved bool) {
	return m.w.owner, m.hasHeaders() && m.w.credit == 0 && !m.s.valid && (m.w.skew || !m.answered())
}

// Outward reports whether an offered read or write may be for host memory. It may
// be true when nothing is offered.
func (m *Module) Outward() bool {
	return m.reading() && m.from.addr&host != 0 || m.w.active && m.to.addr&host != 0
}

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the other
// inputs are.
func (m *Module) Sleeps(desc Desc, in In, cancel uint8, rst bool) bool {
	return desc.Op == None && in.Cpl.Status == port.CplNone && cancel == m.cancel && !rst && m.IdleFor() != 0
}

// Tick is one rising clock edge.
func (m *Module) Tick(desc Desc, owner uint8, in In, refused bool, cancel uint8, rst bool) {
	m.result = ResultNone
	hdl.Assert(desc.Op == None || desc.Len != 0 && desc.Len&^m.lenMask == 0, "dma: a bad length")
	desc.Dst &= m.addrMask
	desc.Len &= m.lenMask
	desc.Op &= 3
	begin, take := desc.Op != None && m.begins(), desc.Op != None && m.Ready()
	taken := entry{desc: desc, owner: owner & m.nodes & 1}
	reading, writing, stop := m.reading() && in.ReadReady, m.writing(), m.stopping()

	read, raddr := m.tickWrite(writing, in.ReqReady, in.BeatReady, refused || m.cancelled())
	waddr, enable := m.arrive(in.Cpl) // of a read taken in an earlier clock
	if reading {
		m.tickRead(stop)
	}
	m.order.Tick(read, raddr, enable, waddr, in.Cpl.Data)

	var next entry // next descriptor of the write side
	var queued bool
	if !hdl.Asleep(m.w.active) { // an entry is large, and load needs it only between descriptors
		next, queued, _ = m.queue.Out()
		if !m.queues {
			next, queued = taken, take
		}
	}
	load := queued && !m.w.active && !begin
	from, to, n := desc.Src, next.desc.Dst, next.desc.Len
	if begin {
		n = desc.Len
	}
	m.move(reading, begin, from, writing && in.ReqReady, load, to, n)
	if load {
		m.load(next)
		m.r.begun = false
	}
	if begin {
		m.r = reader{active: desc.Op == Copy, begun: !m.queues}
	}
	if !hdl.Asleep(!take && !load) { // twice a descriptor
		m.queue.Tick(m.queues && take, taken, m.queues && load)
	}
	if m.queues && take {
		m.long = desc.Len >= longBytes
	}
	m.cancel = cancel & 3
	if rst {
		m.Reset()
	}
}

// move advances the reads or the write headers after a header was taken, or
// begins them with the n bytes of a descriptor from an address on. Only one of
// them begins in a clock, so they share the adder that counts the requests.
func (m *Module) move(reading, begin bool, from uint64, writing, load bool, to uint64, n uint32) {
	if hdl.Asleep(!reading && !begin && !writing && !load) { // most clocks move data, few send headers
		return
	}
	first := to
	if begin {
		first = from
	}
	left, end := requests(uint8(first)&(chunk-1), n)
	if writing || load {
		m.to = m.advance(m.to, writing, load, span{addr: to, left: left, end: end})
	}
	if reading || begin {
		m.from = m.advance(m.from, reading, begin, span{addr: from & m.addrMask, left: left, end: end})
	}
}

// Cancel returns the cancel input that the last clock saw, for IdleFor of the
// parent: the engine is awake while the level differs.
func (m *Module) Cancel() uint8 { return m.cancel }

// cancelled reports whether the write side's descriptor must be cancelled and has
// not been.
func (m *Module) cancelled() bool {
	return m.w.active && m.w.fault == ResultNone && m.cancel>>m.w.owner&1 != 0
}

// reading reports whether a read is offered.
func (m *Module) reading() bool { return m.r.active && m.tail != m.head^m.tags }

// stopping reports whether the read side reads for a descriptor that the write
// side has cancelled. Both sides have the same descriptor if the queue is empty.
func (m *Module) stopping() bool {
	same := !m.r.begun
	if m.queues {
		same = m.queue.Empty()
	}
	return m.w.active && m.w.fault != ResultNone && m.r.active && same
}

// slot returns the local tag of head or tail.
func (m *Module) slot(p uint8) uint8 { return p & (m.tags - 1) }

// next returns the tag after p.
func (m *Module) next(p uint8) uint8 { return (p + 1) & m.wrap & 0x1f }

// tickRead assigns a tag to a read whose header is taken. If stop is set, the
// write side has cancelled the descriptor, and this read is the last one.
func (m *Module) tickRead(stop bool) {
	t := m.slot(m.tail)
	bit := uint16(1) << t
	m.fill[t] = uint8(m.from.addr>>3) & (beats - 1)
	m.waiting |= bit
	m.failed &^= bit
	m.ends &^= bit
	if m.from.last() || stop {
		m.ends |= bit
		m.r.active = false
	}
	m.tail = m.next(m.tail)
}

// arrive takes a completion and returns its write to the reorder memory.
func (m *Module) arrive(cpl port.Completion) (addr uint32, enable uint8) {
	t := m.slot(cpl.Tag)
	addr = uint32(t)*beats | uint32(m.fill[t])
	if cpl.Status != port.CplNone && cpl.Tag&(slots-1) == t && m.waiting>>t&1 != 0 {
		m.fill[t] = (m.fill[t] + 1) & (beats - 1)
		if cpl.Last {
			m.waiting &^= 1 << t
		}
		if cpl.Status == port.CplSuccess {
			enable = 0xff
		} else {
			m.failed |= 1 << t
		}
	}
	return addr, enable
}

// arrived reports whether all data of a tag, which includes the wrap bit, has
// arrived.
func (m *Module) arrived(p uint8) bool { return p != m.tail && m.waiting>>m.slot(p)&1 == 0 }

// ending reports whether a tag has the end of a descriptor's source.
func (m *Module) ending(p uint8) bool { return m.ends>>m.slot(p)&1 != 0 }

// IdleFor returns 0 if the engine has something to do, and otherwise
// math.MaxUint64: only an input, a descriptor or an awaited completion, can wake
// it.
func (m *Module) IdleFor() uint64 {
	if m.result != ResultNone || m.reading() || m.cancelled() || m.writeBusy() || m.queues && !m.w.active && !m.queue.Empty() {
		return 0
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(uint64) {}

// Reset sets the registers.
func (m *Module) Reset() {
	m.queue.Reset()
	m.long = false
	m.from, m.to = span{}, span{}
	m.r, m.w, m.s = reader{}, writer{}, stage{}
	m.head, m.tail = 0, 0
	m.waiting, m.failed, m.ends = 0, 0, 0
	for t := range slots {
		m.fill[t] = 0
	}
	m.cancel, m.broken, m.result, m.owner = 0, 0, ResultNone, 0
}
