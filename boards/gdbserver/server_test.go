package gdbserver_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/gdbserver"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// A service is a rig that is served on loopback.
type service struct {
	*mcutest.Rig
	addr    string
	reports chan error
	stop    func()
}

// serve serves a rig until the test ends.
func serve(t *testing.T, r *mcutest.Rig, pause func()) *service {
	t.Helper()
	d, err := mcu.New(r, 200)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &service{Rig: r, addr: l.Addr().String(), reports: make(chan error, 10)}
	server := gdbserver.Server{Target: d, Pause: pause, Report: func(err error) { s.reports <- err }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l); close(done) }()
	s.stop = func() {
		cancel()
		assert.NoError(t, <-done)
	}
	t.Cleanup(s.stop)
	return s
}

// counting serves a program that counts in x1 and stores x1 to 0x100, three instructions a
// turn, from address 0.
func counting(t *testing.T) *service {
	t.Helper()
	r := mcutest.New()
	var image []byte
	for _, w := range []uint32{rv32test.I(0x13, 0, 1, 1, 1), rv32test.S(0x23, 2, 0, 1, 0x100), rv32test.J(0, 0x1ffff8)} {
		image = append(image, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	require.NoError(t, mcu.Load(r, 0, image))
	require.NoError(t, mcu.Run(r))
	return serve(t, r, r.Clock)
}

// A client sends packets without looking at what they mean.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (s *service) dial(t *testing.T) *client {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t, conn, bufio.NewReader(conn)}
}

func (c *client) send(bytes string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, bytes)
	require.NoError(c.t, err)
}

// command sends a packet.
func (c *client) command(data string) {
	c.t.Helper()
	sum := byte(0)
	for _, b := range []byte(data) {
		sum += b
	}
	c.send(fmt.Sprintf("$%s#%02x", data, sum))
}

// answer returns the next packet, after acknowledgments.
func (c *client) answer() string {
	c.t.Helper()
	text, err := c.in.ReadString('#')
	require.NoError(c.t, err)
	_, err = io.CopyN(io.Discard, c.in, 2)
	require.NoError(c.t, err)
	_, data, _ := strings.Cut(text, "$")
	return strings.TrimSuffix(data, "#")
}

// ask sends a packet and returns the answer.
func (c *client) ask(data string) string {
	c.t.Helper()
	c.command(data)
	return c.answer()
}

// gone checks that the server closes the connection.
func (c *client) gone() {
	c.t.Helper()
	_, err := io.Copy(io.Discard, c.in)
	if err != nil {
		assert.ErrorContains(c.t, err, "reset by peer")
	}
}

