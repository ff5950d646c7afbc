package boards

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// openWaiting opens and enumerates a board that gets time after each write.
func openWaiting(t *testing.T, selector string) waiter {
	link, clock, err := Open(selector, new(pc))
	require.NoError(t, err)
	enumerate(t, link)
	return waiter{link, clock}
}

// A node that ignores a write of PREEMPT keeps the register's value, runs on and does not
// answer. Requests before and after it are obeyed, and those of both nodes count.
func TestIgnorePreempt(t *testing.T) {
	const node0, node1 = cpreg.Base, cpreg.Base + cpreg.Stride
	for _, scheme := range []string{"emu", "line"} {
		w := openWaiting(t, scheme+"?fault=ignore-preempt&after=1&count=1")
		for _, node := range []uint64{node0, node1} {
			write32(t, w, node+cpreg.RingSize, 12)
			write32(t, w, node+cpreg.Ctl, cpreg.CtlRun)
		}
		state := func(node uint64) [3]uint32 {
			return [3]uint32{read32(t, w, node+cpreg.Ctl), read32(t, w, node+cpreg.Preempt), read32(t, w, node+cpreg.Preempted)}
		}
		write32(t, w, node0+cpreg.Preempt, 5)
		assert.Equal(t, [3]uint32{0, 5, 5}, state(node0), "obeyed")
		write32(t, w, node1+cpreg.Preempt, 6)
		assert.Equal(t, [3]uint32{1, 0, 0}, state(node1), "ignored")
		write32(t, w, node1+cpreg.Progress, 8)
		assert.EqualValues(t, 8, read32(t, w, node1+cpreg.Progress), "another register")
		write32(t, w, node1+cpreg.Preempt, 7)
		assert.Equal(t, [3]uint32{0, 7, 7}, state(node1), "obeyed again")
		assert.EqualValues(t, 1, counter(t, w.Link, "harmed"))
		require.NoError(t, w.Close())
	}
}

// A device that ignores a reset keeps its registers. The other bits of CTL arrive.
func TestIgnoreReset(t *testing.T) {
	const node0, node1 = cpreg.Base, cpreg.Base + cpreg.Stride
	for _, scheme := range []string{"emu", "line"} {
		w := openWaiting(t, scheme+"?fault=ignore-reset&after=1&count=3")
		program := func() {
			write32(t, w, idreg.Scratch0, 9)
			for _, node := range []uint64{node0, node1} {
				write32(t, w, node+cpreg.RingSize, 12)
				write32(t, w, node+cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
			}
		}
		state := func() [5]uint32 {
			return [5]uint32{
				read32(t, w, idreg.Scratch0),
				read32(t, w, node0+cpreg.Ctl), read32(t, w, node0+cpreg.RingSize), read32(t, w, node1+cpreg.Ctl), read32(t, w, node1+cpreg.RingSize),
			}
		}
		program()
		write32(t, w, node0+cpreg.Ctl, cpreg.CtlReset)
		assert.Equal(t, [5]uint32{9, 0, 0, 5, 12}, state(), "node 0 obeys")
		program()
		write32(t, w, node0+cpreg.Ctl, cpreg.CtlReset|cpreg.CtlProtect)
		assert.Equal(t, [5]uint32{9, 4, 12, 5, 12}, state(), "node 0 ignores RESET, and RUN and PROTECT arrive")
		write32(t, w, node1+cpreg.Ctl, cpreg.CtlReset)
		assert.Equal(t, [5]uint32{9, 4, 12, 0, 12}, state(), "node 1 ignores it")
		write32(t, w, idreg.Reset, idreg.ResetWhole)
		assert.Equal(t, [5]uint32{9, 4, 12, 0, 12}, state(), "the device ignores it")
		write32(t, w, idreg.Reset, idreg.ResetWhole)
		assert.Equal(t, [5]uint32{}, state(), "the device obeys")
		assert.EqualValues(t, 3, counter(t, w.Link, "harmed"))
		require.NoError(t, w.Close())
	}
}

// A function-level reset is no write of a register, and works.
func TestIgnoreResetOfRegistersOnly(t *testing.T) {
	w := openWaiting(t, "emu?fault=ignore-reset")
	write32(t, w, idreg.Scratch0, 9)
	write32(t, w, idreg.Reset, idreg.ResetWhole)
	assert.EqualValues(t, 9, read32(t, w, idreg.Scratch0))
	require.NoError(t, w.WriteConfig(pcicfg.DevCtl, pcicfg.DevCtlReset))
	_, err := w.clock.Wait(w.clock.Now() + 2000)
	require.NoError(t, err)
	enumerate(t, w.Link)
	assert.Zero(t, read32(t, w, idreg.Scratch0))
	assert.EqualValues(t, 1, counter(t, w.Link, "harmed"))
	require.NoError(t, w.Close())
}
