package gdbserver_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// Packets that continue, and the stop replies (Debugging with GDB, appendix E.4, "Stop Reply
// Packets"). pc is register 20. The program is that of counting.
func TestStops(t *testing.T) {
	c := counting(t).dial(t)
	for _, tt := range []struct{ packet, want, pc string }{
		{"P20=00000000", "OK", "00"},
		{"s", "T05thread:1;", "04"}, {"S05", "T05thread:1;", "08"}, {"vCont;s", "T05thread:1;", "00"}, {"vCont;S05:1", "T05thread:1;", "04"},
		{"s0", "T05thread:1;", "04"}, {"S05;4", "T05thread:1;", "08"}, {"vCont;c:2;s:1", "T05thread:1;", "00"},
		{"Z0,4,4", "OK", "00"}, {"Z1,8,4", "OK", "00"},
		{"c", "T05thread:1;", "04"}, {"?", "T05thread:1;", "04"},
		{"qSupported:swbreak+;hwbreak+", "PacketSize=1000;QStartNoAckMode+;qXfer:features:read+;swbreak+;hwbreak+;vContSupported+", "04"},
		{"c", "T05hwbreak:;thread:1;", "08"}, {"C05", "T05swbreak:;thread:1;", "04"}, {"vCont;c", "T05hwbreak:;thread:1;", "08"},
		{"vCont;c:-1", "T05swbreak:;thread:1;", "04"}, {"c8", "T05swbreak:;thread:1;", "04"}, {"?", "T05swbreak:;thread:1;", "04"},
		{"Z1,4,4", "OK", "04"}, {"z0,4,4", "OK", "04"}, {"z1,8,4", "OK", "04"}, {"c", "T05hwbreak:;thread:1;", "04"},
		{"z1,4,4", "OK", "04"}, {"z1,4,4", "OK", "04"}, {"Z0,0,4", "OK", "04"}, {"z0,0,4", "OK", "04"},
		{"Z1,0,4", "OK", "04"}, {"c", "T05hwbreak:;thread:1;", "00"}, {"z1,0,4", "OK", "00"}, {"P20=04000000", "OK", "04"},
		{"Z2,101,1", "OK", "04"}, {"c", "T05watch:101;thread:1;", "08"}, {"c", "T05watch:101;thread:1;", "08"},
		{"z2,100,4", "OK", "08"}, {"c", "T05watch:101;thread:1;", "08"},
		{"Z2,102,1", "E01", "08"}, {"Z2,101,1", "OK", "08"}, {"z2,101,1", "OK", "08"}, {"Z2,100,8", "E01", "08"}, {"Z2,100,4", "OK", "08"},
		{"s", "T05thread:1;", "00"}, {"s", "T05thread:1;", "04"}, {"s", "T05watch:100;thread:1;", "08"},
	} {
		require.Equal(t, tt.want, c.ask(tt.packet), "%q", tt.packet)
		require.Equal(t, tt.pc+"000000", c.ask("p20"), "%q", tt.packet)
	}
}

// There are four breakpoints, whatever packets set them.
func TestFiveBreakpoints(t *testing.T) {
	c := counting(t).dial(t)
	for _, p := range []string{"Z0,40,4", "Z1,44,4", "Z0,48,2", "Z1,4c,4", "Z0,40,4"} {
		require.Equal(t, "OK", c.ask(p))
	}
	assert.Equal(t, "E01", c.ask("Z0,50,4"))
	assert.Equal(t, "E01", c.ask("Z1,50,4"))
	assert.Equal(t, "OK", c.ask("z0,48,4"))
	assert.Equal(t, "OK", c.ask("Z1,50,4"))
}

// An EBREAK of the program is a trap without another reason.
func TestBreak(t *testing.T) {
	r := mcutest.New()
	require.NoError(t, mcu.Load(r, 0, []byte{0x13, 0, 0, 0, 0x73, 0, 0x10, 0}))
	require.NoError(t, r.Write(0x0700, 1)) // MCUDBG.CTL.HALT
	require.NoError(t, mcu.Run(r))
	c := serve(t, r, nil).dial(t)
	require.Equal(t, "OK", c.ask("P20=00000000"))
	assert.Equal(t, "T05thread:1;", c.ask("c"))
	assert.Equal(t, "04000000", c.ask("p20"))
}

// ctrl-C stops a running program with SIGINT, and is passed over if none runs. Other requests
// are refused while it runs.
func TestInterrupt(t *testing.T) {
	c := counting(t).dial(t)
	for range 3 {
		c.send("\x03")
		c.command("c")
		assert.Equal(t, "E01", c.ask("g"))
		assert.Equal(t, "E01", c.ask("qC"))
		c.send("\x03")
		assert.Equal(t, "T02thread:1;", c.answer())
		assert.Equal(t, "T02thread:1;", c.ask("?"))
		assert.Equal(t, "T05thread:1;", c.ask("s"))
	}
}

// A halt that the client did not ask for is no SIGINT, even after one.
func TestHaltByAnother(t *testing.T) {
	var halts atomic.Bool
	r := mcutest.New()
	require.NoError(t, mcu.Load(r, 0, []byte{0x6f, 0, 0, 0}))
	require.NoError(t, mcu.Run(r))
	c := serve(t, r, func() {
		if halts.Load() {
			r.Broken = r.Write(0x0700, 1) // MCUDBG.CTL.HALT
		}
	}).dial(t)
	c.command("c")
	c.send("\x03")
	assert.Equal(t, "T02thread:1;", c.answer())
	halts.Store(true)
	assert.Equal(t, "T05thread:1;", c.ask("c"))
}