// Answers of a processor that is halted before its first instruction (Debugging with GDB,
// appendix E.3, "Packets", and E.5, "General Query Packets"). Values are in the order of bytes
// of the target.
func TestAnswers(t *testing.T) {
	c := counting(t).dial(t)
	assert.Equal(t, "OK", c.ask("P20=00000000"))
	for _, tt := range []struct{ packet, want string }{
		{"?", "T05thread:1;"},
		{"P1=78563412", "OK"}, {"p1", "78563412"}, {"p0", "00000000"}, {"P1f=01000000", "OK"}, {"p1f", "01000000"},
		{"g", "0000000078563412" + strings.Repeat("00", 4*29) + "01000000" + "00000000"},
		{"G" + strings.Repeat("01000000", 32) + "04000000", "OK"},
		{"g", "00000000" + strings.Repeat("01000000", 31) + "04000000"},
		{"p20", "04000000"}, {"P20=00000000", "OK"}, {"P20=02000000", "E01"},
		{"p341", "00180000"}, {"P381=efbeadde", "OK"}, {"p381", "efbeadde"}, // mstatus, mscratch
		{"p21", "E01"}, {"p340", "E01"}, {"P20=00", "E01"}, {"P20", "E01"}, {"p", "E01"}, {"G00", "E01"},
		{"M200,4:01020304", "OK"}, {"m200,4", "01020304"}, {"m201,2", "0203"}, {"X201,1:\x03", "OK"}, {"m200,4", "01030304"},
		{"X200,2:}\x03}]", "OK"}, {"m200,2", "237d"}, {"X0,0:", "OK"}, {"m0,4", "93801000"},
		{"m3ffe,4", "0000"}, {"m4000,4", "E01"}, {"m0,801", "E01"}, {"m0", "E01"}, {"m,4", "E01"}, {"m100000000,4", "E01"},
		{"M200,4:0102", "E01"}, {"M200,1:zz", "E01"}, {"M4000,1:00", "E01"}, {"X200,3:ab", "E01"},
		{"Hg0", "OK"}, {"Hc-1", "OK"}, {"Hg1", "OK"}, {"Hg2", "E01"}, {"H", "E01"}, {"T1", "OK"}, {"T2", "E01"},
		{"qC", "QC1"}, {"qfThreadInfo", "m1"}, {"qsThreadInfo", "l"}, {"qAttached", "1"},
		{"vCont?", "vCont;c;C;s;S"}, {"vCont;t", "E01"}, {"vCont;s:2", "E01"},
		{"Z3,100,4", ""}, {"Z4,100,4", ""}, {"z3,100,4", ""}, {"Z0", "E01"}, {"Z0,100", "E01"}, {"Z0,102,4", "E01"},
		{"vMustReplyEmpty", ""}, {"!", ""}, {"R00", ""}, {"qTStatus", ""}, {"qCRC:0,1", ""}, {"", ""},
		{"qXfer:features:read:other.xml:0,100", "E01"},
		{"cxyz", "E01"}, {"c2", "E01"},
	} {
		assert.Equal(t, tt.want, c.ask(tt.packet), "%q", tt.packet)
	}
}

// The features that the server announces are those of Debugging with GDB, appendix E.5.
func TestSupported(t *testing.T) {
	c := counting(t).dial(t)
	got := strings.Split(c.ask("qSupported:multiprocess+;swbreak+;hwbreak+;error-message+"), ";")
	assert.ElementsMatch(t, []string{"PacketSize=1000", "QStartNoAckMode+", "qXfer:features:read+", "swbreak+", "hwbreak+", "vContSupported+"}, got)
	assert.Equal(t, "E.mcu: access failed: a load of 4 bytes at 0x00004000", c.ask("m4000,4"), "errors are in words")
}

// The parts of the target description make the same text in all sizes.
func TestFeatures(t *testing.T) {
	c := counting(t).dial(t)
	read := func(size int) string {
		all := ""
		for {
			part := c.ask(fmt.Sprintf("qXfer:features:read:target.xml:%x,%x", len(all), size))
			all += part[1:]
			if part[0] == 'l' {
				return all
			}
			require.Equal(t, byte('m'), part[0])
			require.Len(t, part, 1+size)
		}
	}
	want := read(0x7ff)
	for _, size := range []int{1000, 0x800, 0xfff} {
		assert.Equal(t, want, read(size))
	}
	assert.Equal(t, "l", c.ask("qXfer:features:read:target.xml:10000,10"))
	assert.Equal(t, 1, strings.Count(want, "<architecture>riscv:rv32</architecture>"))
	for name, number := range map[string]int{"x0": 0, "x31": 31, "pc": 32, "mstatus": 65 + 0x300, "mepc": 65 + 0x341, "minstreth": 65 + 0xb82} {
		assert.Contains(t, want, fmt.Sprintf(`<reg name="%s" bitsize="32" regnum="%d"`, name, number))
	}
}

// A packet is acknowledged, a broken one is not, and the last answer is repeated on request,
// until QStartNoAckMode (Debugging with GDB, appendix E.11).
func TestAcknowledgments(t *testing.T) {
	c := counting(t).dial(t)
	exchange := func(send, want string) {
		t.Helper()
		c.send(send)
		got := make([]byte, len(want))
		_, err := io.ReadFull(c.in, got)
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "%q", send)
	}
	exchange("$qC#b4", "+$QC1#c5")
	exchange("+$qC#b5", "-")
	exchange("-", "$QC1#c5")
	exchange("$QStartNoAckMode#b0", "+$OK#9a")
	exchange("+$qC#b4", "$QC1#c5")
	exchange("$qC#b5", "$E01#a6")
	exchange("$qC#b4", "$QC1#c5")
}

