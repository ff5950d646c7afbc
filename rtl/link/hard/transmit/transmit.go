// Package transmit is the transmitting half of the data link in RTL: the replay buffer,
// and the frames that are made of it.
package transmit

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// MaxSlots is the largest number of packets in the replay buffer.
const MaxSlots = 8

const slotBytes = 256

// shortCompletion is the form of a completion with data and a short header, in a head.
const shortCompletion = 3 << 12

// A Kind is the kind of frame of a Job.
type Kind uint8

// The kinds.
const (
	None    Kind = iota
	Control      // a head only
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
//	Word  exclusive or its CRC-32 is its check
type Job struct {
	Kind Kind
	Slot uint8 `w:"3"`
	Head uint16
	Ack  uint16 `w:"12"`
	Word uint32
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
	Slot  uint8 `w:"3"`
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
	Slot    uint8 `w:"3"`
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
	stateHead
	stateAck
	stateBody
	stateCheck
)

// Module keeps packets in the replay buffer and sends frames.
//
//	In      job Job, taken if Busy.Any is not set; write Write; nonces Nonces, taken if
//	        Set; ready, the byte for the framing is taken
//	Out     Busy; Offer, the nonces that were set; Byte, valid/ready
//	Timing  a byte in every clock, the first one a clock after the job
//	Reset   idle; the buffer keeps its bytes
//	Order   that of the jobs
//	Paths   none
//	Size    256 bytes a slot
//	Faults  none
//	Source  docs/design.md "Link layers"; bus/datalink
type Module struct {
	slots uint8 // a power of two, at most MaxSlots
	greet Greeting

	ram   hdl.RAM
	sizes [MaxSlots]uint8 // bytes of the packets
	short uint8           // bit i: the packet in slot i has a short header

	state state
	job   Job
	offer Nonces
	at    uint8 // place in the part
	crc   uint32
}

// New returns a transmitter after reset with a replay buffer of slots packets, 1, 2, 4 or 8.
func New(slots int, g Greeting) Module {
	hdl.Assert(slots >= 1 && slots <= MaxSlots && slots&(slots-1) == 0, "transmit: the number of slots is not 1, 2, 4 or 8")
	m := Module{slots: uint8(slots), greet: g, ram: hdl.NewNarrowRAM(slots*slotBytes, 8)}
	m.Reset()
	return m
}

// Reset ends the frame in work.
func (m *Module) Reset() {
	m.sizes, m.short, m.state, m.job, m.offer, m.at, m.crc = [MaxSlots]uint8{}, 0, stateIdle, Job{}, Nonces{}, 0, crc32.Init
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
	return linkport.Sent{Valid: m.state != stateIdle, Last: m.state == stateCheck && m.at == 3, Data: m.byte()}
}

// byte returns the byte at the present place.
func (m *Module) byte() uint8 {
	switch m.state {
	case stateHead:
		return half(m.job.Head, m.at)
	case stateAck:
		return half(m.job.Ack, m.at)
	case stateBody:
		if m.packets() {
			return uint8(m.ram.Out())
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
	takes := m.state != stateIdle && ready
	b := m.byte()
	m.buffer(write, takes)
	if nonces.Set {
		m.offer = nonces
	}
	if m.state == stateIdle {
		if job.Kind != None {
			m.job, m.state, m.at, m.crc = job, stateHead, 0, crc32.Init
			if m.packets() && m.short>>job.Slot&1 != 0 {
				m.job.Head = job.Head | shortCompletion
			}
		}
	} else if takes {
		if m.state == stateCheck {
			m.crc, m.job.Word = m.crc<<8, m.job.Word<<8
		} else {
			m.crc = crc32.Byte(m.crc, b)
		}
		m.step()
	}
}

// step moves to the next byte.
func (m *Module) step() {
	last := m.at == 1
	following := stateCheck
	switch m.state {
	case stateHead:
		if m.job.Kind == Acked {
			following = stateAck
		} else if m.job.Kind != Control {
			following = stateBody
		}
	case stateAck:
		following = stateBody
	case stateBody:
		size := uint8(helloBytes)
		if m.packets() {
			size = m.sizes[m.job.Slot]
		}
		last = m.at+1 == size
	default:
		last = m.at == 3
		following = stateIdle
	}
	m.at++
	if last {
		m.state, m.at = following, 0
	}
}

// buffer writes a byte of a packet, and reads the next one to send.
func (m *Module) buffer(write Write, takes bool) {
	at := uint8(0)
	if m.state == stateBody {
		at = m.at + 1
	}
	enable := uint8(0)
	if write.Valid {
		enable = 1
	}
	slots := m.slots - 1
	m.ram.Tick(takes && m.packets(), uint32(m.job.Slot&slots)<<8|uint32(at), enable, uint32(write.Slot&slots)<<8|uint32(write.At), uint64(write.Data))
	if write.Done {
		m.sizes[write.Slot&7] = write.At
		m.short &^= 1 << write.Slot
		if write.Short {
			m.short |= 1 << write.Slot
		}
	}
}
