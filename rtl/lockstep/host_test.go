package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

func newGPU(t *testing.T, c gpu.Config) *gpu.GPU {
	g, err := gpu.New(c)
	require.NoError(t, err)
	return g
}

// A random run reaches everything it is for: it is not stuck in a fault or
// turned off for long.
func TestRandomHostReachesEverything(t *testing.T) {
	for name, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small()} {
		t.Run(name, func(t *testing.T) {
			g := newGPU(t, c)
			h := newHost(g, 1)
			for h.saw.clock < 1_000_000 {
				h.clock()
			}
			s := h.saw
			t.Logf("%+v %+v", s, g.Stats())
			assert.Greater(t, s.resets, 20)
			assert.Greater(t, s.restarts, 50)
			assert.Greater(t, s.late, 20)
			assert.Greater(t, s.inVRAM, 20)
			assert.Greater(t, s.messages, 500)
			assert.Greater(t, s.fences, 500)
			assert.Greater(t, s.reads, 4500)
			assert.Greater(t, s.writes, 5000)
			for i, n := range s.status[1:] {
				assert.Greater(t, n, 100, "completions with status %d", i+1)
			}
			for cause := uint32(cpreg.CauseOpcode); cause <= cpreg.CauseWindow; cause++ {
				if cause == cpreg.CauseWindow && !g.Config().Caps.Has(caps.Protection) {
					continue
				}
				assert.Positive(t, s.causes[cause], cpreg.Causes[cause])
			}
			assert.Len(t, s.errInfo, 4)
		})
	}
}

func TestRandomHostIsDeterministic(t *testing.T) {
	run := func(seed uint64) [2]any {
		g := newGPU(t, gpu.Small())
		h := newHost(g, seed)
		for h.saw.clock < 30_000 {
			h.clock()
		}
		return [2]any{h.saw, h.mem}
	}
	assert.Equal(t, run(5), run(5))
	assert.NotEqual(t, run(5), run(6))
}
