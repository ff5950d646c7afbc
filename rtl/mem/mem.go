// Package mem is VRAM: block RAM with a read and a write channel.
package mem

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Module is VRAM. With two ports it serves one read and one write at the same
// time. With one port it serves a read or a write in each clock, alternating if
// there are both. There are two streams of writes, those of the engines and those
// of the target, whose beats may interleave in any order.
//
//	In      rd        MemRead headers, valid/ready; Addr is an offset in VRAM
//	        cplReady  whether the completion is taken
//	        wr        MemWrite headers of the engines, each in the clock of the
//	                  last beat of the previous one or later; taken
//	        target    those of the target; Addr stays until the last beat
//	        beat      of either, after its header, valid/ready; fromTarget
//	                  selects the stream
//	Out     Completion, one beat of a read, registered; the readies
//	Timing  2 clocks from a read header to its first completion, 1 from a beat
//	        to memory; 8 bytes per clock each way, without a bubble between
//	        requests; a read of the word that is being written waits 1 clock.
//	        With one port 8 bytes per clock in total: if a read and a write are
//	        both waiting the write goes first, and then they alternate
//	Reset   all empty; the contents are kept
//	Order   reads complete in order; a read that is taken in the clock of a beat
//	        or later sees the beat
//	Paths   ReadReady, from cplReady to that of the read headers
//	Size    New's size, 1 read and 1 write header, 4 bits for the target's, 1
//	        beat and its address
//	Faults  these are assertions: a request outside the memory, across a
//	        multiple of 128 bytes or of another kind, a header too early, and a
//	        beat without a header or whose Last does not fit the header
type Module struct {
	ram    hdl.RAM
	bytes  uint64
	single bool // one port

	read burst // the word that is read next
	out  output

	write  burst // the next beat of the engines
	target targetWrite
	beat   port.Beat // the beat to write in this clock
	at     uint32    // its word
	owed   bool      // with a single port: a read waited for the last write
}

// words of the longest request. No request crosses a multiple.
const words = port.MaxLen / 2

// A burst is the rest of a request. For a write, only an assertion uses the
// fields other than Word, so they do not exist in hardware.
type burst struct {
	Valid bool
	Tag   uint8
	Left  uint8 `w:"5"` // words
	Word  uint32
}

// A targetWrite is the rest of the target's write; its header has the other fields.
// Only an assertion uses the fields other than Low, so they do not exist in
// hardware.
type targetWrite struct {
	Valid bool
	Left  uint8 `w:"5"`
	Low   uint8 `w:"4"` // of the next word's address
}

// An output describes the word at the RAM's output.
type output struct {
	Valid bool
	Last  bool
	Tag   uint8
}

// New returns a VRAM of the given size in bytes, a power of two of at least 8,
// all 0, with 1 or 2 ports.
func New(bytes uint64, ports int) Module {
	hdl.Assert(bytes >= 8 && bytes&(bytes-1) == 0, "mem: the size is not a power of two of at least 8")
	hdl.Assert(ports == 1 || ports == 2, "mem: the number of ports is not 1 or 2")
	m := Module{ram: hdl.NewRAM(int(bytes / 8)), bytes: bytes}
	if ports == 1 {
		m.ram, m.single = hdl.NewSinglePortRAM(int(bytes/8)), true
	}
	return m
}

// A Reader is the state of the read channel.
//
//	Idle  no read is in progress
//	Ends  the last word of the read can go to the output
//	Full  the output has a word
type Reader struct {
	Idle bool
	Ends bool
	Full bool
}

// Reader returns the state of the read channel, for ReadReady.
func (m *Module) Reader() Reader {
	return Reader{Idle: !m.read.Valid, Ends: m.read.Left == 1 && !m.collides(), Full: m.out.Valid}
}

// ReadReady reports whether a read header is taken, also right after the last
// word of the previous read.
func ReadReady(r Reader, cplReady bool) bool { return r.Idle || r.Ends && (!r.Full || cplReady) }

// Reading reports whether a read is in progress.
func (m *Module) Reading() bool { return m.read.Valid || m.out.Valid }

// Completion returns a beat of a read.
func (m *Module) Completion() port.Completion {
	if hdl.Asleep(!m.out.Valid) { // in most clocks: skips reading the RAM's output
		return port.Completion{}
	}
	cpl := port.Completion{Tag: m.out.Tag, Last: m.out.Last, Data: m.ram.Out()}
	if m.out.Valid {
		cpl.Status = port.CplSuccess
	}
	return cpl
}

// WriteReady reports whether a beat is taken.
func (m *Module) WriteReady() bool { return !m.beat.Valid || m.writes() }

// writes reports whether this clock writes the beat. A single port gives the
// clock to the read if it is owed. A read is owed only after a write went first,
// so it still sees every beat that was taken before it.
func (m *Module) writes() bool {
	turn := !m.single || !m.owed
	return m.beat.Valid && turn
}

// collides reports whether the read must wait for the write of this clock.
func (m *Module) collides() bool {
	return m.writes() && (m.single || m.read.Word == m.at)
}

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the other
// inputs are.
func (m *Module) Sleeps(rd, wr, target port.Request, beat port.Beat) bool {
	inputs := rd.Kind != port.None || wr.Kind != port.None || target.Kind != port.None || beat.Valid
	return !inputs && !m.owed && m.IdleFor() != 0
}

