package datagram

import (
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// MaxFrame is the size of the largest frame, in bytes: the upper byte of a length is 0.
const MaxFrame = 255

const (
	ringBytes = 4096
	lengthLen = 2

	// maxEnds is the number of datagrams that wait.
	maxEnds = 8

	// linger is how many clocks a datagram waits for another frame.
	linger = 32
)

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
	stageBody              // takes bytes
	stageEnd               // writes the length
)

// Encoder puts frames into datagrams, as many as follow each other and fit.
//
//	In      in linkport.Sent, valid/ready, ready is Ready; ready, the byte of the datagram
//	        is taken
//	Out     Ready; Byte
//	Timing  a byte in every clock, and 2 clocks between frames, if there is room. A datagram
//	        is sent when no frame has begun for 32 clocks, or when another one might not
//	        fit
//	Reset   empty, no frame in work
//	Order   that of the frames
//	Paths   none
//	Size    4096 bytes, 8 ends, and 71 bits
//	Faults  a frame above the limit is an assertion
//	Source  as Decoder
type Encoder struct {
	limit uint16 // bytes of a frame
	most  uint16 // bytes of a datagram that may be there when another frame begins

	ram   hdl.RAM
	ends  hdl.FIFO[uint16] // place of the last byte of each datagram that waits
	stage stage
	start uint16 `w:"12"` // place of the length of the frame in work, or of the next one
	next  uint16 `w:"12"` // place of the next byte
	size  uint16 `w:"12"` // bytes of the datagram in work
	idle  uint8  `w:"6"`  // clocks since its last frame
	sent  uint16 `w:"12"` // place of the next byte to read
	full  bool   // the output of the memory is a byte of a datagram
	last  bool   // it is the last one
}

// NewEncoder returns an encoder after reset, of frames of up to frame bytes in datagrams of up
// to largest bytes, at most 2048.
func NewEncoder(frame, largest int) Encoder {
	hdl.Assert(frame > 0 && frame <= MaxFrame && largest >= frame+lengthLen && largest <= ringBytes/2, "datagram: no size of a frame or a datagram")
	m := Encoder{
		limit: uint16(frame), most: uint16(largest - frame - lengthLen),
		ram: hdl.NewNarrowRAM(ringBytes, 8), ends: hdl.NewFIFO[uint16](maxEnds),
	}
	m.Reset()
	return m
}

// Reset drops everything.
func (m *Encoder) Reset() {
	m.ends.Reset()
	m.stage, m.start, m.next, m.size, m.idle, m.sent, m.full, m.last = stageNone, 0, 0, 0, 0, 0, false, false
}

// Ready reports whether a byte is taken in this clock.
func (m *Encoder) Ready() bool { return m.stage == stageBody }

// Byte returns the byte of a datagram.
func (m *Encoder) Byte() Byte { return Byte{Valid: m.full, Last: m.last, Data: uint8(m.ram.Out())} }

// room reports whether the largest frame fits into the ring. A byte of it stays free.
func (m *Encoder) room() bool {
	return (m.start-m.sent)&(ringBytes-1) < ringBytes-1-m.limit-lengthLen
}

// Tick is one rising clock edge.
func (m *Encoder) Tick(in linkport.Sent, ready bool) {
	fits := m.size <= m.most
	closes := m.stage == stageNone && m.size != 0 && !m.ends.Full() && (!fits || m.idle == linger && !in.Valid)
	begins := m.stage == stageNone && in.Valid && fits && m.room() && !closes
	takes := m.stage == stageBody && in.Valid
	length := (m.next - m.start - lengthLen) & (ringBytes - 1)
	hdl.Assert(length <= m.limit || m.stage == stageNone, "datagram: a frame above the limit")

	at, what, enable := m.next, in.Data, uint8(0)
	if m.stage != stageBody {
		at, what = m.start, 0
	}
	if m.stage == stageEnd {
		at, what = (m.start+1)&(ringBytes-1), uint8(length)
	}
	if begins || takes || m.stage == stageEnd {
		enable = 1
	}
	m.send(closes, at, what, enable, ready)
	m.advance(begins, takes && in.Last, takes, closes, length)
}

// advance moves on in the frame and in the datagram.
func (m *Encoder) advance(begins, ends, takes, closes bool, length uint16) {
	if m.idle != linger {
		m.idle = (m.idle + 1) & 63
	}
	switch {
	case closes:
		m.size = 0
	case begins:
		m.stage, m.next = stageBody, (m.start+lengthLen)&(ringBytes-1)
	case takes:
		m.next = (m.next + 1) & (ringBytes - 1)
		if ends {
			m.stage = stageEnd
		}
	case m.stage == stageEnd:
		m.stage, m.start, m.idle = stageNone, m.next, 0
		m.size = (m.size + length + lengthLen) & (ringBytes - 1)
	default:
	}
}

// send writes a byte of a frame, and reads one of a datagram that is complete.
func (m *Encoder) send(closes bool, at uint16, what, enable uint8, ready bool) {
	end, waits, _ := m.ends.Out()
	read := waits && (!m.full || ready)
	last := read && m.sent == end
	m.ends.Tick(closes, (m.start-1)&(ringBytes-1), last)
	m.ram.Tick(read, uint32(m.sent), enable, uint32(at), uint64(what))
	m.full = read || m.full && !ready
	if read {
		m.sent, m.last = (m.sent+1)&(ringBytes-1), last
	}
}
