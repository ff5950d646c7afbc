// Package deframe is the receiver of frames at the board's end of a link.
package deframe

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Offsets in a half of the receive buffer, after the frame itself.
const (
	AtLength = 251 // bytes of the frame before its check
	AtWord   = 252 // check exclusive or CRC-32 of the bytes before it, highest byte first
)

// The sizes of frames with their check. No group of stuffing is full in the largest one.
const (
	MinFrame = 6
	MaxFrame = 250
)

const (
	halfBytes  = 256
	checkBytes = 4
	textKind   = 255 // first byte of a piece of text
)

// Module finds frames in a stream of bytes, removes the stuffing, and keeps up to two of
// them, each in a half of a buffer.
//
//	In      valid and data, a byte of the line, at most in every second clock; broken, a
//	        byte of the line was lost; read and at, a read of the buffer, only of a half
//	        that has a frame: its number 8, the offset 7..0; release, the oldest frame is
//	        done with, or with later the other one, only if there is one
//	Out     Frame, whether there is a frame, and the half of the oldest one; Other,
//	        whether there is another one, in the other half; Data, the byte read last;
//	        Damaged and Overflow, pulses, for a frame that is dropped
//	Timing  a frame is there 5 clocks after its delimiter; a read takes a clock. The CRC
//	        takes two clocks a byte
//	Reset   no frame, and none in work; the buffer keeps its bytes
//	Order   that of the line
//	Paths   none
//	Size    512 bytes, and 102 bits
//	Faults  a frame with a wrong size or stuffing, or in which a byte was lost, is
//	        dropped: Damaged. So is one that finds both halves taken: Overflow. Text is
//	        dropped without a pulse. The check is for the reader to compare
//	Source  docs/design.md "Link layers", Frames; Cheshire and Baker, Consistent Overhead
//	        Byte Stuffing, IEEE/ACM Transactions on Networking 7(2), 1999
type Module struct {
	limit uint8 // bytes of the largest frame before its check

	ram   hdl.RAM
	first uint8 `w:"1"` // half of the oldest frame
	held  uint8 `w:"2"` // number of frames

	begun bool   // inside a piece
	skips bool   // the rest of the piece is dropped
	left  uint8  // bytes left of a group, and 1
	n     uint8  // bytes before the last four; while there are fewer, 256 less
	last  uint32 // the last four bytes, the newest in the low bits
	crc   uint32
	high  uint8 `w:"4"` // nibble that the CRC takes in the second clock of a byte
	two   bool  // this is the second clock

	word     bool // the rest of the word is stored
	length   bool // the length is stored
	damaged  bool
	overflow bool
}

// fill is the value of n before the first byte.
const fill = 256 - checkBytes

// New returns a receiver after reset, of frames of MinFrame to limit bytes with their
// check, limit at most MaxFrame.
func New(limit int) Module {
	hdl.Assert(limit >= MinFrame && limit <= MaxFrame, "deframe: the limit is not the size of a frame")
	m := Module{limit: uint8(limit - checkBytes), ram: hdl.NewNarrowRAM(2*halfBytes, 8)}
	m.Reset()
	return m
}

// Reset drops all frames.
func (m *Module) Reset() {
	m.first, m.held = 0, 0
	m.begun, m.skips, m.left, m.n = false, false, 1, fill
	m.two, m.word, m.length, m.damaged, m.overflow = false, false, false, false, false
}

// Frame reports whether there is a frame, and returns the half of the oldest one.
func (m *Module) Frame() (there bool, half uint8) { return m.held != 0, m.first }

// Other reports whether there is a frame after the oldest one, in the other half.
func (m *Module) Other() bool { return m.held == 2 }

// Data returns the byte that was read last.
func (m *Module) Data() uint8 { return uint8(m.ram.Out()) }

// Damaged reports for one clock that a frame was dropped.
func (m *Module) Damaged() bool { return m.damaged }

// Overflow reports for one clock that a frame was dropped because both halves were taken.
func (m *Module) Overflow() bool { return m.overflow }

// filling reports whether at most as many bytes as a check were received.
func (m *Module) filling() bool { return m.n>>2 == fill>>2 }

// full reports whether the frame has its largest size. n only counts up, so it first has
// the bits of the limit when it is the limit.
func (m *Module) full() bool { return m.n&m.limit == m.limit }

