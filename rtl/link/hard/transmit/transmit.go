// Package transmit is the transmitting half of the data link in RTL: the replay buffer,
// and the frames that are made of it.
package transmit

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// MaxSlots is the largest number of packets in the replay buffer.
const MaxSlots = 64

// shortCompletion is the form of a completion with data and a short header, in a head.
const shortCompletion = 3 << 12

// A Kind is the kind of frame of a Job.
type Kind uint8

// The kinds.
const (
	None    Kind = iota
	Control      // a head only
	Nak          // a head and marks
	Welcome      // a head and a hello
	Data         // a head and a packet
	Acked        // a head, an acknowledgement and a packet
)

// A Job is a frame to send.
//
//	Kind  of frame
//	Head  its first two bytes
//	Ack   the next number expected, for Acked
//	Slot  of its packet, for Data and Acked
//	Marks for Nak: its body, the first byte in the low bits
//	Size  for Nak: bytes of the body, 0 to 8
//	Word  exclusive or its CRC-32 is its check
type Job struct {
	Kind  Kind
	Slot  uint8 `w:"6"`
	Head  uint16
	Ack   uint16 `w:"12"`
	Word  uint32
	Size  uint8 `w:"4"`
	Marks uint64
}

// Nonces are those of a Welcome.
type Nonces struct {
	Set   bool
	Host  uint32
	Board uint32
}

// A Write is a byte of a packet for the replay buffer.
//
//	Valid  there is a byte
//	Done   the packet in the slot is complete; At is its size
//	Short  it has a short header of a completion with data
//	Slot   of the packet
//	At     place of the byte
//	Data   the byte
type Write struct {
	Valid bool
	Done  bool
	Short bool
	Slot  uint8 `w:"6"`
	At    uint8
	Data  uint8
}

// Busy reports what is sent.
//
//	Any      a frame; no Job is taken
//	Welcome  a Welcome: the nonces must not change
//	Packet   a packet from the slot: it must not change
type Busy struct {
	Any     bool
	Welcome bool
	Packet  bool
	Slot    uint8 `w:"6"`
}

// A Greeting has the fields of a Welcome that never change.
//
//	MaxPacket  bytes of the largest packet
//	Window     frames in flight
//	Datagram   bytes of the largest datagram; 0 of a stream of bytes
//	AckMicros  longest delay of an acknowledgement, in microseconds
//	MapHash    hash of the register map
type Greeting struct {
	MaxPacket uint16
	Window    uint8
	Datagram  uint16
	AckMicros uint32
	MapHash   uint32
}

// A state is the part of the frame that is sent.
type state uint8

const (
	stateIdle state = iota
	stateLoad       // the size of the packet is read
	stateHead
	stateAck
	stateBody
	stateCheck
)

// Module keeps packets in the replay buffer and sends frames.
//
//	In      job Job, taken if Busy.Any is not set; write Write, not of the slot of Busy;
//	        nonces Nonces, taken if Set; ready, the byte for the framing is taken
//	Out     Busy; Offer, the nonces that were set; Byte, valid/ready
//	Timing  a byte in every clock, the first one 2 clocks after the job
//	Reset   idle; the buffer keeps its bytes
//	Order   that of the jobs
//	Paths   none
//	Size    146 bytes a slot
//	Faults  none
//	Source  docs/design.md "Link layers"; bus/datalink
type Module struct {
	greet Greeting

	ram   hdl.RAM
	sizes hdl.RAM // of the packets: bytes, shortBit

	state state
	job   Job
	offer Nonces
	at    uint8 // place in the part
	crc   uint32
}

// shortBit is set in the size of a packet with a short header.
const shortBit = 1 << 8

// New returns a transmitter after reset with a replay buffer of slots packets, 1 to MaxSlots.
func New(slots int, g Greeting) Module {
	hdl.Assert(slots >= 1 && slots <= MaxSlots, "transmit: the number of slots is not 1 to 64")
	m := Module{greet: g, ram: hdl.NewNarrowRAM(slots*linkport.MaxPacket, 8), sizes: hdl.NewNarrowRAM(MaxSlots, 16)}
	m.Reset()
	return m
}

// Reset ends the frame in work.
func (m *Module) Reset() {
	m.state, m.job, m.offer, m.at, m.crc = stateIdle, Job{}, Nonces{}, 0, crc32.Init
}

// Busy returns what is sent.
func (m *Module) Busy() Busy {
	any := m.state != stateIdle
	return Busy{Any: any, Welcome: any && m.job.Kind == Welcome, Packet: any && m.packets(), Slot: m.job.Slot}
}