// Tick is one rising clock edge.
func (m *Module) Tick(rd port.Request, cplReady bool, wr, target port.Request, beat port.Beat, fromTarget bool) {
	write := m.writes()
	enable := uint8(0)
	if write {
		enable = m.beat.Enable
	}
	move := !m.out.Valid || cplReady
	read := m.read.Valid && move && !m.collides()
	m.ram.Tick(read, m.read.Word, enable, m.at, m.beat.Data)
	passed := write && m.read.Valid
	m.tickRead(rd, read, move)
	if write {
		m.beat.Valid = false
	}
	if beat.Valid && !m.beat.Valid {
		m.take(beat, fromTarget, target.Addr)
	}
	m.tickHeaders(wr, target)
	if m.single {
		m.owed = passed
	}
}

// tickRead moves a word from read to out if read is set, and takes rd.
func (m *Module) tickRead(rd port.Request, read, move bool) {
	if move {
		m.out.Valid = read
	}
	if read {
		m.read = m.step(m.read)
		m.read.Valid = m.read.Left != 0
		m.out.Tag, m.out.Last = m.read.Tag, m.read.Left == 0
	}
	if rd.Kind != port.None && !m.read.Valid {
		hdl.Assert(rd.Kind == port.MemRead, "mem: another kind of request on the read channel")
		m.read = m.accept(rd)
	}
}

// take takes a beat and its address. target is the address of the target's
// request.
func (m *Module) take(beat port.Beat, fromTarget bool, target uint64) {
	m.beat = beat
	var left uint8
	if fromTarget {
		hdl.Assert(m.target.Valid, "mem: a beat of the target without a header")
		m.at = m.word(target)&^(words-1) | uint32(m.target.Low)
		m.target.Low = (m.target.Low + 1) & (words - 1)
		m.target.Left = (m.target.Left - 1) & 0x1f
		left = m.target.Left
		m.target.Valid = left != 0
	} else {
		hdl.Assert(m.write.Valid, "mem: a beat of an engine without a header")
		m.at = m.write.Word
		m.write = m.step(m.write)
		left = m.write.Left
		m.write.Valid = left != 0
	}
	hdl.Assert(beat.Last == (left == 0), "mem: the length of a write and its last beat differ")
}

// tickHeaders takes the headers of writes.
func (m *Module) tickHeaders(wr, target port.Request) {
	if wr.Kind != port.None {
		hdl.Assert(wr.Kind == port.MemWrite, "mem: another kind of request on the write channel")
		hdl.Assert(!m.write.Valid, "mem: a header before the last beat of the previous write")
		m.write = m.accept(wr)
	}
	if target.Kind != port.None {
		hdl.Assert(target.Kind == port.MemWrite, "mem: another kind of request on the target's channel")
		hdl.Assert(!m.target.Valid, "mem: a header of the target before the last beat of its previous write")
		b := m.accept(target)
		m.target = targetWrite{Valid: true, Left: b.Left, Low: uint8(b.Word) & (words - 1)}
	}
}

// accept returns the burst of a request.
func (m *Module) accept(r port.Request) burst {
	hdl.Assert(r.Len >= 1 && r.Len <= port.MaxLen, "mem: bad length")
	hdl.Assert(r.Addr < m.bytes && r.Addr+4*uint64(r.Len) <= m.bytes, "mem: request outside VRAM")
	hdl.Assert(r.Addr%(8*words)+4*uint64(r.Len) <= 8*words, "mem: request across a multiple of 128 bytes")
	return burst{Valid: true, Tag: r.Tag, Left: port.Beats(r.Addr, r.Len) & 0x1f, Word: m.word(r.Addr)}
}

// word returns the word at an offset.
func (m *Module) word(addr uint64) uint32 { return uint32(addr>>3) & uint32(m.bytes/8-1) }

// step returns the rest of a burst after its next word.
func (m *Module) step(b burst) burst {
	b.Left = (b.Left - 1) & 0x1f
	b.Word = b.Word&^(words-1) | (b.Word+1)&(words-1)
	return b
}

// IdleFor returns 0 while a request is in progress, and otherwise math.MaxUint64:
// only an input can wake the module. A write header whose beats have not arrived
// does not keep it awake.
func (m *Module) IdleFor() uint64 {
	if m.Reading() || m.beat.Valid {
		return 0
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(uint64) {}

// Reset empties the module. The contents of VRAM are kept.
func (m *Module) Reset() {
	m.read, m.out = burst{}, output{}
	m.write, m.target = burst{}, targetWrite{}
	m.beat, m.at, m.owed = port.Beat{}, 0, false
}

// Len returns the number of words.
func (m *Module) Len() int { return m.ram.Len() }

// Word returns a word outside of any clock, for tests and observation.
func (m *Module) Word(addr uint32) uint64 { return m.ram.Word(addr) }

// SetWord sets a word outside of any clock, for tests.
func (m *Module) SetWord(addr uint32, v uint64) { m.ram.SetWord(addr, v) }

// Writing returns the word that the next clock writes and its beat, an invalid
// one if it writes none. It is for observation.
func (m *Module) Writing() (addr uint32, beat port.Beat) {
	if !m.writes() {
		return 0, port.Beat{}
	}
	return m.at, m.beat
}
