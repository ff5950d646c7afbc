package turns_test

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/turns"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

const emu = "emu?config=full"

// A command has a board open, with its registers, and a program that counts in x1.
type command struct {
	t     *testing.T
	turns *turns.Turns
	link  bus.Link
	clock bus.Clock
	mcu.Registers
}

// begin opens a board for a command, and loads a program without starting it.
func begin(t *testing.T, selector string) *command {
	t.Helper()
	c := &command{t: t, turns: turns.New(false)}
	var err error
	c.link, c.clock, err = boards.OpenWith(selector, regs.NoMemory{}, boards.Options{Share: c.turns.Share})
	require.NoError(t, err)
	_, err = regs.Open(c.link, regs.Options{})
	require.NoError(t, err)
	c.Registers = mcu.Over(c.link)
	// addi x1, x1, 1; j -4
	require.NoError(t, mcu.Load(c, 0, []byte{0x93, 0x80, 0x10, 0x00, 0x6f, 0xf0, 0xdf, 0xff}))
	return c
}

// later calls do on its own goroutine, and returns whether it has returned.
func later(do func()) *atomic.Bool {
	var done atomic.Bool
	go func() {
		do()
		done.Store(true)
	}()
	return &done
}

// moment is time in which a goroutine would do its work if nothing stopped it.
func moment() { time.Sleep(50 * time.Millisecond) }

func eventually(t *testing.T, what *atomic.Bool) {
	t.Helper()
	require.Eventually(t, what.Load, 10*time.Second, time.Millisecond)
}

// While the client has halted the program, the command waits, in whatever it does, and time
// stands still.
func TestHeld(t *testing.T) {
	for name, access := range map[string]func(c *command) error{
		"read":   func(c *command) error { return c.link.Read(0, idreg.Base, make([]byte, 4)) },
		"write":  func(c *command) error { return c.link.Write(0, mcureg.Base+mcureg.Mail, make([]byte, 4)) },
		"config": func(c *command) error { _, err := c.link.ReadConfig(0); return err },
		"set":    func(c *command) error { return c.link.WriteConfig(0x3c, 0) },
		"wait":   func(c *command) error { _, err := c.clock.Wait(c.clock.Now() + 10); return err },
		"close":  func(c *command) error { return c.link.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := begin(t, emu)
			require.NoError(t, mcu.Run(c))
			require.NoError(t, c.turns.Halt())
			now := c.clock.Now()
			done := later(func() { assert.NoError(t, access(c)) })
			moment()
			assert.False(t, done.Load())
			assert.Equal(t, now, c.clock.Now())
			require.NoError(t, c.turns.Detach())
			eventually(t, done)
		})
	}
}

// A breakpoint halts the command too, within the time of an access, and so does a step.
func TestBreakpoint(t *testing.T) {
	c := begin(t, emu)
	require.NoError(t, mcu.Run(c))
	require.NoError(t, c.turns.Halt())
	require.NoError(t, c.turns.SetPC(0))
	require.NoError(t, c.turns.SetRegister(1, 0))
	require.NoError(t, c.turns.SetBreakpoint(4))
	require.NoError(t, c.turns.Resume())
	began := c.clock.Now()
	done := later(func() {
		for end := began + 20_000; c.clock.Now() < end; {
			_, err := c.clock.Wait(end)
			assert.NoError(t, err)
		}
	})
	cause := await(t, c)
	assert.Equal(t, mcu.Breakpoint, cause)
	assert.Less(t, c.clock.Now()-began, uint64(3000), "the halt is found soon")
	v, err := c.turns.Register(1)
	require.NoError(t, err)
	assert.EqualValues(t, 1, v)
	now := c.clock.Now()
	moment()
	assert.Equal(t, now, c.clock.Now())

	require.NoError(t, c.turns.Step())
	assert.Equal(t, mcu.Stepped, await(t, c))
	pc, err := c.turns.PC()
	require.NoError(t, err)
	assert.Zero(t, pc)
	assert.False(t, done.Load())
	require.NoError(t, c.turns.Detach())
	eventually(t, done)
	require.NoError(t, c.link.Close())
}