// waiting returns a rig in reset whose program loads a word, without an answer.
func waiting(t *testing.T) *mcutest.Rig {
	t.Helper()
	r := mcutest.New()
	r.Silent, r.Memory[0] = true, 7
	lw := rv32test.I(0x03, 2, 2, 1, 0)
	require.NoError(t, mcu.Load(r, 0, []byte{0x37, 1, 0, 0x80, 0xb7, 0, 0, 0x80, byte(lw), byte(lw >> 8), byte(lw >> 16), byte(lw >> 24), 0x6f, 0, 0, 0}))
	return r
}

// A processor that waits for an access when the client connects is an error, and the program
// continues.
func TestNoHalt(t *testing.T) {
	r := waiting(t)
	require.NoError(t, mcu.Run(r))
	for range 100 {
		r.Clock()
	}
	s := serve(t, r, r.Clock)
	s.dial(t).gone()
	assert.ErrorIs(t, <-s.reports, mcu.ErrWait)
	s.stop()
	r.Silent = false
	running(t, s)
}

// A processor that waits for an access cannot halt: the client gets a line of text, and the
// stop when the access ends.
func TestInterruptWithoutAnswer(t *testing.T) {
	var answers atomic.Bool
	r := waiting(t)
	require.NoError(t, r.Write(0x0700, 1)) // MCUDBG.CTL.HALT
	require.NoError(t, mcu.Run(r))
	c := serve(t, r, func() { r.Silent = !answers.Load() }).dial(t)
	c.command("c")
	c.send("\x03")
	line, err := hex.DecodeString(strings.TrimPrefix(c.answer(), "O"))
	require.NoError(t, err)
	assert.Contains(t, string(line), "mcu: the processor does not halt")
	answers.Store(true)
	assert.Equal(t, "T02thread:1;", c.answer())
	assert.Equal(t, "07000000", c.ask("p2"))
}

// A program whose time is over stops with the signal for that.
func TestHung(t *testing.T) {
	r := mcutest.New()
	require.NoError(t, mcu.Load(r, 0, []byte{0x6f, 0, 0, 0}))
	require.NoError(t, r.Write(0x0700, 1)) // MCUDBG.CTL.HALT
	require.NoError(t, mcu.Run(r))
	require.NoError(t, r.Write(0x060c, 500)) // MCU.LIMIT
	c := serve(t, r, nil).dial(t)
	assert.Equal(t, "T18thread:1;", c.ask("c"))
}

// detach, a lost client and the end of a program that runs continue it without breakpoints;
// kill leaves it halted.
func TestLeave(t *testing.T) {
	for _, tt := range []struct {
		name   string
		leave  func(s *service, c *client)
		cause  mcu.Cause
		report string
	}{
		{"detach", func(_ *service, c *client) { assert.Equal(t, "OK", c.ask("D")) }, mcu.None, ""},
		{"kill", func(_ *service, c *client) { c.command("k") }, mcu.Requested, ""},
		{"detach while it runs", func(_ *service, c *client) {
			c.command("c")
			assert.Equal(t, "OK", c.ask("D"))
		}, mcu.None, ""},
		{"kill while it runs", func(_ *service, c *client) { c.command("c"); c.command("k") }, mcu.Requested, ""},
		{"lost", func(_ *service, c *client) { assert.NoError(t, c.conn.Close()) }, mcu.None, "gdbserver: the client was lost"},
		{"lost while it runs", func(_ *service, c *client) {
			c.command("c")
			assert.NoError(t, c.conn.Close())
		}, mcu.None, "gdbserver: the client was lost"},
	} {
		s := counting(t)
		c := s.dial(t)
		require.Equal(t, "OK", c.ask("Z0,40,4"), tt.name)
		require.Equal(t, "OK", c.ask("Z2,200,4"), tt.name)
		tt.leave(s, c)
		if tt.report != "" {
			assert.EqualError(t, <-s.reports, tt.report, tt.name)
		} else {
			c.gone()
		}
		s.stop()
		d, err := mcu.New(s.Rig, 200)
		require.NoError(t, err)
		cause, err := d.State()
		require.NoError(t, err)
		assert.Equal(t, tt.cause, cause, tt.name)
		for _, off := range []uint32{0x0720, 0x0724, 0x0728, 0x072c, 0x0730} { // MCUDBG.BREAK0 to WATCH
			v, err := s.Read(off)
			require.NoError(t, err)
			assert.Zero(t, v, tt.name)
		}
	}
}

// monitor reset restarts the program; other commands get a list.
func TestMonitor(t *testing.T) {
	s := counting(t)
	c := s.dial(t)
	monitor := func(line string) string {
		text, err := hex.DecodeString(c.ask("qRcmd," + hex.EncodeToString([]byte(line))))
		require.NoError(t, err)
		return string(text)
	}
	c.command("c")
	c.send("\x03")
	require.Equal(t, "T02thread:1;", c.answer())
	assert.Contains(t, monitor("reset"), "address 0")
	assert.Equal(t, "00000000", c.ask("p20"))
	assert.Equal(t, "T05thread:1;", c.ask("?"))
	assert.Equal(t, "T05thread:1;", c.ask("s"))
	assert.Equal(t, "04000000", c.ask("p20"))
	assert.Contains(t, monitor("help"), "reset ")
	assert.Contains(t, monitor("fly"), `no command "fly"`)
	assert.Equal(t, "E01", c.ask("qRcmd,xx"))
	s.Broken = errors.New("the link is down")
	assert.Equal(t, "E01", c.ask("qRcmd,7265736574"))
}