// good reports whether a frame may end here.
func (m *Module) good() bool {
	enough := m.n>>1 != 0 // at least MinFrame - checkBytes
	return m.begun && !m.skips && m.left == 1 && !m.filling() && enough
}

// Tick is one rising clock edge.
func (m *Module) Tick(valid bool, data uint8, broken, read bool, at uint32, release, later bool) {
	zero := data == 0
	ends := valid && zero && m.begun
	plain := valid && !zero && m.begun && !m.skips // a byte of the frame
	stores := plain && !m.filling()
	good := ends && m.good()
	hdl.Assert(!valid || !broken && !m.two, "deframe: a byte too soon")

	m.store(ends, stores && m.held != 2 || good, read, at)
	m.damaged = ends && !m.skips && !good || broken && !m.skips || stores && m.full()
	m.overflow = stores && m.held == 2
	drops := stores && (m.held == 2 || m.full())
	m.offer(release, later)
	m.sum(plain, ends || m.word)
	m.shift(plain, ends, data)
	m.count(plain, ends, good)
	m.piece(valid, zero, broken, data, drops)
}

// store ticks the buffer. A delimiter stores the first byte of the word, the others and
// the length follow.
func (m *Module) store(ends, writes, read bool, at uint32) {
	to, what := m.n, uint8(m.last>>24)
	if ends {
		to = AtWord
	}
	if m.length {
		to = AtLength
	} else if ends || m.word {
		what ^= ^uint8(m.crc >> 24)
	}
	enable := uint8(0)
	if writes || m.word || m.length {
		enable = 1
	}
	half := uint32(m.first^m.held) & 1
	m.ram.Tick(read, at&(2*halfBytes-1), enable, half<<8|uint32(to), uint64(what))
}

// sum takes a byte that leaves the last four into the CRC, its second nibble in the clock
// after. For the word the CRC is taken from its top.
func (m *Module) sum(plain, word bool) {
	oldest := uint8(m.last >> 24)
	v := oldest & 0xf
	if m.two {
		v = m.high
	}
	next := crc32.Nibble(m.crc, v)
	if word {
		next = m.crc << 8
	}
	if plain || m.two || word {
		m.crc = next
	}
	if plain && m.filling() {
		m.crc = crc32.Init
	}
	m.high, m.two = oldest>>4, plain && !m.filling()
}

// shift moves the last four bytes. The code of a group is the zero before it. The length
// follows the check, and is at its end once the check was stored.
func (m *Module) shift(plain, ends bool, data uint8) {
	next := uint8(0)
	if m.left != 1 {
		next = data
	}
	if ends {
		next = m.n
	}
	if plain || ends || m.word {
		m.last = m.last<<8 | uint32(next)
	}
}

// count advances n. While the word is stored, n is its offset.
func (m *Module) count(plain, ends, good bool) {
	n := m.n + 1
	if m.word {
		n |= fill
	}
	if ends {
		n = fill
		if good {
			n = fill + 1
		}
	}
	last := m.n == 255
	if plain || ends || m.word {
		m.n = n
	}
	m.length, m.word = m.word && last, good || m.word && !last
}

// offer counts the frames.
func (m *Module) offer(release, later bool) {
	hdl.Assert(!release || m.held != 0 && (!later || m.held == 2), "deframe: a release of no frame")
	if m.length && !release {
		m.held = (m.held + 1) & 3
	} else if release && !m.length {
		m.held = (m.held - 1) & 3
	}
	if release && !later {
		m.first ^= 1
	}
}

// piece follows the pieces of the line and the groups of a frame. After a lost byte, the
// rest of a piece is dropped, also if the lost byte was the first one. left is an operand
// and also selects the sum, so a bit is one cell.
func (m *Module) piece(valid, zero, broken bool, data uint8, drops bool) {
	group := m.left == 1
	step := uint8(0xff)
	if group {
		step = 0
	}
	left := m.left + step
	if group {
		left = data
	}
	if valid {
		m.left = left
		if zero {
			m.left = 1
		}
	}
	if valid && zero {
		m.begun, m.skips = false, false
	} else if broken {
		m.begun, m.skips = true, true
	} else if valid {
		m.skips = m.skips || drops || !m.begun && data == textKind
		m.begun = true
	}
}
