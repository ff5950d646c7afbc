package testbench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// wantLost checks that err is the error of a link that was cut, and that it arrived
// within a second of the board's clock.
func (w *wired) wantLost(t *testing.T, err error, what string) {
	t.Helper()
	var stopped *dxgkrnl.DeviceError
	require.ErrorAs(t, err, &stopped, what)
	assert.Equal(t, dxgkrnl.Link, stopped.Kind, what)
	assert.ErrorIs(t, err, bus.ErrLinkDown, what)
	assert.Less(t, w.clock.Now()-w.cutAt, w.clock.Hz(), what)
	assert.Equal(t, err, w.Err(), what)
}

// The line is cut in one of three ways at packets of a composition. Each cut gives
// an error within a second and never a wrong frame, and the next composition
// is correct. Host memory of lost work is released.
func TestLineIsCutAnywhere(t *testing.T) {
	const selector = "emu?vram=8KiB"
	for _, tt := range []struct {
		name  string
		cut   func(l *line.Line)
		power bool // the board loses power too
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
					require.Greater(t, n, packets-30, "only the last packets may pass unnoticed: they discard the content of what is destroyed")
					err = w.WaitForIdle()
					for err == nil { // the cut has not been noticed yet
						require.NoError(t, w.System.Err())
						err = w.poke()
					}
				}
				w.wantLost(t, err, what)
				require.Zero(t, w.left, "%s: the packet was not reached", what)
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

// poke reads a register and returns the kernel's error.
func (w *wired) poke() error {
	if _, err := w.device.Read32(w.thread, 0, 0); err != nil {
		return w.WaitForIdle()
	}
	return nil
}

// The line is cut at every packet of a recovery. The recovery fails, and the next
// one succeeds.
//
// docs/properties.md: T6.
func TestLineIsCutInRecovery(t *testing.T) {
	tooltest.Long(t)
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
		if again == nil { // the last packet had already arrived
			require.GreaterOrEqual(t, n, w.passed)
			assert.Equal(t, "answer to the host's read", w.kind, "the last packet of a recovery is an answer")
			assert.Greater(t, n, 100, "number of packets of a recovery")
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

// The selector of a line that is cut every 450 frames, 20 times.
func TestLineSelectorWithCuts(t *testing.T) {
	s, err := Open("line?vram=8KiB&baud=30000000&delay=50&faults=cut=450,loss=0.01,flip=0.01,seed=3", HostDrivers(), Options{Record: eventstest.Record(t)})
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

// A GPU that stops answering while its link works is given up in bounded time by
// every call, and works again after a power cycle.
func TestDeadGPUOnAWorkingLink(t *testing.T) {
	for after := range 6 {
		w := newWired(t, fmt.Sprintf("emu?vram=8KiB&fault=dead&after=%d", after))
		took := func(what func() error) (seconds uint64, err error) {
			began := w.clock.Now()
			err = what()
			return (w.clock.Now() - began) / w.clock.Hz(), err
		}
		seconds, err := took(func() error { _, err := compose.Run(w.System, tinyPlan(t, 1)); return err })
		if err == nil {
			require.Greater(t, after, 3, "number of doorbells of a composition")
			break
		}
		require.Equal(t, err, w.Err())
		assert.Less(t, seconds, uint64(15), "two time-outs and a few unanswered reads")
		seconds, err = took(w.Recover)
		assert.ErrorIs(t, err, bus.ErrTimeout)
		assert.Less(t, seconds, uint64(5))
		w.line.Unplug()
		w.power(t, "emu?vram=8KiB")
		w.recovered(t, 2)
		require.NoError(t, w.Close())
	}
}

// The same cut gives the same error at the same time, and the same events after it.
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

// Recovery fails with a clear error if the board is absent or is another one, and
// the attempt loses nothing.
func TestRecoverNeedsTheSameBoard(t *testing.T) {
	const selector = "emu?vram=64KiB"
	w := newWired(t, selector)
	require.NoError(t, w.Recover(), "recovery of a working GPU does nothing")
	w.arm(30, w.line.Unplug)
	_, err := compose.Run(w.System, tinyPlan(t, 1))
	w.wantLost(t, err, "")
	w.dialErr = fmt.Errorf("%w: no answer", bus.ErrLinkDown)
	for range 3 {
		err := w.Recover()
		assert.ErrorIs(t, err, w.dialErr)
		_, _, err = w.CreateDevice()
		assert.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
	}
	w.dialErr = nil
	w.power(t, "emu?vram=128KiB")
	err = w.Recover()
	assert.ErrorIs(t, err, hal.ErrEnumerate)
	assert.ErrorContains(t, err, "BAR 2 has 0x20000 bytes, want 0x10000 as before")
	w.line.Unplug()
	w.power(t, "emu?vram=64KiB&nodes=1")
	assert.ErrorIs(t, w.Recover(), ddi.StatusDeviceConfiguration)
	w.line.Unplug()
	w.power(t, selector)
	w.recovered(t, 2)
	require.NoError(t, w.Close())
}
