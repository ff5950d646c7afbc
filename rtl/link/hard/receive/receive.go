// Package receive is the receiving half of the data link in RTL: it checks frames, and
// keeps the packets of data frames that are accepted.
package receive

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// MaxSlots is the largest number of packets that are kept.
const MaxSlots = 64

const (
	checkBytes = 4
	maxBody    = 250 // bytes of the largest frame before its check
)

// Bits of the head of a frame.
const (
	Data  = 1 << 15 // of a data frame
	Acked = 1 << 14 // of a data frame: an acknowledgement follows
)

// typeHello is a control frame with a body of more than 12 bytes, as the upper four bits
// of its head.
const typeHello = 5

// Place of fields of a hello in its frame, in bytes after the last one of the field.
const (
	atFixed   = 8  // length of the fixed fields, flags, largest packet, window
	atLargest = 14 // largest datagram
	atMap     = 22 // hash of the register map
	atHost    = 26 // nonce of the host
	atCredits = 38
	atUpdate  = 10 // credits of posted and non-posted packets in an update
)

// A Frame is a frame that has arrived complete, for the clock in which Valid is set. The
// other fields stay until the frame after it has six bytes.
//
//	Valid    a frame has arrived
//	Damaged  a piece has arrived that is no frame
//	Word     its check, exclusive or the CRC-32 of the bytes before it
//	Head     its first two bytes
//	Ack      of a data frame with an acknowledgement: the next number expected
//	Size     bytes before the check
//	Room     there was a slot for the packet of a data frame
//	Hello    the fields of a hello are in range, and the host takes the largest packet
//	Fits     the largest datagram of the host, in a hello, has room for the largest frame
//	SameMap  the hash of the register map in a hello is 0 or that of this board
//	Window   of a hello, at most MaxSlots
//	Largest  of a hello: bytes of the largest datagram, at most that of this board
//	Host     of a hello: its nonce
type Frame struct {
	Valid   bool
	Damaged bool
	Word    uint32
	Head    uint16
	Ack     uint16 `w:"12"`
	Size    uint8
	Room    bool
	Hello   bool
	Fits    bool
	SameMap bool
	Window  uint8 `w:"7"`
	Largest uint16
	Host    uint32
}

// A Packet is the oldest packet that was accepted.
//
//	There  there is one, and its next byte is Data
//	Size   its bytes in the frame; 0 if they are too many
//	Form   how its header is written, see docs/design.md "Link layers", Short headers
//	Data   the byte after those fetched
type Packet struct {
	There bool
	Size  uint8
	Form  uint8 `w:"2"`
	Data  uint8
}

// kept describes a packet in a slot.
type kept struct {
	size uint8
	form uint8 `w:"2"`
}

// Module checks frames and keeps packets.
//
//	In      in linkport.Piece; accept, the packet of the frame that Frame shows is kept,
//	        only if Room is set; fetch, the byte of the packet is taken, only if There is
//	        set; release, the packet is done with; flush, all packets are dropped
//	Out     Frame, Credits, Packet
//	Timing  Frame follows the end of a frame by a clock; a byte of a packet in every
//	        clock; There is set 2 clocks after accept or release
//	Reset   no frame, no packet
//	Order   that of the frames
//	Paths   none
//	Size    144 bytes a slot
//	Faults  a frame with fewer bytes than a head and a check, or with more than 250 before
//	        its check, is Damaged
//	Source  docs/design.md "Link layers"; bus/datalink
type Module struct {
	slots    uint8  // a power of two, at most MaxSlots
	datagram uint16 // bytes of the largest datagram; 0: a stream
	mapHash  uint32

	ram     hdl.RAM
	packets hdl.FIFO[kept]
	first   uint8 `w:"6"` // slot of the oldest packet
	fill    uint8 `w:"6"` // slot of the next one
	loaded  bool  // the output of the memory is the next byte of the oldest packet
	at      uint8 // place of that byte

	n    uint8 // bytes of the frame so far, or one more than the largest has
	last uint32
	crc  uint32
	size uint8 // bytes of the packet so far

	field uint64 // bytes of a control frame, the newest in the low bits
	fixed uint8  // length of the fixed fields of a hello
	frame Frame
}

// New returns a receiver after reset: it keeps slots packets, a power of two of at most
// MaxSlots. datagram is the largest datagram of the board in bytes, 0 of a stream; mapHash is
// the hash of its register map.
func New(slots int, datagram uint16, mapHash uint32) Module {
	hdl.Assert(slots >= 1 && slots <= MaxSlots && slots&(slots-1) == 0, "receive: the number of slots is not a power of two to 64")
	m := Module{
		slots: uint8(slots), datagram: datagram, mapHash: mapHash,
		ram: hdl.NewNarrowRAM(slots*linkport.MaxPacket, 8), packets: hdl.NewFIFO[kept](slots),
	}
	m.Reset()
	return m
}

