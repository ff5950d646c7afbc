package ulx3s

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/linkstat"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A spoil inverts a line once, from one time to another after it begins. It begins when the
// line was high for two bytes, at the next start bit, or at once if it is early. Times are in
// clocks.
type spoil struct {
	armed, early bool
	from, to     int
	high         int // clocks
	at           int // clocks since it began, and 1
}

// apply returns the level of a clock.
func (s *spoil) apply(level bool) bool {
	if s.armed && s.at == 0 && s.high > 20*25/3 && (s.early || !level) {
		s.at = 1
	}
	s.high++
	if !level {
		s.high = 0
	}
	if s.at == 0 {
		return level
	}
	now := s.at - 1
	s.at++
	if now >= s.to {
		s.armed, s.at = false, 0
	}
	return level != (now >= s.from && now < s.to)
}

// A cable is the board at the end of a cable that a test spoils.
type cable struct {
	*Module
	down, up spoil
	level    bool
}

func (c *cable) Tick(rx bool) {
	c.Module.Tick(c.down.apply(rx))
	c.level = c.up.apply(c.Module.Line())
}

func (c *cable) Line() bool { return c.level }

// TestRegisters: each event at the pins counts once, in the registers where it belongs and in
// no other. A wrong bit to the host damages an acknowledgement too, so the host sends its
// request again, which is refused. Noise has no delimiter after it, so the next frame of the
// host is a part of it. The six messages that raise the rate are no frames of the link.
func TestRegisters(t *testing.T) {
	tooltest.Long(t)
	m, err := New(config(1, 64<<10), 0)
	require.NoError(t, err)
	c := &cable{Module: m, level: true}
	s := pins.NewSerial(c, Hz, []int{115_200, 3_000_000}, 0)
	w, err := pins.New(s, pins.Options{Hz: Hz})
	require.NoError(t, err)
	var port rootport.Port
	link, err := rootport.New(func() (rootport.Port, error) {
		p, err := w.Dial()
		port = p
		return p, err
	}, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)

	read := func() *linkstat.State {
		w.Run(Hz / 100) // until all is acknowledged
		st, err := linkstat.Read(link)
		require.NoError(t, err)
		return st
	}
	id := func() error {
		_, err := link.ReadConfig(pcicfg.ID)
		return err
	}
	// The bits of the host have 25/3 clocks, its bytes 84; the bits of the board 133/16.
	bitDown := func(n, bit int) spoil {
		return spoil{armed: true, from: 84*n + (25*bit+2)/3, to: 84*n + (25*(bit+1)+2)/3}
	}
	bitUp := func(n, bit int) spoil {
		return spoil{armed: true, from: 133 * (10*n + bit) / 16, to: 133 * (10*n + bit + 1) / 16}
	}
	idle := func(to int) func() error {
		return func() error {
			c.down = spoil{armed: true, early: true, to: to}
			w.Run(Hz / 1000)
			return nil
		}
	}
	last := read()
	require.Equal(t, &linkstat.State{
		Up: true, Cause: "NONE", ClockHz: 25_000_000, Period: 133, Baud: 3_007_519,
		Counters: last.Counters, UART: &linkstat.UART{},
	}, last)
	for _, tt := range []struct {
		name  string
		do    func() error
		link  linkstat.Counters // the increase, without that of Received
		uart  linkstat.UART
		lost  uint64 // frames of the host that do not arrive
		cause string
	}{
		{"nothing", func() error { return nil }, linkstat.Counters{}, linkstat.UART{}, 0, "NONE"},
		{"a read", id, linkstat.Counters{}, linkstat.UART{}, 0, "NONE"},
		{"a wrong bit to the board", func() error { c.down = bitDown(4, 3); return id() }, linkstat.Counters{Refused: 1, Naks: 1}, linkstat.UART{}, 1, "NONE"},
		{"a wrong bit to the host", func() error { c.up = bitUp(4, 3); return id() }, linkstat.Counters{Repeated: 1, Refused: 1}, linkstat.UART{}, 0, "NONE"},
		{"a glitch", idle(4), linkstat.Counters{}, linkstat.UART{Glitches: 1}, 0, "NONE"},
		{"a byte of zeros with a low stop bit", idle(84), linkstat.Counters{Refused: 1, Naks: 1}, linkstat.UART{Framing: 1}, 1, "NONE"},
		{"a break", idle(250), linkstat.Counters{Refused: 1, Naks: 1}, linkstat.UART{Framing: 1, Breaks: 1}, 1, "NONE"},
		{"a packet that is not supported", func() error { return port.Send([]byte{0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) }, linkstat.Counters{Packets: 1}, linkstat.UART{}, 0, "NONE"},
		{"another session", link.Reopen, linkstat.Counters{Sessions: 1}, linkstat.UART{}, 0, "CLOSED"},
	} {
		before := w.Stats()
		require.NoError(t, tt.do(), tt.name)
		now, after := read(), w.Stats()
		sent := after.FramesSent - before.FramesSent
		got := now.Counters
		got.Received = 0
		want := last.Counters
		want.Received = 0
		want.Sessions += tt.link.Sessions
		want.Refused += tt.link.Refused
		want.Repeated += tt.link.Repeated
		want.Naks += tt.link.Naks
		want.Packets += tt.link.Packets
		assert.Equal(t, want, got, tt.name)
		assert.Equal(t, linkstat.UART{
			Framing: last.UART.Framing + tt.uart.Framing, Glitches: last.UART.Glitches + tt.uart.Glitches, Breaks: last.UART.Breaks + tt.uart.Breaks,
		}, *now.UART, tt.name)
		assert.Equal(t, tt.cause, now.Cause, tt.name)
		if tt.cause == "NONE" {
			assert.Equal(t, uint32(sent-tt.lost), now.Counters.Received-last.Counters.Received, tt.name)
		}
		last = now
	}
	m.Reset()
	require.NoError(t, link.Reopen())
	now := read()
	n := now.Counters
	assert.Equal(t, []uint32{1, 0, 0, 0}, []uint32{n.Sessions, n.Repeated, n.Naks, n.Packets}, "a reset clears the counters")
}
