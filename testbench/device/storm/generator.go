package storm

import (
	"math"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
)

// Layout of host memory: a share for each node, with offsets in the share. Reads from
// unmapped are not answered; no window includes noWindow.
const (
	hostShare = 64 << 10
	hostRing  = 0
	hostCode  = 0x1000
	hostCells = 0x2000
	hostData  = 0x3000

	unmapped    = pkt.Host | 0x4000_0000
	noWindow    = pkt.Host | 0x5000_0000
	regionBytes = 64 << 10 // size of unmapped and of noWindow, in bytes
)

// Layout of VRAM: at most vramShare bytes for each node.
const (
	vramShare = 8 << 10
	vramRing  = 0
	vramCode  = 0x400
	vramCells = 0x800
	vramData  = 0x900

	cellBytes = 0x100 // time stamps, followed by a word that stays 0
)

// An area is the memory that belongs to a node.
type area struct {
	vram, host             refmodel.Range // data
	vramStamps, hostStamps refmodel.Range
	vramZero, hostZero     refmodel.Range
	vramCode, hostCode     refmodel.Range // indirect buffers
	vramAll, hostAll       refmodel.Range
	rings                  [2]uint64
}

func newArea(node int, vram uint64) area {
	v, h := uint64(node)*vram, pkt.Host|(bare.HostBase+uint64(node)*hostShare)
	return area{
		vram: span(v+vramData, vram-vramData), host: span(h+hostData, hostShare-hostData),
		vramStamps: span(v+vramCells, cellBytes-8), hostStamps: span(h+hostCells, cellBytes-8),
		vramZero: span(v+vramCells+cellBytes-8, 8), hostZero: span(h+hostCells+cellBytes-8, 8),
		vramCode: span(v+vramCode, vramCells-vramCode), hostCode: span(h+hostCode, hostCells-hostCode),
		vramAll: span(v, vram), hostAll: span(h, hostShare),
		rings: [2]uint64{v + vramRing, h + hostRing},
	}
}

// A fault is the fault that a node should latch.
type fault struct {
	refmodel.Fault
	ring   int // index in words of the ring's packet
	ibLeft uint32
}

// A buffer collects the packets of the ring or of an indirect buffer.
type buffer struct {
	at    refmodel.Place
	words []uint32
	room  int
}

// A generator makes the packets of one node, executes each in the reference model at once,
// and records the results that the device must show.
type generator struct {
	n    *refmodel.Node
	d    device
	mem  *scoreboard.Memory
	peer *generator // the other node, or nil
	ring *bare.Node
	a    *bare.Access
	area area
	rng  *rand.Rand

	base  uint64 // GPU address of the ring
	first uint32 // dword of the ring at which words begin

	words  []uint32 // packets of this round in the ring
	hits   []Bin
	fault  *fault
	code   [2]uint64 // bytes used of vramCode, hostCode
	inside *ibAt     // indirect buffer being made; nil in the ring
	chunks []chunk   // indirect buffers of this round

	goal          *Bin               // bin to hit in this round; nil: none
	kind          kind               // the host's action on the node in this round
	before        *scoreboard.Memory // memory at the start of a round with a reset
	packetsBefore uint32             // n.Packets at the start of the round
	traced        known              // how much of the trace is known
	fenceBefore   uint64             // n.Fence at the start of the round
	held          bool               // the other node must not wait for this one in this round
	closed        uint64             // base of the closed window for the bin; 0: none
	bursts        int                // packets of this round for a bin of bothNodes
	extra         []Bin              // bins without hits that the round may also hit
	lastSaved     uint64             // address of the last saved state; 0: none
	avoid         []uint8            // opcodes that random packets must not have
	blocked       bool               // the node waits for the other node or for the host
	reports       int                // maximum number of watchdog reports for this node
	done          uint32             // PROGRESS that the next packet resumes at
	tail          int                // dwords of the last packet that the host holds back
	marks         map[uint64]mark    // packets of this round, by address
	allowed       *allowed           // accesses of all nodes to host memory
}

// A mark is a packet of a round and its place.
type mark struct {
	op     uint8
	at     refmodel.Place
	extent refmodel.Extent // of a packet that can be preempted in an indirect buffer
}

// An ibAt is an indirect buffer being made.
type ibAt struct {
	addr uint64
	ring int // index of its INDIRECT in words
}

// A chunk is a run of dwords in memory.
type chunk struct {
	addr  uint64
	words []uint32
}

