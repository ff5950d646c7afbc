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

// Host memory: a share for each node, of which offsets follow. What is read
// from nowhere has no memory; outside is what no window opens.
const (
	hostShare = 64 << 10
	hostRing  = 0
	hostCode  = 0x1000
	hostCells = 0x2000
	hostData  = 0x3000

	nowhere = pkt.Host | 0x4000_0000
	outside = pkt.Host | 0x5000_0000
	apart   = 64 << 10 // bytes of each
)

// VRAM: at most vramShare for each node.
const (
	vramShare = 8 << 10
	vramRing  = 0
	vramCode  = 0x400
	vramCells = 0x800
	vramData  = 0x900

	cellBytes = 0x100 // time stamps, and behind them a word that stays 0
)

// An area is what a node was given of memory.
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

// A fault is what a node is to latch.
type fault struct {
	refmodel.Fault
	ring   int // index in words of the packet of the ring
	ibLeft uint32
}

// A buffer is the ring, or an indirect buffer, that packets are put into.
type buffer struct {
	at    refmodel.Place
	words []uint32
	room  int
}

// A station makes the packets of one node, has the model do them at once, and
// remembers what the device is to show afterwards.
type station struct {
	n    *refmodel.Node
	d    device
	mem  *scoreboard.Memory
	peer *station // of the other node, nil if there is none
	ring *bare.Node
	a    *bare.Access
	area area
	rng  *rand.Rand

	base  uint64 // of the ring
	first uint32 // dword of the ring that words begin at

	words  []uint32 // of this round
	hits   []Bin
	fault  *fault
	code   [2]uint64 // bytes used of vramCode, hostCode
	inside *ibAt     // the indirect buffer that is made, nil in the ring
	chunks []chunk   // the indirect buffers of this round

	goal   *Bin               // of this round, nil for none
	kind   kind               // what the host does to the node in this round
	before *scoreboard.Memory // memory when the round began, if the node is reset in it
	was    uint32             // n.Packets when the round began
	begun  uint64             // n.Fence when the round began
	held   bool               // the other node may not wait for it in this round
	saved  uint64             // where the state was saved last, 0: nowhere
	avoid  []uint8            // opcodes that no random packet has
	stays  bool               // the node waits until the other one, or the host, goes on
	told   int                // times that the watchdog may have told of it
	tail   int                // dwords of the last packet that the host holds back
	marks  map[uint64]mark    // the packets of this round, by address
}

// A mark is a packet of a round.
type mark struct {
	op     uint8
	at     refmodel.Place
	pieces uint64 // that it can be left behind, in an indirect buffer
}

// An ibAt is the indirect buffer that is made.
type ibAt struct {
	addr uint64
	ring int // index of its INDIRECT in words
}

// A chunk is dwords in memory.
type chunk struct {
	addr  uint64
	words []uint32
}

// start resets the node and gives it a ring in one of the memories.
func (s *station) start(fence uint32, protect bool) error {
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
	return s.ring.Start(s.base, log2, fence)
}

func (s *station) control() uint32 {
	if s.n.Protect {
		return cpreg.CtlProtect
	}
	return 0
}

// guard turns protection on or off between two rounds.
func (s *station) guard(protect bool) error {
	s.n.Protect = protect && s.n.Caps.Has(caps.Protection)
	s.ring.Control = s.control()
	return s.ring.Run()
}

// begin empties the round.
func (s *station) begin() *buffer {
	s.first = s.ring.Wptr()
	s.words, s.hits, s.fault, s.n.Stamps = nil, nil, nil, nil
	s.code = [2]uint64{}
	s.inside, s.chunks, s.avoid = nil, nil, nil
	s.stays, s.told, s.tail = false, 0, 0
	s.marks = map[uint64]mark{}
	return &buffer{at: refmodel.InRing, room: int(s.ring.Dwords()) - 1}
}

// judge has the model judge a packet of a buffer that has so many dwords after the
// header.
func (s *station) judge(b *buffer, p []uint32, left uint32) refmodel.Verdict {
	return s.n.Judge(p, refmodel.Site{Place: b.at, Left: left})
}

// emit puts a packet into a buffer and has the model do it. Behind a fault
// nothing is done any more.
func (s *station) emit(b *buffer, p []uint32) {
	at := len(b.words)
	b.words = append(b.words, p...)
	if s.fault != nil {
		return
	}
	v := s.judge(b, p, math.MaxUint32)
	s.marks[s.addr(b, at)] = mark{op: uint8(p[0] >> 24), at: b.at, pieces: s.pieces(b, p, v)}
	s.n.Do(p, v)
	s.note(b.at, p, v)
	if v.Cause != cpreg.CauseNone {
		s.fail(b, p, at, v)
		return
	}
	s.n.Packets++
	if p[0]>>24 == pkt.OpSaveState {
		s.saved = long(p, 1)
	}
}

