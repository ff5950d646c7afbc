package dlink

import (
	"github.com/hilgpu/hilgpu/rtl/link/hard/outbound"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
	"github.com/hilgpu/hilgpu/rtl/link/hard/transmit"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// A clock is the timers of a link.
type clock struct {
	now     uint32 // clocks
	left    uint32 `w:"20"` // clocks until the next tick
	silence uint16 // ticks since a frame of the session
	rest    uint8  // ticks until the next unit of Replay and Nak
	age     uint16 // ticks since reads of the GPU were checked
	expires bool   // they are, in this clock
}

// A sender is the numbers of the frames in flight. Packets are in the slots of the replay
// buffer in their order, and after the last slot the first one follows.
type sender struct {
	first  uint16 `w:"12"` // number of the oldest one
	slot   uint8  `w:"6"`  // of the oldest one
	flying uint8  `w:"7"`  // packets in the replay buffer
	sent   uint8  `w:"7"`  // of them, those sent since the last replay began
	flown  uint8  `w:"7"`  // those sent at least once
	window uint8  `w:"7"`  // packets that may be there
	since  uint8  // units of Replay since the oldest one was sent
	rest   uint8  `w:"2"` // ticks until a Nak is heeded again
	tries  uint8  // replays since an acknowledgement
}

// restTicks is the time after the beginning of a replay in which Naks are not heeded: one
// tick and a part of another one.
const restTicks = 2

// after returns the slot of the packet that follows the oldest one by k, at most the slots.
func (s *sender) after(k, slots uint8) uint8 {
	n := s.slot + k
	if n >= slots {
		n -= slots
	}
	return n & 63
}

// number returns the number of the next frame to send.
func (s *sender) number() uint16 { return (s.first + uint16(s.sent)) & maskNumber }

// room reports whether the slot of the next packet is free.
func (s *sender) room(busy transmit.Busy, next uint8) bool {
	return s.flying < s.window && !(busy.Packet && busy.Slot == next)
}

// mostUnacked is how many packets at most wait for an acknowledgement together. The host
// sends the next ones meanwhile.
const mostUnacked = 8

// An acknowledger is what the host is owed.
type acknowledger struct {
	expected uint16 `w:"12"` // number of the next data frame
	next     uint16 `w:"12"` // number of the next packet to be done with
	unacked  uint8  `w:"4"`  // packets done with since an acknowledgement
	every    uint8  `w:"4"`  // of them, those that do not wait
	now      bool   // an acknowledgement does not wait
	waits    uint8  // ticks that it waits
	nak      bool   // a Nak is due
	pong     bool   // a Pong is
	ping     bool   // a Ping is
	quiet    uint8  // units of Nak until the next Nak
}

// waiting reports whether an acknowledgement is due now or later.
func (a *acknowledger) waiting() bool { return a.unacked != 0 || a.now }

// due reports whether an acknowledgement is due. every is that of the board.
func (a *acknowledger) due(every, ticks uint8) bool {
	return a.now || a.unacked >= min(a.every, every) && a.unacked != 0 || a.unacked != 0 && a.waits >= ticks
}

// acknowledged counts an acknowledgement that is sent.
func (a *acknowledger) acknowledged() { a.unacked, a.now, a.waits = 0, false, 0 }

// consumed counts a packet that is done with.
func (a *acknowledger) consumed() {
	a.next = (a.next + 1) & maskNumber
	a.unacked = min(a.unacked+1, 15) & 15
}

// frame takes a frame of the session. It reports whether its packet is accepted.
func (m *Module) frame(f receive.Frame, grants uint64) (accept bool) {
	m.time.silence = 0
	if f.Head&headData != 0 {
		return m.dataFrame(f)
	}
	kind, low := f.Head&maskType, f.Head&maskNumber
	if kind == headDown {
		m.closed(low)
		return false
	}
	if kind == headHello || kind == headWelcome {
		m.status.Refused = true
		return false
	}
	known := m.acked(low)
	switch kind {
	case headNak:
		// A replay that has just begun answers this one too.
		if known && m.send.rest == 0 {
			m.send.sent, m.send.rest = 0, restTicks
		}
	case headCredit:
		if f.Size == creditSize {
			m.credit.raise(grants)
		}
	case headPing:
		m.ack.pong = true
	default:
	}
	return false
}

// closed ends the session for a Down of the host.
func (m *Module) closed(cause uint16) {
	switch cause {
	case 2:
		m.end(linkport.Replay)
	case 3:
		m.end(linkport.Dead)
	case 4:
		m.end(linkport.Protocol)
	default:
		m.end(linkport.Closed)
	}
}

// dataFrame takes a data frame.
func (m *Module) dataFrame(f receive.Frame) (accept bool) {
	if f.Head&headAcked != 0 {
		m.acked(f.Ack)
	}
	ahead := (f.Head - m.ack.expected) & maskNumber
	switch {
	case ahead > maskNumber/2:
		m.ack.now = true
		m.status.Refused = true
	case ahead != 0 || !f.Room:
		m.damaged()
	default:
		m.ack.expected = (m.ack.expected + 1) & maskNumber
		m.ack.quiet, m.ack.nak = 0, false
		accept = true
	}
	return accept
}

// acked takes a cumulative acknowledgement: low is the first frame that has not arrived. It
// reports whether it is possible.
func (m *Module) acked(low uint16) bool {
	n := (low - m.send.first) & maskNumber
	if n > uint16(m.send.flown) {
		return false
	}
	if n == 0 {
		return true
	}
	k := uint8(n) & 127
	m.send.first, m.send.slot = low&maskNumber, m.send.after(k, m.slots)
	m.send.flying, m.send.flown = (m.send.flying-k)&127, (m.send.flown-k)&127
	if m.send.sent > k {
		m.send.sent = (m.send.sent - k) & 127
	} else {
		m.send.sent = 0
	}
	m.send.since, m.send.tries = 0, 0
	return true
}

// passTime counts clocks and ticks.
func (m *Module) passTime(slow uint8) {
	m.time.now++
	m.time.expires = false
	if m.time.left != 0 {
		m.time.left = (m.time.left - 1) & 0xfffff
		return
	}
	m.time.left = (m.cfg.TickClocks - 1) & 0xfffff
	m.time.age++
	if m.time.age == m.cfg.Expiry {
		m.time.age, m.time.expires = 0, true
	}
	if m.status.Up {
		m.tick(slow)
	}
}

// tick does what is due after a tick of a session.
func (m *Module) tick(slow uint8) {
	m.time.silence++
	unit := m.time.rest == 0
	if unit {
		m.time.rest = slow
	} else {
		m.time.rest--
	}
	if m.ack.quiet != 0 && unit {
		m.ack.quiet--
	}
	if m.ack.waiting() {
		m.ack.waits = min(m.ack.waits, 254) + 1
	}
	if m.time.silence&(m.cfg.Ping-1) == 0 {
		m.ack.ping = true
	}
	if m.send.flown != 0 && unit {
		m.send.since++
	}
	if m.send.rest != 0 {
		m.send.rest = (m.send.rest - 1) & 3
	}
	if m.send.since == m.cfg.Replay {
		m.send.since, m.send.sent, m.send.rest = 0, 0, restTicks
		m.send.tries++
	}
	if m.time.silence == m.cfg.Dead {
		m.session.down = linkport.Dead
	} else if m.send.tries == m.cfg.Limit {
		m.session.down = linkport.Replay
	}
}

// credits are those of the host: all it has granted, and all that packets took. A first
// grant of 0 is infinite.
type credits struct {
	limit  [3]uint16 // posted headers and data, non-posted headers
	used   [3]uint16
	finite uint8 `w:"3"` // bit i: the grant i was not 0
}

// begin takes the first grant: three words, the first one in bits 47..32.
func (c *credits) begin(grants uint64) {
	c.finite = 0
	for i := range 3 {
		c.limit[i], c.used[i] = uint16(grants>>(32-16*i)), 0
		if c.limit[i] != 0 {
			c.finite |= 1 << i
		}
	}
}

// raise takes an update. One whose counters go backwards was overtaken.
func (c *credits) raise(grants uint64) {
	for i := range 3 {
		v := uint16(grants >> (32 - 16*i))
		if v-c.limit[i] < 1<<15 {
			c.limit[i] = v
		}
	}
}

// longest is the units of data of the longest write.
const longest = (linkport.MaxPacket - 16) / 16

// write reports whether the host has room for the longest write.
func (c *credits) write() bool {
	return (c.finite&1 == 0 || c.limit[0] != c.used[0]) && (c.finite&2 == 0 || c.limit[1]-c.used[1] >= longest)
}

// read reports whether the host has room for a read.
func (c *credits) read() bool { return c.finite&4 == 0 || c.limit[2] != c.used[2] }

// take counts a packet that is sent.
func (c *credits) take(s outbound.Sent) {
	if s.Write {
		c.used[0]++
		c.used[1] += uint16(s.Units)
	}
	if s.Read {
		c.used[2]++
	}
}
