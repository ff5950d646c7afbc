package ice40hx8k

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestFaultsAtThePins: under each fault at the pins, what the host writes to VRAM it reads
// back. A reset of the board ends the session, and the next one begins.
func TestFaultsAtThePins(t *testing.T) {
	tooltest.Long(t)
	for name, f := range map[string]pins.Faults{
		"bit":    {Bit: 0.002, Seed: 1},
		"glitch": {Glitch: 0.01, Seed: 2},
		"break":  {Break: 0.002, Seed: 3},
		"unplug": {Unplug: 0.001, Seed: 4},
	} {
		t.Run(name, func(t *testing.T) {
			s, link := faulty(t, f)
			require.NoError(t, bustest.Enumerate(link))
			bustest.Exchange(t, link, 256, 12)
			assert.Positive(t, s.Faulty().All())
		})
	}
	t.Run("reset", func(t *testing.T) {
		s, link := faulty(t, pins.Faults{Reset: 0.001, Seed: 5})
		lost := 0
		for range 6 {
			if err := bustest.Enumerate(link); err != nil {
				require.ErrorIs(t, err, bus.ErrLinkDown)
				lost++
				for range 5 { // a reset may hit the beginning of a session too
					if err = link.Reopen(); err == nil {
						break
					}
				}
				require.NoError(t, err)
			}
		}
		assert.Positive(t, lost)
		assert.GreaterOrEqual(t, s.Faulty().Resets, uint64(lost))
	})
}

// faulty returns a board with faults at its pins and the link to it.
func faulty(t *testing.T, f pins.Faults) (*pins.Serial, *rootport.RootPort) {
	t.Helper()
	m, err := New(0)
	require.NoError(t, err)
	s := pins.NewBatched(pins.Clocked(m), Hz, []int{115_200, 1_500_000}, 0, f)
	w, err := pins.New(s, pins.Options{Hz: Hz})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)
	return s, link
}
