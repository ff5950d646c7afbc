package dlink

import (
	"github.com/hilgpu/hilgpu/rtl/link/hard/outbound"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
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

// mostUnacked is how many packets at most wait for an acknowledgement together. The host
// sends the next ones meanwhile.
const mostUnacked = 8

// An acknowledger is what the host is owed.
type acknowledger struct {
	newest  uint16 `w:"12"` // number after that of the newest data frame
	unacked uint8  `w:"4"`  // packets done with since an acknowledgement
	every   uint8  `w:"4"`  // of them, those that do not wait
	now     bool   // an acknowledgement does not wait
	waits   uint8  // ticks that it waits
	nak     bool   // a Nak is due
	pong    bool   // a Pong is
	ping    bool   // a Ping is
	quiet   uint8  // units of Nak until the next Nak
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
func (a *acknowledger) consumed() { a.unacked = min(a.unacked+1, 15) & 15 }

// frame takes a frame of the session. It reports whether its packet is accepted.
func (m *Module) frame(f receive.Frame, kept receive.Kept, field uint64) (accept bool) {
	m.time.silence = 0
	if f.Head&headData != 0 {
		return m.dataFrame(f, kept)
	}
	kind, low := f.Head&maskType, f.Head&maskNumber
	if kind == headDown {
		m.closed(low)
		return false
	}
	long := kind == headNak && f.Size > 2+(m.send.window+7)>>3
	if kind == headHello || kind == headWelcome || long {
		m.status.Refused = true
		return false
	}
	known := m.acked(low)
	switch kind {
	case headNak:
		if known {
			m.send.missing(field, f.Size-2, f.Top)
		}
	case headCredit:
		if f.Size == creditSize {
			m.credit.raise(field >> 16)
		}
	case headPing:
		m.ack.pong = true
		m.ack.nak = m.ack.nak || kept.Holds()
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
func (m *Module) dataFrame(f receive.Frame, kept receive.Kept) (accept bool) {
	if f.Head&headAcked != 0 {
		m.acked(f.Ack)
	}
	ahead := (f.Head - kept.Next) & maskNumber
	switch {
	case ahead > maskNumber/2:
		m.ack.now = true
		m.status.Refused = true
	case f.Again:
		m.status.Refused = true
	case !f.Room:
		m.damaged()
	default:
		accept = true
		m.accepted(f, kept)
	}
	return accept
}

// accepted counts a data frame that is accepted. One that is newer than all others and not the
// one after them is beyond a gap, which gets a Nak.
func (m *Module) accepted(f receive.Frame, kept receive.Kept) {
	newer := (f.Head - m.ack.newest) & maskNumber
	if newer <= maskNumber/2 {
		m.ack.newest = (f.Head + 1) & maskNumber
		if newer != 0 {
			m.ack.nak, m.status.Refused = true, true
			return
		}
	}
	if kept.Here&1 == 0 && !kept.Holds() {
		m.ack.nak = false
	}
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
	m.send.first, m.send.slot = low&maskNumber, m.send.after(uint8(n)&127, m.slots)
	m.send.arrived(uint8(n) & 127)
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
		m.send.all()
		m.send.since = 0
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