// Offer returns the nonces that were set.
func (m *Module) Offer() Nonces { return m.offer }

// packets reports whether the frame has a packet.
func (m *Module) packets() bool { return m.job.Kind == Data || m.job.Kind == Acked }

// Byte returns a byte for the framing.
func (m *Module) Byte() linkport.Sent {
	begun := m.state != stateIdle && m.state != stateLoad
	return linkport.Sent{Valid: begun, Last: m.state == stateCheck && m.at == 3, Size: m.frame(), Data: m.byte()}
}

// body returns the bytes of the packet or of the hello.
func (m *Module) body() uint8 {
	switch m.job.Kind {
	case Welcome:
		return helloBytes
	case Nak:
		return m.job.Size
	case Data, Acked:
		return uint8(m.sizes.Out())
	default:
		return 0
	}
}

// frame returns the bytes of the frame.
func (m *Module) frame() uint8 {
	if m.job.Kind == Acked {
		return m.body() + 8
	}
	return m.body() + 6
}

// head returns the head of the frame.
func (m *Module) head() uint16 {
	if m.packets() && m.sizes.Out()&shortBit != 0 {
		return m.job.Head | shortCompletion
	}
	return m.job.Head
}

// byte returns the byte at the present place.
func (m *Module) byte() uint8 {
	switch m.state {
	case stateHead:
		return half(m.head(), m.at)
	case stateAck:
		return half(m.job.Ack, m.at)
	case stateBody:
		if m.packets() {
			return uint8(m.ram.Out())
		} else if m.job.Kind == Nak {
			return uint8(m.job.Marks)
		}
		return m.hello()
	default:
		return ^uint8(m.crc>>24) ^ uint8(m.job.Word>>24)
	}
}

// half returns the upper byte of a word at place 0, the lower one at any other.
func half(v uint16, at uint8) uint8 {
	if at == 0 {
		return uint8(v >> 8)
	}
	return uint8(v)
}

// Tick is one rising clock edge.
func (m *Module) Tick(job Job, write Write, nonces Nonces, ready bool) {
	hdl.Assert(!(write.Valid || write.Done) || !m.Busy().Packet || write.Slot != m.job.Slot, "transmit: a packet changes while it is sent")
	takes := m.state != stateIdle && m.state != stateLoad && ready
	b, last := m.byte(), m.last()
	m.buffer(write, takes && !(last && m.state == stateBody))
	if nonces.Set {
		m.offer = nonces
	}
	if m.state == stateIdle {
		if job.Kind != None {
			m.job, m.state, m.at, m.crc = job, stateLoad, 0, crc32.Init
		}
	} else if m.state == stateLoad {
		m.state = stateHead
	} else if takes {
		if m.state == stateCheck {
			m.crc, m.job.Word = m.crc<<8, m.job.Word<<8
		} else {
			m.crc = crc32.Byte(m.crc, b)
		}
		if m.state == stateBody {
			m.job.Marks >>= 8
		}
		m.step(last)
	}
}

// last reports whether the present byte is the last one of its part.
func (m *Module) last() bool {
	switch m.state {
	case stateBody:
		return m.at+1 == m.body()
	case stateCheck:
		return m.at == 3
	default:
		return m.at == 1
	}
}

// step moves to the next byte. last reports whether another part follows.
func (m *Module) step(last bool) {
	following := stateCheck
	switch m.state {
	case stateHead:
		if m.job.Kind == Acked {
			following = stateAck
		} else if m.job.Kind != Control && (m.job.Kind != Nak || m.job.Size != 0) {
			following = stateBody
		}
	case stateAck:
		following = stateBody
	case stateBody:
	default:
		following = stateIdle
	}
	m.at++
	if last {
		m.state, m.at = following, 0
	}
}

// buffer writes a byte of a packet, and reads the next one to send. The size of the packet in
// work is read a clock after its job: it may be written in the clock of the job.
func (m *Module) buffer(write Write, reads bool) {
	at := uint8(0)
	if m.state == stateBody {
		at = m.at + 1
	}
	enable := uint8(0)
	if write.Valid {
		enable = 1
	}
	m.ram.Tick(reads && m.packets(), linkport.Place(m.job.Slot, at), enable, linkport.Place(write.Slot, write.At), uint64(write.Data))
	size, sets := uint16(write.At), uint8(0)
	if write.Short {
		size |= shortBit
	}
	if write.Done {
		sets = 3
	}
	m.sizes.Tick(m.state == stateLoad && m.packets(), uint32(m.job.Slot), sets, uint32(write.Slot), uint64(size))
}