// While the processor is halted, the server uses the board only if it is asked to.
func TestHaltedIsQuiet(t *testing.T) {
	s := counting(t)
	c := s.dial(t)
	c.ask("?")
	before := s.Accesses
	for _, packet := range []string{"qSupported", "Hg0", "qAttached", "qC", "qXfer:features:read:target.xml:0,100", "vCont?", "nothing", "T1", "X0,0:"} {
		c.ask(packet)
	}
	c.send("\x03")
	c.ask("qC")
	assert.Equal(t, before, s.Accesses)
	c.ask("p1")
	assert.Greater(t, s.Accesses, before)
	assert.Equal(t, "OK", c.ask("D"))
}

// There is one client at a time, and the next may come as soon as one has detached.
func TestOneClient(t *testing.T) {
	s := counting(t)
	for range 20 {
		c := s.dial(t)
		require.Equal(t, "QC1", c.ask("qC"))
		s.dial(t).gone()
		require.Equal(t, "QC1", c.ask("qC"))
		require.Equal(t, "OK", c.ask("D"))
	}
	assert.Empty(t, s.reports)
}

// A processor in reset is a program that does not run. Without a client it starts as usual.
func TestInReset(t *testing.T) {
	s := serve(t, mcutest.New(), nil)
	c := s.dial(t)
	assert.Equal(t, "W00", c.ask("?"))
	assert.Equal(t, "E01", c.ask("g"))
	assert.Equal(t, "E01", c.ask("c"))
	assert.Equal(t, "OK", c.ask("D"))
	d, err := mcu.New(s.Rig, 200)
	require.NoError(t, err)
	require.NoError(t, mcu.Run(s.Rig))
	cause, err := d.State()
	require.NoError(t, err)
	assert.Equal(t, mcu.None, cause)
}

// An error of the board ends the session, and is reported.
func TestBrokenBoard(t *testing.T) {
	s := counting(t)
	down := errors.New("the link is down")
	c := s.dial(t)
	c.ask("?")
	s.Broken = down
	assert.Equal(t, "E01", c.ask("g"))
	c.command("D")
	assert.Equal(t, "E01", c.answer())
	require.NoError(t, c.conn.Close())
	assert.ErrorIs(t, <-s.reports, down)
	s.dial(t).gone()
	assert.ErrorIs(t, <-s.reports, down)
}

// It does so while the program runs too, with a line for the user.
func TestBrokenWhileRunning(t *testing.T) {
	r := mcutest.New()
	require.NoError(t, mcu.Load(r, 0, []byte{0x6f, 0, 0, 0}))
	require.NoError(t, mcu.Run(r))
	down := errors.New("the link is down")
	s := serve(t, r, func() { r.Broken = down })
	c := s.dial(t)
	c.command("c")
	line, err := hex.DecodeString(strings.TrimPrefix(c.answer(), "O"))
	require.NoError(t, err)
	assert.Equal(t, "the link is down\n", string(line))
	c.gone()
	assert.ErrorIs(t, <-s.reports, down)
}

// The end of the server ends the session as a detach does.
func TestEnd(t *testing.T) {
	s := counting(t)
	c := s.dial(t)
	require.Equal(t, "OK", c.ask("Z0,4,4"))
	s.stop()
	c.gone()
	running(t, s)
	assert.Empty(t, s.reports)
}

// running checks that the program runs and has no breakpoints. The server must have ended, or
// have no client.
func running(t *testing.T, s *service) {
	t.Helper()
	for range 1000 {
		s.Clock()
	}
	d, err := mcu.New(s.Rig, 200)
	require.NoError(t, err)
	cause, err := d.State()
	require.NoError(t, err)
	assert.Equal(t, mcu.None, cause)
}