// start resets the node and gives it a ring in one of the memories.
func (s *generator) start(fence uint32, protect bool) error {
	s.n.Reset()
	s.n.Fence = uint64(fence)
	if s.n.Caps.Has(caps.Timeline) {
		high := s.rng.Uint32N(2)
		s.n.Fence |= uint64(high) << 32
		s.ring.SetReg(cpreg.Ctl, 0)
		s.ring.SetReg(cpreg.LineHi, high)
	}
	s.n.Protect = protect && s.n.Caps.Has(caps.Protection)
	s.ring.Control = s.control()
	i := s.rng.IntN(2)
	if s.n.NoMaster {
		i = 0
	}
	log2 := 8 + s.rng.Uint32N(3)
	if i == 1 {
		log2 += s.rng.Uint32N(3)
	}
	s.base, s.first = s.area.rings[i], 0
	return s.allowed.start(s.n.ID, span(s.base, 1<<log2), func() error { return s.ring.Start(s.base, log2, fence) })
}

func (s *generator) control() uint32 {
	if s.n.Protect {
		return cpreg.CtlProtect
	}
	return 0
}

// setProtect turns protection on or off between two rounds.
func (s *generator) setProtect(protect bool) error {
	s.n.Protect = protect && s.n.Caps.Has(caps.Protection)
	s.ring.Control = s.control()
	return s.ring.Run()
}

// begin clears the packets of the last round.
func (s *generator) begin() *buffer {
	s.first = s.ring.Wptr()
	s.words, s.hits, s.fault, s.n.Stamps = nil, nil, nil, nil
	s.code = [2]uint64{}
	s.inside, s.chunks, s.avoid = nil, nil, nil
	s.blocked, s.reports, s.tail, s.bursts = false, 0, 0, 0
	s.marks = map[uint64]mark{}
	return &buffer{at: refmodel.InRing, room: int(s.ring.Dwords()) - 1}
}

// judge has the reference model judge a packet with left dwords after its header in the
// buffer.
func (s *generator) judge(b *buffer, p []uint32, left uint32) refmodel.Verdict {
	return s.n.Judge(p, s.site(b, left, s.done))
}

// site returns the place of a packet in a buffer, of which done is done.
func (s *generator) site(b *buffer, left, done uint32) refmodel.Site {
	return refmodel.Site{Place: b.at, Left: left, Done: done}
}

// emit puts a packet into a buffer and executes it in the reference model. After a fault
// nothing is executed.
func (s *generator) emit(b *buffer, p []uint32) {
	at := len(b.words)
	b.words = append(b.words, p...)
	if s.fault != nil {
		return
	}
	v := s.judge(b, p, math.MaxUint32)
	s.marks[s.addr(b, at)] = mark{op: uint8(p[0] >> 24), at: b.at, extent: s.extent(b, p, v)}
	s.allowed.packet(v)
	s.n.Do(p, v)
	s.recordBins(b.at, p, v)
	if v.Cause != cpreg.CauseNone {
		s.fail(b, p, at, v)
		return
	}
	s.n.Packets++
	s.n.Record(p[0], s.addr(b, at))
	if p[0]>>24 == pkt.OpSaveState {
		s.lastSaved = long(p, 1)
	}
}

// addr returns the address of the packet at an index of a buffer.
func (s *generator) addr(b *buffer, at int) uint64 {
	if b.at == refmodel.InRing {
		return s.ringAt(at)
	}
	return s.inside.addr + 4*uint64(at)
}

// extent returns the size of a packet if it can be preempted in an indirect buffer.
func (s *generator) extent(b *buffer, p []uint32, v refmodel.Verdict) refmodel.Extent {
	if b.at == refmodel.InRing {
		return refmodel.Extent{}
	}
	return v.Extent(uint8(p[0] >> 24))
}

// fail records the fault of the packet at an index of a buffer.
func (s *generator) fail(b *buffer, p []uint32, at int, v refmodel.Verdict) {
	s.fault = &fault{Fault: v.Latched(p, s.addr(b, at)), ring: at}
	switch {
	case b.at != refmodel.InRing:
		s.fault.ring = s.inside.ring
		s.fault.ibLeft = uint32(at) // dwords before the packet; indirect knows the length later
	case v.Cause == cpreg.CauseReadError && p[0]>>24 == pkt.OpIndirect: // of its buffer, which has begun
		s.fault.ibLeft = p[3] & pkt.MaxIndirect
		s.n.Record(p[0], s.addr(b, at))
	}
}

// ringAt returns the address of dword i of this round.
func (s *generator) ringAt(i int) uint64 {
	return s.base + 4*uint64((s.first+uint32(i))%s.ring.Dwords())
}

// recordBins adds the bins that a packet hit.
func (s *generator) recordBins(at refmodel.Place, p []uint32, v refmodel.Verdict) {
	l, ok := pkt.Lookup(uint8(p[0] >> 24))
	name := l.Name
	if !ok || !s.n.Has(l.Op) {
		name = unknown
	}
	if v.Cause != cpreg.CauseNone {
		s.hits = append(s.hits, Bin{name, v.Operand, cause(v.Cause), at.String()})
		if s.refusedByClosed(v) {
			s.hits = append(s.hits, Bin{name, v.Operand + closed, cause(v.Cause), at.String()})
		}
		return
	}
	for _, operand := range s.operands(l, p, v) {
		s.hits = append(s.hits, Bin{name, operand, retired, at.String()})
	}
}