// await waits for a halt as a session does.
func await(t *testing.T, c *command) (cause mcu.Cause) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.turns.Pause()
		var err error
		cause, err = c.turns.State()
		return assert.NoError(t, err) && cause != mcu.None
	}, 10*time.Second, time.Microsecond)
	return cause
}

// A client that is there before the program begins halts it before its first instruction, each
// time that it begins.
func TestBegin(t *testing.T) {
	c := begin(t, emu)
	require.ErrorIs(t, c.turns.Halt(), mcu.ErrReset)
	for range 2 {
		cause, err := c.turns.State()
		require.NoError(t, err)
		require.Equal(t, mcu.None, cause)
		require.NoError(t, mcu.Run(c))
		done := later(func() { _, err := c.Read(idreg.Base); assert.NoError(t, err) })
		assert.Equal(t, mcu.Requested, await(t, c))
		assert.False(t, done.Load())
		pc, err := c.turns.PC()
		require.NoError(t, err)
		assert.Zero(t, pc)
		require.NoError(t, c.turns.Resume())
		eventually(t, done)
		require.NoError(t, mcu.Stop(c))
	}
}

// A board is closed after the session of the client has ended. The program continues without
// breakpoints.
func TestClose(t *testing.T) {
	c := begin(t, emu)
	require.NoError(t, mcu.Run(c))
	require.NoError(t, c.turns.Halt())
	require.NoError(t, c.turns.SetBreakpoint(0x100))
	require.NoError(t, c.turns.Resume())
	done := later(func() { assert.NoError(t, c.link.Close()) })
	moment()
	assert.False(t, done.Load())
	_, err := c.turns.State()
	require.ErrorContains(t, err, "the command has closed the board")
	require.NoError(t, c.turns.Detach())
	eventually(t, done)
	require.ErrorIs(t, c.turns.Halt(), mcu.ErrReset, "no board")
	eventually(t, later(func() { assert.NoError(t, c.link.Close()) })) // again, while a client waits for the next board
	cause, err := c.turns.State()
	require.NoError(t, err)
	assert.Equal(t, mcu.None, cause)
	require.NoError(t, c.turns.Detach())
}

// A session that leaves the program halted gives the board back.
func TestLeft(t *testing.T) {
	c := begin(t, emu)
	require.NoError(t, mcu.Run(c))
	require.NoError(t, c.turns.Halt())
	c.turns.Left()
	v, err := c.Read(mcureg.DebugBase + mcureg.DebugStatus)
	require.NoError(t, err)
	assert.EqualValues(t, mcureg.DebugHalted, v&mcureg.DebugHalted)
	require.NoError(t, c.link.Close())
}

// The link has the interfaces that the board's has.
func TestInterfaces(t *testing.T) {
	for _, tt := range []struct {
		selector string
		slow     bool // it has a rate, and can be opened again
	}{{emu, false}, {"line?config=full&baud=100000000", true}} {
		c := begin(t, tt.selector)
		_, rated := bus.As[boards.Rated](c.link)
		_, reopens := bus.As[boards.Reopener](c.link)
		_, rater := bus.As[boards.Rater](c.link)
		_, peeks := bus.As[boards.Peeker](c.link)
		assert.Equal(t, []bool{tt.slow, tt.slow, false, !tt.slow}, []bool{rated, reopens, rater, peeks}, tt.selector)
		counters, ok := bus.As[boards.Counters](c.link)
		require.True(t, ok)
		assert.NotEmpty(t, counters.Counters())
		plain, clock, err := boards.Open(tt.selector, regs.NoMemory{})
		require.NoError(t, err)
		want, _ := plain.(bus.PayloadLink)
		got, _ := bus.As[bus.PayloadLink](c.link)
		assert.Equal(t, want == nil, got == nil)
		if want != nil && got != nil {
			assert.Equal(t, want.MaxPayload(), got.MaxPayload())
		}
		assert.Equal(t, clock.Hz(), c.clock.Hz())
	}
}

