package turns_test

import (
	"sync"
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

// A locked link has one access at a time, as that of a board at the end of a wire.
type locked struct {
	bus.Link
	mu sync.Mutex
}

func (l *locked) Read(bar int, off uint64, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Link.Read(bar, off, p)
}

func (l *locked) Write(bar int, off uint64, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Link.Write(bar, off, p)
}

func (l *locked) ReadConfig(off int) (uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Link.ReadConfig(off)
}

func (l *locked) WriteConfig(off int, v uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Link.WriteConfig(off, v)
}

// both calls a test with a board whose time moves only with accesses, and with one whose time does not.
func both(t *testing.T, test func(t *testing.T, virtual bool)) {
	t.Helper()
	for name, virtual := range map[string]bool{"virtual time": true, "real time": false} {
		t.Run(name, func(t *testing.T) { test(t, virtual) })
	}
}

// counting returns a board on which a program counts in x1, and whose BAR0 nobody has set up.
func counting(t *testing.T) (bus.Link, bus.Clock) {
	t.Helper()
	plain, clock, err := boards.Open(emu, regs.NoMemory{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plain.Close()) })
	link := &locked{Link: plain}
	f, err := regs.Open(link, regs.Options{})
	require.NoError(t, err)
	r := mcu.Over(link)
	require.NoError(t, mcu.Load(r, 0, []byte{0x93, 0x80, 0x10, 0x00, 0x6f, 0xf0, 0xdf, 0xff})) // addi x1, x1, 1; j -4
	require.NoError(t, mcu.Run(r))
	require.NoError(t, f.Close())
	return link, clock
}

// A client that connects before the command has set up BAR0 halts a program that already runs, at the
// first access to BAR0. It does so with ,wait, and before the board is there.
func TestAttach(t *testing.T) {
	for name, wait := range map[string]bool{"the board waits": true, "the client is first": false} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, virtual bool) {
				link, clock := counting(t)
				tr := turns.New(wait)
				if !wait {
					require.ErrorIs(t, tr.Halt(), mcu.ErrReset)
				}
				done := later(func() {
					shared, _, err := tr.Share(link, clock, virtual)
					if !assert.NoError(t, err) {
						return
					}
					f, err := regs.Open(shared, regs.Options{})
					assert.NoError(t, err)
					_, err = mcu.Over(shared).Read(idreg.Base)
					assert.NoError(t, err)
					assert.NoError(t, f.Close())
				})
				if wait {
					moment()
					require.ErrorIs(t, tr.Halt(), mcu.ErrReset, "BAR0 is not set up")
				}
				c := &command{t: t, turns: tr}
				assert.Equal(t, mcu.Requested, await(t, c))
				moment()
				assert.False(t, done.Load(), "the command waits")
				count := func() uint32 {
					v, err := tr.Register(1)
					require.NoError(t, err)
					return v
				}
				was := count()
				assert.NotZero(t, was)
				assert.Equal(t, was, count(), "the program is halted")
				require.NoError(t, tr.Detach())
				eventually(t, done)
			})
		})
	}
}

// A client that leaves before BAR0 is set up leaves a program that already runs alone.
func TestLeftBeforeAttach(t *testing.T) {
	for name, leave := range map[string]func(tr *turns.Turns) error{
		"detached": (*turns.Turns).Detach,
		"lost":     func(tr *turns.Turns) error { tr.Left(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			link, clock := counting(t)
			tr := turns.New(false)
			shared, _, err := tr.Share(link, clock, true)
			require.NoError(t, err)
			require.ErrorIs(t, tr.Halt(), mcu.ErrReset)
			require.NoError(t, leave(tr))
			_, err = regs.Open(shared, regs.Options{})
			require.NoError(t, err)
			v, err := mcu.Over(shared).Read(mcureg.DebugBase + mcureg.DebugStatus)
			require.NoError(t, err)
			assert.Zero(t, v&mcureg.DebugHalted)
			require.NoError(t, tr.Halt(), "the next client")
			require.NoError(t, tr.Resume())
			done := later(func() { _, err := mcu.Over(shared).Read(idreg.Base); assert.NoError(t, err) })
			eventually(t, done)
			require.NoError(t, tr.Detach())
		})
	}
}

