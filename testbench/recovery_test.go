package testbench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// wantLost checks that err is that of a link that was cut, in under a second of
// the board's clock.
func (w *wired) wantLost(t *testing.T, err error, what string) {
	t.Helper()
	var stopped *dxgkrnl.DeviceError
	require.ErrorAs(t, err, &stopped, what)
	assert.Equal(t, dxgkrnl.Link, stopped.Kind, what)
	assert.ErrorIs(t, err, bus.ErrLinkDown, what)
	assert.Less(t, w.clock.Now()-w.cutAt, w.clock.Hz(), what)
	assert.Equal(t, err, w.Err(), what)
}

// The line is cut at the packets of a composition, in one of three ways; each
// time there is an error in under a second and never a wrong frame, and the next
// composition is right. Nothing of what was lost stays in host memory.
func TestLineIsCutAnywhere(t *testing.T) {
	const selector = "emu?vram=8KiB"
	for _, tt := range []struct {
		name  string
		cut   func(l *line.Line)
		power bool // the board loses power, too
		step  int
	}{
		{"unplugged", (*line.Line).Unplug, false, 1},
		{"silence", (*line.Line).Cut, false, 3},
		{"power lost", (*line.Line).Unplug, true, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWired(t, selector)
			composes(t, w.System, tinyPlan(t, 0))
			w.arm(0, nil)
			composes(t, w.System, tinyPlan(t, 0))
			free, packets := w.machine.InUse(), w.passed
			for n := 1; n <= packets; n += tt.step {
				what := fmt.Sprintf("packet %d", n)
				w.arm(n, func() { tt.cut(w.line) })
				frame, err := compose.Run(w.System, tinyPlan(t, 1))
				if err == nil {
					_, wrong := compose.Diff(frame, tinyPlan(t, 1).Reference())
					require.Zero(t, wrong, what)
					require.Greater(t, n, packets-10, "the end of a composition needs nothing of the GPU")
					err = w.WaitForIdle()
					for err == nil { // nobody has missed the board so far
						require.NoError(t, w.System.Err())
						err = w.poke()
					}
				}
				w.wantLost(t, err, what)
				require.Zero(t, w.left, "%s: it did not get there", what)
				if tt.power {
					w.power(t, selector)
				}
				require.NoError(t, w.Recover(), what)
				if n%4 == 1 {
					composes(t, w.System, tinyPlan(t, 2))
				}
				require.Equal(t, free, w.machine.InUse(), what)
			}
			assert.Equal(t, map[string]bool{
				"the host's read": true, "answer to the host's read": true, "the host's write": true, "interrupt": true,
				"the device's read": true, "answer to the device's read": true, "the device's write": true,
			}, w.kinds)
			require.NoError(t, w.Close())
		})
	}
}

// poke reads a register and returns what the kernel makes of it.
func (w *wired) poke() error {
	if _, err := w.device.Read32(w.thread, 0, 0); err != nil {
		return w.WaitForIdle()
	}
	return nil
}

// The line is cut at every packet of a recovery, which then fails, and works the
// next time.
func TestLineIsCutInRecovery(t *testing.T) {
	t.Parallel()
	w := newWired(t, "emu?vram=8KiB")
	composes(t, w.System, tinyPlan(t, 0))
	composes(t, w.System, tinyPlan(t, 0))
	free := w.machine.InUse()
	for n := 1; ; n++ {
		w.arm(40+n%80, w.line.Unplug)
		_, err := compose.Run(w.System, tinyPlan(t, 1))
		w.wantLost(t, err, "before")
		w.arm(n, w.line.Unplug)
		began := w.clock.Now()
		again := w.Recover()
		if again == nil { // not even the last packet, which was there already, was missed
			require.GreaterOrEqual(t, n, w.passed)
			assert.Equal(t, "answer to the host's read", w.kind, "the board has answered behind all of it")
			assert.Greater(t, n, 100, "packets of a recovery")
			break
		}
		require.ErrorIs(t, again, bus.ErrLinkDown, "packet %d", n)
		assert.Less(t, w.clock.Now()-began, w.clock.Hz(), "packet %d", n)
		assert.Equal(t, err, w.Err(), "the first cause stays")
		_, err = compose.Run(w.System, tinyPlan(t, 1))
		assert.Equal(t, w.Err(), err)
		w.recovered(t, 2)
		require.Equal(t, free, w.machine.InUse(), "packet %d", n)
	}
	require.NoError(t, w.Err())
	w.wantLost(t, w.poke(), "the last packet")
	w.recovered(t, 3)
	require.NoError(t, w.Close())
}

