package mutant

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A report in which every mutant is equivalent has no rate to print, and misses none.
func TestReportWithoutMutants(t *testing.T) {
	r := &Report{Config: "small"}
	r.add(Result{Mutant: Mutant{ID: 1, Kind: Reset, Module: "cp"}, Outcome: Equivalent, By: "so"})
	assert.InDelta(t, 1, r.Rate(), 0)
	var b strings.Builder
	require.NoError(t, r.Print(&b))
	assert.True(t, strings.HasSuffix(b.String(), "\nevery mutant is proven equivalent\n"), b.String())
	assert.NotContains(t, b.String(), "%")
}

// A design that differs without a mutant gives an error, not a report.
func TestControl(t *testing.T) {
	bad := errors.New("bad")
	err := new(campaign).judge(nil, []error{bad}, 0)
	assert.ErrorIs(t, err, ErrControl)
	assert.ErrorIs(t, err, bad)
}

func TestRunBadConfig(t *testing.T) {
	_, err := Run("../../..", GPUOptions{Options: Options{Count: 1}})
	assert.ErrorIs(t, err, gpu.ErrConfig)
}

// Other traffic comes after the random traffic, on a device after a reset.
func TestTrafficAfterRandom(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, lockstep.Icarus.Tools()...)
	dev, err := lockstep.NewDevice("../../..", gpu.Small(), lockstep.Options{
		Sim: lockstep.Icarus, Cache: filepath.Join(os.TempDir(), "hilgpu-lockstep-test"),
	})
	require.NoError(t, err)
	seen := uint64(0)
	other := func(dev *lockstep.Device) error {
		seen = dev.Clocks()
		return lockstep.ErrVariants
	}
	assert.ErrorIs(t, play(dev, random(1, 50), other), lockstep.ErrVariants)
	require.NoError(t, play(dev, nil))
	assert.Equal(t, uint64(52), seen, "two resets")
	require.NoError(t, dev.Close())
}
