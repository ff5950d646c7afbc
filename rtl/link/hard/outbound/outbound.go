// Package outbound is the transaction layer in RTL for packets to the host: requests of the
// GPU, and completions of the host's requests.
package outbound

import (
	"github.com/hilgpu/hilgpu/rtl/link/hard/inbound"
	"github.com/hilgpu/hilgpu/rtl/link/hard/transmit"
)

// A state of the packet in work.
type state uint8

const (
	stateIdle    state = iota // picks what the next packet is made of
	stateRequest              // takes the header of a request
	stateTake                 // takes a completion whose data is not sent
	stateHead                 // writes the header
	stateData                 // writes data
	statePatch                // writes the enables of a write, which its last beat tells
	stateDone                 // the packet is complete
)

// A source of the data of a packet.
type source uint8

const (
	sourceNone source = iota
	sourceBeats
	sourceCompletions
	sourceZeros
)

// Room reports what may be sent.
//
//	Slot   the slot of the next packet is free
//	Write  the host has credits for the longest write
//	Read   the host has credits for a read
//	Live   a session is up; if not, all is taken from the GPU and dropped
//	Waits  a session begins when nothing is in work: no request is taken
//	ID     bus, device and function
//	Epoch  upper two bits of the tag of a read
type Room struct {
	Slot  bool
	Write bool
	Read  bool
	Live  bool
	Waits bool
	Epoch uint8 `w:"2"`
	ID    uint16
}

// Sent tells that a packet is complete.
//
//	Valid  there is one
//	Write  it is a write, of Units units of credit for data; Read, it is a read
type Sent struct {
	Valid bool
	Write bool
	Read  bool
	Units uint8 `w:"4"`
}

// Module turns what the GPU offers into packets in the replay buffer.
//
//	In      gpu linkport.GPU; answer inbound.Answer, a pulse, only if Free is set; room Room
//	Out     Takes, for the GPU; Write, for the replay buffer; Issue, a read was taken;
//	        Sent, a pulse; Free, no completion for the host is wanted; Failed, the last one
//	        was a failure; Idle, nothing is in work
//	Timing  a byte in every clock, and 4 clocks of overhead
//	Reset   nothing in work
//	Order   a completion and a write of the GPU are sent in the order in which they appear,
//	        in the same clock the write first (PCIe 3.0 §2.4.1). What cannot be sent for
//	        want of credits of its class does not hold up other classes, but a write
//	        holds up a completion that appeared after it
//	Paths   none
//	Size    none
//	Faults  none
//	Source  PCIe 3.0 §2; bus/endpoint
type Module struct {
	state  state
	pend   inbound.Answer // wanted
	failed bool
	older  bool // the completion that the GPU offers appeared before its write
	keeps  bool // the session in which the packet was begun is still up

	kind   uint8 // first byte of the packet
	source source
	wide   bool // the header has 16 bytes
	reads  bool // a read, to be issued
	issued bool
	len    uint8 `w:"6"` // dwords of the GPU's request
	tag    uint8 `w:"6"`
	epoch  uint8 `w:"2"`
	addr   uint64
	id     uint16 // bus, device and function
	status uint8  `w:"3"`

	k     uint8 `w:"4"` // byte of the header
	at    uint8 // place of the next byte
	left  uint8 // bytes of data left
	have  uint8 `w:"4"` // bytes of the beat left
	begun bool  // a beat was taken
	beat  uint64
	first uint8 `w:"4"` // enables of the first dword
	last  uint8 `w:"4"`
}

// New returns the module after reset.
func New() Module {
	var m Module
	m.Reset()
	return m
}

// Reset drops the packet in work. The GPU is reset too.
func (m *Module) Reset() { *m = Module{} }

// Free reports whether no completion for the host is wanted.
func (m *Module) Free() bool { return m.pend.Wish == inbound.Nothing }

// Failed reports whether the last completion for the host was a failure.
func (m *Module) Failed() bool { return m.failed }

// Idle reports whether nothing is in work, and no read is issued in this clock.
func (m *Module) Idle() bool { return m.state == stateIdle && m.Free() && !m.issued }

// wants reports whether a beat is taken in this clock if there is one.
func (m *Module) wants() bool { return m.state == stateData && m.have <= 1 && m.left > m.have }

// Takes reports which outputs of the GPU are taken in this clock.
func (m *Module) Takes() (cpl, req, beat bool) {
	cpl = m.state == stateTake || m.wants() && m.source == sourceCompletions
	return cpl, m.state == stateRequest, m.wants() && m.source == sourceBeats
}

