package storm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
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
	vram, host             span // data
	vramStamps, hostStamps span
	vramZero, hostZero     span
	vramCode, hostCode     span // indirect buffers
	vramAll, hostAll       span
	rings                  [2]uint64
}

func newArea(node int, vram uint64) area {
	v, h := uint64(node)*vram, pkt.Host|(bare.HostBase+uint64(node)*hostShare)
	return area{
		vram: span{v + vramData, vram - vramData}, host: span{h + hostData, hostShare - hostData},
		vramStamps: span{v + vramCells, cellBytes - 8}, hostStamps: span{h + hostCells, cellBytes - 8},
		vramZero: span{v + vramCells + cellBytes - 8, 8}, hostZero: span{h + hostCells + cellBytes - 8, 8},
		vramCode: span{v + vramCode, vramCells - vramCode}, hostCode: span{h + hostCode, hostCells - hostCode},
		vramAll: span{v, vram}, hostAll: span{h, hostShare},
		rings: [2]uint64{v + vramRing, h + hostRing},
	}
}

// A fault is what a node is to latch.
type fault struct {
	verdict
	addr   uint64
	op     uint32
	ring   int // index in words of the packet of the ring
	ibLeft uint32
}

// A buffer is the ring, or an indirect buffer, that packets are put into.
type buffer struct {
	at    place
	words []uint32
	room  int
}

// A station makes the packets of one node, has the model do them at once, and
// remembers what the device is to show afterwards.
type station struct {
	n    *node
	ring *bare.Node
	a    *bare.Access
	area area
	rng  *rand.Rand

	base  uint64 // of the ring
	first uint32 // dword of the ring that words begin at

	words  []uint32 // of this round
	hits   []Bin
	fault  *fault
	stamps []uint64  // addresses of time stamps
	code   [2]uint64 // bytes used of vramCode, hostCode
	inside *ibAt     // the indirect buffer that is made, nil in the ring
	chunks []chunk   // the indirect buffers of this round

	goal   *Bin               // of this round, nil for none
	kind   kind               // what the host does to the node in this round
	before *scoreboard.Memory // memory when the round began, if the node is reset in it
	was    uint32             // n.packets when the round began
	avoid  []uint8            // opcodes that no random packet has
	stays  bool               // the node waits until the other one, or the host, goes on
	told   int                // times that the watchdog may have told of it
	tail   int                // dwords of the last packet that the host holds back
	marks  map[uint64]mark    // the packets of this round, by address
}

