// Package enframe is the transmitter of frames at the board's end of a link.
package enframe

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// MaxFrame is the size of the largest frame with its check. No group of stuffing is full
// in it.
const MaxFrame = 250

const (
	fifoBytes  = 512
	checkBytes = 4
)

// Stages of a frame. Those of its check are the four from stageCheck on.
const (
	stageBody  = 0 // takes bytes, or waits for the first one
	stageCheck = 2 // appends the highest byte of the check
	stageClose = 6 // ends the last group
	stageEnd   = 7 // appends the delimiter
)

// Module appends its check to a frame, stuffs and delimits it, and keeps the bytes for the
// line in a queue.
//
//	In      valid, data and last, a byte of a frame, valid/ready, ready is Ready; last,
//	        it is the last one before the check; word, exclusive or the CRC-32 of the
//	        frame is the check, from the clock in which the last byte is taken until
//	        Room or Ready; ready, the byte of the line is taken
//	Out     Ready; Room, whether a frame of any size may begin; Empty; Byte, the byte of the
//	        line, valid/ready
//	Timing  a byte in every second clock, and 8 clocks from the last byte to Room, if
//	        there is room. A group of stuffing is on the line from its end on; a byte
//	        of the line in every clock
//	Reset   empty, no frame in work
//	Order   that of the frames. The check has its highest byte first. A delimiter
//	        follows each frame. One is before a frame only if the queue is empty:
//	        the line may have been disturbed since
//	Paths   none
//	Size    512 bytes, and 93 bits
//	Faults  a frame above the limit is an assertion
//	Source  docs/design.md "Link layers", Frames; Cheshire and Baker, Consistent Overhead
//	        Byte Stuffing, IEEE/ACM Transactions on Networking 7(2), 1999
//
// A group begins with its code, the number of its bytes. The place of a zero is that of
// the code of the next group. So for a zero the code of the group before it is written,
// and any byte takes one write.
type Module struct {
	rooms uint16 // blocks of 64 bytes that may be in the queue when a frame begins

	ram   hdl.RAM
	start uint16 `w:"9"` // place of the code of the group in work; the bytes before it may be sent
	next  uint16 `w:"9"` // place of the next byte
	code  uint8  // of the group in work
	sent  uint16 `w:"9"` // place of the next byte to read
	full  bool   // the output of the memory is a byte of the line

	begun bool  // a frame is in work
	stage uint8 `w:"3"`
	crc   uint32
	high  uint8 `w:"4"` // nibble that the CRC takes in the second clock of a byte
	two   bool  // this is the second clock
}

// New returns a transmitter after reset, of frames of up to limit bytes with their check,
// limit at most MaxFrame.
func New(limit int) Module {
	hdl.Assert(limit > checkBytes && limit <= MaxFrame, "enframe: the limit is not the size of a frame")
	// With a block of 64 bytes that is not complete, the code and three more bytes, there are at
	// most 448 bytes in the queue, so that the difference of two blocks is less than 8.
	m := Module{rooms: uint16(448-63-3-limit) / 64, ram: hdl.NewNarrowRAM(fifoBytes, 8)}
	m.Reset()
	return m
}

// Reset drops everything.
func (m *Module) Reset() {
	m.start, m.next, m.code, m.sent, m.full = 0, 1, 1, 0, false
	m.begun, m.stage, m.crc, m.two = false, stageBody, crc32.Init, false
}

// Ready reports whether a byte is taken in this clock.
func (m *Module) Ready() bool {
	if m.begun {
		return m.stage == stageBody && !m.two
	}
	return m.room() && !m.idle()
}

// Room reports whether a frame may begin. Its first byte is taken at most a clock later.
func (m *Module) Room() bool { return !m.begun && m.room() }

// Empty reports whether no byte is left for the line, and no frame is in work.
func (m *Module) Empty() bool { return !m.begun && !m.full && m.idle() }

// Byte returns the byte of the line.
func (m *Module) Byte() (valid bool, data uint8) { return m.full, uint8(m.ram.Out()) }

// room reports whether there is room for a frame.
func (m *Module) room() bool { return (m.next>>6-m.sent>>6)&7 <= m.rooms }

// idle reports whether the queue is empty.
func (m *Module) idle() bool { return m.sent == m.start }

// Tick is one rising clock edge.
func (m *Module) Tick(valid bool, data uint8, last bool, word uint32, ready bool) {
	takes := valid && m.Ready()
	checks := m.stage>>2 != m.stage>>1&1 && !m.two
	marks := m.stage == stageEnd || valid && !m.begun && m.idle()

	v := data
	if m.stage != stageBody {
		v = ^uint8(m.crc>>24) ^ part(word, m.stage)
	}
	plain := (takes || checks) && v != 0
	writes := takes || checks || m.stage == stageClose || marks
	at, what := m.start, m.code
	if plain {
		at, what = m.next, v
	}
	if marks {
		what = 0
	}
	hdl.Assert(m.code <= MaxFrame+1, "enframe: a frame above the limit")
	m.queue(writes, plain, at, what, ready)
	m.sum(takes, data, checks, marks)

	if takes && last {
		m.stage = stageCheck
	} else if m.stage != stageBody && !m.two {
		m.stage = (m.stage + 1) & 7
	}
	m.begun = takes || m.begun && !marks
	m.two = takes
}

// part returns the byte of the word that belongs to a stage of the check.
func part(word uint32, stage uint8) uint8 {
	switch stage & 3 {
	case stageCheck & 3:
		return uint8(word >> 24)
	case (stageCheck + 1) & 3:
		return uint8(word >> 16)
	case (stageCheck + 2) & 3:
		return uint8(word >> 8)
	default:
		return uint8(word)
	}
}

// queue writes a byte, and reads one for the line. A byte that is not plain is written at
// the start of a group, and begins the next one. A read is before the start, so it is
// never of the word that is written.
func (m *Module) queue(writes, plain bool, at uint16, what uint8, ready bool) {
	read := m.sent != m.start && (!m.full || ready)
	enable := uint8(0)
	if writes {
		enable = 1
	}
	m.ram.Tick(read, uint32(m.sent), enable, uint32(at), uint64(what))
	m.full = read || m.full && !ready
	if read {
		m.sent = (m.sent + 1) & (fifoBytes - 1)
	}
	if writes {
		m.code++
		if !plain {
			m.start, m.code = m.next, 1
		}
		m.next = (m.next + 1) & (fifoBytes - 1)
		hdl.Assert(m.next != m.sent, "enframe: no room")
	}
}

// sum takes a byte into the CRC, its second nibble in the clock after. For the check the CRC
// is taken from its top.
func (m *Module) sum(takes bool, data uint8, checks, marks bool) {
	v := data & 0xf
	if m.two {
		v = m.high
	}
	next := crc32.Nibble(m.crc, v)
	if checks {
		next = m.crc << 8
	}
	if takes || m.two || checks {
		m.crc = next
	}
	if marks {
		m.crc = crc32.Init
	}
	m.high = data >> 4
}
