package frame

import "github.com/hilgpu/hilgpu/rtl/hdl"

// Offsets in half of the receive buffer.
const (
	AtLength = 251 // bytes of the frame before its check
	AtWord   = 252 // 4 bytes: the check exclusive or the CRC-32 of these bytes, first byte first
)

// halfBytes is the size of half of the receive buffer.
const halfBytes = 256

// MaxFrame is the size of the largest frame with its check, in bytes. A group of stuffing
// is never full then.
const MaxFrame = 252

const checkBytes = 4

// textKind begins a piece of text.
const textKind = 255

// least is the size of the smallest frame before its check.
const least = 2

// Receiver finds frames in a stream of bytes and keeps up to two of them, each in half
// of a buffer.
//
//	In      valid, data, a byte in at most every 16th clock; broken, a byte was lost
//	        before the next one; read, at, other, a read of the buffer: the offset in
//	        the oldest frame, or in the one after it; release, the oldest frame is
//	        done with, or with other the one after it
//	Out     Held, whether there is a frame, and another one; Data, the byte read
//	        last; Damaged, a pulse
//	Timing  a frame is held 14 clocks after its delimiter; a read takes a clock
//	Reset   no frame, and none in work
//	Order   that of the line
//	Paths   none
//	Size    512 bytes, and 127 bits
//	Faults  a frame whose stuffing or size is wrong, or in which a byte was lost, is
//	        dropped, with a pulse of Damaged. Text, and a frame for which there is no
//	        room, are dropped without one. A check that is wrong is for the reader to
//	        find
//	Source  docs/design.md "Link layers", Frames
type Receiver struct {
	limit uint8 // bytes of the largest frame before its check

	ram   hdl.RAM
	first bool  // half of the oldest frame
	held  uint8 `w:"2"` // frames held

	begun bool  // a piece has begun
	bad   bool  // it is dropped
	mute  bool  // it is dropped without a pulse: text, or a frame without room
	left  uint8 // bytes left of the group

	delay uint32 // the last four bytes, the newest in the low ones
	have  uint8  `w:"3"` // of them
	n     uint8  // bytes before them
	crc   uint32
	v     uint8 // the byte that the CRC takes
	bits  uint8 `w:"4"` // of it left

	ending  bool  // the frame is complete
	stored  uint8 `w:"3"` // bytes stored after it
	damaged bool
}

// NewReceiver returns a receiver of frames of at most limit bytes, 6 to MaxFrame.
func NewReceiver(limit int) Receiver {
	hdl.Assert(limit >= least+checkBytes && limit <= MaxFrame-1, "frame: the limit is out of range")
	m := Receiver{limit: uint8(limit - checkBytes), ram: hdl.NewNarrowRAM(2*halfBytes, 8)}
	m.Reset()
	return m
}

// Reset drops all frames.
func (m *Receiver) Reset() {
	m.first, m.held, m.begun, m.bad, m.mute, m.left = false, 0, false, false, false, 0
	m.delay, m.have, m.n, m.crc, m.v, m.bits = 0, 0, 0, 0, 0, 0
	m.ending, m.stored, m.damaged = false, 0, false
}

// Held reports whether there is a frame, and another one after it.
func (m *Receiver) Held() (there, other bool) { return m.held != 0, m.held == 2 }

// Data returns the byte that was read last.
func (m *Receiver) Data() uint8 { return uint8(m.ram.Out()) }

// Damaged reports that a frame was dropped because it is damaged, for one clock.
func (m *Receiver) Damaged() bool { return m.damaged }

// Tick is one rising clock edge.
func (m *Receiver) Tick(valid bool, data uint8, broken bool, read bool, at uint8, other, release bool) {
	from := half(m.first != other) | uint32(at)
	to := half(m.first != (m.held == 1))
	enable, what := uint8(0), uint8(0)
	m.damaged = false
	done := false
	if m.bits != 0 {
		m.crc = step(m.crc, m.v)
		m.v >>= 1
		m.bits = (m.bits - 1) & 15
	} else if m.ending {
		to |= uint32(m.stored) + AtLength
		enable = 1
		what = m.stores()
		done = m.stored == checkBytes
		m.stored = (m.stored + 1) & 7
		m.ending = !done
	}
	if broken {
		m.begun, m.bad = true, true
	} else if valid && data == 0 {
		m.delimiter()
	} else if valid {
		content := m.content(data)
		if content {
			to |= uint32(m.n)
			v := m.next(data)
			enable, what = m.shift(v)
		}
	}
	if done && !release {
		m.held = (m.held + 1) & 3
	} else if release && !done {
		m.held = (m.held - 1) & 3
	}
	if release && !other {
		m.first = !m.first
	}
	m.ram.Tick(read, from, enable, to, uint64(what))
}

// half returns the offset of half of the buffer.
func half(second bool) uint32 {
	if second {
		return halfBytes
	}
	return 0
}

// stores returns the byte that is stored after the frame: its length, or the next one of
// the word.
func (m *Receiver) stores() uint8 {
	if m.stored == 0 {
		return m.n
	}
	v := ^uint8(m.crc>>24) ^ uint8(m.delay>>24)
	m.crc, m.delay = m.crc<<8, m.delay<<8
	return v
}

// delimiter ends a piece.
func (m *Receiver) delimiter() {
	if m.begun && !m.mute {
		m.ending = !m.bad && m.left == 0 && m.have == checkBytes && m.n >= least
		m.damaged = !m.ending
		m.stored = 0
	}
	m.begun, m.bad, m.mute = false, false, false
}

// content reports whether a byte of a piece belongs to a frame. The others begin one, or
// are dropped.
func (m *Receiver) content(data uint8) bool {
	if !m.begun {
		m.begun, m.mute = true, m.held == 2 || data == textKind
		m.left = data - 1
		m.have, m.n, m.crc = 0, 0, ^uint32(0)
		return false
	}
	return !m.bad && !m.mute
}

// next returns the byte of the frame that a byte of a group is. The code of a group is the
// zero before it.
func (m *Receiver) next(data uint8) uint8 {
	if m.left != 0 {
		m.left--
		return data
	}
	m.left = data - 1
	return 0
}

// shift takes a byte of the frame and returns the one that is four bytes older, if it
// exists, to be stored.
func (m *Receiver) shift(v uint8) (enable, oldest uint8) {
	oldest = uint8(m.delay >> 24)
	m.delay = m.delay<<8 | uint32(v)
	if m.have != checkBytes {
		m.have = (m.have + 1) & 7
		return 0, oldest
	}
	if m.n == m.limit {
		m.bad = true
		return 0, oldest
	}
	m.n++
	m.v, m.bits = oldest, 8
	return 1, oldest
}
