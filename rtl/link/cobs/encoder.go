package cobs

import (
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// MaxFrame is the size of the largest frame, in bytes. No group of stuffing is full in it.
const MaxFrame = 250

const queueBytes = 512

// A stage of a frame in an Encoder.
type stage uint8

const (
	stageNone  stage = iota // waits for a frame
	stageBody               // takes bytes
	stageClose              // ends the last group
	stageEnd                // appends the delimiter
)

// Encoder stuffs and delimits frames, and keeps the bytes for the line in a queue.
//
//	In      in linkport.Sent, valid/ready, ready is Ready; ready, the byte of the line is
//	        taken
//	Out     Ready; Empty; Byte, the byte of the line, valid/ready
//	Timing  a byte in every clock, and 3 clocks between frames, if there is room. A group
//	        of stuffing is on the line from its end on; a byte of the line in every clock
//	Reset   empty, no frame in work
//	Order   that of the frames. A delimiter follows each frame. One is before a frame only
//	        if the queue is empty: the line may have been disturbed since
//	Paths   none
//	Size    512 bytes, and 38 bits
//	Faults  a frame above the limit is an assertion
//	Source  as Decoder
//
// A group begins with its code, the number of its bytes. The place of a zero is that of
// the code of the next group. So for a zero the code of the group before it is written,
// and any byte takes one write.
type Encoder struct {
	rooms uint16 // bytes that may be in the queue when a frame begins

	ram   hdl.RAM
	start uint16 `w:"9"` // place of the code of the group in work; the bytes before it may be sent
	next  uint16 `w:"9"` // place of the next byte
	code  uint8  // of the group in work
	sent  uint16 `w:"9"` // place of the next byte to read
	full  bool   // the output of the memory is a byte of the line
	stage stage
}

// NewEncoder returns an encoder after reset, of frames of up to limit bytes, limit at most
// MaxFrame.
func NewEncoder(limit int) Encoder {
	hdl.Assert(limit > 0 && limit <= MaxFrame, "cobs: the limit is not the size of a frame")
	// A frame has a code, and a delimiter before and after it; a byte of the queue stays free.
	m := Encoder{rooms: uint16(queueBytes - limit - 5), ram: hdl.NewNarrowRAM(queueBytes, 8)}
	m.Reset()
	return m
}

// Reset drops everything.
func (m *Encoder) Reset() {
	m.start, m.next, m.code, m.sent, m.full, m.stage = 0, 1, 1, 0, false, stageNone
}

// Ready reports whether a byte is taken in this clock.
func (m *Encoder) Ready() bool { return m.stage == stageBody }

// Empty reports whether no byte waits for the line and no frame is in work.
func (m *Encoder) Empty() bool { return m.stage == stageNone && m.sent == m.start && !m.full }

// Byte returns the byte of the line.
func (m *Encoder) Byte() (valid bool, data uint8) { return m.full, uint8(m.ram.Out()) }

// Tick is one rising clock edge.
func (m *Encoder) Tick(in linkport.Sent, ready bool) {
	begins := m.stage == stageNone && in.Valid && (m.next-m.sent)&(queueBytes-1) <= m.rooms
	marks := m.stage == stageEnd || begins && m.sent == m.start
	takes := in.Valid && m.Ready()
	plain := takes && in.Data != 0
	at, what := m.start, m.code
	if plain {
		at, what = m.next, in.Data
	}
	if marks {
		what = 0
	}
	hdl.Assert(m.code <= MaxFrame+1, "cobs: a frame above the limit")
	m.queue(takes || marks || m.stage == stageClose, plain, at, what, ready)
	switch m.stage {
	case stageNone:
		if begins {
			m.stage = stageBody
		}
	case stageBody:
		if takes && in.Last {
			m.stage = stageClose
		}
	case stageClose:
		m.stage = stageEnd
	default:
		m.stage = stageNone
	}
}

// queue writes a byte, and reads one for the line. A byte that is not plain is written at
// the start of a group, and begins the next one. A read is before the start, so it is
// never of the word that is written.
func (m *Encoder) queue(writes, plain bool, at uint16, what uint8, ready bool) {
	read := m.sent != m.start && (!m.full || ready)
	enable := uint8(0)
	if writes {
		enable = 1
	}
	m.ram.Tick(read, uint32(m.sent), enable, uint32(at), uint64(what))
	m.full = read || m.full && !ready
	if read {
		m.sent = (m.sent + 1) & (queueBytes - 1)
	}
	if writes {
		m.code++
		if !plain {
			m.start, m.code = m.next, 1
		}
		m.next = (m.next + 1) & (queueBytes - 1)
		hdl.Assert(m.next != m.sent, "cobs: no room")
	}
}
