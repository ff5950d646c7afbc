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
	maskNumber = 0xfff
	checkBytes = 4
	maxBody    = 250 // bytes of the largest frame before its check
)

// Bits of the head of a frame.
const (
	Data  = 1 << 15 // of a data frame
	Acked = 1 << 14 // of a data frame: an acknowledgement follows
)

// Types of control frames with a body of other than 12 bytes, as the upper four bits of the
// head.
const (
	typeNak   = 1
	typeHello = 5
)

// Place of fields of a hello in its frame, in bytes after the last one of the field.
const (
	atFixed   = 8  // length of the fixed fields, flags, largest packet, window
	atKept    = 10 // frames kept out of order
	atLargest = 14 // largest datagram
	atMap     = 22 // hash of the register map
	atHost    = 26 // nonce of the host
	atCredits = 38
	atUpdate  = 10 // credits of posted and non-posted packets in an update, or the marks of a Nak
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
//	Room     of a data frame: its packet is not there, and there is a slot for it
//	Again    its packet is there
//	Top      of a Nak: the number after its own of the last frame that has arrived, 0 if none has
//	Keeps    of a hello: the host keeps frames out of order
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
	Again   bool
	Top     uint8 `w:"7"`
	Keeps   bool
	Hello   bool
	Fits    bool
	SameMap bool
	Window  uint8 `w:"7"`
	Largest uint16
	Host    uint32
}

// A Packet is the oldest packet, if it was accepted.
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

// Kept is which packets are in their slots.
//
//	Next  number of the oldest packet that is not done with
//	Here  bit i: the packet i after it is in its slot
type Kept struct {
	Next uint16 `w:"12"`
	Here uint64
}

// Holds reports whether the oldest packet is missing, and one after it is not.
func (k Kept) Holds() bool { return k.Here&1 == 0 && k.Marks() != 0 }

// Marks returns the marks of a Nak: bit i, the packet i+1 after the oldest is there.
func (k Kept) Marks() uint64 { return k.Here >> 1 }

// Module checks frames and keeps packets, also those after a missing one. The slot of a packet
// is that of the lower bits of its number.
//
//	In      in linkport.Piece; accept, the packet of the frame that Frame shows is kept,
//	        only if Room is set; fetch, the byte of the packet is taken, only if There is
//	        set; release, the packet is done with; flush, all packets are dropped, and the
//	        next number is 0
//	Out     Frame, Field, Packet, Kept
//	Timing  Frame follows the end of a frame by a clock; a byte of a packet in every
//	        clock; There is set 2 clocks after accept or release
//	Reset   no frame, no packet
//	Order   that of the numbers of the frames
//	Paths   none
//	Size    144 bytes a slot
//	Faults  a frame with fewer bytes than a head and a check, or with more than 250 before
//	        its check, is Damaged
//	Source  docs/design.md "Link layers"; bus/datalink
type Module struct {
	slots    uint8  // a power of two, at most MaxSlots
	datagram uint16 // bytes of the largest datagram; 0: a stream
	mapHash  uint32

	ram    hdl.RAM
	sizes  hdl.RAM // of the packets: bytes, and the form from bit 8 on
	next   uint16  `w:"12"` // number of the oldest packet that is not done with
	here   uint64  // bit i: the packet i after it is in its slot
	loaded bool    // the outputs of the memories are the next byte of the oldest packet and its size
	at     uint8   // place of that byte

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
		ram: hdl.NewNarrowRAM(slots*linkport.MaxPacket, 8), sizes: hdl.NewNarrowRAM(MaxSlots, 16),
	}
	m.Reset()
	return m
}

// Reset drops all frames and packets.
func (m *Module) Reset() {
	m.next, m.here, m.loaded, m.at = 0, 0, false, 0
	m.n, m.last, m.crc, m.size, m.field, m.fixed = 0, 0, crc32.Init, 0, 0, 0
	m.frame = Frame{}
}

// Frame returns the frame that has arrived.
func (m *Module) Frame() Frame { return m.frame }

// Field returns a field of the control frame that Frame shows. Of a hello and of an update
// these are the credits: four words of 16 bits, posted headers and data, non-posted headers
// and data, from the top. Of a Nak these are its marks, the last byte in the low bits.
func (m *Module) Field() uint64 { return m.field }

// Packet returns the oldest packet.
func (m *Module) Packet() Packet {
	k := m.sizes.Out()
	return Packet{There: m.loaded, Size: uint8(k), Form: uint8(k>>8) & 3, Data: uint8(m.ram.Out())}
}

// Kept returns which packets are in their slots.
func (m *Module) Kept() Kept { return Kept{m.next, m.here} }

// ahead returns the number in a head, from that of the oldest packet.
func (m *Module) ahead(head uint16) uint16 { return (head - m.next) & maskNumber }

// slot returns the slot of a packet.
func (m *Module) slot(number uint16) uint8 { return uint8(number) & (m.slots - 1) & 63 }

// Tick is one rising clock edge.
func (m *Module) Tick(in linkport.Piece, accept, fetch, release, flush bool) {
	oldest := uint8(m.last >> 24)
	body := in.Valid && m.n >= checkBytes && m.n <= maxBody+checkBytes-1
	k := m.n - checkBytes
	packet := body && k >= 2 && m.frame.Head&Data != 0 && (k >= 4 || m.frame.Head&Acked == 0)
	writes := packet && m.frame.Room && m.size < linkport.MaxPacket
	to := linkport.Place(m.slot(m.frame.Head), m.size)

	m.keep(accept, fetch, release, flush, writes, to, oldest)
	m.end(in)
	if body {
		m.take(k, oldest)
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
func (m *Module) keep(accept, fetch, release, flush, writes bool, to uint32, data uint8) {
	enable := uint8(0)
	if writes {
		enable = 1
	}
	load := m.here&1 != 0 && !m.loaded && !release && !flush
	at := uint8(0)
	if !load {
		at = m.at + 1
	}
	hdl.Assert(!fetch || m.loaded, "receive: a fetch without a packet")
	reads := load || fetch && at != uint8(m.sizes.Out())
	first := m.slot(m.next)
	m.ram.Tick(reads, linkport.Place(first, at), enable, to, uint64(data))
	m.describe(load, first, accept)
	if load || fetch {
		m.at = at
	}
	m.loaded = (m.loaded || load) && !release && !flush
	if release {
		m.next, m.here = (m.next+1)&maskNumber, m.here>>1
	}
	if ahead := m.ahead(m.frame.Head); accept && ahead < MaxSlots {
		m.here |= 1 << (ahead & 63)
	}
	if flush {
		m.next, m.here = 0, 0
	}
}

// describe reads the size and the form of the oldest packet, and keeps those of one that is
// accepted.
func (m *Module) describe(load bool, first uint8, accept bool) {
	sets := uint8(0)
	if accept {
		sets = 3
	}
	what := uint16(m.frame.Head>>12&3)<<8 | uint16(m.frame.packet())
	m.sizes.Tick(load, uint32(first), sets, uint32(m.slot(m.frame.Head)), uint64(what))
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
