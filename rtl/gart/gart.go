// Package gart is the aperture: it translates the addresses of descriptors on their way from
// the nodes to the DMA engine.
package gart

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

const (
	host    = uint64(1) << 63 // the bit of an address that selects host memory
	mapped  = gartreg.StartLog2
	inPage  = gartreg.PageBytes - 1
	entries = gartreg.LineEntries
	lines   = gartreg.Lines

	flights = 8 // most parts in the DMA engine
)

// state is the state of the current descriptor.
type state uint8

const (
	stateIdle  state = iota // there is none
	statePlan               // chooses the next part
	stateLook               // looks for the entry of a page among the kept ones
	stateLoad               // reads the entry
	stateCheck              // checks the entry
	stateWait               // waits until no read of the DMA engine is offered
	stateRead               // offers a read of the table
	stateFill               // takes its answer
	stateOffer              // offers the part to the DMA engine
	stateFail               // waits for the parts in flight, then ends the descriptor
)

// A Result is the outcome of a descriptor, valid for one clock. ResultNone means that there
// is none.
type Result uint8

// The outcomes.
const (
	ResultNone       Result = iota
	ResultDone              // its last write was accepted
	ResultReadError         // a read was answered with an error
	ResultWriteError        // a write was refused, or the descriptor was cancelled
	ResultReadPage          // a page of the source could not be accessed
	ResultWritePage         // a page of the destination could not be accessed
)

// Params are the limits of addresses and lengths.
type Params struct {
	HostBits   int    // width of a host address
	VRAMBytes  uint64 // power of two
	LengthBits int    // width of a descriptor's length
}

// In are the inputs from the data path.
type In struct {
	Taken     bool            // the DMA engine takes Desc
	Free      bool            // no read of the DMA engine stays offered
	ReadReady bool            // the header of Read is taken
	Cpl       port.Completion // completion of that read; never stalled
}

// Design note: one translator after the arbiter of the descriptors serves both nodes. It looks
// pages up while the engine moves the part before, so a lookup costs no time in long copies,
// even one that reads host memory. One for each node would be faster only where both nodes
// miss at the same time, and would be as large again.

// Module takes the descriptors of the nodes and sends them to the DMA engine in parts that do
// not cross a page of the aperture, with addresses of VRAM and of host memory only.
//
//	In      desc, owner  valid/ready stream of dma.Desc, each with its node; in In;
//	        done  the result of a descriptor of the engine, and whose it is;
//	        cancel  a level, bit i: node i cancels its descriptors; regs regbus.Req;
//	        rst, a reset after which nothing in flight is answered
//	Out     Ready; Desc, offered until it is taken, and its node; Read, a valid/ready
//	        header of 64 bytes of the table; Result and its node; Missing, a level;
//	        Registers regbus.Rsp
//	Timing  2 clocks from a descriptor without an address in the aperture to its
//	        offer; 3 more for each of its two addresses in the aperture, and 2 and the
//	        time of a read for 8 pages whose entries are not kept. A result 1 clock
//	        after that of the last part. A part after a cut in a fill 1 to 7 clocks more
//	Reset   the registers 0, nothing kept, nothing in flight
//	Order   descriptors end in order of the engine's results. A failed descriptor ends
//	        after its parts in flight, and sends no further one
//	Paths   none
//	Size    a RAM of 32 words and 590 bits
//	Faults  a page that cannot be accessed ends the descriptor with ResultReadPage or
//	        ResultWritePage and is kept in FAULT. A write of TABLE is retried while a
//	        read of the table is prepared or offered
//	Source  gartreg.Block, docs/design.md#gart
type Module struct {
	pageMask  uint64 // bits of an entry that are a page's address
	hostLimit uint64 // bytes of host address space
	vramLimit uint64 // bytes of VRAM
	addrMask  uint64 // bits of an address
	lenMask   uint32 // bits of a length

	enable bool
	table  uint64
	pages  uint32 `w:"20"`
	flush  bool   // a flush is not acknowledged
	fault  fault
	rsp    regbus.Rsp

	ram  hdl.RAM       // entry i of line l at l*entries + i
	tags [lines]uint32 `w:"16"` // number of the first page of each line / entries
	held uint8         `w:"4"`  // lines whose entries are kept
	next uint8         `w:"2"`  // the line that is replaced next

	state  state `w:"4"`
	copies bool  // the descriptor is a copy, otherwise a fill
	after  bool
	owner  uint8  `w:"1"`
	left   uint32 // bytes not yet sent
	src    uint64
	dst    uint64
	begun  bool  // a part was sent
	turns  uint8 `w:"3"` // bytes by which the value of a fill must still be rotated

	part   uint32 // bytes of the next part
	writes bool   // the page that is looked up is of the destination
	line   uint8  `w:"2"` // its line
	beat   uint8  `w:"3"` // next word of the line to arrive
	from   uint64 // the page of the source
	to     uint64 // the page of the destination
	kind   uint8  `w:"2"` // why a page cannot be accessed

	flying uint8  `w:"4"` // parts in the engine
	ends   uint8  // bit i: part i of those, the oldest first, ends its descriptor
	err    Result `w:"3"` // the first error of the parts of the oldest descriptor
	broken uint8  `w:"2"` // nodes whose last descriptor has failed
	result Result `w:"3"`
	of     uint8  `w:"1"`
}

