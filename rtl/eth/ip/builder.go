package ip

import "github.com/hilgpu/hilgpu/rtl/hdl"

// Builder makes frames of stored ones, from the destination address to the data.
//
//	In      answer, a request of a host, Kind ARP or Echo; datagram, Kind Raw or UDP; each
//	        stays until its last byte is taken, and then changes; answers and datagrams,
//	        the bytes that were read last of the buffers of both; ready, the byte is taken
//	Out     Byte, valid/ready; Fetch, a read of the buffer of one of the two, only in a clock
//	        in which there is no byte or it is taken
//	Timing  the first byte of a raw frame or of ARP is there 4 clocks after its Frame, that
//	        of UDP 13, that of an echo 16. Then a byte in every clock
//	Reset   no frame in work
//	Order   answers before datagrams, but at most three one after another if a datagram
//	        waits
//	Paths   none
//	Size    a table of 256 words, and 126 bits
//	Faults  none
//	Source  RFC 768, 791, 792, 826; RFC 1071 for sums
type Builder struct {
	table hdl.ROM

	busy   bool
	answer bool  // the frame is an answer
	run    uint8 `w:"2"` // answers since a datagram, at most mostAnswers
	kind   Kind  `w:"2"`
	start  uint8
	limit  uint16 `w:"12"` // place of its last byte
	at     uint16 `w:"12"` // place of the next byte of the data

	more  bool  // there are parts to be read from the table
	step  uint8 `w:"6"`
	ahead bool  // the output of the table is a part
	there bool  // so is now, the part before it, whose byte was read from the buffer
	now   uint16
	last  bool // now is that of the last byte

	sum   uint16
	carry bool // still to be added to sum
	kept  uint16

	valid bool // there is a byte
	final bool // it is the last one
	data  uint8
}

// mostAnswers is the number of answers that are sent before a datagram that waits. An answer
// that waits stops the frames after it.
const mostAnswers = 3

// NewBuilder returns a builder after reset.
func NewBuilder(p Params) Builder {
	p.check()
	m := Builder{table: hdl.NewROM(partBits, parts(p))}
	m.Reset()
	return m
}

// Reset ends the frame in work.
func (m *Builder) Reset() {
	m.busy, m.answer, m.more, m.ahead, m.there, m.last = false, false, false, false, false, false
	m.valid, m.final, m.run = false, false, 0
}

// Byte returns the next byte, and whether it is the last one of an answer or of a datagram.
func (m *Builder) Byte() (valid, last, answer bool, data uint8) {
	return m.valid, m.final, m.answer, m.data
}

// Fetch returns a read of the buffer of the answers or of that of the datagrams.
func (m *Builder) Fetch() (read, answer bool, at uint16) {
	p := partOf(uint32(m.table.Out()))
	at = uint16(m.start)<<blockBits | uint16(p.value&(1<<blockBits-1))
	if p.data {
		at = m.at
	}
	return m.ahead && p.from == fromBuffer, m.answer, at
}

// Tick is one rising clock edge.
func (m *Builder) Tick(answer, datagram Frame, answers, datagrams uint8, ready bool) {
	moves := !m.valid || ready
	begins := !m.busy
	ends := m.valid && m.final && ready
	next := uint32(m.kind)<<6 | uint32(m.step)
	p, a := partOf(uint32(m.now)), partOf(uint32(m.table.Out()))
	if moves {
		q := datagrams
		if m.answer {
			q = answers
		}
		v := m.value(p, q)
		if m.there {
			m.add(p, v)
		}
		m.valid, m.final, m.data = m.there && p.emit, m.last, v
		m.fetch(a)
	}
	m.table.Tick(moves, next)
	if ends {
		m.busy = false
	}
	if begins {
		if answer.Valid && (m.run != mostAnswers || !datagram.Valid) {
			m.begin(answer, true)
		} else if datagram.Valid {
			m.begin(datagram, false)
		}
	}
}

// fetch moves the part at the output of the table on, and reads the next one. a is the
// decoded part.
func (m *Builder) fetch(a part) {
	data := m.ahead && a.data

	m.there, m.now = m.ahead, uint16(m.table.Out())
	m.last = data && m.at == m.limit
	m.more = m.more && !m.last
	m.ahead = m.more
	if data {
		m.at = (m.at + 1) & bufferMask
	} else if m.more {
		m.step = (m.step + 1) & (steps - 1)
	}
}

// begin begins a frame.
func (m *Builder) begin(f Frame, answer bool) {
	m.busy, m.answer, m.more = true, answer, true
	if !answer {
		m.run = 0
	} else if m.run != mostAnswers {
		m.run = (m.run + 1) & 3
	}
	m.kind, m.start, m.limit = f.Kind, f.Start, f.Last&bufferMask
	m.at = uint16(f.Start)<<blockBits | PeerBytes
	m.step, m.sum, m.carry = 0, 0, false
}

// value returns the byte of a part. q is that of the buffer.
func (m *Builder) value(p part, q uint8) uint8 {
	size := (m.limit - uint16(m.start)<<blockBits) & bufferMask
	sign := uint16(0)
	if p.value&0x80 != 0 {
		sign = 0xf00
	}
	length := size + (sign | uint16(p.value))
	switch p.from {
	case fromBuffer:
		return q
	case fromLenHigh:
		return uint8(length >> 8 & 0xf)
	case fromLenLow:
		return uint8(length)
	case fromKeptHigh:
		return ^uint8(m.kept >> 8)
	case fromKeptLow:
		return ^uint8(m.kept)
	case fromSumHigh:
		return uint8(m.sum >> 8)
	case fromSumLow:
		return uint8(m.sum)
	default:
		return p.value
	}
}

// add adds the byte of a part to the sum, and the carry of the last addition. The sum of a
// part that adds nothing has no carry.
func (m *Builder) add(p part, data uint8) {
	v := uint16(data)
	if !p.second {
		v <<= 8
	}
	if !p.add {
		v = 0
	}
	total := uint32(m.sum) + uint32(v)
	if m.carry {
		total++
	}
	m.sum, m.carry = uint16(total), total>>16&1 != 0
	if p.keep {
		m.kept, m.sum = m.sum, 0
	}
}
