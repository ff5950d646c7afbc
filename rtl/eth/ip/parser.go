package ip

import (
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Events are pulses at the end of a right frame that is dropped, at most one.
//
//	NoRoom   there is no room for it
//	Ignored  it is for others, or of a protocol that the board does not have
//	Invalid  it is a fragment, has IP options, or a wrong length or checksum
type Events struct {
	NoRoom  bool
	Ignored bool
	Invalid bool
}

const (
	queueDepth = 16 // of frames

	// lastLeft and rawLastLeft are the values of left at the last byte of a frame. The length
	// of IP counts the 4 bytes of its header that are before the count begins, and the count
	// misses one of the message.
	lastLeft    = 6
	rawLastLeft = 1

	// Sums of a right message. That of UDP is without the protocol of its pseudo header, and
	// with the 1 of actMessage.
	sumRight    = 0xffff
	sumRightUDP = 0xffff - protoUDP + 1
)

// Parser checks the frames of a board, and stores the addresses and the data of those that
// are right in a buffer.
//
//	In      in, of mac.Receiver; read and at, a read of the buffer, only of the oldest
//	        frame; release, the oldest frame is done with, only if there is one
//	Out     Head, the oldest frame; Data, the byte read last; Events
//	Timing  a frame and an event are there 1 clock after its end; a read takes a clock
//	Reset   no frame, and none in work; the buffer keeps its bytes
//	Order   as received
//	Paths   none
//	Size    4096 bytes, a table of 256 words, 16 words of frames, and 138 bits
//	Faults  a frame that is wrong or finds no room is dropped: Events
//	Source  RFC 768, 791, 792, 826; RFC 1071 for sums
type Parser struct {
	typ uint16 // EtherType of raw frames

	table  hdl.ROM
	buffer hdl.RAM
	queue  hdl.FIFO[uint16] // kind 13..12, last byte 11..0

	kind Kind   `w:"2"` // of the table
	step uint8  `w:"6"`
	odd  bool   // the byte is the second one of a word
	over bool   // the rest of the frame is not needed
	done bool   // nothing is missing
	bad  bool   // invalid
	none bool   // ignored
	low  bool   // the first byte of the EtherType is that of IP and ARP
	high bool   // it is that of raw frames
	zero bool   // the bytes so far of the checksum of UDP are 0
	full bool   // there was no room for a byte
	left uint16 `w:"11"` // bytes that are missing, and lastLeft or rawLastLeft
	rest uint8  `w:"3"`  // bytes after the data, at most those of the FCS

	sum   uint16
	carry bool // still to be added to sum
	kept  uint16
	keptC bool

	at   uint16 `w:"12"` // place of the next byte
	base uint8  // block of the frame in work
	last uint16 `w:"12"` // place of the last byte
	tail uint8  // block of the oldest frame
	stop uint8  // block before it

	events Events
}

// NewParser returns a parser after reset.
func NewParser(p Params) Parser {
	p.check()
	m := Parser{
		typ: p.EtherType, table: hdl.NewROM(fieldBits, fields(p)),
		buffer: hdl.NewNarrowRAM(BufferBytes, 8), queue: hdl.NewFIFO[uint16](queueDepth),
	}
	m.Reset()
	return m
}

// Reset drops all frames.
func (m *Parser) Reset() {
	m.queue.Reset()
	m.at, m.base, m.tail, m.stop = 0, 0, 0, 0xff
	m.events = Events{}
	m.begin()
}

// begin waits for a frame.
func (m *Parser) begin() {
	m.kind, m.step, m.odd, m.over, m.done = Raw, 0, false, false, false
	m.bad, m.none, m.zero, m.full, m.rest = false, false, true, false, 0
	m.sum, m.carry = 0, false
}

// Head returns the oldest frame.
func (m *Parser) Head() Frame {
	head, valid, _ := m.queue.Out()
	return Frame{Valid: valid, Kind: Kind(head >> 12 & 3), Start: m.tail, Last: head & bufferMask}
}

// Data returns the byte of the buffer that was read last.
func (m *Parser) Data() uint8 { return uint8(m.buffer.Out()) }

// Events returns the pulses.
func (m *Parser) Events() Events { return m.events }

// right reports whether the message has a right checksum, or has none.
func (m *Parser) right() bool {
	switch m.kind {
	case Echo:
		return m.sum == sumRight
	case UDP:
		return m.sum == sumRightUDP || m.zero
	default:
		return true
	}
}

// Tick is one rising clock edge.
func (m *Parser) Tick(in mac.Body, read bool, at uint16, release bool) {
	f := fieldOf(uint32(m.table.Out()))
	head, _, _ := m.queue.Out()
	live := in.Valid && !m.over
	header := m.sum>>1 == sumRight>>1 && (m.sum&1 != 0) != m.carry // the sum is sumRight
	good := m.done && m.rest == mac.FCSBytes && m.right()
	stored := in.End && in.Good && good && !m.full && !m.queue.Full()

	m.events = Events{
		NoRoom:  in.End && in.Good && good && !stored,
		Ignored: in.End && in.Good && m.none,
		Invalid: in.End && in.Good && !good && !m.none,
	}
	m.queue.Tick(stored, uint16(m.kind)<<12|m.last, release)
	m.store(live && f.store, in.Data, read, at)
	m.add(live, f, in.Data)
	if in.Valid && m.done && m.rest != mac.FCSBytes {
		m.rest = (m.rest + 1) & 7
	}
	if live {
		m.take(f, in, header)
	}
	if release {
		m.stop = Block(head & bufferMask)
		m.tail = m.stop + 1
	}
	if in.End {
		if stored {
			m.base = Block(m.last) + 1
		}
		m.at = uint16(m.base) << blockBits
		m.begin()
	}
	m.table.Tick(true, uint32(m.kind)<<6|uint32(m.step))
}

// store ticks the buffer.
func (m *Parser) store(writes bool, data uint8, read bool, at uint16) {
	room := Block(m.at) != m.stop
	enable := uint8(0)
	if writes && room {
		enable = 1
	}
	m.buffer.Tick(read, uint32(at&bufferMask), enable, uint32(m.at), uint64(data))
	if writes && room {
		m.last, m.at = m.at, (m.at+1)&bufferMask
	} else if writes {
		m.full = true
	}
}

// add adds a byte to the sum, and the carry of the last addition. A one's complement
// negation of the sum of the other words is the sum of the addresses, since all are 0.
func (m *Parser) add(live bool, f field, data uint8) {
	v := uint16(data)
	if f.act == actUDPHigh || f.act == actUDPLow {
		v <<= 1
	}
	if !m.odd {
		v <<= 8
	}
	if !live || !f.sum {
		v = 0
	}
	if live && f.act == actAddresses {
		m.kept, m.keptC = m.sum, m.carry
	}
	sum, carry := m.sum, m.carry
	if live && f.act == actMessage {
		sum, carry = 0, false
		if m.kind == UDP {
			sum, carry = ^m.kept, !m.keptC // 1 too much, see sumRightUDP
		}
	}
	total := uint32(sum) + uint32(v)
	if carry {
		total++
	}
	m.sum, m.carry = uint16(total), total>>16&1 != 0
}

// take takes a byte that is needed. header reports whether the header of IP has a right sum.
func (m *Parser) take(f field, in mac.Body, header bool) {
	wrong := f.must && in.Data != f.want || m.refuses(f.act, in)
	end := uint16(lastLeft)
	if m.kind == Raw {
		end = rawLastLeft
	}
	body := f.act == actBody
	finish := f.count && m.left == end
	if f.act == actMessage && !header || finish && !body {
		m.bad, m.over = true, true
	} else if wrong {
		m.none, m.bad, m.over = !f.invalid, f.invalid, true
	} else if finish || f.act == actDone {
		m.done, m.over = true, true
	}
	if f.act == actLenHigh {
		m.left = uint16(in.Data) << 8 & 0x700
	} else if f.act == actLenLow {
		m.left = m.left&0x700 | uint16(in.Data)
	} else if f.count {
		m.left = (m.left - 1) & 0x7ff
	}
	m.choose(f.act, in.Data)
	m.odd = !m.odd
	if !body {
		m.step = (m.step + 1) & (steps - 1)
	}
}

// refuses reports whether an action refuses a byte.
func (m *Parser) refuses(act action, in mac.Body) bool {
	switch act {
	case actStation:
		return in.Data&1 != 0
	case actSecond:
		arp := m.low && in.Data == typeARP&0xff
		one := m.low && in.Data == typeIP&0xff || m.high && in.Data == uint8(m.typ)
		return !arp && (!one || in.Broadcast)
	case actLenHigh:
		return in.Data > 0x7
	case actFlags:
		return in.Data&^dontFragment != 0
	case actProtocol:
		return in.Data != protoICMP && in.Data != protoUDP
	case actUDPHigh:
		return in.Data != uint8(m.left>>8)
	case actUDPLow:
		return in.Data != uint8(m.left)
	default:
		return false
	}
}

// choose follows the type and the protocol.
func (m *Parser) choose(act action, data uint8) {
	switch act {
	case actType:
		m.low, m.high = data == typeIP>>8, data == uint8(m.typ>>8)
	case actSecond:
		if m.low && data == typeARP&0xff {
			m.kind = ARP
		} else if m.low && data == typeIP&0xff {
			m.kind = Echo
		}
	case actProtocol:
		if data == protoUDP {
			m.kind = UDP
		}
	case actChecksum:
		m.zero = m.zero && data == 0
	default:
	}
}