func TestShareErrors(t *testing.T) {
	tn := turns.New(false)
	_, _, err := boards.OpenWith("emu", regs.NoMemory{}, boards.Options{Share: tn.Share})
	require.ErrorIs(t, err, mcu.ErrMissing)
	assert.EqualError(t, err, "mcu: no microcontroller: ID.CAPS2 has no MCU, want a board with the option mcu=1")
	first, _, err := boards.OpenWith(emu, regs.NoMemory{}, boards.Options{Share: tn.Share})
	require.NoError(t, err)
	_, _, err = boards.OpenWith(emu, regs.NoMemory{}, boards.Options{Share: tn.Share})
	require.ErrorIs(t, err, turns.ErrBoards)
	require.NoError(t, first.Close())
	again, _, err := boards.OpenWith(emu, regs.NoMemory{}, boards.Options{Share: tn.Share})
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestAddress(t *testing.T) {
	for _, at := range []string{"", "x", "65536", "-1", "1:2:3", "localhost:http", "0,now", "0,wait,wait", "127.0.0.1"} {
		_, err := turns.Serve(at, nil)
		require.ErrorIs(t, err, turns.ErrAddress, at)
		assert.ErrorContains(t, err, "want [HOST:]PORT or [HOST:]PORT,wait")
	}
	for at, open := range map[string]bool{"0": false, ":0": false, "[::1]:0": false, "127.0.0.1:0,wait": false, "0.0.0.0:0": true} {
		s, err := turns.Serve(at, nil)
		require.NoError(t, err, at)
		assert.Equal(t, open, s.Open, at)
		require.NoError(t, s.Close())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = turns.Serve(l.Addr().String(), nil)
	require.ErrorIs(t, err, turns.ErrListen)
	assert.ErrorContains(t, err, l.Addr().String())
}

// A client that connects early, or leaves early, and one after it, does not disturb a command.
func TestEarlyClients(t *testing.T) {
	reports := make(chan error, 10)
	s, err := turns.Serve("0", func(err error) { reports <- err })
	require.NoError(t, err)
	for range 2 {
		conn, err := net.Dial("tcp", s.Addr)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.ErrorContains(t, <-reports, "the client was lost")
	}
	err = boards.WithRegisters(emu, boards.Options{Share: s.Share}, regs.Options{}, func(f *regs.Function) error {
		return mcu.Run(mcu.Over(f.Link()))
	})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// A client that waits for a program longer than its timeout asks to repeat the answer. It has
// the acknowledgment at once, and gets the answer once (Debugging with GDB, appendix E.1).
func TestClientWaits(t *testing.T) {
	s, err := turns.Serve("0,wait", func(err error) { t.Errorf("%v", err) })
	require.NoError(t, err)
	conn, err := net.Dial("tcp", s.Addr)
	require.NoError(t, err)
	exchange := func(send, want string) {
		t.Helper()
		_, err := io.WriteString(conn, send)
		require.NoError(t, err)
		got := make([]byte, len(want))
		_, err = io.ReadFull(conn, got)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	exchange("$qC#b4", "+")
	exchange("--$qC#b5", "-")
	done := make(chan error, 1)
	go func() {
		done <- boards.WithRegisters(emu, boards.Options{Share: s.Share}, regs.Options{}, func(f *regs.Function) error {
			r := mcu.Over(f.Link())
			if err := mcu.Run(r); err != nil {
				return err
			}
			_, err := r.Read(mcureg.Base + mcureg.Status)
			return err
		})
	}()
	exchange("", "$QC1#c5")
	exchange("+$qAttached#8f", "+$1#31")
	exchange("+$D#44", "+$OK#9a")
	assert.NoError(t, conn.Close())
	require.NoError(t, <-done)
	require.NoError(t, s.Close())
}

// A client that sends without end before there is a program is dropped, whatever it sends.
func TestClientFloods(t *testing.T) {
	reports := make(chan error, 10)
	s, err := turns.Serve("0", func(err error) { reports <- err })
	require.NoError(t, err)
	for _, message := range []string{"-", "\x03", "$qC#b4", "$qC#b5"} {
		conn, err := net.Dial("tcp", s.Addr)
		require.NoError(t, err)
		_, err = io.WriteString(conn, strings.Repeat(message, 200))
		require.NoError(t, err)
		require.ErrorContains(t, <-reports, "too many packets before the program has started")
		require.NoError(t, conn.Close())
	}
	require.NoError(t, s.Close())
}
