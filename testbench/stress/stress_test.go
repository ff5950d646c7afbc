package stress

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench"
)

// small returns the options of a short run.
func small(board string) Options {
	return Options{Board: board, Drivers: testbench.HostDrivers(), Processes: 3, Seed: 1, Rounds: 3, Frames: 3, Pressure: 1.5}
}

func TestPressure(t *testing.T) {
	o := small("emu?vram=64KiB")
	o.Progress = func(r Round) { t.Logf("%+v", r) }
	r, err := Run(o)
	require.NoError(t, err)
	t.Logf("%+v", r)
}
