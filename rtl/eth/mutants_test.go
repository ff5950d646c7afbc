package eth

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var mutantsFlag = flag.Int("eth.mutants", 3, "mutants of TestMutants; 50 take minutes")

// TestMutants plants mistakes in the Verilog of the station, and runs each against the Go under
// the traffic of TestLockstep. At least 98 % of those that are not equivalent are detected.
func TestMutants(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, append(lockstep.Tools(lockstep.Verilator), "yosys", "yosys-abc")...)
	traffic := func(top any, both *lockstep.Module, first bool) {
		clocks := uint64(2_000_000)
		if first {
			clocks /= 10
		}
		s := random{g: traffic{rand.New(rand.NewPCG(*seedFlag, 2)), true}}
		for both.Clocks() < clocks && both.Err() == nil {
			if s.g.r.IntN(3000) == 0 {
				both.Reset()
				s.left = 0
			}
			rx, ready, link, counter := s.next(top.(*Module))
			both.Tick(rx, ready, link, counter)
		}
	}
	s, err := mutant.OfModule("../..", func() any { return New(board) }, traffic, simtest.Cache(), Outputs...)
	require.NoError(t, err)
	r, err := mutant.Plant(s, mutant.Options{Name: "eth", Seed: *seedFlag, Count: *mutantsFlag, Progress: func(line string) { t.Log(line) }})
	require.NoError(t, err)
	require.NoError(t, r.Print(os.Stdout))
	assert.GreaterOrEqual(t, r.Rate(), 0.98)
}