// The selector of a line that is cut every so many frames: 20 times, whatever is
// under way.
func TestLineSelectorWithCuts(t *testing.T) {
	s, err := Open("line?vram=8KiB&baud=30000000&delay=50&faults=cut=450,loss=0.01,flip=0.01,seed=3", HostDrivers(), Options{})
	require.NoError(t, err)
	done := 0
	for cuts := 0; cuts < 20; {
		plan := tinyPlan(t, uint64(cuts))
		frame, err := compose.Run(s, plan)
		if err == nil {
			_, wrong := compose.Diff(frame, plan.Reference())
			require.Zero(t, wrong)
			done++
			continue
		}
		require.ErrorIs(t, err, bus.ErrLinkDown)
		require.Equal(t, err, s.Err())
		cuts++
		for err := s.Recover(); err != nil; err = s.Recover() {
			require.ErrorIs(t, err, bus.ErrLinkDown)
			require.Less(t, cuts, 40)
			cuts++
		}
	}
	assert.Positive(t, done)
	require.NoError(t, s.Close())
}

// A GPU that answers nothing behind a link that works is given up in bounded
// time, by each call, and is back when it has been powered on again.
func TestDeadBehindALinkThatWorks(t *testing.T) {
	for after := range 6 {
		w := newWired(t, fmt.Sprintf("emu?vram=8KiB&fault=dead&after=%d", after))
		took := func(what func() error) (seconds uint64, err error) {
			began := w.clock.Now()
			err = what()
			return (w.clock.Now() - began) / w.clock.Hz(), err
		}
		seconds, err := took(func() error { _, err := compose.Run(w.System, tinyPlan(t, 1)); return err })
		if err == nil {
			require.Greater(t, after, 3, "doorbells of a composition")
			break
		}
		require.Equal(t, err, w.Err())
		assert.Less(t, seconds, uint64(10), "a time-out, and some reads that are not answered")
		seconds, err = took(w.Recover)
		assert.ErrorIs(t, err, bus.ErrTimeout)
		assert.Less(t, seconds, uint64(5))
		w.line.Unplug()
		w.power(t, "emu?vram=8KiB")
		w.recovered(t, 2)
		require.NoError(t, w.Close())
	}
}

// The same cut gives the same error at the same time, and so does what follows.
func TestRecoveryIsDeterministic(t *testing.T) {
	run := func() (string, uint64) {
		w := newWired(t, "emu?vram=8KiB")
		w.arm(77, w.line.Cut)
		_, err := compose.Run(w.System, tinyPlan(t, 1))
		w.wantLost(t, err, "")
		w.recovered(t, 2)
		require.NoError(t, w.Close())
		return err.(*dxgkrnl.DeviceError).Dump, w.clock.Now()
	}
	dump, at := run()
	again, then := run()
	assert.Equal(t, dump, again)
	assert.Equal(t, at, then)
}

// A board that is not there, or is another one, is an error that says so, and
// nothing is lost by asking.
func TestRecoverNeedsTheSameBoard(t *testing.T) {
	const selector = "emu?vram=64KiB"
	w := newWired(t, selector)
	require.NoError(t, w.Recover(), "it works: there is nothing to do")
	w.arm(30, w.line.Unplug)
	_, err := compose.Run(w.System, tinyPlan(t, 1))
	w.wantLost(t, err, "")
	w.gone = fmt.Errorf("%w: nobody there", bus.ErrLinkDown)
	for range 3 {
		err := w.Recover()
		assert.ErrorIs(t, err, w.gone)
		_, _, err = w.CreateDevice()
		assert.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
	}
	w.gone = nil
	w.power(t, "emu?vram=128KiB")
	err = w.Recover()
	assert.ErrorIs(t, err, hal.ErrEnumerate)
	assert.ErrorContains(t, err, "BAR 2 of 0x20000 bytes was one of 0x10000")
	w.line.Unplug()
	w.power(t, "emu?vram=64KiB&nodes=1")
	assert.ErrorIs(t, w.Recover(), ddi.StatusDeviceConfiguration)
	w.line.Unplug()
	w.power(t, selector)
	w.recovered(t, 2)
	require.NoError(t, w.Close())
}
