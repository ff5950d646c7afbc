package bringup

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/linkstat"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
)

// A measure is the counters of both ends of the link.
type measure struct {
	board *linkstat.State // nil if the board has no registers of the link
	host  map[string]uint64

	received uint16    // frames that the board has received
	sent     [2]uint64 // frames that the host had sent before it asked for received, and after
}

// measure reads the counters of both ends.
func (s *session) measure() (m measure, err error) {
	if m.board, err = linkstat.Read(s.Link); err != nil {
		return m, err
	}
	m.sent[0] = s.hostCounters()["frames_sent"]
	if m.board != nil {
		v, err := s.Link.ReadConfig(linkreg.Base + linkreg.Counters + 4*linkreg.Received)
		if err != nil {
			return m, err
		}
		m.received = uint16(v)
	}
	m.host = s.hostCounters()
	m.sent[1] = m.host["frames_sent"]
	return m, nil
}

// hostCounters returns the counters of the host by name.
func (s *session) hostCounters() map[string]uint64 {
	all := map[string]uint64{}
	for _, c := range counters(s) {
		all[c.Name] = c.Value
	}
	return all
}

// A change is what two measures differ in. Counters of the board are modulo 2^16; those of a
// board that was reset are since the reset.
type change struct {
	from, to measure
	reset    bool // the board was reset in between
	sessions int  // that the host began in between
	link     linkstat.Counters
	uart     linkstat.UART
	mac      linkstat.MAC
}

// between returns the change from one measure to another one of a board with registers. A
// board that was not reset began as many sessions as the host.
func between(from, to measure) change {
	c := change{from: from, to: to, sessions: int(to.host["sessions"] - from.host["sessions"])}
	a, b := from.board, to.board
	c.reset = int(int16(uint16(b.Counters.Sessions-a.Counters.Sessions))) < c.sessions
	if c.reset {
		a = &linkstat.State{}
	}
	less := func(b, a uint32) uint32 { return uint32(uint16(b - a)) }
	x, y := a.Counters, b.Counters
	c.link = linkstat.Counters{
		Sessions: less(y.Sessions, x.Sessions), Received: less(y.Received, x.Received), Refused: less(y.Refused, x.Refused),
		Repeated: less(y.Repeated, x.Repeated), Naks: less(y.Naks, x.Naks), Packets: less(y.Packets, x.Packets),
	}
	if u := b.UART; u != nil {
		var v linkstat.UART
		if a.UART != nil {
			v = *a.UART
		}
		c.uart = linkstat.UART{Framing: less(u.Framing, v.Framing), Glitches: less(u.Glitches, v.Glitches), Breaks: less(u.Breaks, v.Breaks)}
	}
	if u := b.MAC; u != nil {
		var v linkstat.MAC
		if a.MAC != nil {
			v = *a.MAC
		}
		c.mac = linkstat.MAC{
			Runts: less(u.Runts, v.Runts), Oversized: less(u.Oversized, v.Oversized), Bad: less(u.Bad, v.Bad),
			Filtered: less(u.Filtered, v.Filtered), Good: less(u.Good, v.Good), NoRoom: less(u.NoRoom, v.NoRoom),
			Ignored: less(u.Ignored, v.Ignored), Invalid: less(u.Invalid, v.Invalid),
		}
	}
	return c
}

// host returns the increase of a counter of the host.
func (c *change) host(name string) uint64 {
	if c.to.host[name] < c.from.host[name] { // it counts from the last change of the rate on
		return c.to.host[name]
	}
	return c.to.host[name] - c.from.host[name]
}

// lost returns the least number of frames of the host that the board did not receive, or
// received damaged. Those that are sent while a measure is made may or may not be in it.
func (c *change) lost() uint64 {
	return c.unreceived(c.from.sent[1], c.to.sent[0])
}

// missing returns the largest number of such frames.
func (c *change) missing() uint64 {
	return c.unreceived(c.from.sent[0], c.to.sent[1])
}

// unreceived returns how many of the frames that the host sent, from one count to another, the board did not receive.
func (c *change) unreceived(from, to uint64) uint64 {
	sent, received := to-min(from, to), uint64(c.to.received-c.from.received)
	return sent - min(sent, received)
}

// health describes the frames of a line without a fault.
func (c *change) health() string {
	if n := c.host("frames_repeated"); n+uint64(c.link.Refused) != 0 {
		return fmt.Sprintf("none lost (%d sent again, %d refused by the board)", n, c.link.Refused)
	}
	return "none wrong"
}

// lines returns the counters that moved, of both ends.
func (c *change) lines() []string {
	return []string{
		fmt.Sprintf("host:  %d frames sent, %d of them again; %d received, %d more were damaged", c.host("frames_sent"), c.host("frames_repeated"),
			c.host("frames_received"), c.host("frames_damaged")),
		fmt.Sprintf("board: %d frames received, %d refused; %d sent again, %d requests to send again, %d packets refused",
			c.link.Received, c.link.Refused, c.link.Repeated, c.link.Naks, c.link.Packets),
	}
}

// reopen begins another session after the link went down, with a few attempts, since its
// beginning may be disturbed too. It reports whether that succeeded.
func (s *session) reopen() bool { return s.reopenIn(3) }

// reopenIn is reopen with a number of attempts.
func (s *session) reopenIn(attempts int) bool {
	r, ok := bus.As[boards.Reopener](s.Link)
	for i := 0; ok && i < attempts && s.Ctx.Err() == nil; i++ {
		if r.Reopen() == nil {
			return true
		}
	}
	return false
}