// Issue returns a read that was taken, for one clock.
func (m *Module) Issue() inbound.Issue {
	return inbound.Issue{Valid: m.issued, Epoch: m.epoch, Tag: m.tag, Len: m.len, Lower: uint8(m.addr>>2) & 31}
}

// Sent tells that a packet is complete, for one clock.
func (m *Module) Sent() Sent {
	wide := uint8(0)
	if m.wide {
		wide = 1
	}
	return Sent{
		Valid: m.state == stateDone && m.keeps, Write: m.source == sourceBeats, Read: m.reads,
		Units: (m.len + 2 + wide) >> 2 & 15, // of 16 bytes, beyond the first 16 of the packet
	}
}

// Write returns a byte of the packet for the replay buffer, in the slot 0.
func (m *Module) Write() transmit.Write {
	w := transmit.Write{At: m.at, Done: m.state == stateDone && m.keeps, Short: m.kind == typeCplD}
	switch m.state {
	case stateHead:
		w.Valid, w.Data = m.present(), m.head()
	case stateData:
		w.Valid, w.Data = m.have != 0, uint8(m.beat)
	case statePatch:
		w.Valid, w.At, w.Data = true, atEnables, m.enables()
	default:
	}
	w.Valid = w.Valid && m.keeps
	return w
}

// atEnables is the place of the enables in the header of a request.
const atEnables = 7

// enables returns the enables of a request.
func (m *Module) enables() uint8 {
	if m.len == 1 {
		return m.first
	}
	return m.last<<4 | m.first
}

// head returns the byte of the header at the present place.
func (m *Module) head() uint8 {
	p := m.pend
	if m.kind&typeCpl == typeCpl {
		switch m.k {
		case 0:
			if m.kind == typeCplD {
				return m.groups()
			}
		case 1:
			return p.Class
		case 2:
			return p.Attr
		case 3:
			return m.left >> 2
		case 6:
			return m.status<<5 | uint8(p.Bytes>>8)
		case 7:
			return uint8(p.Bytes)
		case 8:
			return uint8(p.Requester >> 8)
		case 9:
			return uint8(p.Requester)
		case 10:
			return p.Tag
		case 11:
			return p.Lower
		default:
		}
	} else {
		switch m.k {
		case 1, 2:
			return 0
		case 3:
			return m.len
		case 6:
			return m.epoch<<6 | m.tag
		case atEnables:
			return m.enables()
		default:
		}
	}
	return m.address()
}

// groups returns the first byte of a short header of a completion with data: the groups that
// differ from the template, see docs/design.md "Link layers".
func (m *Module) groups() uint8 {
	p := m.pend
	return bit(p.Class != 0 || p.Attr != 0 || m.left != 4, 0) | bit(m.id != 1<<8, 1) |
		bit(m.status != 0 || p.Bytes>>8 != 0, 2) | bit(uint8(p.Bytes) != 4, 3) |
		bit(p.Requester>>8 != 0, 4) | bit(uint8(p.Requester) != 0, 5) | bit(p.Tag != 0, 6) | bit(p.Lower != 0, 7)
}

// bit returns a byte with the given bit.
func bit(on bool, n uint8) uint8 {
	if on {
		return 1 << n
	}
	return 0
}

// present reports whether the byte of the header is written.
func (m *Module) present() bool {
	g := m.groups()
	switch m.k {
	case 0:
		g = 1
	case 1, 2, 3:
	case 4, 5:
		g >>= 1
	default:
		g >>= m.k - 4
	}
	return m.kind != typeCplD || g&1 != 0
}

// address returns a byte of the address of a request, and the bytes that all packets have.
func (m *Module) address() uint8 {
	at := m.k
	if !m.wide && at >= 8 {
		at += 4
	}
	switch at {
	case 0:
		return m.kind
	case 4:
		return uint8(m.id >> 8)
	case 5:
		return uint8(m.id)
	case 8:
		return uint8(m.addr >> 56)
	case 9:
		return uint8(m.addr >> 48)
	case 10:
		return uint8(m.addr >> 40)
	case 11:
		return uint8(m.addr >> 32)
	case 12:
		return uint8(m.addr >> 24)
	case 13:
		return uint8(m.addr >> 16)
	case 14:
		return uint8(m.addr >> 8)
	default:
		return uint8(m.addr)
	}
}
