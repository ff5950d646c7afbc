// Package mac sends and receives Ethernet frames as streams of bytes.
package mac

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Sizes of a frame in bytes, from its destination address to its FCS (IEEE 802.3-2018
// §3.2.7 and §4A.4.2). A frame with a VLAN tag may have no more bytes than one without.
const (
	MinFrame = 64
	MaxFrame = 1518
)

const (
	preamble  = 0x55
	delimiter = 0xd5 // start frame delimiter
	addrBytes = 6
	minBits   = 6 // of numbers below MinFrame

	// residue is the CRC after a frame with a right FCS: 0xc704dd7b of IEEE 802.3 with its
	// bits reversed.
	residue = 0xdebb20e3
)

// A Byte is what a PHY has received in a clock.
//
//	Valid  there is a byte, or an end
//	End    the carrier has ended; Data has no meaning
//	Error  the byte is wrong or lost, or the PHY signals an error
//	Data   a byte, from the preamble on
type Byte struct {
	Valid bool
	End   bool
	Error bool
	Data  uint8
}

// A Body is a part of a received frame that has passed the address filter.
//
//	Valid      there is a byte
//	End        the frame has ended; never with Valid
//	Good       at the end: the frame is right
//	Broadcast  the frame is for all stations
//	Data       a byte, from the source address to the end of the FCS
type Body struct {
	Valid     bool
	End       bool
	Good      bool
	Broadcast bool
	Data      uint8
}

// Events are pulses, at most one for each carrier.
//
//	Good       a right frame for this station or for all
//	Bad        a wrong FCS, or an error of the PHY
//	Runt       below MinFrame, or a carrier without a delimiter
//	Oversized  above MaxFrame
//	Filtered   a right frame for another station or for a group
type Events struct {
	Good      bool
	Bad       bool
	Runt      bool
	Oversized bool
	Filtered  bool
}

type where uint8

const (
	before where = iota // the delimiter
	inside              // the frame
	noise               // no frame: other bytes were before the delimiter
)

// Receiver removes the preamble, and checks size, FCS and destination of frames.
//
//	In      in, at most one byte or end in a clock, with any pauses; an end follows the
//	        last byte of each carrier
//	Out     Body; Events, pulses
//	Timing  an output is there 1 clock after its input
//	Reset   waits for a preamble; a frame in work loses its beginning, so it is a runt or
//	        wrong
//	Order   as received
//	Paths   none
//	Size    71 bits
//	Faults  the Body of a frame that is not Good must reach nothing: its reader stores it
//	        until the end. Bytes above MaxFrame are not given
//	Source  IEEE 802.3-2018 §3.1, §3.2, §4A.2.9
type Receiver struct {
	addr uint64 // of this station, its first byte in bits 47..40

	where where
	n     uint16 `w:"11"` // bytes of the frame so far, at most MaxFrame + 1
	crc   uint32
	own   bool // the bytes so far are those of the address of this station
	all   bool // they are those of the broadcast address
	wrong bool // an error since the last end

	body   Body
	events Events
}

// NewReceiver returns a receiver after reset for a station with an address, its first byte
// in bits 47 to 40. It is that of one station, not of a group.
func NewReceiver(addr uint64) Receiver {
	hdl.Assert(addr>>48 == 0 && addr>>40&1 == 0 && addr != 0, "mac: not the address of one station")
	m := Receiver{addr: addr}
	m.Reset()
	return m
}

// Reset waits for a preamble.
func (m *Receiver) Reset() {
	m.where, m.n, m.wrong = before, 0, false
	m.own, m.all = false, false
	m.body, m.events = Body{}, Events{}
}

// Body returns a part of a frame.
func (m *Receiver) Body() Body { return m.body }

// Events returns the pulses.
func (m *Receiver) Events() Events { return m.events }

// addressed reports whether the destination address is complete. Here and below, bits are
// compared where a comparison of numbers would take carries.
func (m *Receiver) addressed() bool { return m.n>>3 != 0 || m.n&addrBytes == addrBytes }

// ours reports whether the frame is for this station or for all.
func (m *Receiver) ours() bool { return m.addressed() && (m.own || m.all) }

// Tick is one rising clock edge.
func (m *Receiver) Tick(in Byte) {
	m.body = Body{Broadcast: m.all, Data: in.Data}
	m.events = Events{}
	if !in.Valid {
		return
	}
	if in.End {
		m.end(in.Error)
		return
	}
	m.wrong = m.wrong || in.Error
	switch m.where {
	case before:
		m.start(in.Data)
	case inside:
		m.take(in.Data)
	default:
	}
}

// start takes a byte before the frame.
func (m *Receiver) start(data uint8) {
	m.own, m.all = true, true
	m.crc = crc32.Init
	if data == delimiter {
		m.where = inside
	} else if data != preamble {
		m.where = noise
	}
}

// take takes a byte of the frame.
func (m *Receiver) take(data uint8) {
	over := m.n == MaxFrame+1
	m.body.Valid = m.ours() && !over && m.n != MaxFrame
	if !m.addressed() {
		m.own = m.own && data == uint8(m.addr>>(40-8*(m.n&7)))
		m.all = m.all && data == 0xff
	}
	m.crc = crc32.Byte(m.crc, data)
	if !over {
		m.n = (m.n + 1) & 0x7ff
	}
}

// end takes the end of a carrier.
func (m *Receiver) end(failed bool) {
	runt, over := m.n>>minBits == 0, m.n == MaxFrame+1
	right := m.crc == residue && !m.wrong && !failed
	m.body.End = m.ours()
	m.body.Good = right && !runt && !over
	m.events = Events{
		Good:      m.body.Good && m.ours(),
		Bad:       !right && !runt && !over,
		Runt:      runt,
		Oversized: over,
		Filtered:  m.body.Good && !m.ours(),
	}
	m.where, m.n, m.wrong = before, 0, false
}
