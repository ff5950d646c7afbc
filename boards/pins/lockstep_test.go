package pins

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/hard"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestLockstep compares each link with its Verilog in every clock of random work on a bad
// line.
func TestLockstep(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, lockstep.Tools(lockstep.Verilator)...)
	for _, tt := range []struct {
		made
		clocks  uint64 // of a byte
		outputs []string
	}{{both[0], 16, link.Outputs}, {both[1], 3, hard.Outputs}} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.newDevice(t, bustest.NewDevice(bustest.DeviceOptions{Stall: 5}))
			both, err := lockstep.NewModule("../..", d.link, lockstep.Options{Cache: t.TempDir()}, tt.outputs...)
			require.NoError(t, err)
			d.tick = func(args ...any) { both.Tick(args...) }
			wire, err := New(d, Options{Clocks: tt.clocks, Faults: bad(9)})
			require.NoError(t, err)
			host := bustest.NewHost(8192)
			root, err := rootport.New(wire.Dial, host, rootport.Options{})
			require.NoError(t, err)
			w := newWork(t, root, host, 9)
			for range max(10, *callsFlag-50) {
				require.NoError(t, w.do())
				require.NoError(t, both.Err())
			}
			require.NoError(t, both.Close())
			t.Logf("%d clocks", both.Clocks())
		})
	}
}