// attached returns a client that has halted a program and continued it, and the registers of the command.
func attached(t *testing.T, virtual bool) (*turns.Turns, mcu.Registers) {
	t.Helper()
	link, clock := counting(t)
	tr := turns.New(false)
	shared, _, err := tr.Share(link, clock, virtual)
	require.NoError(t, err)
	_, err = regs.Open(shared, regs.Options{})
	require.NoError(t, err)
	require.NoError(t, tr.Halt())
	require.NoError(t, tr.Resume())
	return tr, mcu.Over(shared)
}

// A client does not see the halt of a command that takes the state of the program, which succeeds.
func TestOwnHalt(t *testing.T) {
	both(t, func(t *testing.T, virtual bool) {
		tr, r := attached(t, virtual)
		done := later(func() {
			d, err := mcu.New(r, 10_000)
			assert.NoError(t, err)
			assert.NoError(t, d.Halt())
			for i := range 32 {
				_, err := d.Register(i)
				assert.NoError(t, err)
			}
			assert.NoError(t, d.Resume())
		})
		for !done.Load() {
			c, err := tr.State()
			require.NoError(t, err)
			require.Equal(t, mcu.None, c)
		}
		require.NoError(t, tr.Halt(), "a halt of the client afterwards")
		require.NoError(t, tr.Detach())
	})
}

// A client that asks for a halt while the command has halted the program gets its own when the command
// continues the program, or stops it and starts another one.
func TestHaltDuringOwn(t *testing.T) {
	for name, end := range map[string]func(r mcu.Registers) error{
		"it continues": func(r mcu.Registers) error {
			return r.Write(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlResume)
		},
		"it starts again": func(r mcu.Registers) error {
			err := mcu.Clear(r)
			if err == nil {
				err = mcu.Run(r)
			}
			if err == nil {
				_, err = r.Read(idreg.Base)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, virtual bool) {
				tr, r := attached(t, virtual)
				require.NoError(t, r.Write(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlHalt))
				_, err := r.Read(idreg.Base)
				require.NoError(t, err, "the command does not wait for itself")
				err = tr.Halt()
				require.ErrorIs(t, err, mcu.ErrReset)
				require.EqualError(t, err, "turns: the command itself has halted the program: gdb halts it when the command continues it")
				c, err := tr.State()
				require.NoError(t, err)
				require.Equal(t, mcu.None, c)
				done := later(func() { assert.NoError(t, end(r)) })
				assert.Equal(t, mcu.Requested, await(t, &command{t: t, turns: tr}))
				if virtual {
					moment()
					assert.False(t, done.Load())
				}
				require.NoError(t, tr.Detach())
				eventually(t, done)
			})
		})
	}
}

// slowStatus delays the next read of the state of the processor.
type slowStatus struct {
	bus.Link
	before func()
}

func (s *slowStatus) Read(bar int, off uint64, p []byte) error {
	if do := s.before; do != nil && bar == 0 && off == mcureg.DebugBase+mcureg.DebugStatus {
		s.before = nil
		do()
	}
	return s.Link.Read(bar, off, p)
}

// A halt that the command makes while a client looks for one is not the client's.
func TestOwnHaltDuringALook(t *testing.T) {
	plain, clock := counting(t)
	link := &slowStatus{Link: plain}
	tr := turns.New(false)
	shared, _, err := tr.Share(link, clock, false)
	require.NoError(t, err)
	_, err = regs.Open(shared, regs.Options{})
	require.NoError(t, err)
	require.NoError(t, tr.Halt())
	require.NoError(t, tr.Resume())
	var done *atomic.Bool
	link.before = func() {
		done = later(func() {
			assert.NoError(t, mcu.Over(shared).Write(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlHalt))
		})
		time.Sleep(50 * time.Millisecond) // without the lock the halt is made now
	}
	for range 2 {
		c, err := tr.State()
		require.NoError(t, err)
		assert.Equal(t, mcu.None, c)
		eventually(t, done)
	}
}