// Reset drops all frames and packets.
func (m *Module) Reset() {
	m.packets.Reset()
	m.first, m.fill, m.loaded, m.at = 0, 0, false, 0
	m.n, m.last, m.crc, m.size, m.field, m.fixed = 0, 0, crc32.Init, 0, 0, 0
	m.frame = Frame{}
}

// Frame returns the frame that has arrived.
func (m *Module) Frame() Frame { return m.frame }

// Credits returns the credits in the hello or the update that Frame shows: four words of 16
// bits, posted headers and data, non-posted headers and data, from the top.
func (m *Module) Credits() uint64 { return m.field }

// Packet returns the oldest packet.
func (m *Module) Packet() Packet {
	k, _, _ := m.packets.Out()
	return Packet{There: m.loaded, Size: k.size, Form: k.form, Data: uint8(m.ram.Out())}
}

// Tick is one rising clock edge.
func (m *Module) Tick(in linkport.Piece, accept, fetch, release, flush bool) {
	room := !m.packets.Full()
	there := !m.packets.Empty()
	oldest := uint8(m.last >> 24)
	body := in.Valid && m.n >= checkBytes && m.n <= maxBody+checkBytes-1
	k := m.n - checkBytes
	packet := body && k >= 2 && m.frame.Head&Data != 0 && (k >= 4 || m.frame.Head&Acked == 0)
	writes := packet && m.frame.Room && m.size < linkport.MaxPacket
	to := linkport.Place(m.fill, m.size)

	m.keep(accept, fetch, release, flush, there, writes, to, oldest)
	m.end(in)
	if body {
		m.take(k, oldest, room)
	}
	if packet {
		m.size++
	}
	if in.Valid {
		m.crc = next(m.crc, oldest, body)
		m.last = m.last<<8 | uint32(in.Data)
		if m.n <= maxBody+checkBytes {
			m.n++
		}
	}
	if in.End || in.Damaged {
		m.n, m.crc, m.size = 0, crc32.Init, 0
	}
}

// next returns the CRC after a byte, if it belongs to the body.
func next(crc uint32, b uint8, body bool) uint32 {
	if body {
		return crc32.Byte(crc, b)
	}
	return crc
}

// end shows the frame that ends.
func (m *Module) end(in linkport.Piece) {
	good := m.n >= checkBytes+2 && m.n <= maxBody+checkBytes
	m.frame.Valid = in.End && good
	m.frame.Damaged = in.End && !good || in.Damaged
	if in.End {
		m.frame.Word, m.frame.Size = ^m.crc^m.last, m.n-checkBytes
		m.frame.Hello = m.frame.Hello && uint16(m.n) >= uint16(m.fixed)+2+checkBytes
	}
}

// keep moves packets in and out of the slots.
func (m *Module) keep(accept, fetch, release, flush, there, writes bool, to uint32, data uint8) {
	enable := uint8(0)
	if writes {
		enable = 1
	}
	load := there && !m.loaded && !release && !flush
	at := uint8(0)
	if !load {
		at = m.at + 1
	}
	hdl.Assert(!fetch || m.loaded, "receive: a fetch without a packet")
	oldest, _, _ := m.packets.Out()
	reads := load || fetch && at != oldest.size
	m.ram.Tick(reads, linkport.Place(m.first, at), enable, to, uint64(data))
	if load || fetch {
		m.at = at
	}
	if flush {
		m.packets.Reset()
	}
	m.packets.Tick(accept && !flush, kept{m.frame.packet(), uint8(m.frame.Head>>12) & 3}, release && !flush)
	m.loaded = (m.loaded || load) && !release && !flush
	if flush {
		m.first = m.fill
	} else if release {
		m.first = (m.first + 1) & (m.slots - 1) & 63
	}
	if accept && !flush {
		m.fill = (m.fill + 1) & (m.slots - 1) & 63
	}
}

// packet returns the bytes of the packet of a data frame, also 0, and 0 of one that is too
// large.
func (f Frame) packet() uint8 {
	head := uint8(2)
	if f.Head&Acked != 0 {
		head = 4
	}
	if f.Size < head || f.Size > head+linkport.MaxPacket {
		return 0
	}
	return f.Size - head
}
