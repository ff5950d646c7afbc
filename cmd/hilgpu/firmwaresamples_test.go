package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// An early clock ends each wait of a board's clock after a part of it.
type early struct{ bus.Clock }

func (e early) Wait(deadline uint64) (bool, error) {
	now := e.Now()
	return e.Clock.Wait(now + (deadline-now)/3)
}

// A still board has an ID.TIME that does not change.
type still struct{ mcu.Registers }

func (s still) Read(off uint32) (uint32, error) {
	if off == idreg.Base+idreg.TimeLo {
		return 7, nil
	}
	return s.Registers.Read(off)
}

// The clocks pass also if waits end early. A board without time is an error.
func TestPass(t *testing.T) {
	link, clock, err := boards.Open(withMCU, regs.NoMemory{})
	require.NoError(t, err)
	defer link.Close()
	_, err = regs.Open(link, regs.Options{})
	require.NoError(t, err)
	for name, c := range map[string]bus.Clock{"all at once": clock, "in parts": early{clock}} {
		s := serving{regs: mcu.Over(link), clock: c}
		for _, clocks := range []uint64{0, 1000, 123_456} {
			before, err := gpuTime(s.regs)
			require.NoError(t, err)
			require.NoError(t, s.pass(clocks))
			after, err := gpuTime(s.regs)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, after-before, clocks, name)
			assert.Less(t, after-before, clocks+1000, name)
		}
	}
	s := serving{regs: still{mcu.Over(link)}, clock: clock}
	err = s.pass(1000)
	require.ErrorIs(t, err, message.ErrTimeout)
	assert.ErrorContains(t, err, "ID.TIME does not change")
}