// Outputs are the methods of Module whose results are its outputs.
var Outputs = []string{"Ready", "Result", "Registers", "Missing", "Reading", "Read", "Desc"}

// New returns an aperture after reset.
func New(p Params) Module {
	offset := uint64(1)<<max(p.HostBits, mapped+1) - 1
	return Module{
		pageMask: gartreg.EntryPage & (uint64(1)<<p.HostBits - 1), hostLimit: uint64(1) << p.HostBits, vramLimit: p.VRAMBytes,
		addrMask: host | offset, lenMask: uint32(uint64(1)<<p.LengthBits - 1), ram: hdl.NewRAM(lines * entries),
	}
}

// Reset sets the registers.
func (m *Module) Reset() {
	m.enable, m.table, m.pages, m.flush = false, 0, 0, false
	m.fault, m.rsp = fault{}, regbus.Rsp{}
	for i := range lines {
		m.tags[i] = 0
	}
	m.held, m.next = 0, 0
	m.state, m.copies, m.after, m.owner = stateIdle, false, false, 0
	m.left, m.src, m.dst, m.begun, m.turns = 0, 0, 0, false, 0
	m.part, m.writes, m.line, m.beat, m.from, m.to, m.kind = 0, false, 0, 0, 0, 0, gartreg.KindNone
	m.flying, m.ends, m.err, m.broken, m.result, m.of = 0, 0, ResultNone, 0, ResultNone, 0
}

// Ready reports whether a descriptor is taken. None is while a failure is told, so that a node
// can withdraw the one after it.
func (m *Module) Ready() bool { return m.state == stateIdle && m.result <= ResultDone }

// Result returns the outcome of a descriptor and its node, for one clock.
func (m *Module) Result() (r Result, of uint8) { return m.result, m.of }

// Registers returns the answer to the register access of the previous clock.
func (m *Module) Registers() regbus.Rsp { return m.rsp }

// Missing reports whether a node waits for a read of the table, and which one.
func (m *Module) Missing() (misses bool, node uint8) {
	return m.state == stateWait || m.state == stateRead || m.state == stateFill, m.owner
}

// Reading reports whether Read has a header.
func (m *Module) Reading() bool { return m.state == stateRead }

// Read returns the header of a read of the table, without its tag.
func (m *Module) Read() port.Request {
	req := port.Request{Len: entries * gartreg.EntryBytes / 4, Addr: m.table&host | m.at()}
	if m.state == stateRead {
		req.Kind = port.MemRead
	}
	return req
}

// Desc returns the next part for the DMA engine and its node. It is valid if Op is not None.
func (m *Module) Desc() (d dma.Desc, owner uint8) {
	d = dma.Desc{After: m.after || m.begun, Len: m.part, Src: m.src, Dst: m.dst}
	if m.copies && in(m.src) {
		d.Src = host | m.from | m.src&inPage
	}
	if in(m.dst) {
		d.Dst = host | m.to | m.dst&inPage
	}
	if m.state == stateOffer {
		d.Op = dma.Fill
		if m.copies {
			d.Op = dma.Copy
		}
	}
	return d, m.owner
}

// in reports whether an address is in the aperture.
func in(addr uint64) bool { return addr&host == 0 && addr>>mapped&1 != 0 }

// Tick is one rising clock edge.
func (m *Module) Tick(desc dma.Desc, owner uint8, in In, done dma.Result, of, cancel uint8, regs regbus.Req, rst bool) {
	take := desc.Op != dma.None && m.Ready()
	quiet := m.flying == 0
	flush, busy := m.flush, m.state == stateLook || m.state == stateWait || m.state == stateRead
	read, raddr := m.state == stateLoad, uint32(m.line)*entries|uint32(m.page())&(entries-1)
	enable, waddr := uint8(0), uint32(m.line)*entries|uint32(m.beat)
	if m.state == stateFill && in.Cpl.Status == port.CplSuccess {
		enable = 0xff
	}
	m.acknowledge(quiet)
	m.result = ResultNone
	m.finish(done, of)
	if take {
		m.take(desc, owner)
	} else {
		m.step(in, cancel, flush, quiet)
	}
	m.ram.Tick(read, raddr, enable, waddr, in.Cpl.Data)
	m.access(regs, busy)
	if rst {
		m.Reset()
	}
}

// IdleFor returns 0 if the aperture has something to do, and otherwise math.MaxUint64: only an
// input can wake it.
func (m *Module) IdleFor() uint64 {
	quiet := m.flying == 0
	acts := m.flush && quiet && m.rests()
	switch m.state {
	case stateIdle, stateFill, stateOffer:
	case statePlan:
		acts = acts || !m.flush
	case stateFail:
		acts = acts || quiet
	default:
		acts = true
	}
	if acts || m.result != ResultNone || m.rsp.Hit {
		return 0
	}
	return math.MaxUint64
}

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the other inputs
// are.
func (m *Module) Sleeps(desc dma.Desc, in In, done dma.Result, regs regbus.Req, rst bool) bool {
	takes := desc.Op != dma.None && m.Ready() || in.Taken && m.state == stateOffer
	answers := in.Cpl.Status != port.CplNone && m.state == stateFill || done != dma.ResultNone
	return !takes && !answers && regs.Op == regbus.None && !rst && m.IdleFor() != 0
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(uint64) {}
