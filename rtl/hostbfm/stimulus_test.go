package hostbfm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

func newGPU(t *testing.T, c gpu.Config) *gpu.GPU {
	g, err := gpu.New(c)
	require.NoError(t, err)
	return g
}

// A random run covers everything it is for: it does not stay in a fault or turned
// off for long.
func TestStimulusReachesEverything(t *testing.T) {
	tooltest.Long(t)
	for name, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small()} {
		t.Run(name, func(t *testing.T) {
			g := newGPU(t, c)
			h := hostbfm.NewStimulus(g, 1)
			for h.Clocks < 1_000_000 {
				h.Step()
			}
			s := h.Saw
			t.Logf("%+v %+v", s, g.Stats())
			assert.Greater(t, s.Resets, 20)
			assert.Greater(t, s.Restarts, 50)
			assert.Greater(t, s.Late, 20)
			assert.Greater(t, s.InVRAM, 20)
			assert.Greater(t, s.Messages, 500)
			assert.Greater(t, s.Odd, 100)
			assert.Greater(t, s.Fences, 400)
			assert.Greater(t, s.Reads, 4500)
			assert.Equal(t, c.Caps.Has(caps.ReadTimeout), s.Spare > 20, "%d reads with a spare tag", s.Spare)
			assert.Greater(t, s.Writes, 5000)
			for i, n := range s.Status[1:] {
				assert.Greater(t, n, 100, "completions with status %d", i+1)
			}
			for cause := uint32(cpreg.CauseOpcode); cause <= cpreg.CauseWindow; cause++ {
				if cause == cpreg.CauseWindow && !g.Config().Caps.Has(caps.Protection) {
					continue
				}
				assert.Positive(t, s.Causes[cause], cpreg.Causes[cause])
			}
			assert.Len(t, s.ErrInfo, 4)
			assert.NoError(t, h.Err)
		})
	}
}

// The second master of a device takes part, and the host still reaches its goals.
func TestStimulusWithSecondMaster(t *testing.T) {
	g, err := hostbfm.NewShared(gpu.Default())
	require.NoError(t, err)
	h := hostbfm.NewStimulus(g, 1)
	for h.Clocks < 300_000 {
		h.Step()
	}
	require.NoError(t, h.Err)
	s := h.Saw
	t.Logf("%+v", s)
	assert.Greater(t, s.Answers, 20_000)
	assert.Greater(t, s.Refused, 500)
	assert.True(t, s.ErrInfo[idreg.ErrOwner])
	assert.Greater(t, s.Fences, 50)
	assert.Greater(t, s.Restarts, 20)
}

// A microcontroller runs programs, which sleep, halt and hang, and which access memory. The host still reaches its goals.
func TestStimulusWithMCU(t *testing.T) {
	c := gpu.Small()
	c.Caps |= caps.Master | caps.MCU
	c.MCUBytes = 8 << 10
	h := hostbfm.NewStimulus(newGPU(t, c), 48)
	for h.Clocks < 300_000 {
		h.Step()
	}
	require.NoError(t, h.Err)
	s := h.Saw
	t.Logf("%+v", s)
	assert.Greater(t, s.Programs, 20)
	for i, n := range s.MCU {
		assert.Greater(t, n, 20, "bit %d of MCU.STATUS", i)
	}
	assert.Greater(t, s.Fences, 20)
	assert.Greater(t, s.Restarts, 10)
}

// With an aperture every kind of fault of a page occurs, flushes wait for work in flight, and the
// host still reaches its goals.
func TestStimulusWithGART(t *testing.T) {
	c := gpu.Full()
	c.VRAMBytes, c.MCUBytes = 1<<20, 8<<10
	h := hostbfm.NewStimulus(newGPU(t, c), 1)
	for h.Clocks < 1_000_000 {
		h.Step()
	}
	require.NoError(t, h.Err)
	s := h.Saw
	t.Logf("%+v", s)
	assert.Greater(t, s.Causes[cpreg.CausePage], 20)
	for kind := gartreg.KindInvalid; kind <= gartreg.KindTable; kind++ {
		assert.NotZero(t, s.Pages[kind], "kind %d", kind)
	}
	assert.Greater(t, s.Flushing, 5)
	assert.Greater(t, s.Fences, 50)
	assert.Greater(t, s.Restarts, 10)
}

func TestStimulusIsDeterministic(t *testing.T) {
	run := func(seed uint64) [2]any {
		g := newGPU(t, gpu.Small())
		h := hostbfm.NewStimulus(g, seed)
		for h.Clocks < 30_000 {
			h.Step()
		}
		return [2]any{h.Saw, h.Mem}
	}
	assert.Equal(t, run(5), run(5))
	assert.NotEqual(t, run(5), run(6))
}