// operands returns the operands of a retired packet, as its bins name them.
func (s *generator) operands(l pkt.Layout, p []uint32, v refmodel.Verdict) []string {
	var all []string
	for _, f := range l.Fields {
		all = append(all, f.Name+" "+class(f, f.Value(p)))
	}
	all = append(all, s.rareOperands(l, p, v)...)
	switch l.Op {
	case pkt.OpCopy:
		all = append(all, side(long(p, 1))+" to "+side(long(p, 3)))
	case pkt.OpPredicate:
		if v.Skips {
			return append(all, "skips")
		}
		all = append(all, continues)
	case pkt.OpWaitFence:
		all = append(all, s.waitsFor(p))
	}
	return all
}

// waitsFor returns the operand that names the node of a WAIT_FENCE's fence in this round.
func (s *generator) waitsFor(p []uint32) string {
	of := s.nodeOf(p[1])
	switch {
	case long(p, 2) <= of.fenceBefore:
		return continues
	case of == s:
		return waitsForItself
	}
	return waitsForOther
}

// nodeOf returns the generator of the node that a WAIT_FENCE names, or nil.
func (s *generator) nodeOf(id uint32) *generator {
	if int(id) == s.n.ID {
		return s
	}
	return s.peer
}

func side(addr uint64) string {
	if addr&pkt.Host != 0 {
		return hostClass
	}
	return vramClass
}

// bufferOptions describe an indirect buffer.
type bufferOptions struct {
	memory   string // class of its address; "": any
	lane     string // last digit of the class of its address; "": any
	readOnly bool   // the windows allow its packets only to read
	resume   bool   // set Resume, with nothing to resume
}

// indirect emits an INDIRECT of a buffer that fill fills. cut is the number of dwords at
// its end that the INDIRECT leaves out.
func (s *generator) indirect(ring *buffer, o bufferOptions, fill func(b *buffer) (cut int)) {
	if s.n.Protect {
		s.openWindows(ring, !o.readOnly)
	}
	i := s.rng.IntN(2)
	if s.n.NoMaster {
		i = 0
	}
	if o.memory != "" {
		i = map[string]int{vramClass: 0, hostClass: 1}[o.memory]
	}
	area := [2]refmodel.Range{s.area.vramCode, s.area.hostCode}[i]
	if o.lane != "" && s.code[i]&4 != uint64(o.lane[0]-'0') {
		s.code[i] += 4
	}
	addr := area.At + s.code[i]
	b := &buffer{at: refmodel.InIndirect, room: int(min(area.N-s.code[i], 400) / 4)}
	if s.n.Protect {
		b.at = refmodel.Guarded
	}
	p := pkt.Dwords(pkt.OpIndirect, lo(addr), hi(addr), 0)
	at := len(ring.words)
	s.marks[s.ringAt(at)] = mark{op: pkt.OpIndirect}
	s.n.Record(p[0], s.ringAt(at))
	ring.words = append(ring.words, p...)
	s.inside = &ibAt{addr, at}
	n := -fill(b)
	n += len(b.words)
	s.inside = nil
	p[3] = uint32(n)
	if o.resume {
		p[3] |= 1 << 20
	}
	ring.words[at+3] = p[3]
	s.code[i] += 4 * uint64(n)
	s.store(addr, b.words)
	s.allowed.add(refmodel.Range{At: addr, N: 4 * uint64(n)}, false)
	s.chunks = append(s.chunks, chunk{addr, b.words})
	if s.fault != nil {
		s.fault.ibLeft = uint32(n) - s.fault.ibLeft
		return
	}
	s.n.Packets++
	s.recordBins(refmodel.InRing, p, refmodel.Verdict{})
}

// store writes dwords to the device's memory and to the model's.
func (s *generator) store(addr uint64, words []uint32) {
	s.mem.Store(s.a, addr, pkt.Bytes(words))
}

// openWindows emits the SET_WINDOWs that allow guarded packets to access the node's memory and
// unmapped, unless the windows are already set.
func (s *generator) openWindows(b *buffer, writable bool) {
	for i, w := range []refmodel.Window{
		{Range: s.area.vramAll, Writable: writable}, {Range: s.area.hostAll, Writable: writable}, {Range: span(unmapped, regionBytes), Writable: true},
	} {
		if s.n.Windows[i] == w {
			continue
		}
		flags := uint32(i)
		if w.Writable {
			flags |= 1 << 2
		}
		s.emit(b, pkt.Dwords(pkt.OpSetWindow, flags, lo(w.At), hi(w.At), lo(w.N), hi(w.N)))
	}
}