// addr is the address of the packet at an index of a buffer.
func (s *station) addr(b *buffer, at int) uint64 {
	if b.at == refmodel.InRing {
		return s.ringAt(at)
	}
	return s.inside.addr + 4*uint64(at)
}

// pieces returns in how many a packet can be left behind, in an indirect buffer.
func (s *station) pieces(b *buffer, p []uint32, v refmodel.Verdict) uint64 {
	if b.at == refmodel.InRing {
		return 0
	}
	return v.Pieces(uint8(p[0] >> 24))
}

// fail notes the fault of the packet at an index of a buffer.
func (s *station) fail(b *buffer, p []uint32, at int, v refmodel.Verdict) {
	s.fault = &fault{Fault: v.Latched(p, s.addr(b, at)), ring: at}
	switch {
	case b.at != refmodel.InRing:
		s.fault.ring = s.inside.ring
		s.fault.ibLeft = uint32(at) // of what is in front; the length is known later
	case v.Cause == cpreg.CauseReadError && p[0]>>24 == pkt.OpIndirect:
		s.fault.ibLeft = p[3] & pkt.MaxIndirect
	}
}

// ringAt is the address of a dword of this round.
func (s *station) ringAt(i int) uint64 {
	return s.base + 4*uint64((s.first+uint32(i))%s.ring.Dwords())
}

// note adds the bins of what a packet did.
func (s *station) note(at refmodel.Place, p []uint32, v refmodel.Verdict) {
	l, ok := pkt.Lookup(uint8(p[0] >> 24))
	name := l.Name
	if !ok || !s.n.Has(l.Op) {
		name = unknown
	}
	if v.Cause != cpreg.CauseNone {
		s.hits = append(s.hits, Bin{name, v.Operand, cause(v.Cause), at.String()})
		return
	}
	for _, operand := range s.operands(l, p, v) {
		s.hits = append(s.hits, Bin{name, operand, retired, at.String()})
	}
}

// operands are those of a packet that retired, as its bins have them.
func (s *station) operands(l pkt.Layout, p []uint32, v refmodel.Verdict) []string {
	var all []string
	for _, f := range l.Fields {
		all = append(all, f.Name+" "+class(f, f.Value(p)))
	}
	switch l.Op {
	case pkt.OpCopy:
		all = append(all, side(long(p, 1))+" to "+side(long(p, 3)))
	case pkt.OpPredicate:
		if v.Skips {
			return append(all, "skips")
		}
		all = append(all, goesOn)
	case pkt.OpWaitFence:
		all = append(all, s.waitsFor(p))
	}
	return all
}

// waitsFor tells whose fence of this round a WAIT_FENCE has to wait for.
func (s *station) waitsFor(p []uint32) string {
	of := s.of(p[1])
	switch {
	case long(p, 2) <= of.begun:
		return goesOn
	case of == s:
		return waitsForItself
	}
	return waitsForOther
}

// of returns the station of the node that a WAIT_FENCE names, nil if there is none.
func (s *station) of(id uint32) *station {
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

// A code says what an indirect buffer is to be.
type code struct {
	memory   string // class of its address; "": any
	readOnly bool   // the windows let its packets read only
	resume   bool   // what was preempted, which is nothing
}

// indirect emits an INDIRECT of what fill puts into its buffer. cut is how many
// dwords of that the device is not told of.
func (s *station) indirect(ring *buffer, o code, fill func(b *buffer) (cut int)) {
	if s.n.Protect {
		s.open(ring, !o.readOnly)
	}
	i := s.rng.IntN(2)
	if s.n.NoMaster {
		i = 0
	}
	if o.memory != "" {
		i = map[string]int{vramClass: 0, hostClass: 1}[o.memory]
	}
	area := [2]refmodel.Range{s.area.vramCode, s.area.hostCode}[i]
	addr := area.At + s.code[i]
	b := &buffer{at: refmodel.InIndirect, room: int(min(area.N-s.code[i], 400) / 4)}
	if s.n.Protect {
		b.at = refmodel.Guarded
	}
	p := pkt.Dwords(pkt.OpIndirect, lo(addr), hi(addr), 0)
	at := len(ring.words)
	s.marks[s.ringAt(at)] = mark{op: pkt.OpIndirect}
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
	s.chunks = append(s.chunks, chunk{addr, b.words})
	if s.fault != nil {
		s.fault.ibLeft = uint32(n) - s.fault.ibLeft
		return
	}
	s.n.Packets++
	s.note(refmodel.InRing, p, refmodel.Verdict{})
}

// store gives dwords to the device's memory and to the model's.
func (s *station) store(addr uint64, words []uint32) {
	s.mem.Store(s.a, addr, pkt.Bytes(words))
}

// open emits what opens the node's memory, and nowhere, to guarded packets, if
// it is not open as it should be.
func (s *station) open(b *buffer, writable bool) {
	for i, w := range []refmodel.Window{
		{Range: s.area.vramAll, Writable: writable}, {Range: s.area.hostAll, Writable: writable}, {Range: span(nowhere, apart), Writable: true},
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
