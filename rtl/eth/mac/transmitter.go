package mac

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Bytes that the transmitter adds before and after a frame.
const (
	PreambleBytes = 8 // with the delimiter
	FCSBytes      = 4
	GapBytes      = 12
)

// A Symbol is what a PHY sends for the time of a byte.
//
//	Enable  a byte of a frame, from the preamble to the FCS; if not, the line is idle
//	Last    the last byte of the FCS
//	Data    the byte, 0 in an idle symbol
type Symbol struct {
	Enable bool
	Last   bool
	Data   uint8
}

// Bits of a symbol in the queue, above the byte.
const (
	enableBit = 1 << 8
	lastBit   = 1 << 9
)

type phase uint8

const (
	phaseIdle phase = iota
	phasePreamble
	phaseBody
	phasePad
	phaseFCS
	phaseGap
)

// Transmitter adds preamble, padding, FCS and gap to a frame.
//
//	In      valid, data and last, a byte of a frame from its destination address on,
//	        without FCS, valid/ready, ready is Ready; ready, the symbol is taken
//	Out     Ready; Symbol, valid/ready
//	Timing  a symbol in every clock. The preamble begins in the clock after the first
//	        byte is offered, and a frame that is then offered follows the gap
//	Reset   idle; a frame in work is cut off
//	Order   that of the frames
//	Paths   none
//	Size    two symbols, and 46 bits
//	Faults  a byte that is late in a frame, and a frame above MaxFrame, are assertions
//	Source  IEEE 802.3-2018 §3.1, §3.2, §4A.2.8; the gap is §4A.4.2
//
// The gap consists of symbols, so it has its length also on a line that is slower than the
// clock.
type Transmitter struct {
	phase phase
	n     uint16 `w:"11"` // of the phase; in the body, bytes of the frame
	long  bool   // the frame needs no more padding after its next byte
	crc   uint32
	out   hdl.FIFO[uint16]
}

// NewTransmitter returns a transmitter after reset.
func NewTransmitter() Transmitter {
	m := Transmitter{out: hdl.NewFIFO[uint16](2)}
	m.Reset()
	return m
}

// Reset makes the line idle.
func (m *Transmitter) Reset() {
	m.phase, m.n, m.long = phaseIdle, 0, false
	m.out.Reset()
}

// Ready reports whether a byte is taken in this clock.
func (m *Transmitter) Ready() bool { return m.phase == phaseBody && !m.out.Full() }

// Symbol returns the symbol for the line.
func (m *Transmitter) Symbol() (valid bool, s Symbol) {
	head, valid, _ := m.out.Out()
	return valid, Symbol{Enable: head&enableBit != 0, Last: head&lastBit != 0, Data: uint8(head)}
}

// Tick is one rising clock edge.
func (m *Transmitter) Tick(valid bool, data uint8, last bool, ready bool) {
	hdl.Assert(m.phase != phaseBody || valid, "mac: a frame has no byte")
	hdl.Assert(m.n <= MaxFrame-FCSBytes, "mac: a frame above the limit")
	_, there, _ := m.out.Out()
	push := m.phase != phaseIdle && !m.out.Full()
	v := m.value(data)
	m.out.Tick(push, v, ready && there)
	if push {
		m.sum(uint8(v))
		m.advance(valid, last)
	} else if m.phase == phaseIdle && valid {
		m.phase = phasePreamble
	}
}

// value returns the symbol that is next.
func (m *Transmitter) value(data uint8) uint16 {
	switch m.phase {
	case phasePreamble:
		if m.n == PreambleBytes-1 {
			return enableBit | delimiter
		}
		return enableBit | preamble
	case phaseBody:
		return enableBit | uint16(data)
	case phasePad:
		return enableBit
	case phaseFCS:
		if m.n == FCSBytes-1 {
			return enableBit | lastBit | uint16(^m.crc&0xff)
		}
		return enableBit | uint16(^m.crc&0xff)
	default:
		return 0
	}
}

// sum takes a byte into the CRC. Its own lowest byte moves the others down.
func (m *Transmitter) sum(data uint8) {
	if m.phase == phaseFCS {
		data = uint8(m.crc)
	}
	m.crc = crc32.Byte(m.crc, data)
	if m.phase == phasePreamble {
		m.crc = crc32.Init
	}
}

// advance counts the bytes of the phases. valid is a byte of the next frame at the end of
// a gap.
func (m *Transmitter) advance(valid, last bool) {
	at, long := m.phase, m.long
	m.long = at != phasePreamble && (m.long || m.n == MinFrame-FCSBytes-2)
	m.n = (m.n + 1) & 0x7ff
	switch at {
	case phasePreamble:
		if m.n == PreambleBytes {
			m.phase, m.n = phaseBody, 0
		}
	case phaseBody:
		if last {
			m.phase = phasePad
		}
		if last && long {
			m.phase, m.n = phaseFCS, 0
		}
	case phasePad:
		if long {
			m.phase, m.n = phaseFCS, 0
		}
	case phaseFCS:
		if m.n == FCSBytes {
			m.phase, m.n = phaseGap, 0
		}
	default:
		if m.n == GapBytes {
			m.phase, m.n = phaseIdle, 0
			if valid {
				m.phase = phasePreamble
			}
		}
	}
}