// A mark is a packet of a round.
type mark struct {
	op     uint8
	at     place
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
	s.n.reset()
	s.n.fence = uint64(fence)
	if s.n.timeline {
		high := s.rng.Uint32N(2)
		s.n.fence |= uint64(high) << 32
		s.ring.SetReg(cpreg.Ctl, 0)
		s.ring.SetReg(cpreg.LineHi, high)
	}
	s.n.protect = protect && s.n.protection
	s.ring.Control = s.control()
	i := s.rng.IntN(2)
	if s.n.dark {
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
	if s.n.protect {
		return cpreg.CtlProtect
	}
	return 0
}

// guard turns protection on or off between two rounds.
func (s *station) guard(protect bool) error {
	s.n.protect = protect && s.n.protection
	s.ring.Control = s.control()
	return s.ring.Run()
}

// begin empties the round.
func (s *station) begin() *buffer {
	s.first = s.ring.Wptr()
	s.words, s.hits, s.fault, s.stamps = nil, nil, nil, nil
	s.code = [2]uint64{}
	s.inside, s.chunks, s.avoid = nil, nil, nil
	s.stays, s.told, s.tail = false, 0, 0
	s.marks = map[uint64]mark{}
	return &buffer{at: inRing, room: int(s.ring.Dwords()) - 1}
}

// emit puts a packet into a buffer and has the model do it. Behind a fault
// nothing is done any more.
func (s *station) emit(b *buffer, p []uint32) {
	at := len(b.words)
	b.words = append(b.words, p...)
	if s.fault != nil {
		return
	}
	v := s.n.judge(p, b.at, math.MaxUint32)
	s.mark(b, at, p, v)
	s.n.do(p, v)
	s.note(b.at, p, v)
	if v.cause != cpreg.CauseNone {
		s.fail(b, p[0], at, v)
		return
	}
	s.n.packets++
	for _, m := range v.moves {
		if m.stamp {
			s.stamps = append(s.stamps, m.dst)
		}
	}
}

// mark notes where the packet at an index of a buffer stands.
func (s *station) mark(b *buffer, at int, p []uint32, v verdict) {
	addr := s.ringAt(at)
	m := mark{op: uint8(p[0] >> 24), at: b.at}
	if b.at != inRing {
		addr = s.inside.addr + 4*uint64(at)
		switch m.op {
		case pkt.OpCopy, pkt.OpFill:
			if len(v.moves) > 0 {
				m.pieces = (v.moves[0].n + pieceBytes - 1) / pieceBytes
			}
		case pkt.OpCopy2D, pkt.OpFill2D:
			m.pieces = uint64(len(v.moves))
		}
	}
	s.marks[addr] = m
}

// fail notes the fault of the packet at an index of a buffer.
func (s *station) fail(b *buffer, hdr uint32, at int, v verdict) {
	s.fault = &fault{verdict: v, op: hdr, ring: at}
	if b.at == inRing {
		s.fault.addr = s.ringAt(at)
		return
	}
	s.fault.addr = s.inside.addr + 4*uint64(at)
	s.fault.ring = s.inside.ring
	s.fault.ibLeft = uint32(at) // of what is in front; the length is known later
}

// ringAt is the address of a dword of this round.
func (s *station) ringAt(i int) uint64 {
	return s.base + 4*uint64((s.first+uint32(i))%s.ring.Dwords())
}

// note adds the bins of what a packet did.
func (s *station) note(at place, p []uint32, v verdict) {
	l, ok := pkt.Lookup(uint8(p[0] >> 24))
	name := l.Name
	if !ok || !s.n.has(l.Op) {
		name = unknown
	}
	if v.cause != cpreg.CauseNone {
		s.hits = append(s.hits, Bin{name, v.operand, cause(v.cause), at.String()})
		return
	}
	for _, operand := range operands(l, p, v) {
		s.hits = append(s.hits, Bin{name, operand, retired, at.String()})
	}
}

// operands are those of a packet that retired, as its bins have them.
func operands(l pkt.Layout, p []uint32, v verdict) []string {
	var all []string
	for _, f := range l.Fields {
		all = append(all, f.Name+" "+class(f, value(f, p)))
	}
	switch l.Op {
	case pkt.OpCopy:
		all = append(all, side(long(p, 1))+" to "+side(long(p, 3)))
	case pkt.OpPredicate, pkt.OpWaitFence:
		switch {
		case v.skips:
			all = append(all, "skips")
		case v.waits && v.other:
			all = append(all, waitsForOther)
		case v.waits:
			all = append(all, waitsForItself)
		default:
			all = append(all, goesOn)
		}
	}
	return all
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
	if s.n.protect {
		s.open(ring, !o.readOnly)
	}
	i := s.rng.IntN(2)
	if s.n.dark {
		i = 0
	}
	if o.memory != "" {
		i = map[string]int{vramClass: 0, hostClass: 1}[o.memory]
	}
	area := [2]span{s.area.vramCode, s.area.hostCode}[i]
	addr := area.at + s.code[i]
	b := &buffer{at: inBuffer, room: int(min(area.n-s.code[i], 400) / 4)}
	if s.n.protect {
		b.at = guarded
	}
	p := packet(pkt.OpIndirect, lo(addr), hi(addr), 0)
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
	s.n.packets++
	s.note(inRing, p, verdict{})
}

// store gives dwords to the device's memory and to the model's.
func (s *station) store(addr uint64, words []uint32) {
	s.n.mem.Store(s.a, addr, encode(words))
}

func encode(words []uint32) []byte {
	var p []byte
	for _, w := range words {
		p = binary.LittleEndian.AppendUint32(p, w)
	}
	return p
}

// open emits what opens the node's memory, and nowhere, to guarded packets, if
// it is not open as it should be.
func (s *station) open(b *buffer, writable bool) {
	for i, w := range []window{{s.area.vramAll, writable}, {s.area.hostAll, writable}, {span{nowhere, apart}, true}} {
		if s.n.windows[i] == w {
			continue
		}
		flags := uint32(i)
		if w.writable {
			flags |= 1 << 2
		}
		s.emit(b, packet(pkt.OpSetWindow, flags, lo(w.at), hi(w.at), lo(w.n), hi(w.n)))
	}
}
