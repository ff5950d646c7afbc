package frame

import "github.com/hilgpu/hilgpu/rtl/hdl"

// fifoBytes is the size of the buffer for stuffed bytes.
const fifoBytes = 512

// stage is the work of a Sender.
type stage uint8

const (
	stageBody  stage = iota // takes bytes of a frame, or waits for the first one
	stageWord               // computes the check
	stageCheck              // appends it
	stageClose              // ends the last group
	stageEnd                // appends the delimiter
)

// Sender appends the check to frames, stuffs and delimits them.
//
//	In      valid, data, last, a byte of a frame, its last one before the check; word,
//	        exclusive or the check, stays from the last byte until there is room again;
//	        ready, the byte of the line is taken
//	Out     Ready, whether a byte is taken; Room, whether a frame of up to 248 bytes
//	        may begin; Byte, the byte of the line, valid/ready
//	Timing  a byte every 9th clock, and 15 clocks at the end of a frame. The bytes of
//	        a group of stuffing are on the line from its end on
//	Reset   empty, no frame in work
//	Order   that of the frames
//	Paths   none
//	Size    512 bytes, and 121 bits
//	Faults  none; a frame that begins without room is not sent whole
//	Source  docs/design.md "Link layers", Frames
type Sender struct {
	ram   hdl.RAM
	start uint16 `w:"9"` // place of the code of the group in work; all before it may be sent
	next  uint16 `w:"9"` // place of the next byte
	code  uint8  // bytes of the group in work, and its code
	sent  uint16 `w:"9"` // place of the next byte to read
	full  bool   // the output of the buffer is a byte of the line

	stage stage `w:"3"`
	begun bool  // a frame is in work
	crc   uint32
	v     uint8 // the byte that the CRC takes
	bits  uint8 `w:"4"` // of it left
	left  uint8 `w:"2"` // bytes of the check left, less one
}

// NewSender returns a sender after reset.
func NewSender() Sender {
	m := Sender{ram: hdl.NewNarrowRAM(fifoBytes, 8)}
	m.Reset()
	return m
}

// Reset drops everything.
func (m *Sender) Reset() {
	m.start, m.next, m.code, m.sent, m.full = 0, 1, 1, 0, false
	m.stage, m.begun, m.crc, m.v, m.bits, m.left = stageBody, false, 0, 0, 0, 0
}

// Ready reports whether a byte of a frame is taken.
func (m *Sender) Ready() bool { return m.stage == stageBody && m.bits == 0 && (m.begun || !m.idle()) }

// idle reports whether the line has nothing to send, so that a frame needs a delimiter
// before it.
func (m *Sender) idle() bool { return m.sent == m.start && !m.full }

// Room reports whether there is room for a frame of any size.
func (m *Sender) Room() bool { return (m.next-m.sent)&0x100 == 0 && !m.begun && m.stage == stageBody }

// Byte returns the byte for the line.
func (m *Sender) Byte() (valid bool, data uint8) { return m.full, uint8(m.ram.Out()) }

// Tick is one rising clock edge.
func (m *Sender) Tick(valid bool, data uint8, last bool, word uint32, ready bool) {
	takes := valid && m.Ready()
	from, reads := m.sent, m.sent != m.start && (!m.full || ready)
	if reads {
		m.sent = (m.sent + 1) & (fifoBytes - 1)
	}
	enable, at, what := uint8(0), m.start, uint8(0)
	if m.bits != 0 {
		m.crc = step(m.crc, m.v)
		m.v >>= 1
		m.bits = (m.bits - 1) & 15
	} else if takes {
		if !m.begun {
			m.crc = ^uint32(0)
		}
		m.v, m.bits, m.begun = data, 8, true
		if last {
			m.stage = stageWord
		}
		enable = 1
		at, what = m.put(data)
	} else if valid && m.stage == stageBody {
		enable = 1 // the delimiter before a frame
		m.begun, m.crc = true, ^uint32(0)
		m.begin(m.start)
	} else if m.stage != stageBody {
		enable, at, what = m.end(word)
	}
	m.full = reads || m.full && !ready
	m.ram.Tick(reads, uint32(from), enable, uint32(at), uint64(what))
}

// begin begins a group after the byte at the given place.
func (m *Sender) begin(at uint16) {
	m.start = (at + 1) & (fifoBytes - 1)
	m.next = (at + 2) & (fifoBytes - 1)
	m.code = 1
}

// put stuffs a byte. It returns what is written, and where: the byte, or for a zero the
// code of the group that it ends.
func (m *Sender) put(v uint8) (at uint16, what uint8) {
	at, what = m.next, v
	m.code++
	if v == 0 {
		at, what = m.start, m.code-1
		m.start, m.code = m.next, 1
	}
	m.next = (m.next + 1) & (fifoBytes - 1)
	return at, what
}

// end ends a frame, in several clocks. It returns what is written.
func (m *Sender) end(word uint32) (enable uint8, at uint16, what uint8) {
	switch m.stage {
	case stageWord:
		m.crc = ^m.crc ^ word
		m.left, m.stage = checkBytes-1, stageCheck
		return 0, 0, 0
	case stageCheck:
		at, what = m.put(uint8(m.crc >> 24))
		m.crc <<= 8
		if m.left == 0 {
			m.stage = stageClose
		}
		m.left = (m.left - 1) & 3
	case stageClose:
		at, what = m.start, m.code
		m.stage = stageEnd
	default:
		at, what = m.next, 0
		m.begin(m.next)
		m.begun, m.stage = false, stageBody
	}
	return 1, at, what
}
