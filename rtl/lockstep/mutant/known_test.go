package mutant

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm/sweep"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Each known mistake has one place in default.
func TestKnown(t *testing.T) {
	tooltest.Long(t)
	top, err := lockstep.NewTop(gpu.Default())
	require.NoError(t, err)
	d, err := top.Translate("../../..")
	require.NoError(t, err)
	out, ms, err := Known(d)
	require.NoError(t, err)
	assert.Len(t, ms, len(knownMistakes()))
	assert.NotEmpty(t, out.Files)
	for i, m := range ms {
		assert.Equal(t, i+1, m.ID)
		assert.NotEqual(t, m.Old, m.New)
	}
	_, _, err = Known(design("cp", "module cp (input wire clk);\nendmodule\n"))
	assert.ErrorIs(t, err, ErrText)
}

// Sweeps detect mistakes of races. "lockstep mutants --known" plants all of them, for which
// Icarus needs too long.
func TestRaces(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, lockstep.Icarus.Tools()...)
	top, err := lockstep.NewTop(gpu.Small())
	require.NoError(t, err)
	d, err := top.Translate("../../..")
	require.NoError(t, err)
	all := races()
	mutated, ms, err := plant(d, []known{all[0], all[1], all[7]})
	require.NoError(t, err)
	var left atomic.Int64
	mutants := Selection(ms)
	mutants.Progress = func(_ uint64, n int) { left.Store(int64(n)) }
	dev, err := lockstep.NewVariantDevice(top, mutated, mutants, lockstep.Options{
		Sim: lockstep.Icarus, Batch: 100, Cache: filepath.Join(os.TempDir(), "hilgpu-lockstep-test"),
	})
	require.NoError(t, err)
	found := errors.New("found")
	for _, tt := range []struct {
		sweep string
		which int   // case
		left  int64 // variants after it
	}{{"message refused", 0, 3}, {"event held", 2, 2}, {"refused read", 1, 1}} {
		i := slices.IndexFunc(sweep.All(), func(s sweep.Sweep) bool { return s.Name == tt.sweep })
		require.NotEqual(t, -1, i, tt.sweep)
		err := sweep.All()[i].Run(dev, tt.which, func() error {
			if left.Load() == tt.left {
				return found
			}
			return dev.Err()
		})
		require.ErrorIs(t, err, found, tt.sweep)
	}
	require.NoError(t, dev.Close())
	require.NoError(t, dev.Verdicts()[0], "the control")
	for i, m := range ms {
		var diff *lockstep.Divergence
		assert.ErrorAs(t, dev.Verdicts()[i+1], &diff, "%s", m)
	}
}
