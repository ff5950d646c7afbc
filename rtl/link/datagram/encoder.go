package datagram

import (
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// lengthLen is the bytes of a length. The upper one is 0, since a frame has at most 255.
const lengthLen = 2

// linger is how many clocks a datagram waits for another frame.
const linger = 16

// A Byte is a byte of a datagram, valid/ready.
//
//	Valid  there is a byte
//	Last   it is the last one of its datagram
//	Data   the byte
type Byte struct {
	Valid bool
	Last  bool
	Data  uint8
}

// A stage of a frame in an Encoder.
type stage uint8

const (
	stageNone stage = iota // waits for a frame
	stageHigh              // sends the upper byte of the length
	stageLow
	stageBody // takes bytes
)

// lastBit marks the last byte of a datagram in the queue.
const lastBit = 1 << 8

// Encoder puts frames into datagrams, as many as follow each other and fit.
//
//	In      in linkport.Sent, valid/ready, ready is Ready; largest, bytes of a datagram, at
//	        least those of a frame and its length; ready, the byte of the datagram is taken
//	Out     Ready; Byte
//	Timing  a byte in every clock, and a clock more for a frame. The last byte of a frame waits
//	        until the next frame is offered, or for 16 clocks, since it may be the last one of
//	        the datagram
//	Reset   no datagram in work
//	Order   that of the frames
//	Paths   none
//	Size    two bytes of a datagram, and 28 bits
//	Faults  none
//	Source  as Decoder
type Encoder struct {
	stage stage
	size  uint16 `w:"12"` // bytes of the datagram in work
	idle  uint8  `w:"5"`  // clocks since its last frame
	held  bool   // there is a last byte of a frame that waits
	byte  uint8  // that byte
	out   hdl.FIFO[uint16]
}

// NewEncoder returns an encoder after reset.
func NewEncoder() Encoder { return Encoder{out: hdl.NewFIFO[uint16](2)} }

// Reset drops everything.
func (m *Encoder) Reset() {
	m.stage, m.size, m.idle, m.held, m.byte = stageNone, 0, 0, false, 0
	m.out.Reset()
}

// Ready reports whether a byte is taken in this clock.
func (m *Encoder) Ready() bool { return m.stage == stageBody && !m.out.Full() }

// Byte returns the byte of a datagram.
func (m *Encoder) Byte() Byte {
	head, valid, _ := m.out.Out()
	return Byte{Valid: valid, Last: head&lastBit != 0, Data: uint8(head)}
}

// Tick is one rising clock edge.
func (m *Encoder) Tick(in linkport.Sent, largest uint16, ready bool) {
	room, waits := !m.out.Full(), m.stage == stageNone
	size := m.size + lengthLen + uint16(in.Size)
	fits := size <= largest
	begins := waits && room && in.Valid && (!m.held || fits)
	closes := waits && room && m.held && !begins && (in.Valid || m.idle == linger)
	takes := in.Valid && m.Ready()
	hdl.Assert(!begins || fits, "datagram: a frame above the largest datagram")

	push, what := false, uint16(m.byte)
	switch m.stage {
	case stageNone:
		push = m.held && (begins || closes)
		if closes {
			what |= lastBit
		}
	case stageHigh:
		push, what = room, 0
	case stageLow:
		push, what = room, uint16(in.Size)
	default:
		push, what = takes && !in.Last, uint16(in.Data)
	}
	m.out.Tick(push, what, !m.out.Empty() && ready)
	m.advance(in, begins, closes, takes, room, size)
}

// advance moves on in the frame and in the datagram, which has size bytes with the frame that
// is offered.
func (m *Encoder) advance(in linkport.Sent, begins, closes, takes, room bool, size uint16) {
	if m.idle != linger {
		m.idle = (m.idle + 1) & 31
	}
	switch {
	case closes:
		m.held, m.size = false, 0
	case begins:
		m.stage, m.held, m.size = stageHigh, false, size&0xfff
	case m.stage == stageHigh && room:
		m.stage = stageLow
	case m.stage == stageLow && room:
		m.stage = stageBody
	case takes && in.Last:
		m.stage, m.held, m.byte, m.idle = stageNone, true, in.Data, 0
	default:
	}
}
